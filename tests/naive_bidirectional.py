"""The slow, obvious twins of the bidirectional decoder: every pair of alignments of a tiny sentence pair, one by one."""

from __future__ import annotations

from itertools import product

import numpy as np


def score(theta, omega, x, y, adjacency=None, disagreement=None):
    """f(x) + g(y) + h(x, y); x and y hold 0-based positions, -1 for NULL.  -inf where the pair is not allowed."""
    total, before = 0.0, -1
    for i, j in enumerate(x):
        total += theta[i, before + 1, j + 1]
        before = j
    before = -1
    for j, i in enumerate(y):
        total += omega[j, before + 1, i + 1]
        before = i
    for side, other in ((x, y), (y, x)):
        for n, partner in enumerate(side):
            if partner < 0 or other[partner] == n:
                continue
            if disagreement is not None:
                total += disagreement
            elif adjacency is not None and other[partner] >= 0 and abs(other[partner] - n) == 1:
                total += adjacency
            else:
                return -np.inf
    return total


def best_score(theta, omega, adjacency=None, disagreement=None):
    """The highest score of any pair, -inf if none is allowed."""
    I, J = len(theta), len(omega)
    return max(
        score(theta, omega, x, y, adjacency, disagreement)
        for x in product(range(-1, J), repeat=I)
        for y in product(range(-1, I), repeat=J)
    )
