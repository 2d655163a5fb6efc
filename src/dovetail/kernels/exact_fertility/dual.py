"""Dual ascent for the fertility HMM: the chain and the rows bargain over the emissions until they agree, or nearly.

Quirk (2013), section 2.2: D(share) = max over paths of the chain's score + sum over rows of the row's best, where the
chain scores cell (r, j) with emission - share and row r with share.  For any share, D bounds every alignment's score.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.exact_fertility.chain import best_path, chain_scores, forward, list_live
from dovetail.kernels.exact_fertility.local import climb
from dovetail.kernels.exact_fertility.prune import prune
from dovetail.kernels.exact_fertility.rows import best_row, list_cells
from dovetail.kernels.exact_fertility.runs import list_runs, row_table, suffix_runs, table_size, trace_runs
from dovetail.kernels.exact_fertility.score import aim_above, alignment_score, copy_path

_MOMENTUM = 0.6
_STEEP = 1e4  # a slope that only a forbidden count explains


@kernel
def start(emission, transition, log_null, fertility, first, live_link, live_null, share, path):
    """A first alignment, into `path`, and first shares in place of zeros.  Returns the alignment's score.

    A row starts with the slope of its fertility at its count in that alignment, so that the chain knows what a link more
    or less is worth, and with a part of the emission, so that it knows which cells to ask for: little if the fertility is
    concave, where the count is all that needs bargaining, half otherwise.  (Half the emission alone, the paper's start,
    takes several times the iterations.)
    """
    J, R = emission.shape
    links = np.empty((J, R + 1), np.int32)
    nulls = np.empty((J, R + 1), np.int32)
    active = np.empty((J + 1, R + 1), np.int32)
    enter = np.empty((J, R))
    delta = np.empty((J + 1, R))
    counts = np.empty(R, np.int32)
    list_live(live_link, live_null, links, nulls, active)
    path[:] = 0
    stay = np.full((J, R), -np.inf)
    if forward(emission, stay, transition, log_null, links, nulls, active, enter, delta) > -np.inf:
        best_path(emission, stay, transition, log_null, live_link, live_null, active, delta, path)
    score = climb(path, emission, transition, log_null, fertility, links, nulls, counts)
    slope = np.zeros(R)
    part = np.full(R, 0.1)
    for r in range(first, R):
        n = 0
        for c in range(max(counts[r], 1), min(counts[r] + 1, J) + 1):
            step = fertility[r, c - 1] - fertility[r, c]
            if abs(step) < _STEEP:
                slope[r] += step
                n += 1
        slope[r] /= max(n, 1)
        for c in range(1, J):
            if fertility[r, c - 1] + fertility[r, c + 1] > 2.0 * fertility[r, c] + 1e-9:
                part[r] = 0.5
    for j in range(J):
        top = -np.inf
        for r in range(R):
            top = max(top, emission[j, r])
        for r in range(R):
            if r >= first and emission[j, r] > -np.inf:
                share[0, j, r] = slope[r] + part[r] * (emission[j, r] - top)
    return score


@kernel
def ascend(
    emission,
    transition,
    jump,
    jump_to,
    log_null,
    fertility,
    first,
    low,
    high,
    live_link,
    live_null,
    share,
    incumbent,
    score,
    tolerance,
    runs,
    iterations,
    enough,
    usage,
):
    """At most `iterations` steps on the shares, in place; cells and counts are pruned, `incumbent` improved on the way.

    Polyak steps with momentum: d = (path - rows' picks) + 0.6 d, share += gamma (D - score) / |d|^2 d; gamma starts at 1
    and shrinks by 0.8 after ten iterations without a better bound.  Without `runs` a row gets the same for a link wherever
    the path comes from: fewer multipliers, less work, a weaker bound.  Returns the bound on what is still live, the
    incumbent's score and the iterations used; `usage` (J, R) adds up how often the paths used each cell.  Stops early once
    the columns have no more than `enough` live rows in all beyond one each.
    """
    J, R = emission.shape
    links = np.empty((J, R + 1), np.int32)
    nulls = np.empty((J, R + 1), np.int32)
    active = np.empty((J + 1, R + 1), np.int32)
    cells = np.empty((R, J + 1), np.int32)
    bond = np.empty((R, J + 1), np.uint8)
    enter = np.empty((J, R))
    delta = np.empty((J + 1, R))
    beta = np.empty((J + 1, R))
    counts = np.empty(R, np.int32)
    path = np.zeros(J, np.int32)
    candidate = np.zeros(J, np.int32)
    value = np.zeros(R)  # each row's best score
    wanted = np.zeros(R, np.int32)  # and its count
    picks = np.empty((R, J + 1) if runs else (0, 0), np.uint8)  # which of its cells that takes, see `trace_runs`
    kinds = 2 if runs else 1
    drift = np.zeros((kinds, J, R))
    every = np.ones(R, np.uint8)
    moving = np.ones(R, np.uint8)  # rows whose shares have changed since they were last maximized
    chain, stay = chain_scores(emission, transition, share, runs)
    kept = np.empty((kinds, J, R))

    list_live(live_link, live_null, links, nulls, active)
    list_cells(links, nulls, cells)
    if runs:
        list_runs(live_null, links, nulls, cells, bond)
    for r in range(first, R):
        high[r] = min(high[r], cells[r, 0])
    table = np.empty(table_size(first, high, cells) if runs else 0)
    bound = np.inf
    aim = aim_above(score, tolerance)
    gamma = 1.0
    stale = 0
    last_gap = np.inf
    used = 0
    while used < iterations:
        used += 1
        dual = forward(chain, stay, jump, log_null, links, nulls, active, enter, delta)
        _maximize(runs, fertility, first, share, low, high, cells, bond, moving, table, value, wanted, picks)
        for r in range(first, R):
            dual += value[r]
        if dual < bound:
            bound = dual
            for kind in range(kinds):
                _copy(share[kind], kept[kind])
            stale = 0
        else:
            stale += 1
            if stale == 10:
                gamma *= 0.8
                stale = 0
        if not dual > aim:
            break

        best_path(chain, stay, jump, log_null, live_link, live_null, active, delta, path)
        reached = alignment_score(path, emission, transition, log_null, fertility, counts)
        copy_path(path, candidate)
        for j in range(J):
            usage[j, path[j]] += 1.0
        if runs:
            norm = _turn_runs(path, picks, cells, drift, moving, first)
        else:
            norm = _turn(path, counts, wanted, cells, drift[0], moving, first)
        if used % 10 == 0:
            reached = climb(candidate, emission, transition, log_null, fertility, links, nulls, counts)
        if reached > score:
            score = reached
            copy_path(candidate, incumbent)
            aim = aim_above(score, tolerance)
            if not dual > aim:
                break

        # With no alignment known yet, or a forbidding one, a nat a word stands in for the gap.
        gap = min(dual - score, J + 0.5 * abs(dual))
        step = gamma * gap / norm if norm > 0.0 else 0.0
        if gap < 0.6 * last_gap or used % 10 == 0:
            last_gap = gap
            if prune(
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
                _maximize(runs, fertility, first, share, low, high, cells, bond, every, table, value, wanted, picks)
                if _spare_cells(links, nulls) <= enough:
                    break
        for r in range(first, R):
            if moving[r]:
                for k in range(1, cells[r, 0] + 1):
                    j = cells[r, k]
                    share[0, j, r] += step * drift[0, j, r]
                    chain[j, r] = emission[j, r] - share[0, j, r]
                    if runs:
                        share[1, j, r] += step * drift[1, j, r]
                        stay[j, r] = emission[j, r] - share[1, j, r] + transition[r, r - 1]
    for kind in range(2):
        _copy(kept[kind if runs else 0], share[kind])
    return bound, score, used


@kernel
def _maximize(runs, fertility, first, share, low, high, cells, bond, which, table, value, wanted, picks):
    """The best score of each row of `which` into `value`, and its count or, with `runs`, the cells it takes."""
    if runs:
        for r in range(first, len(value)):
            if which[r]:
                suffix = row_table(table, 0, high, cells, r)
                suffix_runs(fertility, share, low, cells, bond, r, suffix)
                trace_runs(share, cells, bond, r, suffix, picks)
                value[r] = suffix[0, 0, 0]
        return
    plain = share[0]
    for r in range(first, len(value)):
        if which[r]:
            value[r], wanted[r] = best_row(fertility, plain, low, high, cells, r)


@kernel
def _turn(path, counts, wanted, cells, drift, moving, first):
    """The new direction, drift = (path's cells - rows' cells) + 0.6 drift, and its squared length.

    Rows that agree with the path and have stopped moving are passed over: late in the ascent that is nearly all of them.
    """
    R = drift.shape[1]
    norm = 0.0
    for r in range(first, R):
        agree = counts[r] == wanted[r]
        for k in range(1, wanted[r] + 1):
            agree = agree and path[cells[r, k]] == r
        if agree and not moving[r]:
            continue
        still = agree
        for k in range(1, cells[r, 0] + 1):
            j = cells[r, k]
            x = _faded(drift[j, r], path[j] == r, k <= wanted[r])
            drift[j, r] = x
            norm += x * x
            still = still and x == 0.0
        moving[r] = not still
    return norm


@kernel
def _turn_runs(path, picks, cells, drift, moving, first):
    """The same for links that begin a run, drift[0], and links that go on with one, drift[1]."""
    _, J, R = drift.shape
    moves = np.empty(J, np.uint8)
    p = 0
    for j in range(J):
        moves[j] = 2 if path[j] == p else 1
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
            x = _faded(drift[0, j, r], move == 1, picks[r, k] == 1)
            y = _faded(drift[1, j, r], move == 2, picks[r, k] == 2)
            drift[0, j, r] = x
            drift[1, j, r] = y
            norm += x * x + y * y
            still = still and x == 0.0 and y == 0.0
        moving[r] = not still
    return norm


@kernel
def _faded(drift, path, pick):
    x = _MOMENTUM * drift
    if path:
        x += 1.0
    if pick:
        x -= 1.0
    return x if abs(x) >= 1e-3 else 0.0


@kernel
def _spare_cells(links, nulls):
    """Live rows beyond one in each column: 0 if at most one alignment is left."""
    spare = 0
    for j in range(links.shape[0]):
        spare += links[j, 0] + (nulls[j, 0] > 0) - 1
    return spare


@kernel
def _copy(source, target):
    for j in range(source.shape[0]):
        for r in range(source.shape[1]):
            target[j, r] = source[j, r]
