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
def chain_scores(emission, share):
    """What the rows leave to the chain of each cell's emission."""
    J, R = emission.shape
    chain = np.empty((J, R))
    for j in range(J):
        for r in range(R):
            chain[j, r] = emission[j, r] - share[j, r]
    return chain


@kernel
def forward(chain, transition, log_null, links, nulls, active, enter, delta):
    """Best score of every prefix, and of the best whole path (Vogel et al. 1996; NULLs as in Och and Ney 2003).

    enter[j, r]     = chain[j, r] + max over p of delta[j, p] + transition[p, r - 1]    (a link to row r at j)
    delta[j + 1, p] = max(enter[j, p], delta[j, p] + log_null + chain[j, 0])            (position p after j)

    `chain` (J, R) holds the cells' scores; only live cells are read.  Returns max over p of delta[J, p].  O(I^2 J).
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
            # Most rows are live: whole rows of the transition matrix, so that the inner loop is one vector operation.
            reach[:] = -np.inf
            for k in range(1, n_active + 1):
                p = active[j, k]
                start = before[p]
                row = transition[p]
                for i in range(I):
                    x = start + row[i]
                    reach[i] = x if x > reach[i] else reach[i]
            for k in range(1, n_links + 1):
                r = links[j, k]
                after[r] = enter[j, r] = reach[r - 1] + chain[j, r]
        else:
            for k in range(1, n_links + 1):
                r = links[j, k]
                best = -np.inf
                for q in range(1, n_active + 1):
                    p = active[j, q]
                    x = before[p] + transition[p, r - 1]
                    best = x if x > best else best
                after[r] = enter[j, r] = best + chain[j, r]
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
def best_path(chain, transition, log_null, live_null, active, delta, path):
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
        best = -np.inf
        origin = active[j, 1]
        for k in range(1, active[j, 0] + 1):
            x = delta[j, active[j, k]] + transition[active[j, k], p - 1]
            if x > best:
                best = x
                origin = active[j, k]
        p = origin


@kernel
def backward(chain, transition_to, log_null, links, nulls, active, beta):
    """Best score of every suffix: `beta[j, p]` for columns j, j + 1, ... when the position before j is p.

    `transition_to` (I, I + 1) is the transition matrix transposed.  The best path through a link (r, j) is
    enter[j, r] + beta[j + 1, r], through NULL at j from p it is delta[j, p] + log_null + chain[j, 0] + beta[j + 1, p].
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
            row = transition_to[r - 1]
            if dense:
                for p in range(R):
                    x = end + row[p]
                    before[p] = x if x > before[p] else before[p]
            else:
                for q in range(1, active[j, 0] + 1):
                    p = active[j, q]
                    x = end + row[p]
                    before[p] = x if x > before[p] else before[p]
        null = log_null + chain[j, 0]
        for k in range(1, nulls[j, 0] + 1):
            p = nulls[j, k]
            x = after[p] + null
            before[p] = x if x > before[p] else before[p]
