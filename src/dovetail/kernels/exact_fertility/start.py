"""Where dual ascent begins: a good alignment, and prices near those that it will ask for."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.exact_fertility.chain import best_path, forward
from dovetail.kernels.exact_fertility.local import climb
from dovetail.kernels.exact_fertility.records import Chain

_STEEP = 1e4  # a slope that only a forbidden count explains


@kernel
def start(problem, node, lists, trellis, path):
    """A first alignment, into `path`, and first prices in place of zeros.  Returns the alignment's score.

    A row starts with the slope of its fertility at its count in that alignment, so that the chain knows what a link more
    or less is worth, and with a part of the emission, so that it knows which cells to ask for: little if the fertility is
    concave, where the count is all that needs bargaining, half otherwise.  (Half the emission alone, the paper's start,
    takes several times the iterations.)
    """
    emission, fertility, first = problem.emission, problem.fertility, problem.first
    J, R = emission.shape
    stay = np.full((J, R), -np.inf)  # `transition` holds all links, those to the same row too
    chain = Chain(emission, stay, problem.transition, problem.jump_to, problem.log_null)
    counts = np.empty(R, np.int32)
    path[:] = 0
    if forward(chain, lists, trellis) > -np.inf:
        best_path(chain, node, lists, trellis, path)
    score = climb(problem, lists, path, counts)
    slope = np.zeros(R)
    part = np.full(R, 0.1)
    for r in range(first, R):
        n = 0
        for c in range(max(counts[r], 1), min(counts[r] + 1, J) + 1):
            step = fertility[r, c - 1] - fertility[r, c]
            if abs(step) < _STEEP:
                slope[r] += step
                n += 1
        slope[r] /= max(n, 1)
        for c in range(1, J):
            if fertility[r, c - 1] + fertility[r, c + 1] > 2.0 * fertility[r, c] + 1e-9:
                part[r] = 0.5
    for j in range(J):
        top = -np.inf
        for r in range(R):
            top = max(top, emission[j, r])
        for r in range(R):
            if r >= first and emission[j, r] > -np.inf:
                node.price[0, j, r] = slope[r] + part[r] * (emission[j, r] - top)
    return score
