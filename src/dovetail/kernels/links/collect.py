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
            by_forward = FORWARD if forward[cell] > threshold else np.uint8(0)
            by_reverse = REVERSE if reverse[cell] > threshold else np.uint8(0)
            by_both = EITHER if np.float32(0.5) * (forward[cell] + reverse[cell]) > threshold else np.uint8(0)
            marks[cell] |= by_forward | by_reverse | by_both


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
    # One more than there are: every cell is written, and kept if it is marked, so that no branch is guessed wrong.
    source = np.empty(total + 1, np.int32)
    target = np.empty(total + 1, np.int32)
    probability = np.empty(total, np.float32)
    own = np.float32(1.0 - weight)
    other = np.float32(weight)
    used = 0
    for piece in range(first, last):
        line = lines[piece]
        I, J = line[LENGTH_I], line[LENGTH_J]
        top, bottom, left, right = 0, I, 0, J
        if by_source:
            top, bottom = source_core[piece, 0], source_core[piece, 1]
        else:
            left, right = target_core[piece, 0], target_core[piece, 1]
        before = used
        for i in range(top, bottom):
            row = line[CELL] + i * J
            for j in range(left, right):
                source[used] = i
                target[used] = j
                used += (marks[row + j] & wanted) != 0
        for k in range(before, used):
            cell = line[CELL] + np.int64(source[k]) * J + target[k]
            value = own * forward[cell] + other * reverse[cell]
            probability[k] = min(max(value, np.float32(0.0)), np.float32(1.0))
        numbers[piece - first] = used - before
    return numbers, source[:used], target[:used], probability[:used]
