"""Growing: links that touch a link, for words that have none yet, best first."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels._numba import OCTET, at_least, first_of, load, plus, spread, times
from dovetail.kernels.hmm.dense import largest
from dovetail.kernels.hmm.viterbi import EITHER
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J


@leaf
def touches(marks, cell, i, j, I, J):
    """Whether one of the eight cells around (i, j) is marked."""
    for a in range(max(i - 1, 0), min(i + 2, I)):
        for b in range(max(j - 1, 0), min(j + 2, J)):
            if marks[cell + a * J + b] & EITHER:
                return True
    return False


@leaf
def notable(forward, reverse, cell, size, least, found):
    """The cells whose mean posterior is at least `least`, few of all: eight at a time are found to be none of them."""
    n = 0
    half, of_least = spread(np.float32(0.5)), spread(least)
    whole = size - size % OCTET
    for k in range(0, whole, OCTET):
        at = np.uint64(cell + k)
        bits = np.uint64(at_least(times(half, plus(load(forward, at), load(reverse, at))), of_least))
        while bits:
            found[n] = k + np.int64(first_of(bits))
            bits &= bits - np.uint64(1)
            n += 1
    for k in range(whole, size):
        if np.float32(0.5) * (forward[cell + k] + reverse[cell + k]) >= least:
            found[n] = k
            n += 1
    return n


@kernel
def grow(first, last, lines, work, least, marks):
    """Mark, best first, cells of mean posterior above `least` beside a marked cell whose row or column is still empty.

    Cells that are marked already have more than `least`, too; those that have just this much are looked at in vain.
    """
    forward, reverse = work.forward, work.reverse
    longest, area = largest(first, last, lines)
    candidates, values = np.empty(area, np.int64), np.empty(area, np.float32)
    rows, columns = np.empty(longest, np.bool_), np.empty(longest, np.bool_)
    for piece in range(first, last):
        line = lines[piece]
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        rows[:I] = False
        columns[:J] = False
        found = notable(forward, reverse, cell, I * J, least, candidates)
        n = 0
        for m in range(found):
            k = candidates[m]
            if marks[cell + k] & EITHER:
                rows[k // J] = True
                columns[k % J] = True
            else:
                candidates[n] = k
                values[n] = np.float32(0.5) * (forward[cell + k] + reverse[cell + k])
                n += 1
        while True:
            best = -1
            for k in range(n):
                if best < 0 or values[k] > values[best]:
                    i, j = candidates[k] // J, candidates[k] % J
                    if values[k] > least and not (rows[i] and columns[j]) and touches(marks, cell, i, j, I, J):
                        best = k
            if best < 0:
                break
            i, j = candidates[best] // J, candidates[best] % J
            marks[cell + i * J + j] |= EITHER
            rows[i] = True
            columns[j] = True
            values[best] = np.float32(-1.0)
