"""Dual descent on one node of the bidirectional branch and bound: bound, prune, and look for better pairs on the way."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.bidirectional_chains import (
    DEAD,
    FORCED,
    LIVE,
    backward,
    guest_event,
    mode_kind,
    pack,
    price,
    viterbi,
)
from dovetail.kernels.bidirectional_search import ADJACENCY, DISAGREEMENT, improve, pair_score, repair

# entries of `figures`
SCORE, BOUND, GAMMA, STALL, ITERATIONS = 0, 1, 2, 3, 4

MOMENTUM = 0.7
FORGET = 0.95


@kernel
def claim(agreement, live, base, mu, sign, path, momentum, average):
    """Add sign to `momentum` and 1/2 to the running `average` of each event that the path claims."""
    for r in range(1, len(path)):
        c = path[r]
        if c == 0:
            continue
        i, j = (r, c) if sign > 0 else (c, r)
        value, chosen = base[0, i, j] + sign * mu[0, i, j], 0
        for mode in range(1, agreement + 1):
            kind = mode_kind(agreement, sign, mode)
            if base[kind, i, j] + sign * mu[kind, i, j] > value:
                value, chosen = base[kind, i, j] + sign * mu[kind, i, j], kind
        if agreement != DISAGREEMENT or chosen == 0:
            momentum[chosen, i, j] += sign
            average[chosen, i, j] += 0.5 * (1.0 - FORGET)
        if agreement == ADJACENCY:
            for guest in range(2):
                kind, row, column = guest_event(sign, guest, i, j)
                earned = base[kind, row, column] + sign * mu[kind, row, column]
                if earned > 0.0 or live[kind, row, column] == FORCED:
                    momentum[kind, row, column] += sign
                    average[kind, row, column] += 0.5 * (1.0 - FORGET)


@kernel
def spread(agreement, live, base, mu, sign, first, position, alpha, beta, marginal):
    """marginal[event] = value of this chain's best path that claims the event."""
    for r in range(1, len(first) - 1):
        for s in range(first[r], first[r + 1]):
            c = position[s]
            through = alpha[s] + beta[s]
            if c == 0 or through == -np.inf:
                continue
            i, j = (r, c) if sign > 0 else (c, r)
            best = -np.inf
            for mode in range(agreement + 1):
                kind = mode_kind(agreement, sign, mode)
                best = max(best, base[kind, i, j] + sign * mu[kind, i, j])
            for mode in range(agreement + 1):
                kind = mode_kind(agreement, sign, mode)
                if live[kind, i, j] != DEAD:
                    marginal[kind, i, j] = through + (base[kind, i, j] + sign * mu[kind, i, j] - best)
            if agreement == ADJACENCY:
                for guest in range(2):
                    kind, row, column = guest_event(sign, guest, i, j)
                    if live[kind, row, column] == LIVE:
                        earned = base[kind, row, column] + sign * mu[kind, row, column]
                        marginal[kind, row, column] = through + min(earned, 0.0)
                    elif live[kind, row, column] == FORCED:
                        marginal[kind, row, column] = through


@kernel
def prune_nulls(first, position, alpha, beta, other_best, limit, null):
    """Kill the NULLs without which no pair above `limit` is lost; returns how many."""
    killed = 0
    for r in range(1, len(first) - 1):
        s = first[r]
        if (
            s < first[r + 1]
            and position[s] == 0
            and null[r] != DEAD
            and alpha[s] + beta[s] + other_best <= limit
        ):
            null[r] = DEAD
            killed += 1
    return killed


