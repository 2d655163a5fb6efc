"""What every bidirectional method gets, gives back, and may spend."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dovetail.errors import InputError
from dovetail.kernels.bidirectional.search import ADJACENCY, DISAGREEMENT, FULL, pair_score

TOLERANCE = 1e-11  # of the sum of a score's absolute terms: a bound this near the score proves it


class BidirectionalProblem(NamedTuple):
    """Potentials (checked, float64, contiguous), and what the two directions owe each other at what `cost`.

    `floor`: less than any finite score; -inf, as good as any, where all potentials are finite.
    """

    theta: np.ndarray
    omega: np.ndarray
    agreement: int
    cost: float
    floor: float

    @classmethod
    def check(
        cls, theta: ArrayLike, omega: ArrayLike, adjacency: float | None, disagreement: float | None
    ) -> BidirectionalProblem:
        forward, backward = _potentials("theta", theta), _potentials("omega", omega)
        rows, columns = forward.shape[0], backward.shape[0]
        if forward.shape[1] != columns + 1 or backward.shape[1] != rows + 1:
            raise InputError(
                f"theta has the shape {forward.shape} and omega {backward.shape}, which do not belong together",
                remedy="For I source and J target words theta is (I, J + 1, J + 1) and omega (J, I + 1, I + 1).",
            )
        if adjacency is not None and disagreement is not None:
            raise InputError(
                "adjacency and disagreement are two different problems", remedy="Give one of them, or neither."
            )
        if adjacency is not None:
            cost, agreement = _penalty("adjacency", adjacency), ADJACENCY
        elif disagreement is not None:
            cost, agreement = _penalty("disagreement", disagreement), DISAGREEMENT
        else:
            cost, agreement = 0.0, FULL
        if cost == -math.inf:  # whatever is short of full agreement is forbidden
            cost, agreement = 0.0, FULL
        return cls(forward, backward, agreement, cost, _floor(forward, backward, cost))

    def score(self, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
        """Score of a pair in the kernels' form (x[0] = y[0] = 0 is the start), and its ceiling: a bound at or below that
        proves that no pair is better.  An impossible pair scores -inf, and its ceiling is below all finite scores."""
        score, magnitude = pair_score(self.theta, self.omega, self.agreement, self.cost, x, y)
        return float(score), float(score + TOLERANCE * magnitude) if score > -math.inf else self.floor

    def outcome(
        self, x: np.ndarray, y: np.ndarray, bound: float, iterations: int, constraints: int = 0, pruned: float = 0.0
    ) -> Outcome:
        """What a method gives back for its best pair and its bound."""
        score, ceiling = self.score(x, y)
        certified = bound <= ceiling
        return Outcome(
            x, y, score, score if certified else max(score, bound), certified, iterations, constraints, pruned
        )

    @property
    def worst(self) -> float:
        """Finite, and yet no gain elsewhere makes up for it: local search can compare two pairs that both have an -inf."""
        if self.floor == -math.inf:
            return -math.inf
        lowest, gain = 0.0, -(len(self.theta) + len(self.omega)) * self.cost
        for potentials in (self.theta, self.omega):
            low = np.where(potentials > -math.inf, potentials, math.inf).min((1, 2))
            possible = low < math.inf
            lowest = min(lowest, low.min(initial=0.0))
            gain += float((potentials.max((1, 2)) - low)[possible].sum())
        return 2.0 * (lowest - gain - 1.0)


class Outcome(NamedTuple):
    """The best pair a method found, in the kernels' form, and how good any pair could be."""

    x: np.ndarray
    y: np.ndarray
    score: float
    bound: float
    certified: bool
    iterations: int
    constraints: int = 0
    pruned: float = 0.0


@dataclass
class Budget:
    """How many iterations and how many seconds (None: any number) a method may spend from now on."""

    iterations: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        self._deadline = math.inf if self.seconds is None else time.monotonic() + self.seconds

    def seconds_left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def iterations_left(self, done: int) -> float:
        """0 once the time is up."""
        if self.seconds is not None and time.monotonic() >= self._deadline:
            return 0
        return math.inf if self.iterations is None else max(0, self.iterations - done)


def _potentials(name: str, values: ArrayLike) -> np.ndarray:
    try:
        array = np.ascontiguousarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not an array of numbers ({error})") from None
    if array.ndim != 3 or array.shape[1] != array.shape[2] or array.shape[1] < 1:
        raise InputError(
            f"{name} has the shape {np.shape(values)}",
            remedy="Potentials are [word, state before, state], states being NULL and each word of the other side.",
        )
    # max tells both at once, without an array of flags
    highest = array.max(initial=-math.inf)
    if not highest < math.inf:
        what = "+inf" if highest == math.inf else "NaN"
        where = np.argwhere(np.isnan(array) | (array == math.inf))[0]
        raise InputError(
            f"{name}[{', '.join(map(str, where))}] is {what}", remedy="Potentials are finite, or -inf where forbidden."
        )
    return array


def _penalty(name: str, value: float) -> float:
    cost = float(value)
    if not cost <= 0.0:
        raise InputError(f"{name} is {value}", remedy="It is added to the score, so it is 0 or negative.")
    return cost


def _floor(theta: np.ndarray, omega: np.ndarray, cost: float) -> float:
    """Every word its worst finite move, and every penalty."""
    if min(theta.min(initial=0.0), omega.min(initial=0.0)) > -math.inf:
        return -math.inf
    total = (len(theta) + len(omega)) * cost
    for potentials in (theta, omega):
        lowest = np.where(potentials > -math.inf, potentials, math.inf).min((1, 2))
        total += float(lowest[lowest < math.inf].sum())
    return total - 1e-6 * abs(total) - 1e-6
