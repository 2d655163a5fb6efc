"""Agreement of two directions (Liang, Taskar and Klein 2006): a link counts as far as both believe in it."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW


@leaf
def softened(product, power):
    """product ** power; 3/4 by two square roots.  What would come out below 1e-6 is nothing: that is most cells."""
    if power == 1.0:
        return product
    if product < np.float32(1e-8):
        return np.float32(0.0)
    if power == 0.75:
        root = math.sqrt(product)
        return np.float32(root * math.sqrt(root))
    return np.float32(product**power)


@kernel
def agree(first, last, lines, power, work):
    """Both posteriors of a cell become (forward reverse) ** power, for pieces first..last - 1, in place.

    NULL gets what its word has left: max(0, 1 - the sum over the word's cells).
    """
    forward, reverse, null_forward, null_reverse = work
    for piece in range(first, last):
        line = lines[piece]
        J, cell, column = line[LENGTH_J], line[CELL], line[COLUMN]
        for j in range(J):
            null_forward[column + j] = np.float32(1.0)
        for i in range(line[LENGTH_I]):
            rest = np.float32(1.0)
            for j in range(J):
                both = np.float32(softened(forward[cell + j] * reverse[cell + j], power))
                forward[cell + j] = both
                reverse[cell + j] = both
                null_forward[column + j] -= both
                rest -= both
            null_reverse[line[ROW] + i] = max(rest, np.float32(0.0))
            cell += J
        for j in range(J):
            null_forward[column + j] = max(null_forward[column + j], np.float32(0.0))
