"""The dual decomposition of Quirk (2013) as the paper has it: plain subgradient steps, rows that use exactly J cells."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.exact_fertility.chain import best_path, forward, list_live
from dovetail.kernels.exact_fertility.rows import list_cells, sort_cells
from dovetail.kernels.exact_fertility.score import aim_above, alignment_score, copy_path


@kernel
def subgradient(
    emission,
    transition,
    log_null,
    fertility,
    live_link,
    live_null,
    share,
    incumbent,
    score,
    bound,
    rises,
    tolerance,
    iterations,
    rate,
):
    """At most `iterations` of Figure 1, from the shares given, in place.

    The chain scores cell (r, j) with emission - share, the rows with share (the paper's half emission - u), NULL is a row
    too.  Every path is scored; `incumbent` keeps the best.  The step is rate / (1 + times the dual rose), as in
    Rush and Collins (2012), section 5.2.  Stops when the least bound meets the best score.

    Returns the bound, the score, how often the dual has risen and the iterations used.
    """
    J, R = emission.shape
    links = np.empty((J, R + 1), np.int32)
    nulls = np.empty((J, R + 1), np.int32)
    active = np.empty((J + 1, R + 1), np.int32)
    cells = np.empty((R, J + 1), np.int32)
    enter = np.empty((J, R))
    delta = np.empty((J + 1, R))
    counts = np.empty(R, np.int32)
    path = np.zeros(J, np.int32)
    picked = np.empty((J, R), np.uint8)
    chain = emission - share
    stay = np.full((J, R), -np.inf)  # `transition` holds all links, those to the same row too
    list_live(live_link, live_null, links, nulls, active)
    list_cells(links, nulls, cells)
    last = np.inf
    used = 0
    while used < iterations:
        used += 1
        dual = forward(chain, stay, transition, log_null, links, nulls, active, enter, delta)
        dual += best_rows(fertility, share, cells, picked)
        bound = min(bound, dual)
        if not dual > -np.inf:
            break
        best_path(chain, stay, transition, log_null, live_link, live_null, active, delta, path)
        reached = alignment_score(path, emission, transition, log_null, fertility, counts)
        if reached > score:
            score = reached
            copy_path(path, incumbent)
        if not bound > aim_above(score, tolerance):
            break
        if dual > last:
            rises += 1
        last = dual
        step = rate / (1.0 + rises)
        for r in range(R):
            for k in range(1, cells[r, 0] + 1):
                j = cells[r, k]
                share[j, r] += step * ((path[j] == r) - picked[j, r])
                chain[j, r] = emission[j, r] - share[j, r]
    return bound, score, rises, used


@kernel
def best_rows(fertility, share, cells, picked):
    """The best rows that take exactly J cells in all (Figure 2 and the refinement below it), marked in `picked` (J, R).

    With g_r(c) the sum of row r's c best shares plus fertility[r, c]:
    best[r, n] = max over c of best[r - 1, n - c] + g_r(c).
    Returns best[R, J], -inf if J cells can't be had.  O(R J^2).
    """
    R = cells.shape[0]
    J = picked.shape[0]
    best = np.full((R + 1, J + 1), -np.inf)
    chosen = np.zeros((R, J + 1), np.int32)
    best[0, 0] = 0.0
    picked[:, :] = 0
    for r in range(R):
        sort_cells(share, cells, r)
        row = cells[r]
        total = 0.0
        for c in range(row[0] + 1):
            if c > 0:
                total += share[row[c], r]
            value = total + fertility[r, c]
            for n in range(c, J + 1):
                x = best[r, n - c] + value
                if x > best[r + 1, n]:
                    best[r + 1, n] = x
                    chosen[r, n] = c
    if best[R, J] > -np.inf:
        n = J
        for r in range(R - 1, -1, -1):
            for k in range(1, chosen[r, n] + 1):
                picked[cells[r, k], r] = 1
            n -= chosen[r, n]
    return best[R, J]
