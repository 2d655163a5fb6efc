"""Viterbi and max-marginals of the position-keeping HMM over the cells that are still live.

A *cell* is a pair (target position j, row r): row 0 is NULL, row r > 0 the source word r - 1.  NULL keeps the position,
so NULL at j is one cell for each position p it may be taken from (p = 0: before the first link).  Exact decoding of the
fertility HMM strikes out cell after cell; what is left is listed column by column, in arrays whose entry 0 counts.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel


@kernel
def list_live(live_link, live_null, links, nulls, active):
    """List the live cells: `links[j, 1:1 + links[j, 0]]` are column j's rows, `nulls` the positions that NULL may keep.

    `active[j]` holds the positions that can be reached before column j: those of a link or a NULL at j - 1.
    """
    J, R = live_link.shape
    active[0, 0] = 1
    active[0, 1] = 0
    for j in range(J):
        n_links = 0
        n_nulls = 0
        n_active = 0
        for r in range(R):
            reached = False
            if live_link[j, r]:
                n_links += 1
                links[j, n_links] = r
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


@kernel
def chain_scores(emission, transition, share, runs):
    """What the rows leave to the chain: `chain` (J, R) for a NULL or a link that jumps, `stay` for one to the same row.

    Without `runs` every link is taken for a jump.
    """
    J, R = emission.shape
    chain = np.empty((J, R))
    stay = np.full((J, R), -np.inf)
    for j in range(J):
        for r in range(R):
            chain[j, r] = emission[j, r] - share[0, j, r]
        for r in range(1, R if runs else 0):
            stay[j, r] = emission[j, r] - share[1, j, r] + transition[r, r - 1]
    return chain, stay


@kernel
def forward(chain, stay, jump, log_null, links, nulls, active, enter, delta):
    """Best score of every prefix, and of the best whole path (Vogel et al. 1996; NULLs as in Och and Ney 2003).

    enter[j, r]     = chain[j, r] + max over p of delta[j, p] + jump[p, r - 1]                  (a link that jumps to r at j)
    delta[j + 1, p] = max(enter[j, p], delta[j, p] + stay[j, p],                                (position p after j)
                          delta[j, p] + log_null + chain[j, 0])

    Only live cells are read.  Returns max over p of delta[J, p].  O(I^2 J).
    """
    J, R = chain.shape
    I = R - 1
    reach = np.empty(I)
    delta[0, :] = -np.inf
    delta[0, 0] = 0.0
    for j in range(J):
        before = delta[j]
        after = delta[j + 1]
        after[:] = -np.inf
        n_active = active[j, 0]
        n_links = links[j, 0]
        if 3 * n_links > I:
            # Most rows are live: whole rows of the matrix, so that the inner loop is one vector operation.
            reach[:] = -np.inf
            for k in range(1, n_active + 1):
                p = active[j, k]
                start = before[p]
                row = jump[p]
                for i in range(I):
                    x = start + row[i]
                    reach[i] = x if x > reach[i] else reach[i]
            for k in range(1, n_links + 1):
                r = links[j, k]
                enter[j, r] = reach[r - 1] + chain[j, r]
                after[r] = max(enter[j, r], before[r] + stay[j, r])
        else:
            for k in range(1, n_links + 1):
                r = links[j, k]
                best = -np.inf
                for q in range(1, n_active + 1):
                    p = active[j, q]
                    x = before[p] + jump[p, r - 1]
                    best = x if x > best else best
                enter[j, r] = best + chain[j, r]
                after[r] = max(enter[j, r], before[r] + stay[j, r])
        null = log_null + chain[j, 0]
        for k in range(1, nulls[j, 0] + 1):
            p = nulls[j, k]
            x = before[p] + null
            after[p] = x if x > after[p] else after[p]
    best = -np.inf
    for k in range(1, active[J, 0] + 1):
        best = max(best, delta[J, active[J, k]])
    return best


@kernel
def best_path(chain, stay, jump, log_null, live_link, live_null, active, delta, path):
    """Trace back one best path of `forward` into `path` (J,), the row of each target word.

    Arguments of the maxima are found again here, along one path only, instead of being stored for all of them.
    """
    J = chain.shape[0]
    p = active[J, 1]
    for k in range(1, active[J, 0] + 1):
        if delta[J, active[J, k]] > delta[J, p]:
            p = active[J, k]
    for j in range(J - 1, -1, -1):
        if live_null[j, p] and delta[j, p] + (log_null + chain[j, 0]) >= delta[j + 1, p]:
            path[j] = 0
            continue
        path[j] = p
        if live_link[j, p] and delta[j, p] + stay[j, p] >= delta[j + 1, p]:
            continue
        best = -np.inf
        origin = active[j, 1]
        for k in range(1, active[j, 0] + 1):
            x = delta[j, active[j, k]] + jump[active[j, k], p - 1]
            if x > best:
                best = x
                origin = active[j, k]
        p = origin


@kernel
def backward(chain, stay, jump_to, log_null, links, nulls, active, beta):
    """Best score of every suffix: `beta[j, p]` for columns j, j + 1, ... when the position before j is p.

    `jump_to` (I, I + 1) is `jump` transposed.  The best path through a link that jumps is enter[j, r] + beta[j + 1, r],
    through a link to the same row again delta[j, r] + stay[j, r] + beta[j + 1, r], through NULL at j from p
    delta[j, p] + log_null + chain[j, 0] + beta[j + 1, p].
    """
    J, R = chain.shape
    beta[J, :] = 0.0
    for j in range(J - 1, -1, -1):
        before = beta[j]
        after = beta[j + 1]
        before[:] = -np.inf
        dense = 3 * active[j, 0] > R
        for k in range(1, links[j, 0] + 1):
            r = links[j, k]
            end = after[r] + chain[j, r]
            row = jump_to[r - 1]
            if dense:
                for p in range(R):
                    x = end + row[p]
                    before[p] = x if x > before[p] else before[p]
            else:
                for q in range(1, active[j, 0] + 1):
                    p = active[j, q]
                    x = end + row[p]
                    before[p] = x if x > before[p] else before[p]
        for k in range(1, links[j, 0] + 1):
            r = links[j, k]
            x = after[r] + stay[j, r]
            before[r] = x if x > before[r] else before[r]
        null = log_null + chain[j, 0]
        for k in range(1, nulls[j, 0] + 1):
            p = nulls[j, k]
            x = after[p] + null
            before[p] = x if x > before[p] else before[p]
