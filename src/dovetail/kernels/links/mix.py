"""Posteriors of one model mixed with those of another, which are given for few cells."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J


@kernel
def mix(first, last, lines, pair, source_offset, target_offset, other, weight, work):
    """Posteriors of pieces first..last - 1 become (1 - weight) theirs + weight other's; cells not in `other` have none.

    A piece is pair[piece]'s, from its source_offset and target_offset on.
    """
    own = np.float32(1.0) - weight
    for piece in range(first, last):
        line = lines[piece]
        I, J, begin = line[LENGTH_I], line[LENGTH_J], line[CELL]
        for cell in range(begin, begin + I * J):
            work.forward[cell] *= own
            work.reverse[cell] *= own
        for k in range(other.offsets[pair[piece]], other.offsets[pair[piece] + 1]):
            i, j = other.source[k] - source_offset[piece], other.target[k] - target_offset[piece]
            if 0 <= i < I and 0 <= j < J:
                work.forward[begin + i * J + j] += weight * other.forward[k]
                work.reverse[begin + i * J + j] += weight * other.reverse[k]
