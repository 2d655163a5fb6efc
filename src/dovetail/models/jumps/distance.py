"""Jumps by distance alone: p(i | i') depends on i - i'.  What such a factor can do, and the one with a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from dovetail.bitext.windows import LONGEST
from dovetail.models.checks import Array, Unsound, checked_arrays
from dovetail.options import Options, option
from dovetail.registry import Registry

FLOOR = 1e-6  # of the mean weight: no jump is impossible
LEAST = FLOOR / 2  # a saved weight; those of nothing learned are one


@dataclass(frozen=True)
class JumpCounts:
    """Expected moves and exposure by distance (2, distances), and the same by position for first links (2, positions)."""

    jump: np.ndarray
    start: np.ndarray

    @classmethod
    def zeros(cls, longest: int) -> JumpCounts:
        return cls(np.zeros((2, 2 * longest + 1)), np.zeros((2, longest)))

    def __add__(self, other: JumpCounts) -> JumpCounts:
        """Of two shards, of which one may have longer sentences: distance 0 is in the middle."""
        long, short = (self, other) if self.start.shape[1] >= other.start.shape[1] else (other, self)
        jump, start = long.jump.copy(), long.start.copy()
        margin = start.shape[1] - short.start.shape[1]
        jump[:, margin : jump.shape[1] - margin] += short.jump
        start[:, : short.start.shape[1]] += short.start
        return JumpCounts(jump, start)


J = TypeVar("J", bound="JumpFactor")


class JumpFactor(Protocol):
    """Weights of jumps by distance, in one direction.

    p(i | i') = s(i - i') / sum over i'' in the sentence of s(i'' - i'),  and for the first link p(i) likewise.  A factor of
    your own is one class in one file, registered by `jump_factors.register(name, one line)`; the option `jumps` chooses it.
    """

    kind: str  # its name in the registry

    def expand(self, longest: int) -> tuple[np.ndarray, np.ndarray]:
        """A weight for every distance -longest..longest and every first position 0..longest - 1, float32."""

    def reestimate(self: J, counts: JumpCounts) -> J:
        """M-step."""

    def raised(self: J, even: float) -> J:
        """Flatter, so that few samples do not rule a jump out; a factor that need not be flattened is as it is."""
        return self

    def arrays(self) -> dict[str, np.ndarray]:
        """Parameters by name, for saving."""

    @classmethod
    def from_arrays(cls: type[J], arrays: dict[str, np.ndarray]) -> J:
        """The saved factor, or ValueError."""

    @classmethod
    def uniform(cls: type[J], window: int = 5) -> J:
        """Before anything is known."""


jump_factors: Registry[type[JumpFactor]] = Registry("jump factor")


@dataclass(frozen=True)
class JumpOptions(Options):
    """Where links go before any is seen, and how far jumps are told apart."""

    jumps: str = option("window", choices=jump_factors, help="the factor that says where the next link goes")
    window: int = option(
        5, at_least=1, at_most=LONGEST, help="distances up to this are told apart, farther ones share one weight"
    )

    def uniform(self) -> tuple[JumpFactor, JumpFactor]:
        kind = jump_factors[self.jumps]
        return kind.uniform(self.window), kind.uniform(self.window)


@jump_factors.register("window", "weights of distances up to a window one by one, one for all farther jumps")
@dataclass(frozen=True)
class WindowJumps:
    """Weights of distances -window..window one by one, and one shared by all farther jumps (Graça et al. 2010, sec. 2).

    First links have weights of their own for positions 0..window and the rest.
    """

    weights: np.ndarray  # float64 (2 * window + 2,): -window..window, then the rest
    start: np.ndarray  # float64 (window + 2,): 0..window, then the rest

    kind = "window"

    @classmethod
    def uniform(cls, window: int = 5) -> WindowJumps:
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

    def reestimate(self, counts: JumpCounts) -> WindowJumps:
        """M-step: s(d) = expected moves over d / exposure to d.

        The likelihood of weights that are renormalised in every sentence has no closed maximum; this is the
        minorise-maximise step for it (Hunter 2004, equation 3 and after), which never lowers it.
        """
        jump_bins, start_bins = self.bins(counts.start.shape[1])
        return WindowJumps(
            _ratio(counts.jump, jump_bins, self.weights),
            _ratio(counts.start, start_bins, self.start),
        )

    def raised(self, even: float) -> WindowJumps:
        """Every weight raised by this part of their sum."""
        return WindowJumps(self.weights + even * self.weights.sum(), self.start + even * self.start.sum())

    def arrays(self) -> dict[str, np.ndarray]:
        return {"": self.weights, "_start": self.start}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> WindowJumps:
        wanted = {
            "_start": Array(np.float64, ("positions",), least=LEAST),
            "": Array(np.float64, ("distances",), least=LEAST),
        }
        sizes: dict[str, int] = {}
        start, weights = checked_arrays(arrays, "", wanted, sizes)
        if sizes["positions"] < 3 or sizes["distances"] != 2 * sizes["positions"] - 2:
            raise Unsound(" and first links do not have the same window")
        return cls(weights, start)


def saved_jumps(arrays: dict[str, np.ndarray], direction: str, kind: str = "window") -> JumpFactor:
    """The jumps of one direction among a model's arrays."""
    prefix = f"jumps.{direction}"
    own = {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
    try:
        return jump_factors[kind].from_arrays(own)
    except Unsound as error:  # which knows its arrays' names without the direction
        raise Unsound(f"{prefix}{error}") from error


def _ratio(counts: np.ndarray, bins: np.ndarray, old: np.ndarray) -> np.ndarray:
    moves = np.bincount(bins, counts[0], len(old))
    exposure = np.bincount(bins, counts[1], len(old))
    seen = exposure > 0
    if not seen.any():
        return old
    weights = np.where(seen, moves / np.where(seen, exposure, 1.0), 0.0)
    weights /= weights[seen].mean()
    return np.maximum(np.where(seen, weights, 1.0), FLOOR)