@kernel
def prune_events(agreement, live, base, marginal_x, marginal_y, best_x, best_y, limit, events):
    """Kill events whose two max-marginals sum to `limit` or less: no pair above it has them.  Returns the live ones."""
    flat, bases = live.ravel(), base.ravel()
    x, y = marginal_x.ravel(), marginal_y.ravel()
    cells = live.shape[1] * live.shape[2]
    kept = 0
    for n in range(len(events)):
        e = events[n]
        from_x, from_y = x[e], y[e]
        if agreement == DISAGREEMENT and e >= cells:
            if e < 2 * cells:
                from_y = best_y
            else:
                from_x = best_x
        if from_x + from_y <= limit:
            flat[e] = DEAD
            bases[e] = -np.inf
        else:
            events[kept] = e
            kept += 1
    return events[:kept]


@kernel
def descend(
    theta,
    omega,
    agreement,
    cost,
    live,
    null_x,
    null_y,
    mu,
    momentum,
    average,
    best_x,
    best_y,
    seen,
    figures,
    iterations,
    prune_every,
    search_every,
    tolerance,
    worst,
):
    """Polyak steps with momentum on D(mu).  Returns True when nothing above the score is left in this node."""
    I, J = theta.shape[0], omega.shape[0]
    kinds = 2 * agreement + 1
    base = np.full(live.shape, -np.inf)
    half = 0.5 * cost if agreement == ADJACENCY else cost
    flat, bases, mus = live.ravel(), base.ravel(), mu.ravel()
    moves, averages = momentum.ravel(), average.ravel()
    count = 0
    for e in range(len(flat)):
        count += flat[e] != DEAD
    events = np.empty(count, np.int64)
    count = 0
    cells = live.shape[1] * live.shape[2]
    for e in range(len(flat)):
        if flat[e] != DEAD:
            events[count] = e
            count += 1
            bases[e] = 0.0 if e < cells else half
    best_mu = mus.copy()
    node_best = np.inf
    fx, px, bx, mx = pack(theta, agreement, base, null_x, 1.0)
    fy, py, by, my = pack(omega, agreement, base, null_y, -1.0)
    earned_x, alpha_x, beta_x = np.zeros(fx[-1]), np.empty(fx[-1]), np.empty(fx[-1])
    earned_y, alpha_y, beta_y = np.zeros(fy[-1]), np.empty(fy[-1]), np.empty(fy[-1])
    x, y = np.zeros(I + 1, np.int64), np.zeros(J + 1, np.int64)
    trial_x, trial_y = np.zeros(I + 1, np.int64), np.zeros(J + 1, np.int64)
    marginal_x, marginal_y = np.empty(live.shape), np.empty(live.shape)
    closed = False
    packed = len(events)
    candidates = np.empty((I * J, 2), np.int64)
    for t in range(iterations):
        figures[ITERATIONS] += 1
        price(agreement, live, base, mu, 1.0, fx, px, earned_x)
        price(agreement, live, base, mu, -1.0, fy, py, earned_y)
        value_x = viterbi(fx, px, bx, mx, earned_x, alpha_x, x)
        value_y = viterbi(fy, py, by, my, earned_y, alpha_y, y)
        value = value_x + value_y
        if value < node_best - 1e-9:
            node_best = value
            figures[STALL] = 0
            for e in events:
                best_mu[e] = mus[e]
        else:
            figures[STALL] += 1
            if figures[STALL] >= 10:
                figures[GAMMA] *= 0.8
                figures[STALL] = 0
        if value <= figures[SCORE] + tolerance:
            closed = True
            break
        for i in range(1, I + 1):
            if x[i] != 0:
                seen[i, x[i]] = True
        for j in range(1, J + 1):
            if y[j] != 0:
                seen[y[j], j] = True
        if t < 3 or t % search_every == 0:
            trial_x[:] = x
            trial_y[:] = y
            repair(agreement, cost, trial_x, trial_y)
            n = 0
            for i in range(1, I + 1):
                for j in range(1, J + 1):
                    if seen[i, j]:
                        alive = False
                        for kind in range(kinds):
                            alive |= live[kind, i, j] != DEAD
                        if alive:
                            candidates[n, 0], candidates[n, 1] = i, j
                            n += 1
            improve(theta, omega, agreement, cost, trial_x, trial_y, candidates, n, 10, worst)
            found = pair_score(theta, omega, agreement, cost, trial_x, trial_y)
            if found > figures[SCORE]:
                figures[SCORE] = found
                best_x[:] = trial_x
                best_y[:] = trial_y
                if value <= figures[SCORE] + tolerance:
                    closed = True
                    break
        if (t + 1) % prune_every == 0 or t == 0:
            limit = figures[SCORE] + tolerance
            if limit > -np.inf:
                backward(fx, bx, mx, earned_x, beta_x)
                backward(fy, by, my, earned_y, beta_y)
                marginal_x.ravel()[events] = -np.inf
                marginal_y.ravel()[events] = -np.inf
                spread(agreement, live, base, mu, 1.0, fx, px, alpha_x, beta_x, marginal_x)
                spread(agreement, live, base, mu, -1.0, fy, py, alpha_y, beta_y, marginal_y)
                killed = prune_nulls(fx, px, alpha_x, beta_x, value_y, limit, null_x)
                killed += prune_nulls(fy, py, alpha_y, beta_y, value_x, limit, null_y)
                events = prune_events(
                    agreement, live, base, marginal_x, marginal_y, value_x, value_y, limit, events
                )
                if killed > 0 or len(events) < 0.9 * packed:
                    packed = len(events)
                    fx, px, bx, mx = pack(theta, agreement, base, null_x, 1.0)
                    fy, py, by, my = pack(omega, agreement, base, null_y, -1.0)
                    continue
        for e in events:
            moves[e] *= MOMENTUM
            averages[e] *= FORGET
        claim(agreement, live, base, mu, 1.0, x, momentum, average)
        claim(agreement, live, base, mu, -1.0, y, momentum, average)
        norm = 0.0
        for e in events:
            norm += moves[e] * moves[e]
        if norm > 0.0:
            gap = value - figures[SCORE] if figures[SCORE] > -np.inf else 1.0 + 0.05 * abs(value)
            step = figures[GAMMA] * gap / norm
            for e in events:
                mus[e] -= step * moves[e]
    for e in events:
        mus[e] = best_mu[e]
    figures[BOUND] = min(figures[BOUND], node_best)
    return closed


