"""The best alignment with fertility by the 40 subgradient steps of Quirk (2013): `fertility_map(method="subgradient")`."""

from __future__ import annotations

import math
import time

import numpy as np

from dovetail.decoding.fertility import Budget
from dovetail.kernels.exact_fertility.lists import lists_of
from dovetail.kernels.exact_fertility.records import Incumbent, Node, Problem
from dovetail.kernels.exact_fertility.score import aim_above, alignment_score
from dovetail.kernels.laboratory.subgradient import Descent, subgradient

_ITERATIONS = 40


def solve(problem: Problem, whole: Node, path: np.ndarray, budget: Budget) -> tuple[float, float, int]:
    """The paper's steps, with rows that take J cells in all, and of all its alignments the best one."""
    return descend(problem, whole, path, budget)


def solve_as_printed(problem: Problem, whole: Node, path: np.ndarray, budget: Budget) -> tuple[float, float, int]:
    """Figure 1 to the letter: the last alignment is returned."""
    return descend(problem, whole, path, budget, last_path=True)


def solve_with_free_rows(problem: Problem, whole: Node, path: np.ndarray, budget: Budget) -> tuple[float, float, int]:
    """The same with the rows of Figure 2, which take as many cells as they like."""
    return descend(problem, whole, path, budget, last_path=True, free=True)


def descend(
    problem: Problem, whole: Node, path: np.ndarray, budget: Budget, last_path: bool = False, free: bool = False
) -> tuple[float, float, int]:
    """An alignment into `path`; returns its score, the least bound and the iterations used."""
    iterations = budget.iterations or _ITERATIONS
    whole.price[0] = np.where(problem.emission > -math.inf, 0.5 * problem.emission, 0.0)
    known = Incumbent(path, -math.inf, budget.tolerance)
    lists, descent, used = lists_of(whole, False), Descent(math.inf, math.inf, 0), 0
    piece = iterations if budget.deadline == math.inf else 1
    while used < iterations and not (used > 0 and time.perf_counter() >= budget.deadline):
        steps = min(piece, iterations - used)
        descent, score, n = subgradient(problem, whole, lists, known, descent, steps, free, last_path)
        known = known._replace(score=score)
        used += n
        if not descent.bound > aim_above(score, budget.tolerance):
            break
    # Not the last `score`: if every path so far was forbidden, `path` is still all NULL, which may be allowed.
    return alignment_score(problem, path, np.empty(len(problem.fertility), np.int32)), descent.bound, used
