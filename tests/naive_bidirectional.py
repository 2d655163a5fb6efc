"""The slow, obvious twins of the bidirectional decoder: every pair of alignments of a tiny sentence pair, one by one."""

from __future__ import annotations

import math
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


def potentials(emission, null_emission, null, table, first, last):
    """Log-probabilities of an HMM's moves with one NULL state, which passes on where the rows before it may have stood."""
    R, W = emission.shape
    # standing[r][a]: probability of standing at a after rows 0..r - 1 and their words; a = W is before any link
    standing = [np.eye(W + 1)[W]]
    for r in range(R):
        link = np.append((1 - null) * emission[r] * (standing[r][:W] @ table + standing[r][W] * first), 0.0)
        now = link + null * null_emission[r] * standing[r]
        standing.append(now / now.sum())
    result = np.zeros((R, W + 1, W + 1))
    for r, before, here in product(range(R), range(W + 1), range(W + 1)):
        if before == 0:
            stood = standing[max(0, r - 1)]  # where the row before the NULL left us, and at the start nowhere
        else:
            stood = np.eye(W + 1)[before - 1]
        if here == 0:
            value = null * null_emission[r]
            end = np.append(last, last.mean()) @ stood
        else:
            value = (1 - null) * emission[r, here - 1] * (stood[:W] @ table[:, here - 1] + stood[W] * first[here - 1])
            end = last[here - 1]
        result[r, before, here] = math.log(value) + (math.log(end) if r == R - 1 else 0.0)
    return result
