"""A prior from likeness of spelling: how alike the words of every slot are, and what that is worth in this text."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dovetail.bitext.shards import Slots
from dovetail.bitext.spelling import Letters, letters
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.kernels.lexicon import counted as counted_kernels
from dovetail.kernels.lexicon import spelling as kernels
from dovetail.pool import Pool


@dataclass(frozen=True)
class SpellingPrior:
    """Prior counts by bin of likeness; `alpha` is that of any pair, `bins` each slot's bin (none in a compact lexicon)."""

    alpha: float
    counts: np.ndarray  # float32 (spelling bins,)
    bins: np.ndarray  # uint8 (slots,)

    @classmethod
    def flat(cls, alpha: float, bins: np.ndarray) -> SpellingPrior:
        """Spellings that say nothing, until somebody measures what they are worth."""
        return cls(alpha, np.full(kernels.BINS, alpha, np.float32), bins)

    def calibrated(self, wins: np.ndarray) -> SpellingPrior:
        """Prior counts alpha B with B = 1 + (0.5 / alpha) r ** 3, r the part of its cells that a bin wins.

        `wins` (bins, 2): won cells and all.  The cube switches the prior off where spelling says little; linear in r it did
        harm.
        """
        rate = wins[:, 0] / np.maximum(wins[:, 1], 1.0)
        rate[: kernels.LIKE] = rate[kernels.UNLIKE]
        return replace(self, counts=(self.alpha * (1.0 + 0.5 / self.alpha * rate**3)).astype(np.float32))

    @property
    def like(self) -> int:
        """Below which bin all have the same count: models that were saved long ago tell them apart from the first on."""
        other = np.flatnonzero(self.counts[: kernels.LIKE] != self.counts[kernels.UNLIKE])
        return int(other[0]) if len(other) else kernels.LIKE

    def for_slots(self, slots: Slots, vocabularies: tuple[Vocabulary, Vocabulary], pool: Pool) -> SpellingPrior:
        return replace(self, bins=compare_spellings(slots, *vocabularies, pool, self.like))

    def weights(self, slots: Slots) -> tuple[np.ndarray, np.ndarray]:
        """What the spellings of each word's pairs add to its prior weight, by source and by target word."""
        sums = np.zeros(slots.n_sources), np.zeros(slots.n_targets)
        self.add_weights(slots, *sums)
        return sums

    def add_weights(self, slots: Slots, source: np.ndarray, target: np.ndarray) -> None:
        """Add them to those of other slots."""
        add_by_word((self.counts - np.float32(self.alpha))[self.bins], slots, source, target)


def sums_by_word(values: np.ndarray, slots: Slots) -> tuple[np.ndarray, np.ndarray]:
    """Values of slots added up by source word and by target word."""
    sums = np.zeros(slots.n_sources), np.zeros(slots.n_targets)
    add_by_word(values, slots, *sums)
    return sums


def add_by_word(values: np.ndarray, slots: Slots, source: np.ndarray, target: np.ndarray) -> None:
    """The same, added to other sums."""
    counted_kernels.add_by_word(slots.row_start, slots.target, values, source, target)


def compare_spellings(
    slots: Slots, source: Vocabulary, target: Vocabulary, pool: Pool, like: int = kernels.LIKE
) -> np.ndarray:
    """The spelling bin of every slot."""
    bins = np.empty(len(slots), np.uint8)
    if not len(slots):
        return bins
    both, n_codes = spelled(source, target)
    rows = slots.row_start, slots.target
    pool.map(kernels.compare_spellings, slots.runs(), *rows, *both, n_codes, like, bins)
    return bins


def spelled(source: Vocabulary, target: Vocabulary) -> tuple[tuple[Letters, Letters], int]:
    """Both sides' letters in numbers that they share, and how many there are."""
    one, other = letters(source), letters(target)
    codes, n_codes = _numbered(one.codes, other.codes)
    one, other = (
        side._replace(codes=numbers, offsets=side.offsets.astype(np.int32))  # no side has so many letters
        for side, numbers in zip((one, other), codes, strict=True)
    )
    return (one, other), n_codes


def _numbered(one: np.ndarray, other: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], int]:
    """Letters by small numbers instead of code points, and how many there are."""
    present = np.zeros(max(one.max(initial=0), other.max(initial=0)) + 1, np.int32)
    present[one] = present[other] = 1
    n_codes = int(present.sum())
    small = np.uint16 if n_codes < 1 << 16 else np.int32  # half the memory that kernels go through
    number = (np.cumsum(present) - 1).astype(small)
    return (number[one], number[other]), n_codes
