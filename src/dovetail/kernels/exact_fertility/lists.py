"""The live cells, listed: exact decoding of the fertility HMM strikes out cell after cell, and looks at the rest only."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.exact_fertility.records import Lists

# How a row's cell hangs on the one before it: sums of these are in `Lists.bond`.
TOUCHING = 1  # the cell before is one column away: a link here after a link there goes on with its run
BOUND = 2  # the position can be kept from the cell before up to here
KEPT = 4  # and beyond, if NULL takes this column
FORCED = 8  # no other row is live in this column


@kernel
def lists_of(node, bonds):
    """The node's live cells, listed; with `bonds`, how each of them hangs on the one before it in its row."""
    J, R = node.live_link.shape
    links = np.empty((J, R + 1), np.int32)
    nulls = np.empty((J, R + 1), np.int32)
    active = np.empty((J + 1, R + 1), np.int32)
    lists = Lists(links, nulls, active, np.empty((R, J + 1), np.int32), np.empty((R, J + 1), np.uint8))
    list_live(node, lists, bonds)
    return lists


@kernel
def list_live(node, lists, bonds):
    """List the live cells, and allow no row a count that exceeds its cells.

    The positions active before a column are those of a link or a NULL in the column before.  NULL (row 0) has a cell
    wherever any position may keep it.
    """
    live_link, live_null = node.live_link, node.live_null
    links, nulls, active = lists.links, lists.nulls, lists.active
    cells = lists.cells
    J, R = live_link.shape
    active[0, 0] = 1
    active[0, 1] = 0
    cells[:, 0] = 0
    for j in range(J):
        n_links = 0
        n_nulls = 0
        n_active = 0
        for r in range(R):
            reached = False
            if live_link[j, r]:
                n_links += 1
                links[j, n_links] = r
                cells[r, 0] += 1
                cells[r, cells[r, 0]] = j
                reached = True
            if live_null[j, r]:
                n_nulls += 1
                nulls[j, n_nulls] = r
                reached = True
            if reached:
                n_active += 1
                active[j + 1, n_active] = r
        links[j, 0] = n_links
        nulls[j, 0] = n_nulls
        active[j + 1, 0] = n_active
        if n_nulls > 0:
            cells[0, 0] += 1
            cells[0, cells[0, 0]] = j
    for r in range(R):
        node.high[r] = min(node.high[r], cells[r, 0])
    for r in range(R if bonds else 0):
        last = -1
        for k in range(1, cells[r, 0] + 1):
            j = cells[r, k]
            hangs = 0
            if links[j, 0] + (nulls[j, 0] > 0) == 1:
                hangs = FORCED
            if r > 0 and last >= 0:
                q = last + 1
                while q < j and live_null[q, r]:
                    q += 1
                if q == j:
                    hangs |= BOUND
                    if last == j - 1:
                        hangs |= TOUCHING
                    if live_null[j, r] and not hangs & FORCED:
                        hangs |= KEPT
            lists.bond[r, k] = hangs
            last = j
