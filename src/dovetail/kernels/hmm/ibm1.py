"""IBM Model 1: every target word picks its source word on its own, positions count for nothing."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET


@kernel
def expect(first, last, pieces, nulls, work, log_likelihood):
    """E-step of both directions for pieces first..last - 1, in place: translation probabilities become posteriors.

    p(a_j = i) = t(f_j | e_i) / (t(f_j | NULL) + sum over i' of t(f_j | e_i'))          (Brown et al. 1993, section 4.1)

    `log_likelihood` (pieces, 2) gets log p(target | source) and log p(source | target), lengths left out.
    """
    lines, source_ids, target_ids = pieces
    forward, reverse, null_forward, null_reverse = work
    totals = np.empty(0, np.float32)
    for piece in range(first, last):
        line = lines[piece]
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        if len(totals) < J:
            totals = np.empty(J, np.float32)
        for j in range(J):
            totals[j] = nulls.forward[target_ids[line[TARGET] + j]]
            null_forward[line[COLUMN] + j] = totals[j]
        for i in range(I):
            for j in range(J):
                totals[j] += forward[cell + i * J + j]
        score = -J * math.log(I + 1.0)
        for j in range(J):
            score += math.log(totals[j])
            totals[j] = np.float32(1.0) / totals[j]
            null_forward[line[COLUMN] + j] *= totals[j]
        for i in range(I):
            for j in range(J):
                forward[cell + i * J + j] *= totals[j]
        log_likelihood[piece, 0] = score

        score = -I * math.log(J + 1.0)
        for i in range(I):
            null = nulls.reverse[source_ids[line[SOURCE] + i]]
            total = null
            for j in range(J):
                total += reverse[cell + i * J + j]
            score += math.log(total)
            scale = np.float32(1.0) / total
            null_reverse[line[ROW] + i] = null * scale
            for j in range(J):
                reverse[cell + i * J + j] *= scale
        log_likelihood[piece, 1] = score
