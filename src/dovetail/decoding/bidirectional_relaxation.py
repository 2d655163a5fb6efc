"""Chang et al.'s (2014) own algorithms: Lagrangian relaxation (sections 3, 4), and constraints put back (sections 5, 6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dovetail.decoding.bidirectional_problem import BidirectionalProblem, Budget, Outcome
from dovetail.errors import InputError
from dovetail.kernels.bidirectional.constraints import (
    MOST_CONSTRAINTS,
    OVERFLOW,
    Relaxed,
    constrained_best,
    new_entries,
)
from dovetail.kernels.bidirectional.relaxation import (
    SETTINGS,
    chart,
    prune_settings,
    reverse_links,
    reverse_prices,
    reversed_settings,
    reversed_theta,
    setting_values,
    step,
    trace,
)
from dovetail.kernels.bidirectional.search import DISAGREEMENT, FULL, improve, repair

# section 8 of the paper
ITERATIONS = 400
RATE = 0.95
GREEDY_EVERY = 10
CONSTRAINTS_AT_A_TIME = 5
CONSTRAIN_EVERY = 25

ENTRIES = 20_000  # of one layer of the constrained chart; beyond it the method gives up
LIVELY = (
    20  # misses that are remembered when constraints are put back: the problem is a new one, and steps must grow again
)


def relaxation(problem: BidirectionalProblem, budget: Budget) -> Outcome:
    """Subgradient descent on L(lambda): Figure 3 for full agreement, Figure 5 for adjacency."""
    search = _Relaxation(problem)
    search.descend(budget, budget.iterations or ITERATIONS)
    return search.outcome()


def relaxation_with_constraints(problem: BidirectionalProblem, budget: Budget) -> Outcome:
    """The same with pruning; if that leaves a gap, as long again with the most violated constraints put back (Figure 6)."""
    search = _Relaxation(problem)
    iterations = budget.iterations or 2 * ITERATIONS
    search.descend(budget, iterations - iterations // 2, prune=True)
    search.descend(budget, iterations // 2, prune=True, constrain=True)
    return search.outcome()


class Step(NamedTuple):
    """Where a descent stands: the lowest bound, the best score by the greedy search and by the intersection of the two
    alignments alone, and the share of the lattice that is left."""

    bound: float
    score: float
    intersection: float
    left: float


def trace_relaxation(problem: BidirectionalProblem, iterations: int = ITERATIONS) -> list[Step]:
    """The relaxation with pruning, iteration by iteration until it has its proof: Figure 7."""
    search = _Relaxation(problem)
    steps: list[Step] = []

    def watch() -> None:
        x, y = search.x.copy(), search.y.copy()
        repair(problem.agreement, problem.cost, x, y)
        intersection = max(problem.score(x, y)[0], steps[-1].intersection if steps else -math.inf)
        steps.append(Step(search.bound, search.score, intersection, search.alive / search.states))

    search.descend(Budget(), iterations, prune=True, watch=watch)
    return steps


class _Relaxation:
    """Multipliers, the states still alive, the best pair and the best bound so far."""

    def __init__(self, problem: BidirectionalProblem) -> None:
        if problem.agreement == DISAGREEMENT:
            raise InputError(
                "the paper's relaxation has no penalty for disagreement",
                remedy="Use method 'exact', 'dual-decomposition' or 'integer'.",
            )
        self.problem = problem
        I, J = len(problem.theta), len(problem.omega)
        self.multipliers = _first_multipliers(problem.omega)
        self.rho, self.origin = np.zeros((I + 1, J + 1)), np.zeros((I + 1, J + 1), np.int64)
        shape = (I + 1, J + 1, 1 if problem.agreement == FULL else SETTINGS)
        self.live = np.ones(shape, np.bool_)
        self.values, self.pi = np.full(shape, -math.inf), np.zeros(shape)
        setting_values(self.rho, problem.cost, self.live, self.values)
        self.live = self.values > -math.inf
        self.alive = self.states = np.count_nonzero(self.live)
        self.constant = 0.0
        self.turned_theta = reversed_theta(problem.theta)
        self.turned_values, self.turned_pi = np.zeros(shape), np.zeros(shape)
        self.x, self.y, self.settings = np.zeros(I + 1, np.int64), np.zeros(J + 1, np.int64), np.zeros(I + 1, np.int64)
        self.links = np.zeros((3 * I + J + 1, 3), np.int64)
        self.violated = np.zeros((I + 1, J), np.int64)
        self.own = np.zeros((I + 1, J + 1), np.int64)  # each constraint put back has a bit of its own
        self.constraints = 0
        self.seen = np.zeros((I + 1, J + 1), np.bool_)
        self.best_x, self.best_y = self.x.copy(), self.y.copy()
        self.score, self.ceiling = problem.score(self.best_x, self.best_y)
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
        prune: bool = False,
        constrain: bool = False,
        watch: Callable[[], None] | None = None,
    ) -> None:
        pruned_at = math.inf
        last = self.iterations + iterations
        while self.iterations < last and not self.done and (budget.iterations_left(0) or self.iterations == 0):
            if constrain and (last - self.iterations - iterations) % CONSTRAIN_EVERY == 0:
                self.put_back()
            value, count = self.solve(constrained=constrain)
            self.iterations += 1
            if value == OVERFLOW:
                return
            self.bound = min(self.bound, value)
            if value > self.last_value:
                self.misses += 1
            self.last_value = value
            if value == -math.inf:  # nothing better than the best pair is left
                return
            disagreements = step(self.links, count, RATE**self.misses, self.multipliers, self.violated, self.y)
            if disagreements == 0 or self.iterations % GREEDY_EVERY == 1:
                self.greedy()
            if prune and self.bound - self.score < 0.9 * pruned_at:
                pruned_at = self.bound - self.score
                self.prune()
            if watch is not None:
                watch()

    def solve(self, constrained: bool) -> tuple[float, int]:
        """L(lambda) or L(lambda; p), its path in x and settings, and its reverse links: links[:count]."""
        theta, omega, cost = self.problem.theta, self.problem.omega, self.problem.cost
        reverse_prices(omega, self.multipliers, np.zeros(self.multipliers.shape, np.bool_), self.rho, self.origin)
        setting_values(self.rho, cost, self.live, self.values)
        chart(theta, self.values, self.pi)
        path = float(trace(theta, self.pi, self.x, self.settings))
        self.constant = float(np.maximum(self.rho[0, 1:], 0.0).sum()) - float(self.multipliers[0, 0])
        if not constrained or path == -math.inf:
            return path + self.constant, int(reverse_links(self.x, self.settings, self.rho, self.origin, self.links))
        self.turn()
        null_rho = self.rho[0].copy()
        reverse_prices(omega, self.multipliers, self.own[:, :-1] != 0, self.rho, self.origin)
        relaxed = Relaxed(
            theta, omega, cost, self.multipliers, self.values, self.turned_pi, null_rho, self.rho, self.origin, self.own
        )
        entries = new_entries(len(self.x) + len(self.y) - 1, ENTRIES)
        value, count = constrained_best(relaxed, entries, self.ceiling, path, self.x, self.settings, self.links)
        return float(value), int(count)

    def turn(self) -> None:
        """The chart from the end of the chain."""
        reversed_settings(self.values, self.turned_values)
        chart(self.turned_theta, self.turned_values, self.turned_pi)

    def prune(self) -> None:
        self.turn()
        self.alive = prune_settings(self.pi, self.turned_pi, self.values, self.constant, self.ceiling, self.live)

    def put_back(self) -> None:
        """The constraints that were violated most often since the last time."""
        self.violated[self.own[:, :-1] != 0] = 0
        order = np.argsort(-self.violated, axis=None, kind="stable")[:CONSTRAINTS_AT_A_TIME]
        for i, j in zip(*np.unravel_index(order, self.violated.shape), strict=True):
            if self.violated[i, j] > 0 and self.constraints < MOST_CONSTRAINTS:
                self.own[i, j] = 1 << self.constraints
                self.constraints += 1
        self.violated[:] = 0
        self.misses = min(self.misses, LIVELY)

    def greedy(self) -> None:
        """Section 6.2: what both directions have, then the best changes until none raises the score."""
        x, y = self.x.copy(), self.y.copy()
        rows, columns = np.flatnonzero(x), np.flatnonzero(y)
        self.seen[rows, x[rows]] = True
        self.seen[y[columns], columns] = True
        theta, omega, agreement, cost, _ = self.problem
        repair(agreement, cost, x, y)
        cells = np.argwhere(self.seen)
        improve(theta, omega, agreement, cost, x, y, cells, self.problem.worst)
        score, ceiling = self.problem.score(x, y)
        if score > self.score:
            self.best_x, self.best_y, self.score, self.ceiling = x, y, score, ceiling

    def outcome(self) -> Outcome:
        pruned = 1.0 - self.alive / self.states
        return self.problem.outcome(self.best_x, self.best_y, self.bound, self.iterations, self.constraints, pruned)


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
