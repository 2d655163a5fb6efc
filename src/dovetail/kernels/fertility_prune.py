"""Strike out the cells and the counts that no alignment better than the best one known can use."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.fertility_chain import backward, list_live
from dovetail.kernels.fertility_rows import best_row, list_cells, row_margins


@kernel
def prune(
    chain,
    share,
    transition,
    transition_to,
    log_null,
    fertility,
    first,
    low,
    high,
    live_link,
    live_null,
    links,
    nulls,
    active,
    cells,
    enter,
    delta,
    beta,
    aim,
):
    """Kill every live cell whose upper bound is not above `aim`; `enter` and `delta` must stem from `forward`.

    If a_j = r, then the path runs through cell (r, j), row r takes the cell and every other row leaves it:
    bound = best path through it + rows' total + take(r, j) + sum over r' != r of leave(r', j).
    Counts at either end of a row's range fall by the same rule.  The sum over r' is made of the sums before and behind r:
    taking one term out of the whole sum again would go wrong where terms are -inf, or so low that they swallow the rest.
    Rows below `first` have no fertility and lose nothing.  Returns how many cells and counts were killed.
    """
    J, R = chain.shape
    backward(chain, transition_to, log_null, links, nulls, active, beta)
    take = np.zeros((J, R))
    leave = np.zeros((J, R))
    work = np.empty((3, J + 2))
    best = np.zeros(R)
    total = 0.0
    for r in range(first, R):
        best[r], _ = best_row(fertility, share, low, high, cells, r)
        total += best[r]
    bound = beta[0, 0] + total
    killed = 0
    for r in range(first, R):
        row_margins(fertility, share, low, high, cells, r, best[r], take, leave, work)
        sums = work[0]
        slack = bound - best[r]
        while low[r] <= high[r] and not slack + (sums[high[r]] + fertility[r, high[r]]) > aim:
            high[r] -= 1
            killed += 1
        while low[r] <= high[r] and not slack + (sums[low[r]] + fertility[r, low[r]]) > aim:
            low[r] += 1
            killed += 1

    before = np.empty(R + 1)
    for j in range(J):
        n = links[j, 0]
        has_null = nulls[j, 0] > 0
        before[0] = 0.0  # sum of leave over NULL and the first k - 1 links
        before[1] = leave[j, 0] if has_null else 0.0
        for k in range(1, n + 1):
            before[k + 1] = before[k] + leave[j, links[j, k]]
        behind = 0.0  # the same over the links after the k-th
        for k in range(n, 0, -1):
            r = links[j, k]
            rows = total + (before[k] + behind) + take[j, r]
            if not enter[j, r] + beta[j + 1, r] + rows > aim:
                live_link[j, r] = 0
                killed += 1
            behind += leave[j, r]
        rows = total + behind + take[j, 0]
        for k in range(1, nulls[j, 0] + 1):
            p = nulls[j, k]
            if not delta[j, p] + (log_null + chain[j, 0]) + beta[j + 1, p] + rows > aim:
                live_null[j, p] = 0
                killed += 1
    if killed > 0:
        list_live(live_link, live_null, links, nulls, active)
        list_cells(links, nulls, cells)
        for r in range(first, R):
            high[r] = min(high[r], cells[r, 0])
    return killed
