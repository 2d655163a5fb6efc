"""Best pair of alignments, one in each direction, that agree: the model of DeNero and Macherey (2011), decoded exactly.

The problem (NP-hard) and two of the methods are those of Chang, Rush, DeNero and Collins (2014).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dovetail.decoding.bidirectional_problem import BidirectionalMap, Budget, checked_problem
from dovetail.kernels.bidirectional.records import Problem
from dovetail.registry import Registry

methods: Registry[Callable[[Problem, Budget], BidirectionalMap]] = Registry("method")
for _name, _where, _description in (
    ("exact", "decoding.bidirectional_exact:solve", "bounds over shared events, pruning, branch and bound"),
    ("relaxation", "laboratory.relaxation:solve", "relaxed reverse chain (Chang et al. 2014, sections 3 and 4)"),
    (
        "relaxation+constraints",
        "laboratory.relaxation:solve_with_constraints",
        "the same with pruning and violated constraints put back (sections 5 and 6)",
    ),
    ("chang2014", "laboratory.relaxation:solve_as_printed", "the same to the letter: multipliers from 0"),
    (
        "dual-decomposition",
        "laboratory.dual_decomposition:solve",
        "two chains with a multiplier for each cell (DeNero and Macherey 2011)",
    ),
    ("integer", "laboratory.integer_program:solve", "integer program, solved by HiGHS (pip install highspy)"),
):
    methods.add_later(_name, f"dovetail.{_where}", _description)


def bidirectional_map(
    theta: ArrayLike,
    omega: ArrayLike,
    adjacency: float | None = None,
    *,
    method: str = "exact",
    disagreement: float | None = None,
    iterations: int | None = None,
    time_limit: float | None = None,
    combination: str = "intersection",
    _root_iterations: int = Budget.root_iterations,
    _node_iterations: int = Budget.node_iterations,
) -> BidirectionalMap:
    """The pair of alignments x (source words to target words) and y (target words to source words) that maximises

        sum_i theta[i, x_{i-1}, x_i] + sum_j omega[j, y_{j-1}, y_j] + penalties

    theta (I, J + 1, J + 1) is indexed [i, j before, j], omega (J, I + 1, I + 1) [j, i before, i]; state 0 is NULL, and the
    start, state j + 1 the word j.  -inf forbids a move.

    - By default the two directions pick the same links: x_i = j if and only if y_j = i.
    - `adjacency` a <= 0: every link x_i = j has |y_j - i| <= 1, every link y_j = i has |x_i - j| <= 1 (neither NULL), and
      each that is off by one costs a.
    - `disagreement` b <= 0: a link that the other direction lacks is allowed, and costs b.

    `method` is one of `methods`.  `iterations` and `time_limit` (seconds) end the search early: the best pair so far and a
    valid bound are returned.  Without them "exact" goes on until it has a proof, which for potentials without structure
    may take forever.  `combination` ("intersection" or "union") is what "dual-decomposition" does when it does not converge.
    """
    problem = checked_problem(theta, omega, adjacency, disagreement)
    solve = methods[method]
    budget = Budget(iterations, time_limit, combination, _root_iterations, _node_iterations)
    if len(problem.theta) == 0 or len(problem.omega) == 0:  # all words of the other sentence are NULL: the only pair
        x, y = np.zeros(len(problem.theta) + 1, np.int64), np.zeros(len(problem.omega) + 1, np.int64)
        return BidirectionalMap.of(problem, x, y, -np.inf, 0)
    return solve(problem, budget)
