"""Exact MAP alignment of the fertility HMM (Quirk 2013), with a certificate.

`method="exact"` is dual decomposition made to finish: ascent on the multipliers with pruning, a bounded dynamic program
over what is left, and, where even that is open, branching.  `method="subgradient"` is the paper's own algorithm.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dovetail.errors import InputError
from dovetail.kernels.exact_fertility.dual import ascend
from dovetail.kernels.exact_fertility.problem import lay_out, split
from dovetail.kernels.exact_fertility.records import Incumbent, Node, Problem
from dovetail.kernels.exact_fertility.score import aim_above, alignment_score
from dovetail.kernels.exact_fertility.search import search
from dovetail.registry import Registry


@dataclass(frozen=True)
class FertilityMap:
    """The best alignment found, and how good any could be.

    `alignment` (J,) holds the source position of each target word, -1 for NULL; `score` is its log-score, taken from the
    potentials as given; no alignment scores more than `bound`.  `certified`: the bound meets the score within the
    tolerance, so the alignment is proved optimal.  `iterations` counts the dual iterations.
    """

    alignment: np.ndarray
    score: float
    bound: float
    certified: bool
    iterations: int


class Stage(NamedTuple):
    """Dual iterations, then a search: the ascent ends early once no more than `enough` spare cells are live.

    With `runs` a row bargains over the beginnings of its runs of links and over what follows in them apart.
    """

    runs: bool
    iterations: int
    enough: int
    width: int


class Schedule(NamedTuple):
    """What is tried on the whole problem, and then on each branch."""

    whole: Sequence[Stage]
    branch: Sequence[Stage]


_SCHEDULE = Schedule((Stage(False, 30, 60, 30), Stage(True, 100, 60, 1000)), (Stage(True, 40, 16, 1000),))


class Budget(NamedTuple):
    """What a method may spend, and when it is done."""

    iterations: int | None  # None: the method's own default
    deadline: float  # of time.perf_counter, inf for none
    tolerance: float  # relative gap that counts as a proof
    schedule: Schedule  # of the exact method


# A method gets the problem, the node of all alignments, and a path (J,) of rows, all NULL, to leave its best alignment in.
# It returns that alignment's score, an upper bound on any alignment's score, and the iterations used.
Method = Callable[[Problem, Node, np.ndarray, Budget], tuple[float, float, int]]
methods: Registry[Method] = Registry("method")


def fertility_map(
    log_emission: ArrayLike,
    log_transition: ArrayLike,
    log_null: float,
    log_fertility: ArrayLike,
    log_null_fertility: ArrayLike | None = None,
    *,
    method: str = "exact",
    iterations: int | None = None,
    time_limit: float | None = None,
    tolerance: float = 1e-9,
    _schedule: Schedule = _SCHEDULE,
) -> FertilityMap:
    """The alignment of highest score under the fertility HMM, and a proof of it.

    score(a) = sum_j [ log_transition[position before j, a_j], or log_null if a_j is NULL ]
             + sum_j log_emission[a_j, j] + sum_i log_fertility[i, count of i] (+ log_null_fertility[count of NULL])

    log_emission (I + 1, J): row 0 is NULL, row i + 1 the source word i.  log_transition (I + 1, I): row 0 is the start,
    row i + 1 the source word i.  log_null: entering NULL, which keeps the position, at the start too.
    log_fertility (I, J + 1).  log_null_fertility (J + 1,), or None for no such term.  -inf forbids; where every alignment
    is forbidden, score and bound are -inf, that is certified, and the alignment means nothing.

    Without `iterations` (dual iterations in all) and `time_limit` (seconds, kept roughly) the exact method goes on until it
    has its proof; on potentials without any structure and more than 30 words that may take very long.  When either runs
    out, the best alignment so far comes back with a valid bound.  The subgradient method stops after `iterations`, 40
    unless told otherwise.  `tolerance` is relative to max(1, |score|).
    """
    solve = methods[method]
    if iterations is not None and not (isinstance(iterations, Real) and iterations >= 1):
        raise InputError(f"iterations is {iterations!r}", remedy="Give at least 1, or None for the default.")
    if time_limit is not None and not (isinstance(time_limit, Real) and time_limit >= 0):
        raise InputError(f"time_limit is {time_limit!r}", remedy="Give seconds, or None for no limit.")
    if not (isinstance(tolerance, Real) and tolerance >= 0):
        raise InputError(
            f"tolerance is {tolerance!r}", remedy="Give a small number that is not negative, such as 1e-9."
        )
    tolerance = max(float(tolerance), 1e-12)  # below that, rounding decides
    deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
    problem, whole = _lay_out(log_emission, log_transition, log_null, log_fertility, log_null_fertility)
    J, R = problem.emission.shape
    path = np.zeros(J, np.int32)
    if J == 0 or R == 1:  # all NULL is the only alignment
        score = bound = alignment_score(problem, path, np.empty(R, np.int32))
        used = 0
    else:
        score, bound, used = solve(problem, whole, path, Budget(iterations, deadline, tolerance, _schedule))
        bound = max(bound, score)
    return FertilityMap(path.astype(np.int64) - 1, score, bound, not bound > aim_above(score, tolerance), used)


@methods.register("exact", "goes on until it has its proof")
def _prove(problem: Problem, whole: Node, path: np.ndarray, budget: Budget) -> tuple[float, float, int]:
    if _is_word_by_word(problem):
        score, bound = _best_words(problem, path)
        if not bound > aim_above(score, budget.tolerance):
            return score, bound, 0
        path[:] = 0
    proof = _Proof(problem, path, budget)
    bound = proof.run(whole, budget.schedule)
    return proof.known.score, bound, proof.used


def _is_word_by_word(problem: Problem) -> bool:
    """Whether every link is worth the same whatever the others are: jumps from anywhere alike, fertilities a rate per link.

    So it is with IBM Model 1 without deficiency.  Its many ties (a source word that is there twice) are slow to prove by
    bargaining, and need no proof.
    """
    fertility, transition = problem.fertility, problem.transition
    if not (np.isfinite(fertility).all() and (transition == transition[0]).all()):
        return False
    return bool((abs(fertility - _at_a_rate(fertility)) <= 1e-12 * np.maximum(1.0, abs(fertility))).all())


def _at_a_rate(fertility: np.ndarray) -> np.ndarray:
    """Each row's fertilities if its first link's gain were every link's; the tables were added up, and so are not exact."""
    rate = fertility[:, 1:2] - fertility[:, :1]
    return fertility[:, :1] + rate * np.arange(fertility.shape[1])


