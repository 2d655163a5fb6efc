"""The jump factor: where the next link goes, p(i | i') by the distance i - i' alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FLOOR = 1e-6  # of the mean weight: no jump is impossible


@dataclass(frozen=True)
class JumpCounts:
    """Expected moves and exposure by distance (2, distances), and the same by position for first links (2, positions)."""

    jump: np.ndarray
    start: np.ndarray

    @classmethod
    def zeros(cls, longest: int) -> JumpCounts:
        return cls(np.zeros((2, 2 * longest + 1)), np.zeros((2, longest)))


@dataclass(frozen=True)
class Jumps:
    """Weights of distances -window..window one by one, and one shared by all farther jumps (Graça et al. 2010, sec. 2).

    p(i | i') = s(i - i') / sum over i'' in the sentence of s(i'' - i'),  and for the first link p(i) likewise from
    weights of its own for positions 0..window and the rest.
    """

    weights: np.ndarray  # float64 (2 * window + 2,): -window..window, then the rest
    start: np.ndarray  # float64 (window + 2,): 0..window, then the rest

    @classmethod
    def uniform(cls, window: int = 5) -> Jumps:
        return cls(np.ones(2 * window + 2), np.ones(window + 2))

    @property
    def window(self) -> int:
        return len(self.start) - 2

    def bins(self, longest: int) -> tuple[np.ndarray, np.ndarray]:
        """Which weight a distance (-longest..longest) and a first position (0..longest - 1) uses."""
        window = self.window
        distance = np.arange(-longest, longest + 1)
        position = np.arange(longest)
        return (
            np.where(np.abs(distance) <= window, distance + window, 2 * window + 1),
            np.minimum(position, window + 1),
        )

    def expand(self, longest: int) -> tuple[np.ndarray, np.ndarray]:
        """A weight for every distance and every first position of sentences up to `longest` words, float32."""
        jump_bins, start_bins = self.bins(longest)
        return self.weights[jump_bins].astype(np.float32), self.start[start_bins].astype(np.float32)

    def reestimate(self, counts: JumpCounts) -> Jumps:
        """M-step: s(d) = expected moves over d / exposure to d.

        The likelihood of weights that are renormalised in every sentence has no closed maximum; this is the
        minorise-maximise step for it (Hunter 2004, equation 3 and after), which never lowers it.
        """
        jump_bins, start_bins = self.bins(counts.start.shape[1])
        return Jumps(
            _ratio(counts.jump, jump_bins, self.weights),
            _ratio(counts.start, start_bins, self.start),
        )


def _ratio(counts: np.ndarray, bins: np.ndarray, old: np.ndarray) -> np.ndarray:
    moves = np.bincount(bins, counts[0], len(old))
    exposure = np.bincount(bins, counts[1], len(old))
    seen = exposure > 0
    if not seen.any():
        return old
    weights = np.where(seen, moves / np.where(seen, exposure, 1.0), 0.0)
    weights /= weights[seen].mean()
    return np.maximum(np.where(seen, weights, 1.0), FLOOR)
