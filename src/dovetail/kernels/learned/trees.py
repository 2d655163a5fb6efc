"""Boosted trees: the sum of their leaves."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel


@kernel
def log_odds(trees, found, sums):
    """The sum of the leaves that each row of `found` (rows, features) reaches, in `sums` (rows,).

    One tree at a time over all rows: a tree stays in the cache, and rows do not wait for each other.
    """
    feature, threshold, leaf = trees
    nodes = feature.shape[1]
    for k in range(len(found)):
        sums[k] = np.float32(0.0)
    for tree in range(len(feature)):
        for k in range(len(found)):
            node = 0
            while node < nodes:
                node = 2 * node + 1 + (found[k, feature[tree, node]] > threshold[tree, node])
            sums[k] += leaf[tree, node - nodes]
