"""The dual decomposition of Quirk (2013) as the paper has it: plain subgradient steps, rows that use exactly J cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.exact_fertility.chain import best_path, chain_scores, forward
from dovetail.kernels.exact_fertility.records import Trellis
from dovetail.kernels.exact_fertility.rows import sort_cells
from dovetail.kernels.exact_fertility.score import aim_above, alignment_score, copy_path

_RATE = 1.0


class Descent(NamedTuple):
    """What one call hands to the next, so that a descent in pieces takes the same steps as one in a single call."""

    bound: float  # least dual so far
    last: float  # dual of the last iteration
    rises: int  # iterations whose dual was higher than the one before


@kernel
def subgradient(problem, node, lists, known, descent, iterations, free, last_path):
    """At most `iterations` of Figure 1, from the node's prices, in place.  `lists` are its live cells.

    Rows keep their cells sorted in the lists from one call to the next: of cells with the same price, as those of a word
    that stands there twice, the order of the last step decides.

    With `free` rows take as many cells as they like (Figure 2), else J in all (the refinement below it).

    The chain scores cell (r, j) with emission - price, the rows with price (the paper's half emission - u), NULL is a row
    too.  Every path is scored; `known.path` keeps the best, or with `last_path` the last, as Figure 1 returns it.  The
    step is 1 / (1 + times the dual rose), as in Rush and Collins (2012), section 5.2.  Stops when the least bound meets the
    score.

    Returns the descent so far, the score and the iterations used.
    """
    emission, price = problem.emission, node.price
    J, R = emission.shape
    trellis = Trellis(np.empty((J, R)), np.empty((J + 1, R)), np.empty((J + 1, R)))
    chain = chain_scores(problem, price)
    counts = np.empty(R, np.int32)
    path = np.zeros(J, np.int32)
    picked = np.empty((J, R), np.uint8)
    score = known.score
    bound, last, rises = descent
    used = 0
    while used < iterations:
        used += 1
        dual = forward(chain, lists, trellis)
        dual += best_rows(problem.fertility, price, lists.cells, picked, free)
        bound = min(bound, dual)
        if not dual > -np.inf:
            break
        best_path(chain, node, lists, trellis, path)
        reached = alignment_score(problem, path, counts)
        if reached > score or last_path:
            score = reached
            copy_path(path, known.path)
        if not bound > aim_above(score, known.tolerance):
            break
        if dual > last:
            rises += 1
        last = dual
        step = _RATE / (1.0 + rises)
        for r in range(R):
            for k in range(1, lists.cells[r, 0] + 1):
                j = lists.cells[r, k]
                price[0, j, r] += step * ((path[j] == r) - picked[j, r])
                chain.score[j, r] = emission[j, r] - price[0, j, r]
    return Descent(bound, last, rises), score, used


@kernel
def free_row(fertility, price, row, r, picked):
    """The best number of row r's cells, whose prices fall; marked in `picked`.  Returns what they are worth."""
    most = fertility[0]
    count = 0
    total = 0.0
    for c in range(1, row[0] + 1):
        total += price[0, row[c], r]
        if total + fertility[c] > most:
            most = total + fertility[c]
            count = c
    for k in range(1, count + 1):
        picked[row[k], r] = 1
    return most


@kernel
def best_rows(fertility, price, cells, picked, free):
    """The best rows that take exactly J cells in all (Figure 2 and the refinement below it), marked in `picked` (J, R).

    With `free` each takes what is best for itself (Figure 2).

    With g_r(c) the sum of row r's c highest prices plus fertility[r, c]:
    best[r, n] = max over c of best[r - 1, n - c] + g_r(c).
    Returns best[R, J], -inf if J cells can't be had.  O(R J^2).
    """
    R = cells.shape[0]
    J = picked.shape[0]
    best = np.full((R + 1, J + 1), -np.inf)
    chosen = np.zeros((R, J + 1), np.int32)
    best[0, 0] = 0.0
    picked[:, :] = 0
    if free:
        value = 0.0
        for r in range(R):
            sort_cells(price, cells, r)
            value += free_row(fertility[r], price, cells[r], r, picked)
        return value
    for r in range(R):
        sort_cells(price, cells, r)
        row = cells[r]
        total = 0.0
        for c in range(row[0] + 1):
            if c > 0:
                total += price[0, row[c], r]
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