def _best_words(problem: Problem, path: np.ndarray) -> tuple[float, float]:
    """The best row of each word into `path`; its score, and the bound."""
    fertility = problem.fertility
    worth = problem.emission + np.concatenate([[problem.log_null], problem.transition[0]])
    worth += fertility[:, 1] - fertility[:, 0]
    path[:] = np.argmax(worth, axis=1)
    bound = worth.max(axis=1).sum() + (fertility[:, 0] + (fertility - _at_a_rate(fertility)).max(axis=1)).sum()
    return alignment_score(problem, path, np.empty(len(fertility), np.int32)), float(bound)


for _name, _attribute, _description in (
    ("subgradient", "solve", "40 steps of the paper's, and the best alignment that they meet"),
    ("quirk2013", "solve_as_printed", "the paper's own 40 steps, and the last alignment"),
    ("quirk2013-free", "solve_with_free_rows", "the same, rows taking as many words as they like"),
):
    methods.add_later(_name, f"dovetail.laboratory.fertility_subgradient:{_attribute}", _description)


class _Proof:
    """The search for a certificate: what it works on, the best alignment so far, what may still be spent."""

    def __init__(self, problem: Problem, path: np.ndarray, budget: Budget) -> None:
        self.problem = problem
        self.known = Incumbent(path, -math.inf, budget.tolerance)
        self.aim = -math.inf
        self.iterations = budget.iterations or sys.maxsize
        self.used = 0
        self.deadline = budget.deadline
        self.usage = np.zeros(problem.emission.shape)
        self.piece = sys.maxsize
        if budget.deadline < math.inf:  # the clock is read between calls only: keep a call's work in bounds
            J, R = problem.emission.shape
            self.piece = max(1, 200_000_000 // (J * R * R))

    def learn(self, score: float) -> None:
        if score > self.known.score:
            self.known = Incumbent(self.known.path, score, self.known.tolerance)
            self.aim = aim_above(score, self.known.tolerance)

    def is_late(self) -> bool:
        return time.perf_counter() >= self.deadline

    def is_spent(self) -> bool:
        """No more iterations or no more time; one call is always allowed, for the bound."""
        return self.used >= self.iterations or (self.used > 0 and self.is_late())

    def run(self, whole: Node, schedule: Schedule) -> float:
        """Depth-first branch and bound, most problems being closed before the first branch.  Returns the bound."""
        stages = schedule.whole
        nodes = [(whole, math.inf)]  # and what none of their alignments exceeds
        while nodes:
            node, bound = nodes.pop()
            bound = self.tighten(node, bound, stages)
            if bound > self.aim:
                if self.is_spent():
                    return max(bound, *(other for _, other in nodes), self.known.score)
                nodes.extend((branch, bound) for branch in _branches(node, self.usage))
            stages = schedule.branch
        return self.aim

    def tighten(self, node: Node, bound: float, stages: Sequence[Stage]) -> float:
        """Lower the node's bound, stage by stage, until it is closed or the budget is spent."""
        for stage in stages:
            left = stage.iterations
            while left > 0:
                if self.is_spent() or not bound > self.aim:
                    return bound
                if stage.runs and not self.problem.runs:  # from here on; easy problems never need it
                    self.problem = split(self.problem)
                allowed = min(left, self.piece, self.iterations - self.used)
                self.usage.fill(0.0)
                fresh = self.used == 0
                least, score, n = ascend(self.problem, node, self.known, fresh, allowed, stage.enough, self.usage)
                bound = min(bound, least)
                self.learn(score)
                self.used += n
                left = left - n if n == allowed else 0
            if bound > self.aim and not self.is_late():
                least, score = search(self.problem, node, self.known, stage.width)
                bound = min(bound, least)
                self.learn(score)
        return bound


def _branches(node: Node, usage: np.ndarray) -> tuple[Node, Node]:
    """Split on the live cell that the paths used most nearly half of the time: without it, and with no other beside it.

    Every branch has fewer live cells, and where one row per column is left the search is exact: branching ends.
    """
    used = usage / usage.sum(axis=1, keepdims=True)
    options = node.live_link.astype(bool)
    options[:, 0] = node.live_null.any(axis=1)
    options[options.sum(axis=1) < 2] = False
    j, r = np.unravel_index(np.argmax(np.where(options, np.minimum(used, 1.0 - used), -1.0)), options.shape)
    without, only = (Node(*(array.copy() for array in node)) for _ in range(2))
    if r == 0:
        without.live_null[j] = 0
        only.live_link[j] = 0
    else:
        without.live_link[j, r] = 0
        only.live_null[j] = 0
        only.live_link[j] = 0
        only.live_link[j, r] = 1
    return without, only


def _lay_out(
    log_emission: ArrayLike,
    log_transition: ArrayLike,
    log_null: float,
    log_fertility: ArrayLike,
    log_null_fertility: ArrayLike | None,
) -> tuple[Problem, Node]:
    """The potentials checked and laid out, and the node of all alignments."""
    emission = _array(log_emission, "log_emission", 2)
    R, J = emission.shape
    if R == 0:
        raise InputError("log_emission has no rows", remedy="Row 0 is NULL, row i + 1 the source word i.")
    transition = _array(log_transition, "log_transition", 2)
    fertility = _array(log_fertility, "log_fertility", 2)
    _check_shape(transition, "log_transition", (R, R - 1), emission)
    _check_shape(fertility, "log_fertility", (R - 1, J + 1), emission)
    null_fertility = None
    if log_null_fertility is not None:
        null_fertility = _array(log_null_fertility, "log_null_fertility", 1)
        _check_shape(null_fertility, "log_null_fertility", (J + 1,), emission)
    return lay_out(emission, transition, float(_array([log_null], "log_null", 1)[0]), fertility, null_fertility)


def _array(values: ArrayLike, name: str, dimensions: int) -> np.ndarray:
    try:
        array = np.ascontiguousarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not an array of numbers ({error})") from None
    if array.ndim != dimensions:
        raise InputError(f"{name} has {array.ndim} dimensions instead of {dimensions}")
    if not array.max(initial=-math.inf) < math.inf:
        raise InputError(f"{name} holds NaN or +inf", remedy="Scores are finite, or -inf for what is forbidden.")
    return array


def _check_shape(array: np.ndarray, name: str, shape: tuple[int, ...], emission: np.ndarray) -> None:
    if array.shape != shape:
        raise InputError(
            f"{name} has shape {array.shape} instead of {shape}",
            remedy=f"log_emission has shape {emission.shape}, so I = {emission.shape[0] - 1} and J = {emission.shape[1]}.",
        )
