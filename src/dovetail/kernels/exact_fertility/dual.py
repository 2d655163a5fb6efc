"""Dual ascent for the fertility HMM: the chain and the rows bargain over the emissions until they agree, or nearly.

Quirk (2013), section 2.2: D(price) = max over paths of the chain's score + sum over rows of the row's best, where the
chain scores cell (r, j) with emission - price and row r with price.  For any price, D bounds every alignment's score.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.exact_fertility.chain import best_path, chain_scores, forward
from dovetail.kernels.exact_fertility.lists import lists_of
from dovetail.kernels.exact_fertility.local import climb
from dovetail.kernels.exact_fertility.prune import prune
from dovetail.kernels.exact_fertility.records import Rows, Trellis
from dovetail.kernels.exact_fertility.rows import best_row
from dovetail.kernels.exact_fertility.runs import row_table, suffix_runs, trace_runs
from dovetail.kernels.exact_fertility.score import aim_above, alignment_score, copy_path
from dovetail.kernels.exact_fertility.start import start

_MOMENTUM = 0.6


@kernel
def ascend(problem, node, known, fresh, iterations, enough, usage):
    """At most `iterations` steps on the prices, in place; cells and counts are pruned, `known.path` improved on the way.

    A `fresh` node gets its first prices here, and `known.path` a first alignment, whatever is there.

    Polyak steps with momentum: d = (path - rows' picks) + 0.6 d, price += gamma (D - score) / |d|^2 d; gamma starts at 1
    and shrinks by 0.8 after ten iterations without a better bound.  Without `runs` a row gets the same for a link wherever
    the path comes from: fewer multipliers, less work, a weaker bound.  Returns the bound on what is still live, the
    incumbent's score and the iterations used; `usage` (J, R) adds up how often the paths used each cell.  Stops early once
    the columns have no more than `enough` live rows in all beyond one each.
    """
    emission, price = problem.emission, node.price
    first, runs = problem.first, problem.runs
    J, R = emission.shape
    lists = lists_of(node, runs)
    trellis = Trellis(np.empty((J, R)), np.empty((J + 1, R)), np.empty((J + 1, R)))
    score = start(problem, node, lists, trellis, known.path) if fresh else known.score
    chain = chain_scores(problem, price)
    picks = np.empty((R, J + 1), np.uint8)
    table = np.empty(2 * (J + 1) * (J + 1) if runs else 0)
    every = np.ones(R, np.uint8)
    rows = Rows(np.zeros(R), picks, every.copy(), table)
    counts = np.empty(R, np.int32)
    path = np.zeros(J, np.int32)
    candidate = np.zeros(J, np.int32)
    kinds = 2 if runs else 1
    drift = np.zeros((kinds, J, R))
    kept = np.empty((kinds, J, R))
    bound = np.inf
    aim = aim_above(score, known.tolerance)
    gamma = 1.0
    stale = 0
    last_gap = np.inf
    used = 0
    while used < iterations:
        used += 1
        dual = forward(chain, lists, trellis)
        _maximize(problem, node, lists, rows, rows.moving)
        for r in range(first, R):
            dual += rows.value[r]
        if dual < bound:
            bound = dual
            for kind in range(kinds):
                _copy(price[kind], kept[kind])
            stale = 0
        else:
            stale += 1
            if stale == 10:
                gamma *= 0.8
                stale = 0
        if not dual > aim:
            break

        best_path(chain, node, lists, trellis, path)
        reached = alignment_score(problem, path, counts)
        copy_path(path, candidate)
        for j in range(J):
            usage[j, path[j]] += 1.0
        norm = _turn(path, lists.cells, rows, drift, first)
        if used % 10 == 0:
            reached = climb(problem, lists, candidate, counts)
        if reached > score:
            score = reached
            copy_path(candidate, known.path)
            aim = aim_above(score, known.tolerance)
            if not dual > aim:
                break

        # With no alignment known yet, or a forbidding one, one nat per word stands in for the gap.
        gap = min(dual - score, J + 0.5 * abs(dual))
        step = gamma * gap / norm if norm > 0.0 else 0.0
        if gap < 0.6 * last_gap or used % 10 == 0:
            last_gap = gap
            if prune(problem, node, chain, lists, trellis, rows, aim):
                _maximize(problem, node, lists, rows, every)
                spare = -J  # live rows beyond one in each column: 0 if at most one alignment is left
                for j in range(J):
                    spare += lists.links[j, 0] + (lists.nulls[j, 0] > 0)
                if spare <= enough:
                    break
        for r in range(first, R):
            if rows.moving[r]:
                for k in range(1, lists.cells[r, 0] + 1):
                    j = lists.cells[r, k]
                    price[0, j, r] += step * drift[0, j, r]
                    chain.score[j, r] = emission[j, r] - price[0, j, r]
                    if runs:
                        price[1, j, r] += step * drift[1, j, r]
                        chain.stay[j, r] = emission[j, r] - price[1, j, r] + problem.transition[r, r - 1]
    for kind in range(2):
        _copy(kept[kind if runs else 0], price[kind])
    return bound, score, used


@kernel
def _maximize(problem, node, lists, rows, which):
    """The best of each row of `which`: its score, and the cells it takes."""
    for r in range(problem.first, len(which)):
        if which[r]:
            if problem.runs:
                suffix = row_table(rows.table, lists.cells[r, 0], node.high[r])
                suffix_runs(problem.fertility, node, lists, r, suffix)
                trace_runs(node.price, lists, r, suffix, rows.picks)
                rows.value[r] = suffix[0, 0, 0]
            else:
                rows.value[r], wanted = best_row(problem.fertility, node, lists, r)
                for k in range(1, lists.cells[r, 0] + 1):
                    rows.picks[r, k] = k <= wanted


@kernel
def _turn(path, cells, rows, drift, first):
    """The new direction, drift = (path's cells - rows' cells) + 0.6 drift, and its squared length.

    With runs, drift[0] is for links that begin one, drift[1] for links that go on with one.  Rows that agree with the path
    and have stopped moving are passed over: late in the ascent that is nearly all of them.
    """
    picks, moving = rows.picks, rows.moving
    kinds, J, R = drift.shape
    moves = np.ones(J, np.uint8)  # as in `picks`
    p = 0
    for j in range(J if kinds == 2 else 0):
        if path[j] == p:
            moves[j] = 2
        p = path[j] if path[j] > 0 else p
    norm = 0.0
    for r in range(first, R):
        agree = True
        for k in range(1, cells[r, 0] + 1):
            j = cells[r, k]
            agree = agree and (moves[j] if path[j] == r else 0) == picks[r, k]
        if agree and not moving[r]:
            continue
        still = agree
        for k in range(1, cells[r, 0] + 1):
            j = cells[r, k]
            move = moves[j] if path[j] == r else 0
            square = 0.0
            for kind in range(kinds):
                x = _faded(drift[kind, j, r], move == kind + 1, picks[r, k] == kind + 1)
                drift[kind, j, r] = x
                square += x * x
            norm += square
            still = still and square == 0.0
        moving[r] = not still
    return norm


@leaf
def _faded(drift, path, pick):
    x = _MOMENTUM * drift
    if path:
        x += 1.0
    if pick:
        x -= 1.0
    return x if abs(x) >= 1e-3 else 0.0


@kernel
def _copy(source, target):
    for j in range(source.shape[0]):
        for r in range(source.shape[1]):
            target[j, r] = source[j, r]
