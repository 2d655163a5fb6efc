"""Boosted trees: the sum of their leaves."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf

PATIENCE = 10  # trees between two looks at who is hopeless
TOGETHER = 128  # rows that are worked on at once: what is known of them stays in the nearest cache


@kernel
def log_odds(trees, found, rows, least, given_up, sums):
    """The sum of the leaves that `rows` of `found` (cells, features) reach, in `sums` (cells,).

    Most cells are no links, and a few trees see that: a row that is below `least` after ten trees, or ten later, becomes
    `given_up`.  Returns the rows that were not.  Every node is asked about a row, not only those on its path: that needs
    no jumps, and one vector operation asks for many rows.
    """
    known = np.empty((found.shape[1], TOGETHER), np.float32)
    below = np.empty((4, TOGETHER), np.float32)
    total = np.empty(TOGETHER, np.float32)
    waiting = np.empty(TOGETHER, np.int64)
    left = np.empty(len(rows), np.int64)
    kept = 0
    for begin in range(0, len(rows), TOGETHER):
        number = min(TOGETHER, len(rows) - begin)
        for k in range(number):
            waiting[k] = rows[begin + k]
            total[k] = np.float32(0.0)
            row = found[waiting[k]]
            for f in range(len(row)):
                known[f, k] = row[f]
        for tree in range(len(trees.feature)):
            add_leaves(trees.feature[tree], trees.threshold[tree], trees.leaf[tree], known, number, below, total)
            if (tree + 1) % PATIENCE == 0 or tree + 1 == len(trees.feature):
                number = hopeful(known, number, least, given_up, total, waiting, sums)
        for k in range(number):
            sums[waiting[k]] = total[k]
            left[kept] = waiting[k]
            kept += 1
    return left[:kept].copy()


@leaf
def add_leaves(feature, threshold, leaves, known, number, below, total):
    """What a tree of four levels says, the lower two first: `below` is what each of their four subtrees says."""
    for k in range(4):
        node = 3 + k
        lower_two(
            known[feature[node]],
            known[feature[2 * node + 1]],
            known[feature[2 * node + 2]],
            threshold[node],
            threshold[2 * node + 1],
            threshold[2 * node + 2],
            leaves[4 * k],
            leaves[4 * k + 1],
            leaves[4 * k + 2],
            leaves[4 * k + 3],
            number,
            below[k],
        )
    asked, asked_left, asked_right = known[feature[0]], known[feature[1]], known[feature[2]]
    first, second, third, fourth = below[0], below[1], below[2], below[3]
    for k in range(number):
        on_left = second[k] if asked_left[k] > threshold[1] else first[k]
        on_right = fourth[k] if asked_right[k] > threshold[2] else third[k]
        total[k] += on_right if asked[k] > threshold[0] else on_left


@leaf
def lower_two(asked, asked_left, asked_right, at, at_left, at_right, first, second, third, fourth, number, out):
    """A node, the two below it, and their four leaves."""
    for k in range(number):
        on_left = second if asked_left[k] > at_left else first
        on_right = fourth if asked_right[k] > at_right else third
        out[k] = on_right if asked[k] > at else on_left


@leaf
def hopeful(known, number, least, given_up, total, waiting, sums):
    """Move rows that are worth more trees to the front; the others are given up.  Returns how many are left."""
    kept = 0
    for k in range(number):
        if total[k] < least:
            sums[waiting[k]] = given_up
        else:
            waiting[kept] = waiting[k]
            total[kept] = total[k]
            if kept < k:
                for f in range(len(known)):
                    known[f, kept] = known[f, k]
            kept += 1
    return kept
