"""Viterbi and max-marginals of the position-keeping HMM over the cells that are still live."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.exact_fertility.records import Chain


@kernel
def chain_scores(problem, price):
    """What the rows leave to the chain; without `runs` every link is taken for a jump."""
    emission, transition = problem.emission, problem.transition
    J, R = emission.shape
    score = np.empty((J, R))
    stay = np.full((J, R), -np.inf)
    for j in range(J):
        for r in range(R):
            score[j, r] = emission[j, r] - price[0, j, r]
        for r in range(1, R if problem.runs else 0):
            stay[j, r] = emission[j, r] - price[1, j, r] + transition[r, r - 1]
    return Chain(score, stay, problem.jump, problem.jump_to, problem.log_null)


@kernel
def forward(chain, lists, trellis):
    """Best score of every prefix, and of the best whole path (Vogel et al. 1996; NULLs as in Och and Ney 2003).

    enter[j, r]     = score[j, r] + max over p of delta[j, p] + jump[p, r - 1]                  (a link that jumps to r at j)
    delta[j + 1, p] = max(enter[j, p], delta[j, p] + stay[j, p],                                (position p after j)
                          delta[j, p] + log_null + score[j, 0])

    Only live cells are read.  Returns max over p of delta[J, p].  O(I^2 J).
    """
    score, stay, jump = chain.score, chain.stay, chain.jump
    links, nulls, active = lists.links, lists.nulls, lists.active
    enter, delta = trellis.enter, trellis.delta
    J, R = score.shape
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
                enter[j, r] = reach[r - 1] + score[j, r]
                after[r] = max(enter[j, r], before[r] + stay[j, r])
        else:
            for k in range(1, n_links + 1):
                r = links[j, k]
                best = -np.inf
                for q in range(1, n_active + 1):
                    p = active[j, q]
                    x = before[p] + jump[p, r - 1]
                    best = x if x > best else best
                enter[j, r] = best + score[j, r]
                after[r] = max(enter[j, r], before[r] + stay[j, r])
        null = chain.log_null + score[j, 0]
        for k in range(1, nulls[j, 0] + 1):
            p = nulls[j, k]
            x = before[p] + null
            after[p] = x if x > after[p] else after[p]
    best = -np.inf
    for k in range(1, active[J, 0] + 1):
        best = max(best, delta[J, active[J, k]])
    return best


@kernel
def best_path(chain, node, lists, trellis, path):
    """Trace back one best path of `forward` into `path` (J,), the row of each target word.

    Arguments of the maxima are found again here, along one path only, instead of being stored for all of them.
    """
    score, stay, jump = chain.score, chain.stay, chain.jump
    live_link, live_null = node.live_link, node.live_null
    active, delta = lists.active, trellis.delta
    J = score.shape[0]
    p = active[J, 1]
    for k in range(1, active[J, 0] + 1):
        if delta[J, active[J, k]] > delta[J, p]:
            p = active[J, k]
    for j in range(J - 1, -1, -1):
        if live_null[j, p] and delta[j, p] + (chain.log_null + score[j, 0]) >= delta[j + 1, p]:
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
def backward(chain, lists, trellis):
    """Best score of every suffix: `beta[j, p]` for columns j, j + 1, ... when the position before j is p.

    `jump_to` (I, I + 1) is `jump` transposed.  The best path through a link that jumps is enter[j, r] + beta[j + 1, r],
    through a link to the same row again delta[j, r] + stay[j, r] + beta[j + 1, r], through NULL at j from p
    delta[j, p] + log_null + score[j, 0] + beta[j + 1, p].
    """
    score, stay, jump_to = chain.score, chain.stay, chain.jump_to
    links, nulls, active = lists.links, lists.nulls, lists.active
    beta = trellis.beta
    J, R = score.shape
    beta[J, :] = 0.0
    for j in range(J - 1, -1, -1):
        before = beta[j]
        after = beta[j + 1]
        before[:] = -np.inf
        dense = 3 * active[j, 0] > R
        for k in range(1, links[j, 0] + 1):
            r = links[j, k]
            end = after[r] + score[j, r]
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
        null = chain.log_null + score[j, 0]
        for k in range(1, nulls[j, 0] + 1):
            p = nulls[j, k]
            x = after[p] + null
            before[p] = x if x > before[p] else before[p]
