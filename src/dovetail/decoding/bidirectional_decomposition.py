"""DeNero and Macherey's (2011) decoder: dual decomposition over cells, and a combination where it does not converge."""

from __future__ import annotations

import math

import numpy as np

from dovetail.decoding.bidirectional_problem import BidirectionalProblem, Budget, Outcome
from dovetail.kernels.bidirectional.chains import LIVE, coarse_chain
from dovetail.kernels.bidirectional.decomposition import decompose
from dovetail.kernels.bidirectional.search import DISAGREEMENT

ITERATIONS = 250
COMBINATIONS = ("intersection", "union")


def dual_decomposition(problem: BidirectionalProblem, budget: Budget, combination: str) -> Outcome:
    """Subgradient descent with rate 1 / t.  If the chains never agree, the last two alignments are combined.

    "intersection" keeps the links that both have, which is always a feasible pair.  "union" keeps both as they are, so that
    the links of the two together are the union; the pair then breaks the agreement, and its score is -inf.
    """
    I, J = len(problem.theta), len(problem.omega)
    live = np.full((3, I + 2, J + 2), LIVE, np.uint8)  # every link is a state: nothing is pruned here
    chains = [
        coarse_chain(potentials, DISAGREEMENT, live, np.full(len(potentials) + 1, LIVE, np.uint8), sign)
        for potentials, sign in ((problem.theta, 1.0), (problem.omega, -1.0))
    ]
    u = np.zeros((I + 2, J + 2))
    x, y = np.zeros(I + 1, np.int64), np.zeros(J + 1, np.int64)
    bound, t = math.inf, 0
    disagreements = 1
    while t == 0 or (disagreements and t < (budget.iterations or ITERATIONS) and budget.iterations_left(0)):
        t += 1
        value, disagreements, difference = decompose(*chains, problem.agreement, problem.cost, u, x, y)
        bound = min(bound, float(value))
        if bound <= problem.score(x, y)[1]:  # with ties the chains may never agree, and yet be right
            break
        u -= difference.reshape(u.shape) / t
    else:
        if combination == "intersection" and problem.agreement != DISAGREEMENT:
            x, y = np.where(y[x] == np.arange(I + 1), x, 0), np.where(x[y] == np.arange(J + 1), y, 0)
    return problem.outcome(x, y, bound, t)
