"""Two directions' links into one set, for packed pairs (Och and Ney 2003; Koehn et al. 2003).

The links of a pair are kept as sorted lists, never as an I x J matrix, so that one enormous pair costs no
more memory than its links.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel

INTERSECTION, UNION, GROW_DIAG, GROW_DIAG_FINAL, GROW_DIAG_FINAL_AND = range(5)

IN_FORWARD = 1
IN_REVERSE = 2

LEFT_OUT, FRESH, SETTLED = range(3)  # fresh: taken, but its neighbours have not been looked at yet

# Koehn's order: the four that share a side with the link, then the four diagonal ones.
NEIGHBOUR_ROW = np.array([-1, 0, 1, 0, -1, -1, 1, 1])
NEIGHBOUR_COLUMN = np.array([0, -1, 0, 1, -1, 1, -1, 1])


class PackedLinks(NamedTuple):
    """Links of all pairs: pair n's are offsets[n]:offsets[n + 1], sorted by (i, j)."""

    offsets: np.ndarray  # int64 (pairs + 1,)
    source: np.ndarray  # int32 (links,)
    target: np.ndarray  # int32 (links,)
    probability: np.ndarray  # float32 (links,)


class Union(NamedTuple):
    """The links that either direction has of one pair."""

    row: np.ndarray  # int32
    column: np.ndarray  # int32
    mean: np.ndarray  # float32: (P(a_j = i) + P(b_i = j)) / 2, where a direction without the link counts 0
    member: np.ndarray  # int8: which directions have it


@kernel
def well_formed(links, n, I, J):
    """Whether pair n's links lie inside I x J, strictly ascending by (i, j)."""
    i_before, j_before = -1, -1
    for k in range(links.offsets[n], links.offsets[n + 1]):
        i, j = links.source[k], links.target[k]
        if i < 0 or j < 0 or i >= I or j >= J or i < i_before or (i == i_before and j <= j_before):
            return False
        i_before, j_before = i, j
    return True


@kernel
def merge(n, forward, reverse, union):
    """The union of pair n's two sorted link lists; returns its size."""
    row, column, mean, member = union
    f, f_stop = forward.offsets[n], forward.offsets[n + 1]
    r, r_stop = reverse.offsets[n], reverse.offsets[n + 1]
    size = 0
    while f < f_stop or r < r_stop:
        if f == f_stop:
            order = 1
        elif r == r_stop:
            order = -1
        else:
            order = forward.source[f] - reverse.source[r]
            if order == 0:
                order = forward.target[f] - reverse.target[r]
        total = 0.0
        member[size] = 0
        if order <= 0:
            row[size], column[size] = forward.source[f], forward.target[f]
            total += forward.probability[f]
            member[size] |= IN_FORWARD
            f += 1
        if order >= 0:
            row[size], column[size] = reverse.source[r], reverse.target[r]
            total += reverse.probability[r]
            member[size] |= IN_REVERSE
            r += 1
        mean[size] = 0.5 * total
        size += 1
    return size


@kernel
def find(column, start, stop, j):
    """The index of j in the ascending column[start:stop], or -1."""
    while stop - start > 8:  # a row holds a link or two as a rule: bisect only the long ones
        middle = (start + stop) // 2
        if column[middle] <= j:
            start = middle
        else:
            stop = middle
    for k in range(start, stop):
        if column[k] == j:
            return k
    return -1


@kernel
def grow_diag(row, column, size, I, J, row_start, taken, row_covered, column_covered):
    """GROW-DIAG: from the links marked FRESH, add neighbours in the union whose row or column is uncovered.

    The description scans all links in order again and again until a whole scan adds nothing.  But a link
    needs to be looked at only once: a neighbour refused then has its row and its column covered, and covered
    they stay.  So a scan looks at fresh links alone and starts at the first one that the scan before left
    behind its back.
    """
    row_start[: I + 1] = 0
    for k in range(size):
        row_start[row[k] + 1] += 1
    for i in range(I):
        row_start[i + 1] += row_start[i]
    first = 0
    while first < size:
        start, first = first, size
        for k in range(start, size):
            if taken[k] != FRESH:
                continue
            taken[k] = SETTLED
            for d in range(8):
                i, j = row[k] + NEIGHBOUR_ROW[d], column[k] + NEIGHBOUR_COLUMN[d]
                if i < 0 or j < 0 or i >= I or j >= J or (row_covered[i] and column_covered[j]):
                    continue
                neighbour = find(column, row_start[i], row_start[i + 1], j)
                if neighbour >= 0:
                    taken[neighbour] = FRESH
                    row_covered[i] = column_covered[j] = True
                    if neighbour < k:
                        first = min(first, neighbour)


@kernel
def final(row, column, size, member, side, both, taken, row_covered, column_covered):
    """FINAL: add, in order, one side's links whose row or column (`both`: row and column) is uncovered."""
    for k in range(size):
        if taken[k] != LEFT_OUT or not member[k] & side:
            continue
        row_free, column_free = not row_covered[row[k]], not column_covered[column[k]]
        if (row_free and column_free) if both else (row_free or column_free):
            taken[k] = SETTLED
            row_covered[row[k]] = column_covered[column[k]] = True


@kernel
def combine(rule, forward, reverse, source_lengths, target_lengths, found):
    """Combine every pair by `rule` (one of the constants above) into `found`; all three are PackedLinks.

    `found` must have room for every link of both directions (of one direction for the intersection).
    Returns -1, or the first pair whose links are out of order or out of bounds; what was written is then
    incomplete.  O(links log links) per pair, whatever its length.
    """
    offsets, source, target, probability = found
    pairs = len(offsets) - 1
    room, longest_source, longest_target = 0, 0, 0
    for n in range(pairs):
        links = forward.offsets[n + 1] - forward.offsets[n] + reverse.offsets[n + 1] - reverse.offsets[n]
        room = max(room, links)
        longest_source = max(longest_source, source_lengths[n])
        longest_target = max(longest_target, target_lengths[n])
    row = np.empty(room, np.int32)
    column = np.empty(room, np.int32)
    mean = np.empty(room, np.float32)
    member = np.empty(room, np.int8)
    taken = np.empty(room, np.int8)
    row_start = np.empty(longest_source + 1, np.int64)
    row_covered = np.zeros(longest_source, np.bool_)
    column_covered = np.zeros(longest_target, np.bool_)

    written = 0
    offsets[0] = 0
    for n in range(pairs):
        I, J = source_lengths[n], target_lengths[n]
        if not (well_formed(forward, n, I, J) and well_formed(reverse, n, I, J)):
            return n
        size = merge(n, forward, reverse, Union(row, column, mean, member))
        for k in range(size):
            taken[k] = FRESH if rule == UNION or member[k] == IN_FORWARD | IN_REVERSE else LEFT_OUT
        if rule >= GROW_DIAG:
            row_covered[:I] = False
            column_covered[:J] = False
            for k in range(size):
                if taken[k] != LEFT_OUT:
                    row_covered[row[k]] = column_covered[column[k]] = True
            grow_diag(row, column, size, I, J, row_start, taken, row_covered, column_covered)
        if rule >= GROW_DIAG_FINAL:
            both = rule == GROW_DIAG_FINAL_AND
            final(row, column, size, member, IN_FORWARD, both, taken, row_covered, column_covered)
            final(row, column, size, member, IN_REVERSE, both, taken, row_covered, column_covered)
        for k in range(size):
            if taken[k] != LEFT_OUT:
                source[written], target[written], probability[written] = row[k], column[k], mean[k]
                written += 1
        offsets[n + 1] = written
    return -1
