"""Strike out the cells and the counts that no alignment better than the best one known can use."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.exact_fertility.chain import backward, list_live
from dovetail.kernels.exact_fertility.rows import list_cells, row_margins
from dovetail.kernels.exact_fertility.runs import list_runs, row_table, run_margins, suffix_runs, table_size


@kernel
def prune(
    runs,
    chain,
    stay,
    share,
    jump_to,
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
    bond,
    enter,
    delta,
    beta,
    value,
    aim,
):
    """Kill every live cell whose upper bound is not above `aim`.

    `enter` and `delta` must stem from `forward`, `value` holds each row's best.  If a_j = r, then the path runs through cell
    (r, j), row r takes the cell and every other row leaves it:
    bound = best path through it + rows' total + take(r, j) + sum over r' != r of leave(r', j).
    With `runs` the rows are those of `fertility_runs`: the two kinds of link have bounds of their own, and so has a NULL
    that keeps the position of a row with a cell in its column.  Counts at either end of a row's range fall by the same rule.

    The sum over r' is made of the sums before and behind r: taking one term out of the whole sum again would go wrong
    where terms are -inf, or so low that they swallow the rest.  Rows below `first` have no fertility and lose nothing.
    Returns how many cells and counts were killed.
    """
    J, R = chain.shape
    backward(chain, stay, jump_to, log_null, links, nulls, active, beta)
    kinds = 2 if runs else 1
    take = np.zeros((kinds, J, R))
    plain = share[0]
    take_plain = take[0]
    leave = np.zeros((J, R))
    keep = np.zeros((J, R)) if runs else leave
    work = np.empty((3, J + 2))
    table = np.empty(table_size(first, high, cells) if runs else 0)
    total = 0.0
    for r in range(first, R):
        total += value[r]
    bound = beta[0, 0] + total
    killed = 0
    for r in range(first, R):
        if runs:
            suffix = row_table(table, 0, high, cells, r)
            suffix_runs(fertility, share, low, cells, bond, r, suffix)
            sums = run_margins(share, cells, bond, r, suffix, take, leave, keep)
        else:
            row_margins(fertility, plain, low, high, cells, r, value[r], take_plain, leave, work)
            sums = work[0]
        slack = bound - value[r]
        while low[r] <= high[r] and not slack + (sums[low[r]] + fertility[r, low[r]]) > aim:
            low[r] += 1
            killed += 1
        while low[r] <= high[r] and not slack + (sums[high[r]] + fertility[r, high[r]]) > aim:
            high[r] -= 1  # never below 0: where no count is left, all of them were struck out from the low end
            killed += 1

    before = np.empty(R + 1)
    behind = np.empty(R + 1)
    place = np.zeros(R, np.int32)
    for j in range(J):
        n = links[j, 0]
        before[1] = 0.0  # sum of leave over the links before the k-th
        for k in range(1, n):
            before[k + 1] = before[k] + leave[j, links[j, k]]
        rest = 0.0  # the same over those after it
        for k in range(n, 0, -1):
            behind[k] = rest
            r = links[j, k]
            rest += leave[j, r]
            place[r] = k
            through = enter[j, r] + take[0, j, r]
            again = delta[j, r] + stay[j, r] + take[kinds - 1, j, r]
            rows = total + (before[k] + behind[k]) + (leave[j, 0] if nulls[j, 0] > 0 else 0.0)
            if not max(through, again) + beta[j + 1, r] + rows > aim:
                live_link[j, r] = 0
                killed += 1
        null = log_null + chain[j, 0] + take[0, j, 0]
        for k in range(1, nulls[j, 0] + 1):
            p = nulls[j, k]
            rows = rest
            if runs and place[p] > 0:
                rows = before[place[p]] + behind[place[p]] + keep[j, p]
            if not delta[j, p] + null + beta[j + 1, p] + (total + rows) > aim:
                live_null[j, p] = 0
                killed += 1
        for k in range(1, n + 1 if runs else 0):
            place[links[j, k]] = 0
    if killed > 0:
        list_live(live_link, live_null, links, nulls, active)
        list_cells(links, nulls, cells)
        if runs:
            list_runs(live_null, links, nulls, cells, bond)
        for r in range(first, R):
            high[r] = min(high[r], cells[r, 0])
    return killed
