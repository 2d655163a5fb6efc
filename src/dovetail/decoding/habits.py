"""What annotators do with a word, or with a pair of words: learned from gold pairs, kept with a learned decoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dovetail.errors import InputError
from dovetail.kernels.learned.records import HABITS_OF_WORDS, PairHabits
from dovetail.models.lexicon.words import WordMap


@dataclass(frozen=True)
class WordHabits:
    """Of one side's words, by the model's numbers; `usual` is what words do that were in no gold pair."""

    words: np.ndarray  # int32 (words,), rising
    values: np.ndarray  # float32 (words, HABITS_OF_WORDS)
    usual: np.ndarray  # float32 (HABITS_OF_WORDS,)

    def places(self, numbers: np.ndarray) -> np.ndarray:
        """Where a text's words, by the model's numbers, stand among these; -1 for words that were in no gold pair."""
        at = np.searchsorted(self.words, numbers).astype(np.int32)
        met = np.append(self.words, -2)[at] == numbers  # no word is -2
        return np.where(met, at, np.int32(-1))

    def of(self, places: np.ndarray) -> np.ndarray:
        """Their habits, one row per word of the text."""
        return np.vstack([self.values, self.usual])[places]


@dataclass(frozen=True)
class Habits:
    """Of both sides' words, and of pairs of them: those of source word n lie from offsets[n] to offsets[n + 1].

    `columns` are numbers among the target words, `pairs` how much oftener such a pair was linked than the model thinks, and
    how often it was met.
    """

    source: WordHabits
    target: WordHabits
    offsets: np.ndarray  # int64 (source words + 1,)
    columns: np.ndarray  # int32 (met pairs,), rising within a word
    pairs: np.ndarray  # float32 (met pairs, 2)

    @classmethod
    def none(cls) -> Habits:
        """Nothing was learned."""
        size = len(HABITS_OF_WORDS)
        side = WordHabits(np.zeros(0, np.int32), np.zeros((0, size), np.float32), np.zeros(size, np.float32))
        return cls(side, side, np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros((0, 2), np.float32))

    def of_text(self, words: WordMap) -> tuple[np.ndarray, np.ndarray, PairHabits]:
        """As kernels look them up, by the numbers of a text's own words."""
        row, column = self.source.places(words.source), self.target.places(words.target)
        pairs = PairHabits(row, column, self.offsets, self.columns, self.pairs)
        return self.source.of(row), self.target.of(column), pairs

    def arrays(self) -> dict[str, np.ndarray]:
        sides = {"source": self.source, "target": self.target}
        found = {f"{name}.{part}": array for name, side in sides.items() for part, array in vars(side).items()}
        return {**found, "offsets": self.offsets, "columns": self.columns, "pairs": self.pairs}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Habits:
        """InputError or LookupError for what was not saved so: kernels look at no bounds."""
        source, target = (
            WordHabits(*(arrays[f"{name}.{part}"] for part in ("words", "values", "usual")))
            for name in ("source", "target")
        )
        found = cls(source, target, *(np.ascontiguousarray(arrays[name]) for name in ("offsets", "columns", "pairs")))
        if not (_is_right(source) and _is_right(target) and found._pairs_are_right()):
            raise InputError("the learned decoder's habits are damaged", remedy="Copy the model again, or learn anew.")
        return found

    def _pairs_are_right(self) -> bool:
        number = len(self.columns)
        return (
            (self.offsets.dtype, self.columns.dtype, self.pairs.dtype) == (np.int64, np.int32, np.float32)
            and self.offsets.shape == (len(self.source.words) + 1,)
            and self.columns.shape == (number,)
            and self.pairs.shape == (number, 2)
            and self.offsets[0] == 0
            and self.offsets[-1] == number
            and bool((np.diff(self.offsets) >= 0).all() and np.isfinite(self.pairs).all())
        )


def _is_right(side: WordHabits) -> bool:
    size = len(HABITS_OF_WORDS)
    kinds = (side.words.dtype, side.values.dtype, side.usual.dtype) == (np.int32, np.float32, np.float32)
    sizes = side.words.ndim == 1 and side.values.shape == (len(side.words), size) and side.usual.shape == (size,)
    finite = np.isfinite(side.values).all() and np.isfinite(side.usual).all()
    return kinds and sizes and bool(finite and (np.diff(side.words) > 0).all())
