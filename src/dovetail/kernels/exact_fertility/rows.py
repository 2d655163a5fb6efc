"""The rows' side of the fertility HMM: how many cells, and which, each source word wants (Quirk 2013, Figure 2).

A row is paid price[0, j, r] for cell (r, j).  `best_row` sorts its list of cells, dearest first.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import leaf


@leaf
def sort_cells(price, cells, r):
    """Sort the row's cells, dearest first.  Insertion sort: the order of the last call is nearly right."""
    row = cells[r]
    for k in range(2, row[0] + 1):
        j = row[k]
        value = price[0, j, r]
        q = k - 1
        while q >= 1 and price[0, row[q], r] < value:
            row[q + 1] = row[q]
            q -= 1
        row[q + 1] = j


@leaf
def best_row(fertility, node, lists, r):
    """Sort the row's cells and take the best count: max over c of fertility[r, c] + sum of the c highest prices.

    Figure 2 of the paper, with the argument stored that the printed version forgets.  Returns the score and the count;
    the score is -inf if no count is allowed.
    """
    sort_cells(node.price, lists.cells, r)
    row = lists.cells[r]
    low = node.low[r]
    total = 0.0
    best = fertility[r, 0] if low == 0 else -np.inf
    count = 0
    for c in range(1, min(row[0], node.high[r]) + 1):
        total += node.price[0, row[c], r]
        if c >= low and total + fertility[r, c] > best:
            best = total + fertility[r, c]
            count = c
    return best, count


@leaf
def row_margins(fertility, node, lists, r, best, margins):
    """What the row loses when one of its cells must be taken, and when it must be left, into `margins`.

    With the cells sorted, S_c the sum of the c highest prices and G_c = S_c + fertility[c], for the cell at rank m (from 1):
    taken: max(max_{c >= m} G_c, price + max_{1 <= c < m} S_{c-1} + fertility[c]);
    left:  max(max_{c < m} G_c, max_{c >= m} S_{c+1} - price + fertility[c]).
    Both minus `best`, the row's unconstrained maximum (finite); -inf where no count allows it.  O(n) for the row.
    """
    price, row = node.price, lists.cells[r]
    low, high = node.low[r], node.high[r]
    n = row[0]
    total = margins.sums  # S_c
    taken_later = margins.later[0]  # max over c >= m of G_c
    left_later = margins.later[1]  # max over c >= m of S_{c+1} + fertility[c]
    total[0] = 0.0
    for c in range(1, n + 1):
        total[c] = total[c - 1] + price[0, row[c], r]
    taken_later[n + 1] = -np.inf
    left_later[n] = -np.inf
    for c in range(n, 0, -1):
        allowed = low <= c <= high
        taken_later[c] = max(taken_later[c + 1], total[c] + fertility[r, c]) if allowed else taken_later[c + 1]
        if c < n:
            left_later[c] = max(left_later[c + 1], total[c + 1] + fertility[r, c]) if allowed else left_later[c + 1]
    taken_before = -np.inf  # max over 1 <= c < m of S_{c-1} + fertility[c]
    left_before = fertility[r, 0] if low == 0 else -np.inf  # max over c < m of G_c
    for m in range(1, n + 1):
        j = row[m]
        margins.take[0, j, r] = max(taken_later[m], price[0, j, r] + taken_before) - best
        margins.leave[j, r] = max(left_before, left_later[m] - price[0, j, r]) - best
        if low <= m <= high:
            taken_before = max(taken_before, total[m - 1] + fertility[r, m])
            left_before = max(left_before, total[m] + fertility[r, m])