@kernel
def choose_event(agreement, live, average):
    """The undecided event whose running average is nearest 1/2 (flat index), -1 if there is none."""
    best, chosen = np.inf, -1
    kinds = 1 if agreement != ADJACENCY else 5
    for kind in range(kinds):
        for i in range(1, live.shape[1] - 1):
            for j in range(1, live.shape[2] - 1):
                if live[kind, i, j] == LIVE:
                    distance = abs(average[kind, i, j] - 0.5)
                    if distance < best:
                        best = distance
                        chosen = (kind * live.shape[1] + i) * live.shape[2] + j
    return chosen


@kernel
def force(agreement, live, null_x, null_y, kind, i, j):
    """Keep only pairs with this event."""
    row, column = i, j  # x_i = column, y_j = row
    if agreement == ADJACENCY:
        if kind == 1:
            row = i - 1
        elif kind == 2:
            row = i + 1
        elif kind == 3:
            column = j - 1
        elif kind == 4:
            column = j + 1
    null_x[i] = DEAD
    null_y[j] = DEAD
    for mode in range(agreement + 1):
        k = mode_kind(agreement, 1.0, mode)
        for c in range(live.shape[2]):
            if c != column or (row_mode(agreement, 1.0, kind) and k != kind):
                live[k, i, c] = DEAD
        k = mode_kind(agreement, -1.0, mode)
        for r in range(live.shape[1]):
            if r != row or (row_mode(agreement, -1.0, kind) and k != kind):
                live[k, r, j] = DEAD
    live[kind, i, j] = FORCED


@kernel
def row_mode(agreement, sign, kind):
    for mode in range(agreement + 1):
        if mode_kind(agreement, sign, mode) == kind:
            return True
    return False
