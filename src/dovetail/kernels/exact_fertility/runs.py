"""The rows' side of the fertility HMM, run by run: a row knows how many links it takes, and which of them follow each other.

Bargaining over cells alone leaves a gap that no multipliers close.  Say the path links columns 3 and 4 to a row half of
the time and neither the other half, while the row takes column 3 half of the time and column 4 the other half: the cells
agree, though the row counts one link always and the path two or none.  Most of the gap in long sentences is of this kind.
So a row gets `share[0, j, r]` for a link that jumps to it, which begins a run, and `share[1, j, r]` for one from its own
position, which goes on with a run.  Its best choice is a dynamic program over its cells in order; the state is the count
so far, and whether the position is the row's.

`cells[r]` lists the row's live columns in order (entry 0 counts), `bond[r]` says how each hangs on the one before it.  NULL
(row 0) has no position: each of its links begins a run.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel

TOUCHING = 1  # the cell before is one column away: a link here after a link there goes on with its run
BOUND = 2  # the position can be kept from the cell before up to here
KEPT = 4  # and beyond, if NULL takes this column
FORCED = 8  # no other row is live in this column


@kernel
def list_runs(live_null, links, nulls, cells, bond):
    """How each of the listed cells hangs on the one before it: a sum of the numbers above."""
    for r in range(cells.shape[0]):
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
            bond[r, k] = hangs
            last = j


@kernel
def table_size(first, high, cells):
    """Numbers that the largest row's table holds."""
    size = 0
    for r in range(first, cells.shape[0]):
        size = max(size, 2 * (cells[r, 0] + 1) * (high[r] + 1))
    return size


@kernel
def row_table(table, start, high, cells, r):
    """Row r's table, from `start` on in the flat `table`: for each cell passed, position and count, a number."""
    n = cells[r, 0] + 1
    counts = high[r] + 1
    return table[start : start + 2 * n * counts].reshape(n, 2, counts)


@kernel
def suffix_runs(fertility, share, low, cells, bond, r, suffix):
    """The best that row r can get from its cells after the k-th, its fertility included, when c cells are taken so far.

    suffix[k, 0, c]: the position after the k-th cell's column is another's; suffix[k, 1, c]: it is the row's.
    `suffix` has shape (cells + 1, 2, counts): no count beyond these is allowed.  suffix[0, 0, 0] is the row's best.

    own(k - 1, c)   = max(other(k, c), link + own(k, c + 1), own(k, c) if KEPT)
    other(k - 1, c) = max(other(k, c), share[0] + own(k, c + 1))

    where link is share[1], or the better of both shares if the position can have been elsewhere in between.
    """
    n = cells[r, 0]
    most = suffix.shape[2] - 1
    for c in range(most + 1):
        suffix[n, 0, c] = suffix[n, 1, c] = fertility[r, c] if c >= low[r] else -np.inf
    for k in range(n, 0, -1):
        j = cells[r, k]
        enter = share[0, j, r]
        link = _link(share, bond[r, k], j, r)  # from the row's own position, whichever way
        skip = suffix[k, 0]
        after = suffix[k, 1]
        out = suffix[k - 1, 0]
        own = suffix[k - 1, 1]
        if bond[r, k] & FORCED:
            for c in range(most):
                out[c] = enter + after[c + 1]
                own[c] = link + after[c + 1]
            out[most] = own[most] = -np.inf
            continue
        for c in range(most):
            x = after[c + 1]
            out[c] = max(skip[c], enter + x)
            own[c] = max(skip[c], link + x)
        out[most] = own[most] = skip[most]
        if bond[r, k] & KEPT:
            for c in range(most + 1):
                own[c] = max(own[c], after[c])


@kernel
def _link(share, hangs, j, r):
    """What a link is worth when the position after the cell before was the row's."""
    if hangs & TOUCHING:
        return share[1, j, r]
    return max(share[0, j, r], share[1, j, r]) if hangs & BOUND else share[0, j, r]


@kernel
def trace_runs(share, cells, bond, r, suffix, picks):
    """One best choice of `suffix_runs`: `picks[r, k]` is 1 if the k-th cell begins a run, 2 if it goes on with one, else 0.

    Nothing is picked where no choice is allowed.
    """
    own = 0
    c = 0
    if not suffix[0, 0, 0] > -np.inf:
        picks[r, 1 : cells[r, 0] + 1] = 0
        return
    for k in range(1, cells[r, 0] + 1):
        j = cells[r, k]
        hangs = bond[r, k]
        value = suffix[k - 1, own, c]
        picks[r, k] = 0
        if not hangs & FORCED and value == suffix[k, 0, c]:
            own = 0
        elif not (own and hangs & KEPT and value == suffix[k, 1, c]):
            stays = own and hangs & BOUND and value == share[1, j, r] + suffix[k, 1, c + 1]
            picks[r, k] = 2 if stays else 1
            own = 1
            c += 1


@kernel
def run_margins(share, cells, bond, r, suffix, take, leave, keep):
    """What the row loses by whatever may happen in each of its columns; -inf where it can't happen.

    take[0, j, r]: the row begins a run there; take[1, j, r]: it goes on with one; keep[j, r]: NULL takes the column and
    keeps the row's position; leave[j, r]: the position after it is another's.  Returns the best sum of shares by count.
    """
    best = suffix[0, 0, 0]
    most = suffix.shape[2] - 1
    out = np.full(most + 1, -np.inf)
    own = np.full(most + 1, -np.inf)
    new_out = np.empty(most + 1)
    new_own = np.empty(most + 1)
    out[0] = 0.0
    for k in range(1, cells[r, 0] + 1):
        j = cells[r, k]
        hangs = bond[r, k]
        enters = stays = keeps = leaves = -np.inf
        new_own[0] = -np.inf
        for c in range(most):
            x = share[0, j, r] + (out[c] if hangs & TOUCHING else max(out[c], own[c]))
            y = share[1, j, r] + own[c] if hangs & BOUND else -np.inf
            enters = max(enters, x + suffix[k, 1, c + 1])
            stays = max(stays, y + suffix[k, 1, c + 1])
            new_own[c + 1] = max(x, y)
        for c in range(most + 1):
            new_out[c] = -np.inf if hangs & FORCED else max(out[c], own[c])
            leaves = max(leaves, new_out[c] + suffix[k, 0, c])
            if hangs & KEPT:
                keeps = max(keeps, own[c] + suffix[k, 1, c])
                new_own[c] = max(new_own[c], own[c])
        take[0, j, r] = enters - best
        take[1, j, r] = stays - best
        leave[j, r] = leaves - best
        keep[j, r] = keeps - best
        out, new_out = new_out, out
        own, new_own = new_own, own
    for c in range(most + 1):
        out[c] = max(out[c], own[c])
    return out
