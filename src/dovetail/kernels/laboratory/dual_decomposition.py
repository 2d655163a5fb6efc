"""Dual decomposition of DeNero and Macherey (2011): two chains that must claim the same cells.

c(i, j) = 1 for every cell that either direction links.  Each chain has a copy of c; u(i, j) is what the forward chain
earns, and the reverse chain pays, for c(i, j) = 1.  A link claims its own cell.  With ADJACENCY it may claim the two cells
beside it as well, each for the cost of an off-by-one; with DISAGREEMENT it may leave its own cell out for that cost.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.bidirectional.chains import viterbi
from dovetail.kernels.bidirectional.records import ADJACENCY, DISAGREEMENT
from dovetail.kernels.bidirectional.search import score_and_ceiling


@kernel
def _price(agreement, chain, u):
    """Let each link claim the cells that earn it most; cell (i, j) is named i * (J + 2) + j, and 0 is no cell."""
    kind, cost = agreement
    sign, width, flat = chain.sign, u.shape[1], u.ravel()
    aside = 1 if sign > 0 else width
    last = width - 2 if sign > 0 else u.shape[0] - 2
    for r in range(1, len(chain.first) - 1):
        for s in range(chain.first[r], chain.first[r + 1]):
            c = chain.position[s]
            if c == 0:
                continue
            cell = r * width + c if sign > 0 else c * width + r
            value = sign * flat[cell]
            chain.claims[s, 0] = cell
            if kind == DISAGREEMENT and value < cost:
                value = cost
                chain.claims[s, 0] = 0
            if kind == ADJACENCY:
                for n in range(1, 3):
                    beside = 2 * n - 3
                    extra = sign * flat[cell + beside * aside] + cost
                    if 1 <= c + beside <= last and extra > 0.0:
                        value += extra
                        chain.claims[s, n] = cell + beside * aside
                    else:
                        chain.claims[s, n] = 0
            chain.earned[s] = value


@kernel
def decompose(problem, chains, u, x, y):
    """Best alignment of each chain under u, the sum of their values, and whether (and where) their claims differ.

    Returns (value, ceiling of the pair, number of cells that only one of them claims, difference): difference is 1 where
    only the forward chain claims the cell and -1 where only the reverse chain does.
    """
    difference = np.zeros(u.size, np.int64)
    value = 0.0
    for direction in range(2):
        chain, path = (chains[0], x) if direction == 0 else (chains[1], y)
        _price(problem.agreement, chain, u)
        value += viterbi(chain, path)
        if value == -np.inf:
            break
        for r in range(1, len(path)):
            for n in range(3):
                difference[chain.claims[path[r], n]] += int(chain.sign)
            path[r] = chain.position[path[r]]
    difference[0] = 0
    count = 0
    for cell in range(len(difference)):
        count += difference[cell] != 0
    return value, score_and_ceiling(problem, x, y)[1], count, difference
