"""From posteriors and marks on cells to lists of links."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.hmm.viterbi import EITHER, FORWARD, REVERSE
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J


@kernel
def mark_threshold(first, last, lines, work, threshold, marks):
    """Mark the cells whose posterior exceeds the threshold: forward's, reverse's, and the mean of the two."""
    forward, reverse = work.forward, work.reverse
    for piece in range(first, last):
        line = lines[piece]
        for cell in range(line[CELL], line[CELL] + line[LENGTH_I] * line[LENGTH_J]):
            mark = np.uint8(0)
            if forward[cell] > threshold:
                mark |= FORWARD
            if reverse[cell] > threshold:
                mark |= REVERSE
            if np.float32(0.5) * (forward[cell] + reverse[cell]) > threshold:
                mark |= EITHER
            marks[cell] |= mark


@kernel
def collect(first, last, lines, source_core, target_core, marks, wanted, work, weight):
    """The links marked `wanted` of pieces first..last - 1: how many per piece, i, j and probability.

    A link's probability is (1 - weight) forward + weight reverse.  In a piece that is a window of a longer pair only
    links whose target position (for the reverse direction alone: source position) is in the core count.
    """
    forward, reverse = work.forward, work.reverse
    by_source = weight == 1.0
    numbers = np.zeros(last - first, np.int64)
    total = 0
    for piece in range(first, last):
        line = lines[piece]
        for cell in range(line[CELL], line[CELL] + line[LENGTH_I] * line[LENGTH_J]):
            if marks[cell] & wanted:
                total += 1
    source = np.empty(total, np.int32)
    target = np.empty(total, np.int32)
    probability = np.empty(total, np.float32)
    own = np.float32(1.0 - weight)
    other = np.float32(weight)
    used = 0
    for piece in range(first, last):
        line = lines[piece]
        J = line[LENGTH_J]
        before = used
        for i in range(line[LENGTH_I]):
            if by_source and (i < source_core[piece, 0] or i >= source_core[piece, 1]):
                continue
            for j in range(J):
                cell = line[CELL] + i * J + j
                if marks[cell] & wanted:
                    if not by_source and (j < target_core[piece, 0] or j >= target_core[piece, 1]):
                        continue
                    source[used] = i
                    target[used] = j
                    value = own * forward[cell] + other * reverse[cell]
                    probability[used] = min(max(value, np.float32(0.0)), np.float32(1.0))
                    used += 1
        numbers[piece - first] = used - before
    return numbers, source[:used], target[:used], probability[:used]
