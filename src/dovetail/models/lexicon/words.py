"""Where a model has the words of another text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.normalise import Normaliser
from dovetail.bitext.vocabulary import Vocabulary


@dataclass(frozen=True)
class WordMap:
    """Word numbers of a new text in a model's vocabularies, -1 where unseen; `twin[e]`: the target word spelled like e."""

    source: np.ndarray
    target: np.ndarray
    twin: np.ndarray
    vocabularies: tuple[Vocabulary, Vocabulary]  # of the new text
    known: tuple[Vocabulary, Vocabulary]  # of the model
    as_they_are: bool = False  # nothing is normalised

    @cached_property
    def spelled_same(self) -> tuple[np.ndarray, np.ndarray]:
        """Like `source` and `target`, but for words that the model has without any normalising."""
        if self.as_they_are:
            return self.source, self.target
        source, target = (new.numbers_in(old) for new, old in zip(self.vocabularies, self.known, strict=True))
        return source, target

    @classmethod
    def between(
        cls, bitext: Bitext, source: Vocabulary, target: Vocabulary, normalise: Normaliser | None = None
    ) -> WordMap:
        """From the bitext's vocabularies to a model's, whose words are normalised."""
        if normalise is not None and normalise.identity:
            normalise = None
        return cls(
            bitext.source.vocabulary.numbers_in(source, normalise),
            bitext.target.vocabulary.numbers_in(target, normalise),
            bitext.source.vocabulary.numbers_in(bitext.target.vocabulary),
            (bitext.source.vocabulary, bitext.target.vocabulary),
            (source, target),
            normalise is None,
        )


def picked(values: np.ndarray, numbers: np.ndarray, missing: float | np.ndarray = 0.0) -> np.ndarray:
    """values[numbers], one row per number; `missing`, as the values' type, where a number is -1."""
    missing = np.asarray(missing, values.dtype)
    if not len(values):
        return np.array(np.broadcast_to(missing, (len(numbers), *values.shape[1:])))
    found = values.take(numbers, axis=0, mode="clip")
    found[numbers < 0] = missing
    return found
