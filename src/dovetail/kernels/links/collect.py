"""From posteriors and marks on cells to lists of links."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.hmm.viterbi import EITHER, FORWARD, REVERSE
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J

EIGHT = 8  # marks, which are bytes, are looked at in eights


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


@leaf
def marked_cells(cell, size, marks, eights, wanted, found):
    """The cells marked `wanted`, few of all: `eights` are the marks, eight in a number, and most of these are 0."""
    n = 0
    k, end = cell, cell + size
    while k < end:
        if k % EIGHT == 0 and k + EIGHT <= end and eights[k // EIGHT] == 0:
            k += EIGHT
            continue
        after = min(k - k % EIGHT + EIGHT, end)
        while k < after:  # written always, kept if marked: no branch to guess wrong
            found[n] = k
            n += (marks[k] & wanted) != 0
            k += 1
    return n


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
            total += (marks[cell] & wanted) != 0
    source, target, probability = np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.float32)
    own = np.float32(1.0 - weight)
    other = np.float32(weight)
    eights = marks[: len(marks) // EIGHT * EIGHT].view(np.uint64)
    marked = np.empty(total + 1, np.int64)  # one more: what is not marked is written there, too
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
        for k in range(marked_cells(line[CELL], I * J, marks, eights, wanted, marked)):
            cell = marked[k]
            i = np.uint32(cell - line[CELL]) // np.uint32(J)
            j = cell - line[CELL] - i * J
            if top <= i < bottom and left <= j < right:
                value = own * forward[cell] + other * reverse[cell]
                source[used], target[used] = i, j
                probability[used] = min(max(value, np.float32(0.0)), np.float32(1.0))
                used += 1
        numbers[piece - first] = used - before
    return numbers, source[:used], target[:used], probability[:used]
