"""Chang et al.'s (2014) own algorithms: Lagrangian relaxation (sections 3, 4), and constraints put back (sections 5, 6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dovetail.decoding.bidirectional_problem import BidirectionalMap, Budget
from dovetail.errors import InputError
from dovetail.kernels.bidirectional.records import DISAGREEMENT, FULL, Problem
from dovetail.kernels.bidirectional.search import improve, repair, score_and_ceiling
from dovetail.kernels.laboratory import relaxation as kernels
from dovetail.kernels.laboratory.constraints import MOST_CONSTRAINTS, OVERFLOW, Relaxed, constrained_best, new_entries

# section 8 of the paper
ITERATIONS = 400
GREEDY_EVERY = 10
CONSTRAINTS_AT_A_TIME = 5
CONSTRAIN_EVERY = 25

MOVES = 5e9  # of the chains, counted and not timed: some seconds; up to 60 words per side have all their iterations
ENTRIES = 20_000  # of one layer of the constrained chart; beyond it the method gives up
# The same as printed, where steps from 0 leave more ties, unless there is a time limit.
PRINTED_ENTRIES = 2_000
# There, between entries of all charts of a pair, counted and not timed: some seconds, where it had taken minutes.
CHART_MOVES = 10**9
# misses that are remembered when constraints are put back: the problem is a new one, and steps must grow again
LIVELY = 20


class Steps(NamedTuple):
    """How far multipliers are moved: the size of the first step, and to which part of itself it shrinks at every iteration
    after which L(lambda) had risen; and how many iterations there are.  Without more said, the paper's."""

    first: float = 1.0
    shrink: float = 0.95
    number: int = ITERATIONS


PRINTED = Steps()


def solve(problem: Problem, budget: Budget, from_zero: bool = False, steps: Steps = PRINTED) -> BidirectionalMap:
    """Subgradient descent on L(lambda): Figure 3 for full agreement, Figure 5 for adjacency; as printed it starts from 0."""
    search = _Relaxation(problem, from_zero, steps)
    search.descend(budget, budget.iterations or steps.number)
    return search.result()


