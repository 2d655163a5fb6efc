"""Strike out the cells and the counts that no alignment better than the best one known can use."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.exact_fertility.chain import backward
from dovetail.kernels.exact_fertility.lists import list_live
from dovetail.kernels.exact_fertility.records import Margins
from dovetail.kernels.exact_fertility.rows import row_margins
from dovetail.kernels.exact_fertility.runs import row_table, run_margins, suffix_runs


@kernel
def prune(problem, node, chain, lists, trellis, rows, aim):
    """Kill every live cell whose upper bound is not above `aim`.

    `trellis` must stem from `forward`, `rows` holds each row's best.  If a_j = r, then the path runs through cell (r, j),
    row r takes the cell and every other row leaves it:
    bound = best path through it + rows' total + take(r, j) + sum over r' != r of leave(r', j).
    With `runs` the two kinds of link have bounds of their own, and so has a NULL that keeps the position of a row with a
    cell in its column.  Counts at either end of a row's range fall by the same rule.

    The sum over r' is made of the sums before and behind r: taking one term out of the whole sum again would go wrong
    where terms are -inf, or so low that they swallow the rest.  Rows below `first` have no fertility and lose nothing.
    Returns how many cells and counts were killed.
    """
    first, runs, fertility = problem.first, problem.runs, problem.fertility
    low, high, value = node.low, node.high, rows.value
    links, nulls = lists.links, lists.nulls
    enter, delta, beta = trellis.enter, trellis.delta, trellis.beta
    J, R = enter.shape
    backward(chain, lists, trellis)
    kinds = 2 if runs else 1
    take = np.zeros((kinds, J, R))
    leave = np.zeros((J, R))
    keep = np.zeros((J, R)) if runs else leave
    sums = np.empty(J + 2)
    margins = Margins(take, leave, keep, sums, np.empty((2, J + 2)))
    total = 0.0
    for r in range(first, R):
        total += value[r]
    bound = beta[0, 0] + total
    killed = 0
    for r in range(first, R):
        if runs:
            suffix = row_table(rows.table, lists.cells[r, 0], high[r])
            suffix_runs(fertility, node, lists, r, suffix)
            run_margins(node.price, lists, r, suffix, margins)
        else:
            row_margins(fertility, node, lists, r, value[r], margins)
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
            again = delta[j, r] + chain.stay[j, r] + take[kinds - 1, j, r]
            others = total + (before[k] + behind[k]) + (leave[j, 0] if nulls[j, 0] > 0 else 0.0)
            if not max(through, again) + beta[j + 1, r] + others > aim:
                node.live_link[j, r] = 0
                killed += 1
        null = chain.log_null + chain.score[j, 0] + take[0, j, 0]
        for k in range(1, nulls[j, 0] + 1):
            p = nulls[j, k]
            others = rest
            if runs and place[p] > 0:
                others = before[place[p]] + behind[place[p]] + keep[j, p]
            if not delta[j, p] + null + beta[j + 1, p] + (total + others) > aim:
                node.live_null[j, p] = 0
                killed += 1
        for k in range(1, n + 1 if runs else 0):
            place[links[j, k]] = 0
    if killed > 0:
        list_live(node, lists, runs)
    return killed
