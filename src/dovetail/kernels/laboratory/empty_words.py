"""IBM Model 1 with I + 1 empty words for a sentence of I words (Moore 2004; Zhao and Gildea 2010, section 2.1)."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET


@kernel
def expect(first, last, pieces, nulls, work, log_likelihood):
    """E-step of both directions, in place, as `hmm.ibm1.expect` does it with one NULL.

    p(a_j = i) = t(f_j | e_i) / ((I + 1) t(f_j | NULL) + sum over i' of t(f_j | e_i'));  every position has 1 / (2 I + 1).
    """
    for piece in range(first, last):
        line = pieces.lines[piece]
        I, J = line[LENGTH_I], line[LENGTH_J]
        score = -J * math.log(2.0 * I + 1.0)
        for j in range(J):
            null = np.float32(I + 1.0) * nulls.forward[pieces.target_ids[line[TARGET] + j]]
            score += _normalise(work.forward, line[CELL] + j, J, I, null, work.null_forward, line[COLUMN] + j)
        log_likelihood[piece, 0] = score
        score = -I * math.log(2.0 * J + 1.0)
        for i in range(I):
            null = np.float32(J + 1.0) * nulls.reverse[pieces.source_ids[line[SOURCE] + i]]
            score += _normalise(work.reverse, line[CELL] + i * J, 1, J, null, work.null_reverse, line[ROW] + i)
        log_likelihood[piece, 1] = score


@kernel
def _normalise(values, start, step, n, null, nulls, place):
    """Divide values[start], values[start + step] ... and NULL's part by their sum, whose logarithm is returned."""
    total = null
    for k in range(n):
        total += values[start + k * step]
    for k in range(n):
        values[start + k * step] /= total
    nulls[place] = null / total
    return math.log(total)
