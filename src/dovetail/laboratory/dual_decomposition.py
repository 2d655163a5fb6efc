"""DeNero and Macherey's (2011) decoder: dual decomposition over cells, and a combination where it does not converge."""

from __future__ import annotations

import math

import numpy as np

from dovetail.decoding.bidirectional_problem import BidirectionalMap, Budget
from dovetail.kernels.bidirectional.chains import coarse_chain
from dovetail.kernels.bidirectional.records import DISAGREEMENT, LIVE, Problem
from dovetail.kernels.laboratory.dual_decomposition import decompose

ITERATIONS = 250


def solve(problem: Problem, budget: Budget) -> BidirectionalMap:
    """Subgradient descent with rate 1 / t.  If the chains never agree, the last two alignments are combined.

    "intersection" keeps the links that both have, which is always a feasible pair.  "union" keeps both as they are, so that
    the links of the two together are the union; the pair then breaks the agreement, and its score is -inf.
    """
    I, J = len(problem.theta), len(problem.omega)
    live = np.full((2 * DISAGREEMENT + 1, I + 2, J + 2), LIVE, np.uint8)  # nothing is pruned: every link is a state
    chains = (
        coarse_chain(problem.theta, live, np.full(I + 1, LIVE, np.uint8), 1.0),
        coarse_chain(problem.omega, live, np.full(J + 1, LIVE, np.uint8), -1.0),
    )
    u = np.zeros((I + 2, J + 2))
    x, y = np.zeros(I + 1, np.int64), np.zeros(J + 1, np.int64)
    bound, t = math.inf, 0
    disagreements = 1
    while t == 0 or (disagreements and t < (budget.iterations or ITERATIONS) and budget.iterations_left(0)):
        t += 1
        value, ceiling, disagreements, difference = decompose(problem, chains, u, x, y)
        bound = min(bound, value)
        if bound <= ceiling:  # with ties the chains may never agree, and yet be right
            break
        u -= difference.reshape(u.shape) / t
    else:
        if budget.combination == "intersection" and problem.agreement.kind != DISAGREEMENT:
            x, y = np.where(y[x] == np.arange(I + 1), x, 0), np.where(x[y] == np.arange(J + 1), y, 0)
    return BidirectionalMap.of(problem, x, y, bound, t)