def solve_with_constraints(problem: Problem, budget: Budget) -> BidirectionalMap:
    """The same with pruning; if that leaves a gap, as long again with the most violated constraints put back (Figure 6)."""
    search = _Relaxation(problem)
    iterations = budget.iterations or 2 * ITERATIONS
    search.descend(budget, iterations - iterations // 2, pruning=True)
    search.descend(budget, iterations // 2, pruning=True, constrained=True)
    return search.result()


def solve_as_printed(problem: Problem, budget: Budget) -> BidirectionalMap:
    """The paper's CONS to the letter: multipliers from 0, and steps that go on shrinking when constraints are put back.

    Without a budget very long pairs get fewer iterations, by their moves: the paper has none over 60 words.
    """
    search = _Relaxation(problem, from_zero=True)
    if budget.time_limit is not None:
        search.entries = ENTRIES
    I, J = len(problem.theta), len(problem.omega)
    affordable = max(2, int(MOVES / (search.lattice.live.shape[2] * I * J * (I + J))))
    iterations = budget.iterations or min(2 * ITERATIONS, affordable)
    search.descend(budget, iterations - iterations // 2, pruning=True)
    search.descend(budget, iterations // 2, pruning=True, constrained=True)
    return search.result()


class Step(NamedTuple):
    """Where a descent stands: the lowest bound, the best score by the greedy search and by the intersection of the two
    alignments alone, and the fraction of the lattice that is left."""

    bound: float
    score: float
    intersection: float
    left: float


def trace_relaxation(problem: Problem, iterations: int = ITERATIONS, from_zero: bool = False) -> list[Step]:
    """The relaxation with pruning, iteration by iteration until it has its proof: Figure 7."""
    search = _Relaxation(problem, from_zero)
    steps: list[Step] = []

    def watch() -> None:
        x, y = search.choice.x.copy(), search.y.copy()
        repair(problem.agreement, x, y)
        intersection = max(score_and_ceiling(problem, x, y)[0], steps[-1].intersection if steps else -math.inf)
        steps.append(Step(search.bound, search.score, intersection, search.alive / search.states))

    search.descend(Budget(), iterations, pruning=True, watch=watch)
    return steps


class _Relaxation:
    """Multipliers, the states still alive, the best pair and the best bound so far.

    `from_zero`: as the paper has it, and without what was found to help it.
    """

    def __init__(self, problem: Problem, from_zero: bool = False, steps: Steps = PRINTED) -> None:
        if problem.agreement.kind == DISAGREEMENT:
            raise InputError(
                "the paper's relaxation has no penalty for disagreement",
                remedy="Use method 'exact', 'dual-decomposition' or 'integer'.",
            )
        self.problem, self.steps = problem, steps
        I, J = len(problem.theta), len(problem.omega)
        self.multipliers = np.zeros((I + 1, J)) if from_zero else _first_multipliers(problem.omega)
        self.lively = ITERATIONS if from_zero else LIVELY
        self.entries = PRINTED_ENTRIES if from_zero else ENTRIES
        self.moves_left = np.array([CHART_MOVES if from_zero else np.iinfo(np.int64).max])
        self.prices = kernels.ReversePrices(np.zeros((I + 1, J + 1)), np.zeros((I + 1, J + 1), np.int64))
        self.lattice = _new_lattice(problem)
        self.alive = self.states = np.count_nonzero(self.lattice.live)
        self.constant = 0.0
        x, y = np.zeros(I + 1, np.int64), np.zeros(J + 1, np.int64)
        self.choice, self.y = kernels.Choice(x, x.copy(), np.zeros((3 * I + J + 1, 3), np.int64)), y
        self.violated = np.zeros((I + 1, J), np.int64)
        self.own = np.zeros((I + 1, J + 1), np.int64)  # each constraint put back has a bit of its own
        self.constraints = 0
        self.seen = np.zeros((I + 1, J + 1), np.bool_)
        self.best = x.copy(), y.copy()
        self.score, self.ceiling = score_and_ceiling(problem, *self.best)
        self.bound = math.inf
        self.iterations = 0
        self.misses = 0  # iterations after which L(lambda) had risen: each makes the steps smaller
        self.last_value = math.inf

    @property
    def done(self) -> bool:
        return self.bound <= self.ceiling

    def descend(
        self,
        budget: Budget,
        iterations: int,
        pruning: bool = False,
        constrained: bool = False,
        watch: Callable[[], None] | None = None,
    ) -> None:
        pruned_at = math.inf
        last = self.iterations + iterations
        while self.iterations < last and not self.done and (budget.iterations_left(0) or self.iterations == 0):
            if constrained and (last - self.iterations - iterations) % CONSTRAIN_EVERY == 0:
                self.put_back()
            value, count = self.solve(constrained)
            self.iterations += 1
            if value == OVERFLOW:
                return
            self.bound = min(self.bound, value)
            if value > self.last_value:
                self.misses += 1
            self.last_value = value
            if value == -math.inf:  # nothing better than the best pair is left
                return
            size = self.steps.first * self.steps.shrink**self.misses
            disagreements = kernels.step(self.choice.links, count, size, self.multipliers, self.violated, self.y)
            if disagreements == 0 or self.iterations % GREEDY_EVERY == 1:
                self.greedy()
            if pruning and self.bound - self.score < 0.9 * pruned_at:
                pruned_at = self.bound - self.score
                self.alive = kernels.prune(self.lattice, self.constant, self.ceiling)
            if watch is not None:
                watch()

    def solve(self, constrained: bool) -> tuple[float, int]:
        """L(lambda) or L(lambda; p), and how many reverse links it has; they and its path are in `choice`."""
        problem, lattice, prices, choice = self.problem, self.lattice, self.prices, self.choice
        path, count = kernels.relax(problem, self.multipliers, lattice, prices, choice)
        self.constant = float(np.maximum(prices.rho[0, 1:], 0.0).sum()) - float(self.multipliers[0, 0])
        if not constrained or path == -math.inf:
            return path + self.constant, count
        kernels.turn(lattice)
        null_rho = prices.rho[0].copy()
        kernels.fill_prices(problem.omega, self.multipliers, self.own[:, :-1] != 0, prices)
        relaxed = Relaxed(problem, self.multipliers, lattice, null_rho, prices, self.own)
        entries = new_entries(len(choice.x) + len(self.y) - 1, self.entries)
        return constrained_best(relaxed, entries, self.ceiling, path, choice, self.moves_left)

    def put_back(self) -> None:
        """The constraints that were violated most often since the last time."""
        self.violated[self.own[:, :-1] != 0] = 0
        order = np.argsort(-self.violated, axis=None, kind="stable")[:CONSTRAINTS_AT_A_TIME]
        for i, j in zip(*np.unravel_index(order, self.violated.shape), strict=True):
            if self.violated[i, j] > 0 and self.constraints < MOST_CONSTRAINTS:
                self.own[i, j] = 1 << self.constraints
                self.constraints += 1
        self.violated[:] = 0
        self.misses = min(self.misses, self.lively)

    def greedy(self) -> None:
        """Section 6.2: what both directions have, then the best changes until none raises the score."""
        x, y = self.choice.x.copy(), self.y.copy()
        rows, columns = np.flatnonzero(x), np.flatnonzero(y)
        self.seen[rows, x[rows]] = True
        self.seen[y[columns], columns] = True
        repair(self.problem.agreement, x, y)
        improve(self.problem, x, y, np.argwhere(self.seen))
        score, ceiling = score_and_ceiling(self.problem, x, y)
        if score > self.score:
            self.best, self.score, self.ceiling = (x, y), score, ceiling

    def result(self) -> BidirectionalMap:
        pruned = 1.0 - self.alive / self.states
        return BidirectionalMap.of(self.problem, *self.best, self.bound, self.iterations, self.constraints, pruned)


def _new_lattice(problem: Problem) -> kernels.Lattice:
    """All states live but those that reach beyond an edge; NULL has one setting."""
    I, J = len(problem.theta), len(problem.omega)
    setting = np.arange(1 if problem.agreement.kind == FULL else kernels.SETTINGS)
    live = np.ones((I + 1, J + 1, len(setting)), np.bool_)
    live[0] = live[:, 0, 1:] = False
    live[1, 1:, setting % 3 == 1] = live[I, 1:, setting % 3 == 2] = False
    live[:, 1, setting // 3 % 2 == 1] = live[:, J, setting >= 6] = False
    turned_theta = np.zeros_like(problem.theta)
    turned_theta[1:] = problem.theta[:0:-1].transpose(0, 2, 1)
    pi, turned_values, turned_pi = np.zeros((3, *live.shape))
    return kernels.Lattice(live, np.full(live.shape, -math.inf), pi, turned_theta, turned_values, turned_pi)


def _first_multipliers(omega: np.ndarray) -> np.ndarray:
    """lambda(i, j) = -(best value of the reverse chain after y_j = i): L then starts at no more than max f + max g.

    The paper starts at 0.  There no reverse link has a reason to continue another, and steps of 1 and less take hundreds of
    iterations to give them one over a long sentence.
    """
    J, width = omega.shape[0], omega.shape[1]
    after = np.zeros((J + 1, width))
    for j in range(J, 0, -1):
        after[j - 1] = (omega[j - 1] + after[j]).max(1)
    after[after == -math.inf] = 0.0
    return np.ascontiguousarray(-after[:-1].T)
