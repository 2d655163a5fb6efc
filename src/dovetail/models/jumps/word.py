"""Jumps in signed bins that widen with distance, and that depend on the word jumped from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar

import numpy as np

from dovetail.kernels.hmm import word_jumps as kernels
from dovetail.kernels.live.chain import jump_sums
from dovetail.kernels.live.records import Bins, WideWeights, WordWeights
from dovetail.models.checks import Array, checked_arrays
from dovetail.models.lexicon.words import picked

# Lower ends of the bins of |distance|: one by one up to 7, then wider.  Never pool all far jumps: it costs several
# points where word orders differ much.
EDGES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 19, 24, 32, 45)
BINS = 2 * len(EDGES) - 1
POSITIONS = 16  # first and last positions told apart
FLOOR = 1e-5
FARTHEST = 1e4  # from one, their mean, that a saved weight may be
FAR = 1 << 30
REACH = 32  # sentences up to so many words find the weight of each distance where it is asked for


def bin_limits() -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest distance of each bin, from far left to far right."""
    low = np.array(EDGES, np.int64)
    high = np.append(low[1:] - 1, FAR)
    return np.concatenate([-high[:0:-1], low]), np.concatenate([-low[:0:-1], high])


def bins_of(longest: int) -> np.ndarray:
    """The bin of every distance -longest..longest."""
    distance = np.arange(-longest, longest + 1)
    size = np.searchsorted(EDGES, np.abs(distance), side="right") - 1
    return (len(EDGES) - 1 + np.sign(distance) * size).astype(np.int64)


@cache
def bins_for(longest: int) -> Bins:
    """All that kernels are told of the bins, for sentences up to some length."""
    return Bins(bins_of(longest), *bin_limits())


@dataclass(frozen=True)
class WordJumps:
    """Weights (words, bins) of one direction, smoothed towards the weights of all words; start and end weights.

    p(i | i', e) = w(e, bin(i - i')) / sum over i'' in the sentence.  A word with n observed moves trusts itself with
    n / (n + strength).  Without words of their own all rows are the same.
    """

    SAVED: ClassVar = {
        "weights": Array(np.float32, ("words", BINS), least=FLOOR / 2, most=FARTHEST),
        "shared": Array(np.float32, (BINS,), least=FLOOR / 2, most=FARTHEST),
        "start": Array(np.float64, (POSITIONS,), least=FLOOR / 2, most=FARTHEST),
        "end": Array(np.float64, (POSITIONS,), least=FLOOR / 2, most=FARTHEST),
    }

    weights: np.ndarray  # float32 (words, bins)
    shared: np.ndarray  # float32 (bins,): of all words together, for words never seen
    start: np.ndarray  # float64 (POSITIONS,)
    end: np.ndarray

    def __getstate__(self) -> dict[str, np.ndarray]:
        """Without what is made of the weights: it would be as large as they are many times over."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @cached_property
    def by_distance(self) -> WideWeights:
        """Weights by bins, and one by one for short sentences."""
        wide = np.empty(len(self.weights) * 2 * REACH + 1, np.float32)  # and a place behind the last row
        wide[-1] = 0.0
        kernels.widen(self.weights, bins_of(REACH)[:-1], wide[:-1].reshape(-1, 2 * REACH))
        return WideWeights(self.weights, wide, REACH)

    @property
    def by_word(self) -> WordWeights:
        return WordWeights(self.weights, self.sums)

    @cached_property
    def sums(self) -> np.ndarray:
        """Weights of all jumps nearer than each bin, on its side."""
        sums = np.empty_like(self.weights)
        jump_sums(self.weights, *bin_limits(), sums)
        return sums

    @classmethod
    def uniform(cls, words: int) -> WordJumps:
        ones = np.ones(BINS, np.float32)
        return cls(np.ones((words, BINS), np.float32), ones, np.ones(POSITIONS), np.ones(POSITIONS))

    @classmethod
    def local(cls, words: int) -> WordJumps:
        """Near jumps, one to the right above all, are likelier: weight 1 / sqrt(0.3 + |distance - 1|).

        Mild enough for any pair of languages; it saves about two iterations over uniform weights.
        """
        low, high = bin_limits()
        middle = (low + np.where(high == FAR, low + 30, high)) / 2
        middle[low == -FAR] = -(EDGES[-1] + 15)
        weights = (1.0 / np.sqrt(0.3 + np.abs(middle - 1.0))).astype(np.float32)
        return cls(np.tile(weights, (words, 1)), weights, np.ones(POSITIONS), np.ones(POSITIONS))

    @classmethod
    def estimate(cls, counts: np.ndarray, ends: np.ndarray, strength: float) -> WordJumps:
        """From moves and exposures (words, 2, bins) and those of the ends (2, 2, positions).

        The shared weights are moves / exposure (see `Jumps.reestimate`); a word adds its own to `strength` moves of
        the shared kind.  `strength` 0 means that words are not told apart.
        """
        total = counts.sum(axis=0)
        observed = total[0].sum()
        if observed <= 0:
            return cls.uniform(len(counts))
        prior = total / observed
        shared = _normalised(prior[0], prior[1])
        weights = np.empty((len(counts), BINS), np.float32)
        if strength > 0:
            kernels.word_weights(counts, prior, strength, FLOOR, weights)
        else:
            weights[:] = shared
        return cls(
            weights,
            shared.astype(np.float32),
            _normalised(ends[0, 0], ends[0, 1]),
            _normalised(ends[1, 0], ends[1, 1]),
        )

    def for_words(self, numbers: np.ndarray) -> WordJumps:
        """The same for another vocabulary: `numbers` are its words' numbers here, -1 for unseen words."""
        weights = np.ascontiguousarray(picked(self.weights, numbers, self.shared), np.float32)
        return WordJumps(weights, self.shared, self.start, self.end)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"weights": self.weights, "shared": self.shared, "start": self.start, "end": self.end}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], prefix: str, words: int) -> WordJumps:
        """The saved jumps of so many words, or ValueError."""
        return cls(*checked_arrays(arrays, prefix, cls.SAVED, {"words": words}))


def _normalised(moves: np.ndarray, exposure: np.ndarray) -> np.ndarray:
    """moves / exposure, scaled to a mean of one over what was exposed at all; nothing is impossible."""
    seen = exposure > 1e-9
    ratio = np.where(seen, moves / np.where(seen, exposure, 1.0), 0.0)
    mean = ratio.sum(axis=-1, keepdims=True) / np.maximum(seen.sum(axis=-1, keepdims=True), 1)
    ratio = ratio / np.where(mean > 0, mean, 1.0)
    return np.maximum(np.where(seen, ratio, 1.0), FLOOR)
