"""The rows' side of the fertility HMM: how many cells, and which, each source word wants (Quirk 2013, Figure 2).

`share[j, r]` is what row r gets for cell (r, j).  `cells[r]` lists the row's live columns, best share first; entry 0 counts.
Counts are allowed from `low[r]` to `high[r]`.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel


@kernel
def list_cells(links, nulls, cells):
    """List every row's live columns; NULL (row 0) has one wherever any position may keep it."""
    J = links.shape[0]
    cells[:, 0] = 0
    for j in range(J):
        for k in range(1, links[j, 0] + 1):
            r = links[j, k]
            cells[r, 0] += 1
            cells[r, cells[r, 0]] = j
        if nulls[j, 0] > 0:
            cells[0, 0] += 1
            cells[0, cells[0, 0]] = j


@kernel
def sort_cells(share, cells, r):
    """Sort the row's cells, best share first.  Insertion sort: the order of the last call is nearly right."""
    row = cells[r]
    for k in range(2, row[0] + 1):
        j = row[k]
        value = share[j, r]
        q = k - 1
        while q >= 1 and share[row[q], r] < value:
            row[q + 1] = row[q]
            q -= 1
        row[q + 1] = j


@kernel
def best_row(fertility, share, low, high, cells, r):
    """Sort the row's cells and take the best count: max over c of fertility[r, c] + sum of the c best shares.

    Figure 2 of the paper, with the argument stored that the printed version forgets.  Returns the score and the count;
    the score is -inf if no count is allowed.
    """
    sort_cells(share, cells, r)
    row = cells[r]
    n = row[0]
    total = 0.0
    best = fertility[r, 0] if low[r] == 0 else -np.inf
    count = 0
    for c in range(1, min(n, high[r]) + 1):
        total += share[row[c], r]
        if c >= low[r] and total + fertility[r, c] > best:
            best = total + fertility[r, c]
            count = c
    return best, count


@kernel
def row_margins(fertility, share, low, high, cells, r, best, take, leave, work):
    """What the row loses when one of its cells must be taken, and when it must be left, into `take` and `leave` (J, R).

    With the cells sorted, S_c the sum of the c best and G_c = S_c + fertility[c], for the cell at rank m (from 1):
    taken: max(max_{c >= m} G_c, share + max_{1 <= c < m} S_{c-1} + fertility[c]);
    left:  max(max_{c < m} G_c, max_{c >= m} S_{c+1} - share + fertility[c]).
    Both minus `best`, the row's unconstrained maximum (finite); -inf where no count allows it.  O(n) for the row.
    """
    row = cells[r]
    n = row[0]
    total = work[0]  # S_c
    taken_later = work[1]  # max over c >= m of G_c
    left_later = work[2]  # max over c >= m of S_{c+1} + fertility[c]
    total[0] = 0.0
    for c in range(1, n + 1):
        total[c] = total[c - 1] + share[row[c], r]
    taken_later[n + 1] = -np.inf
    left_later[n] = -np.inf
    for c in range(n, 0, -1):
        allowed = low[r] <= c <= high[r]
        taken_later[c] = max(taken_later[c + 1], total[c] + fertility[r, c]) if allowed else taken_later[c + 1]
        if c < n:
            left_later[c] = max(left_later[c + 1], total[c + 1] + fertility[r, c]) if allowed else left_later[c + 1]
    taken_before = -np.inf  # max over 1 <= c < m of S_{c-1} + fertility[c]
    left_before = fertility[r, 0] if low[r] == 0 else -np.inf  # max over c < m of G_c
    for m in range(1, n + 1):
        j = row[m]
        take[j, r] = max(taken_later[m], share[j, r] + taken_before) - best
        leave[j, r] = max(left_before, left_later[m] - share[j, r]) - best
        if low[r] <= m <= high[r]:
            taken_before = max(taken_before, total[m - 1] + fertility[r, m])
            left_before = max(left_before, total[m] + fertility[r, m])
