"""The rows' side of the fertility HMM, run by run: a row knows how many links it takes, and which of them follow each other.

Bargaining over cells alone leaves a gap that no multipliers close.  Say the path links columns 3 and 4 to a row half of
the time and neither the other half, while the row takes column 3 half of the time and column 4 the other half: the cells
agree, though the row counts one link always and the path two or none.  Most of the gap in long sentences is of this kind.
So a row is paid price[0, j, r] for a link that jumps to it, which begins a run, and price[1, j, r] for one from its own
position, which goes on with a run.  Its best choice is a dynamic program over its cells in order; the state is the count
so far, and whether the position is the row's.

The lists' `bond` says how each of a row's cells hangs on the one before it.  NULL (row 0) has no position: each of its links
begins a run.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.exact_fertility.lists import BOUND, FORCED, KEPT, TOUCHING


@kernel
def row_table(numbers, cells, high):
    """A row's table, made of the first `numbers`: for each cell passed, position and count, a number."""
    n = cells + 1
    counts = high + 1
    return numbers[: 2 * n * counts].reshape(n, 2, counts)


@leaf
def suffix_runs(fertility, node, lists, r, suffix):
    """The best that row r can get from its cells after the k-th, its fertility included, when c cells are taken so far.

    suffix[k, 0, c]: the position after the k-th cell's column is another's; suffix[k, 1, c]: it is the row's.
    `suffix` has shape (cells + 1, 2, counts): no count beyond these is allowed.  suffix[0, 0, 0] is the row's best.

    own(k - 1, c)   = max(other(k, c), link + own(k, c + 1), own(k, c) if KEPT)
    other(k - 1, c) = max(other(k, c), price[0] + own(k, c + 1))

    where link is price[1], or the better of both prices if the position can have been elsewhere in between.
    """
    price, row, bond = node.price, lists.cells[r], lists.bond[r]
    n = row[0]
    low = node.low[r]
    most = suffix.shape[2] - 1
    for c in range(most + 1):
        suffix[n, 0, c] = suffix[n, 1, c] = fertility[r, c] if c >= low else -np.inf
    for k in range(n, 0, -1):
        j = row[k]
        enter = price[0, j, r]
        link = _link(price, bond[k], j, r)  # from the row's own position, whichever way
        skip = suffix[k, 0]
        after = suffix[k, 1]
        out = suffix[k - 1, 0]
        own = suffix[k - 1, 1]
        if bond[k] & FORCED:
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
        if bond[k] & KEPT:
            for c in range(most + 1):
                own[c] = max(own[c], after[c])


@leaf
def _link(price, hangs, j, r):
    """What a link is worth when the position after the cell before was the row's."""
    if hangs & TOUCHING:
        return price[1, j, r]
    return max(price[0, j, r], price[1, j, r]) if hangs & BOUND else price[0, j, r]


@leaf
def trace_runs(price, lists, r, suffix, picks):
    """One best choice of `suffix_runs`: `picks[r, k]` is 1 if the k-th cell begins a run, 2 if it goes on with one, else 0.

    Nothing is picked where no choice is allowed.
    """
    row = lists.cells[r]
    own = 0
    c = 0
    if not suffix[0, 0, 0] > -np.inf:
        picks[r, 1 : row[0] + 1] = 0
        return
    for k in range(1, row[0] + 1):
        j = row[k]
        hangs = lists.bond[r, k]
        value = suffix[k - 1, own, c]
        picks[r, k] = 0
        if not hangs & FORCED and value == suffix[k, 0, c]:
            own = 0
        elif not (own and hangs & KEPT and value == suffix[k, 1, c]):
            stays = own and hangs & BOUND and value == price[1, j, r] + suffix[k, 1, c + 1]
            picks[r, k] = 2 if stays else 1
            own = 1
            c += 1


@kernel
def run_margins(price, lists, r, suffix, margins):
    """What the row loses by whatever may happen in each of its columns, into `margins`; -inf where it can't happen.

    take[0, j, r]: the row begins a run there; take[1, j, r]: it goes on with one; keep[j, r]: NULL takes the column and
    keeps the row's position; leave[j, r]: the position after it is another's.
    """
    row = lists.cells[r]
    best = suffix[0, 0, 0]
    most = suffix.shape[2] - 1
    out = np.full(most + 1, -np.inf)
    own = np.full(most + 1, -np.inf)
    new_out = np.empty(most + 1)
    new_own = np.empty(most + 1)
    out[0] = 0.0
    for k in range(1, row[0] + 1):
        j = row[k]
        hangs = lists.bond[r, k]
        enters = stays = keeps = leaves = -np.inf
        new_own[0] = -np.inf
        for c in range(most):
            x = price[0, j, r] + (out[c] if hangs & TOUCHING else max(out[c], own[c]))
            y = price[1, j, r] + own[c] if hangs & BOUND else -np.inf
            enters = max(enters, x + suffix[k, 1, c + 1])
            stays = max(stays, y + suffix[k, 1, c + 1])
            new_own[c + 1] = max(x, y)
        for c in range(most + 1):
            new_out[c] = -np.inf if hangs & FORCED else max(out[c], own[c])
            leaves = max(leaves, new_out[c] + suffix[k, 0, c])
            if hangs & KEPT:
                keeps = max(keeps, own[c] + suffix[k, 1, c])
                new_own[c] = max(new_own[c], own[c])
        margins.take[0, j, r] = enters - best
        margins.take[1, j, r] = stays - best
        margins.leave[j, r] = leaves - best
        margins.keep[j, r] = keeps - best
        out, new_out = new_out, out
        own, new_own = new_own, own
    for c in range(most + 1):
        margins.sums[c] = max(out[c], own[c])
