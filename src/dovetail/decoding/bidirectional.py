"""Best pair of alignments, one in each direction, that agree: the model of DeNero and Macherey (2011), decoded exactly.

The problem (NP-hard) and two of the methods are those of Chang, Rush, DeNero and Collins (2014).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dovetail.decoding.bidirectional_decomposition import COMBINATIONS, dual_decomposition
from dovetail.decoding.bidirectional_exact import NODE_ITERATIONS, ROOT_ITERATIONS, branch_and_bound
from dovetail.decoding.bidirectional_integer import integer_program
from dovetail.decoding.bidirectional_problem import BidirectionalProblem, Budget, Outcome
from dovetail.decoding.bidirectional_relaxation import relaxation, relaxation_with_constraints
from dovetail.errors import InputError

METHODS = {
    "exact": "bounds over shared events, pruning, branch and bound: proves practically every sentence pair",
    "relaxation": "Lagrangian relaxation of the reverse chain (Chang et al. 2014, sections 3 and 4)",
    "relaxation+constraints": "the same with pruning and violated constraints put back (sections 5 and 6)",
    "dual-decomposition": "two chains with a multiplier for each cell (DeNero and Macherey 2011)",
    "integer": "integer program, solved by HiGHS (pip install highspy)",
}


@dataclass(frozen=True)
class BidirectionalMap:
    """The best pair found, and how good any could be.

    `forward` (I,) holds the target position of each source word and `backward` (J,) the source position of each target
    word, -1 for NULL.  `score` is taken from the potentials as given (-inf: the pair breaks the agreement, or no pair has
    a finite score); no pair scores more than `bound`.  `certified`: the bound meets the score, so the pair is proved
    optimal.  `iterations` counts dual iterations (method "integer": nodes), `constraints` the constraints put back or, for
    "exact", the events decided by branching; `pruned` is the share of the lattice proved superfluous before that.
    """

    forward: np.ndarray
    backward: np.ndarray
    score: float
    bound: float
    certified: bool
    iterations: int
    constraints: int = 0
    pruned: float = 0.0

    @property
    def links(self) -> list[tuple[int, int]]:
        """(i, j) of all links of either direction, sorted."""
        forward = {(i, j) for i, j in enumerate(self.forward.tolist()) if j >= 0}
        return sorted(forward | {(i, j) for j, i in enumerate(self.backward.tolist()) if i >= 0})


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
    _root_iterations: int = ROOT_ITERATIONS,
    _node_iterations: int = NODE_ITERATIONS,
) -> BidirectionalMap:
    """The pair of alignments x (source words to target words) and y (target words to source words) that maximises

        sum_i theta[i, x_{i-1}, x_i] + sum_j omega[j, y_{j-1}, y_j] + penalties

    theta (I, J + 1, J + 1) is indexed [i, j before, j], omega (J, I + 1, I + 1) [j, i before, i]; state 0 is NULL, and the
    start, state j + 1 the word j.  -inf forbids a move.

    - By default the two directions pick the same links: x_i = j if and only if y_j = i.
    - `adjacency` a <= 0: every link x_i = j has |y_j - i| <= 1, every link y_j = i has |x_i - j| <= 1 (neither NULL), and
      each that is off by one costs a.
    - `disagreement` b <= 0: a link that the other direction lacks is allowed, and costs b.

    `method` is one of METHODS.  `iterations` and `time_limit` (seconds) end the search early: the best pair so far and a
    valid bound are returned.  Without them "exact" goes on until it has a proof, which for potentials without structure
    may take forever.  `combination` ("intersection" or "union") is what "dual-decomposition" does when it does not converge.
    """
    problem = BidirectionalProblem.check(theta, omega, adjacency, disagreement)
    if method not in METHODS:
        raise InputError(f"no method {method!r}", remedy=f"Choose one of: {', '.join(METHODS)}.")
    if combination not in COMBINATIONS:
        raise InputError(f"no combination {combination!r}", remedy=f"Choose one of: {', '.join(COMBINATIONS)}.")
    if iterations is not None and iterations < 1:
        raise InputError(f"iterations is {iterations}", remedy="Give 1 or more.")
    if time_limit is not None and not time_limit >= 0.0:
        raise InputError(f"time_limit is {time_limit}", remedy="Give seconds, 0 or more.")
    budget = Budget(iterations, time_limit)
    if len(problem.theta) == 0 or len(problem.omega) == 0:
        found = _all_null(problem)
    elif method == "exact":
        found = branch_and_bound(problem, budget, _root_iterations, _node_iterations)
    elif method == "relaxation":
        found = relaxation(problem, budget)
    elif method == "relaxation+constraints":
        found = relaxation_with_constraints(problem, budget)
    elif method == "dual-decomposition":
        found = dual_decomposition(problem, budget, combination)
    else:
        found = integer_program(problem, budget)
    return BidirectionalMap(
        found.x[1:] - 1,
        found.y[1:] - 1,
        found.score,
        found.bound,
        found.certified,
        found.iterations,
        found.constraints,
        found.pruned,
    )


def _all_null(problem: BidirectionalProblem) -> Outcome:
    """The only pair where one sentence is empty."""
    x, y = (np.zeros(len(potentials) + 1, np.int64) for potentials in (problem.theta, problem.omega))
    return problem.outcome(x, y, problem.score(x, y)[0], 0)
