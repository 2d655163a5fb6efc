"""Jumps as counts under a Dirichlet prior: by bin of distance, first and last links by bin of distance from an end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dovetail.models.checks import Array, checked_arrays
from dovetail.models.jumps.word import BINS, EDGES, bins_of

FAR_WIDTH = 30  # distances that the outermost bins, which have no end, are thought to hold
JUMP_PRIOR = 0.5  # of every bin: the Dirichlet's parameter


def end_bins(longest: int) -> np.ndarray:
    """The bin of every distance 0..longest - 1 from an end of the sentence."""
    return np.searchsorted(EDGES, np.arange(longest), side="right") - 1


def _widths() -> tuple[np.ndarray, np.ndarray]:
    """How many distances each bin of jumps, and each bin of the ends, holds."""
    ends = np.diff(np.append(EDGES, EDGES[-1] + FAR_WIDTH))
    return np.concatenate([ends[:0:-1], ends]), ends


@dataclass(frozen=True)
class BinnedJumps:
    """Counts of jumps by bin, of first and of last links by the bin of their distance from the ends."""

    SAVED: ClassVar = {
        "jumps": Array(np.float64, (BINS,)),
        "firsts": Array(np.float64, (len(EDGES),)),
        "lasts": Array(np.float64, (len(EDGES),)),
    }

    jumps: np.ndarray  # float64 (BINS,)
    firsts: np.ndarray  # float64 (len(EDGES),)
    lasts: np.ndarray  # float64 (len(EDGES),)

    @classmethod
    def zeros(cls) -> BinnedJumps:
        return cls(np.zeros(BINS), np.zeros(len(EDGES)), np.zeros(len(EDGES)))

    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.jumps, self.firsts, self.lasts

    def plus(self, other: BinnedJumps, factor: float = 1.0) -> BinnedJumps:
        return BinnedJumps(*(mine + factor * theirs for mine, theirs in zip(self.parts(), other.parts(), strict=True)))

    def weights(self, longest: int, generator: np.random.Generator | None = None) -> tuple[np.ndarray, ...]:
        """Probabilities of every distance -longest..longest and 0..longest - 1 from either end, float32.

        With a generator they are drawn from their Dirichlet given the counts, else they are its mean.
        """
        chances = []
        for counts in self.parts():
            posterior = counts + JUMP_PRIOR
            chances.append(posterior / posterior.sum() if generator is None else generator.dirichlet(posterior))
        jump_width, end_width = _widths()
        ends = end_bins(longest)
        jumps = (chances[0] / jump_width)[bins_of(longest)]
        firsts, lasts = ((chance / end_width)[ends] for chance in chances[1:])
        return tuple(np.maximum(values, 1e-9).astype(np.float32) for values in (jumps, firsts, lasts))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"jumps": self.jumps, "firsts": self.firsts, "lasts": self.lasts}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], prefix: str) -> BinnedJumps:
        """The saved counts, or ValueError."""
        return cls(*checked_arrays(arrays, prefix, cls.SAVED, {}))
