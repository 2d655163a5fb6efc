"""What every bidirectional method gets, and gives back."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from dovetail.errors import InputError
from dovetail.kernels.bidirectional.records import ADJACENCY, DISAGREEMENT, FULL, Agreement, Problem
from dovetail.kernels.bidirectional.search import score_and_ceiling

COMBINATIONS = ("intersection", "union")


@dataclass(frozen=True)
class BidirectionalMap:
    """The best pair found, and how good any could be.

    `forward` (I,) holds the target position of each source word and `backward` (J,) the source position of each target
    word, -1 for NULL.  `score` is taken from the potentials as given (-inf: the pair breaks the agreement, or no pair has
    a finite score); no pair scores more than `bound`.  `certified`: the bound meets the score, so the pair is proved
    optimal.  `iterations` counts dual iterations (method "integer": nodes), `constraints` the constraints put back or, for
    "exact", the events decided by branching; `pruned` is the fraction of the lattice proved superfluous before that.
    """

    forward: np.ndarray
    backward: np.ndarray
    score: float
    bound: float
    certified: bool
    iterations: int
    constraints: int = 0
    pruned: float = 0.0

    @classmethod
    def of(
        cls,
        problem: Problem,
        x: np.ndarray,
        y: np.ndarray,
        bound: float,
        iterations: int,
        constraints: int = 0,
        pruned: float = 0.0,
    ) -> BidirectionalMap:
        """What a method gives back for its best pair, in the kernels' form, and its bound."""
        score, ceiling = score_and_ceiling(problem, x, y)
        certified = bound <= ceiling
        bound = score if certified else max(score, bound)
        return cls(x[1:] - 1, y[1:] - 1, score, bound, certified, iterations, constraints, pruned)

    @property
    def links(self) -> list[tuple[int, int]]:
        """(i, j) of all links of either direction, sorted."""
        forward = {(i, j) for i, j in enumerate(self.forward.tolist()) if j >= 0}
        return sorted(forward | {(i, j) for j, i in enumerate(self.backward.tolist()) if i >= 0})


@dataclass
class Budget:
    """What a method may spend from now on (None: any amount), and what it does when that was not enough."""

    iterations: int | None = None
    time_limit: float | None = None  # seconds
    combination: str = "intersection"  # dual-decomposition: what becomes of alignments that never agree
    root_iterations: int = 300  # exact: before it branches
    node_iterations: int = 50  # exact: after each branching

    def __post_init__(self) -> None:
        if self.combination not in COMBINATIONS:
            raise InputError(
                f"no combination {self.combination!r}", remedy=f"Choose one of: {', '.join(COMBINATIONS)}."
            )
        if self.iterations is not None and not (isinstance(self.iterations, Real) and self.iterations >= 1):
            raise InputError(f"iterations is {self.iterations!r}", remedy="Give 1 or more.")
        if self.time_limit is not None and not (isinstance(self.time_limit, Real) and self.time_limit >= 0.0):
            raise InputError(f"time_limit is {self.time_limit!r}", remedy="Give seconds, 0 or more.")
        self._deadline = math.inf if self.time_limit is None else time.monotonic() + self.time_limit

    def seconds_left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def iterations_left(self, done: int) -> float:
        """0 once the time is up."""
        if self.time_limit is not None and time.monotonic() >= self._deadline:
            return 0
        return math.inf if self.iterations is None else max(0, self.iterations - done)


def checked_problem(
    theta: ArrayLike, omega: ArrayLike, adjacency: float | None = None, disagreement: float | None = None
) -> Problem:
    """The problem that the arguments of `bidirectional_map` state: float64, contiguous, no +inf or NaN."""
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
    agreement = Agreement(FULL, 0.0)
    for name, kind, value in (("adjacency", ADJACENCY, adjacency), ("disagreement", DISAGREEMENT, disagreement)):
        if value is None:
            continue
        cost = float(value)
        if not cost <= 0.0:
            raise InputError(f"{name} is {value}", remedy="It is added to the score, so it is 0 or negative.")
        if cost > -math.inf:  # else whatever is short of full agreement is forbidden
            agreement = Agreement(kind, cost)
    return Problem(forward, backward, agreement, *_floor_and_worst(forward, backward, agreement.cost))


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


def _floor_and_worst(theta: np.ndarray, omega: np.ndarray, cost: float) -> tuple[float, float]:
    """See `Problem`.  The floor is every word's worst finite move, and every penalty."""
    if min(theta.min(initial=0.0), omega.min(initial=0.0)) > -math.inf:
        return -math.inf, -math.inf
    floor = (len(theta) + len(omega)) * cost
    lowest, gain = 0.0, -floor
    for potentials in (theta, omega):
        low = np.where(potentials > -math.inf, potentials, math.inf).min((1, 2))
        possible = low < math.inf
        floor += float(low[possible].sum())
        lowest = float(low.min(initial=lowest))
        gain += float((potentials.max((1, 2)) - low)[possible].sum())
    return floor - 1e-6 * abs(floor) - 1e-6, 2.0 * (lowest - gain - 1.0)
