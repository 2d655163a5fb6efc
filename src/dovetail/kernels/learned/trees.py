"""Boosted trees: the sum of their leaves."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel

PATIENCE = 10  # trees between two looks at who is hopeless


@kernel
def log_odds(trees, found, rows, least, given_up, sums):
    """The sum of the leaves that `rows` of `found` (cells, features) reach, in `sums` (cells,).

    Most cells are no links, and ten trees see that: a row that is below `least` then, or ten trees later, becomes
    `given_up`.  Returns the rows that were not.  One tree at a time over all rows: a tree stays in the cache, and rows do
    not wait for each other.
    """
    feature, threshold, leaf = trees
    nodes = feature.shape[1]
    left = rows.copy()
    number = len(left)
    for k in range(number):
        sums[left[k]] = np.float32(0.0)
    for tree in range(len(feature)):
        for k in range(number):
            row = left[k]
            node = 0
            while node < nodes:
                node = 2 * node + 1 + (found[row, feature[tree, node]] > threshold[tree, node])
            sums[row] += leaf[tree, node - nodes]
        if (tree + 1) % PATIENCE == 0 or tree + 1 == len(feature):
            kept = 0
            for k in range(number):
                row = left[k]
                if sums[row] < least:
                    sums[row] = given_up
                else:
                    left[kept] = row
                    kept += 1
            number = kept
    return left[:number].copy()
