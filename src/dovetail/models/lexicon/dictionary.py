"""A dictionary as a prior on the lexicon: its word pairs are taken as seen a few times, in every iteration and direction.

    pseudo-count of (e, f) = weight / sqrt(n(e) n(f)) * max over entries with e and f of p / (source words * target words)

where n counts the pairs that a word is in.  A phrase speaks for its words, and each pair of them gets its part.  The largest
part, not the sum, and less for a word with many partners: else little words, which are in hundreds of phrases, would go with
everything.  Of the scalings by n that were tried (none, the larger one, the root of the product), this one with weight 1 was
the best single setting for three development sets.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial

import numpy as np

from dovetail.bitext.corpus import Bitext, TextOptions
from dovetail.bitext.shards import Slots
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.errors import InputError

LONGEST = 4  # words of a phrase; longer ones explain more than they translate


@dataclass
class DictionaryPrior:
    """Pairs of words, in lower case, each with its share of `weight`."""

    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not len(self.sources) == len(self.targets) == len(self.shares):
            raise ValueError("source words, target words and shares must be as many")

    @classmethod
    def of(
        cls, dictionary: Mapping[tuple[str, str], float], bitext: Bitext, weight: float, sampled: bool = False
    ) -> DictionaryPrior:
        """From (source, target) words or phrases, cut as the text is, with probabilities.

        Entries without any word of the text are left out, unless it is a sample: a saved model keeps the others.
        """
        # Most phrases come several times.
        cut = [cache(partial(_words, bitext.options.of_side(side))) for side in (0, 1)]
        known = [{word.lower() for word in side.vocabulary} for side in (bitext.source, bitext.target)]
        found: dict[tuple[str, str], float] = {}
        for entry, probability in dictionary.items():
            if not 0 < probability <= 1:
                raise InputError(
                    f"dictionary entry {entry} has the probability {probability}",
                    remedy="It must be more than 0 and at most 1.",
                )
            words = cut[0](entry[0]), cut[1](entry[1])
            if not (0 < len(words[0]) <= LONGEST and 0 < len(words[1]) <= LONGEST):
                continue
            share = probability / (len(words[0]) * len(words[1]))
            for e in words[0]:
                for f in words[1]:
                    if (sampled or e in known[0] or f in known[1]) and share > found.get((e, f), 0.0):
                        found[e, f] = share
        if not any(e in known[0] and f in known[1] for e, f in found):
            warnings.warn(
                "no entry of the dictionary has words of both sides of the text: is it one from target to source?",
                stacklevel=2,
            )
        n = Counter(e for e, _ in found), Counter(f for _, f in found)
        shares = [share / (n[0][e] * n[1][f]) ** 0.5 for (e, f), share in found.items()]
        return cls([e for e, _ in found], [f for _, f in found], shares, weight)

    @cached_property
    def _by_source(self) -> dict[str, list[tuple[str, float]]]:
        index: dict[str, list[tuple[str, float]]] = {}
        for e, f, share in zip(self.sources, self.targets, self.shares, strict=True):
            index.setdefault(e, []).append((f, share))
        return index

    def pseudo_counts(self, slots: Slots, source: Vocabulary, target: Vocabulary) -> np.ndarray:
        """Words match in any case: the first word of a sentence is in the dictionary, too."""
        counts = np.zeros(len(slots), np.float32)
        numbers: dict[str, list[int]] = {}
        for f, word in enumerate(target):
            numbers.setdefault(word.lower(), []).append(f)
        shares = np.zeros(len(target), np.float32)
        for e, word in enumerate(source):
            pairs = [
                (f, share) for other, share in self._by_source.get(word.lower(), ()) for f in numbers.get(other, ())
            ]
            if pairs:
                row = slice(slots.row_start[e], slots.row_start[e + 1])
                partners = np.array([f for f, _ in pairs])
                shares[partners] = [share for _, share in pairs]
                counts[row] = shares[slots.target[row]]
                shares[partners] = 0.0
        return counts * np.float32(self.weight)


def _words(options: TextOptions, phrase: str) -> list[str]:
    return [options.normaliser(phrase[start:end]).lower() for start, end in options.spans(phrase)]
