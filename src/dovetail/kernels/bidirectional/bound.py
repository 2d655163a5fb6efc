"""Dual descent on one node of the bidirectional branch and bound: bound, prune, and look for better pairs on the way.

For any multipliers mu, one for each event that the two chains share,

    D(mu) = max_x [f(x) + sum over x's claims of (base + mu)] + max_y [g(y) + sum over y's claims of (base - mu)]

is an upper bound on the score of every feasible pair.  `base` is what the event costs, half of it in each chain, and -inf
once it is dead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.bidirectional import records
from dovetail.kernels.bidirectional.chains import (
    backward,
    coarse_chain,
    fine_chain,
    fine_states,
    guest_event,
    kind_of,
    live_modes,
    mode_event,
    number_of_moves,
    shared_events,
    shrink,
    viterbi,
)
from dovetail.kernels.bidirectional.records import ADJACENCY, DEAD, FORCED, LIVE
from dovetail.kernels.bidirectional.search import improve, repair, score_and_ceiling

MOMENTUM = 0.7  # how much of the last step's direction the next one keeps: the largest single gain in iterations
FORGET = 0.95  # of the running averages that branching looks at
PATIENCE = 10  # iterations without a lower bound before steps shrink
PRUNE_EVERY = 10
LONGEST_PAUSE = 20  # iterations between two local searches while they find nothing


class Prices(NamedTuple):
    """What an event is worth to a chain that claims it, base + mu or base - mu, and what is known of who does."""

    base: np.ndarray  # float64 (events,)
    mu: np.ndarray  # float64 (events,)
    momentum: np.ndarray  # float64 (events,): of the subgradient
    average: np.ndarray  # float64 (events,): running, 1 where both chains claim it all the time


@kernel
def _bases(problem, live):
    """base of each event, and which events live."""
    flat = live.ravel()
    base, events = np.zeros(len(flat)), np.zeros(len(flat), np.int64)
    cells = live.shape[1] * live.shape[2]
    kind, cost = problem.agreement
    other = 0.5 * cost if kind == ADJACENCY else cost
    alive = 0
    for e in range(1, len(flat)):  # 0 is the empty claim, and costs nothing
        if flat[e] == DEAD:
            base[e] = -np.inf
        else:
            base[e] = 0.0 if e < cells else other
            events[alive] = e
            alive += 1
    return base, events[:alive]


@leaf
def _worth(prices, sign, e):
    return prices.base[e] + sign * prices.mu[e]


@kernel
def _price_coarse(chain, live, prices):
    """Let each link claim its best mode and every guest that pays."""
    flat, kind, sign = live.ravel(), kind_of(live), chain.sign
    for r in range(1, len(chain.first) - 1):
        for s in range(chain.first[r], chain.first[r + 1]):
            c = chain.position[s]
            if c == 0:
                continue
            best, value = 0, -np.inf
            for mode in range(kind + 1):
                e = mode_event(live, sign, mode, r, c)
                if _worth(prices, sign, e) > value:
                    best, value = e, _worth(prices, sign, e)
            chain.claims[s, 0] = best
            if kind == ADJACENCY:
                for guest in range(2):
                    e = guest_event(live, sign, guest, r, c)
                    chain.claims[s, 1 + guest] = 0
                    if _worth(prices, sign, e) > 0.0 or flat[e] == FORCED:
                        value += _worth(prices, sign, e)
                        chain.claims[s, 1 + guest] = e
            chain.earned[s] = value


@kernel
def _price_fine(chain, prices):
    base, mu = prices.base, prices.mu
    for s in range(1, len(chain.earned)):
        own, left, right = chain.claims[s, 0], chain.claims[s, 1], chain.claims[s, 2]
        chain.earned[s] = (base[own] + base[left] + base[right]) + chain.sign * (mu[own] + mu[left] + mu[right])


@kernel
def _solve(chain, live, prices, path):
    """Best path of one chain under mu.  Its claims go into the momentum of the subgradient and the running average."""
    if chain.fine:
        _price_fine(chain, prices)
    else:
        _price_coarse(chain, live, prices)
    value = viterbi(chain, path)
    if value > -np.inf:
        for r in range(1, len(path)):
            for n in range(3):
                e = chain.claims[path[r], n]
                prices.momentum[e] += chain.sign
                prices.average[e] += 0.5 * (1.0 - FORGET)
    return value


@kernel
def _marginals(chain, live, prices, events):
    """(events,): value of this chain's best path that claims the event."""
    backward(chain)
    flat, kind, sign = live.ravel(), kind_of(live), chain.sign
    base, mu = prices.base, prices.mu
    marginal = np.zeros(len(flat))
    for e in events:
        marginal[e] = -np.inf
    for r in range(1, len(chain.first) - 1):
        for s in range(chain.first[r], chain.first[r + 1]):
            c = chain.position[s]
            through = chain.alpha[s] + chain.beta[s]
            if c == 0 or through == -np.inf:
                continue
            if chain.fine:
                for n in range(3):
                    e = chain.claims[s, n]
                    marginal[e] = max(marginal[e], through)
                continue
            own = chain.claims[s, 0]
            for mode in range(kind + 1):
                e = mode_event(live, sign, mode, r, c)
                if flat[e] != DEAD:
                    marginal[e] = through + (base[e] - base[own] + sign * (mu[e] - mu[own]))
            if kind == ADJACENCY:
                for guest in range(2):
                    e = guest_event(live, sign, guest, r, c)
                    if flat[e] == FORCED:
                        marginal[e] = through
                    elif flat[e] == LIVE:
                        marginal[e] = through + min(_worth(prices, sign, e), 0.0)
    return marginal


@kernel
def _prune_states(chain, live, null, other_marginal, other_value, ceiling):
    """(states,): does a pair better than the ceiling go through the state?  And through how many none goes."""
    keep = np.zeros(len(chain.alpha), np.bool_)
    keep[0] = True
    dropped = 0
    for r in range(1, len(chain.first) - 1):
        for s in range(chain.first[r], chain.first[r + 1]):
            other = other_value
            alive = True
            if chain.position[s] == 0:
                alive = null[r] != DEAD
            elif chain.fine:
                for n in range(3):
                    if chain.claims[s, n] != 0:
                        other = min(other, other_marginal[chain.claims[s, n]])
            else:
                alive = live_modes(live, chain.sign, r, chain.position[s]) > 0
            keep[s] = alive and chain.alpha[s] + chain.beta[s] + other > ceiling
            if not keep[s]:
                dropped += 1
                if chain.position[s] == 0:
                    null[r] = DEAD
    return keep, dropped


@kernel
def _search(problem, live, incumbent, x, y):
    """Repair (x, y), improve it by links that live and were ever chosen, and keep it if it is the best pair so far."""
    repair(problem.agreement, x, y)
    cells = np.zeros((len(x) * len(y), 2), np.int64)
    count = 0
    for i in range(1, len(x)):
        for j in range(1, len(y)):
            if incumbent.seen[i, j]:
                alive = False
                for kind in range(live.shape[0]):
                    alive |= live[kind, i, j] != DEAD
                if alive:
                    cells[count, 0], cells[count, 1] = i, j
                    count += 1
    improve(problem, x, y, cells[:count])
    score, ceiling = score_and_ceiling(problem, x, y)
    figures = incumbent.figures
    if score > figures[records.SCORE]:
        figures[records.SCORE], figures[records.CEILING], figures[records.PAUSE] = score, ceiling, 1
        for i in range(len(x)):
            incumbent.x[i] = x[i]
        for j in range(len(y)):
            incumbent.y[j] = y[j]
    else:
        figures[records.PAUSE] = min(LONGEST_PAUSE, 2 * figures[records.PAUSE])
    figures[records.UNTIL_SEARCH] = figures[records.PAUSE]


@kernel
def _prune(node, chains, prices, values, ceiling, events):
    """Kill events whose two max-marginals sum to the ceiling or less, as no better pair has them, and states likewise.

    Returns the chains, the live events, and whether the chains have changed: they are only packed again when it pays.
    """
    (chain_x, chain_y), (value_x, value_y), live = chains, values, node.live
    flat, shared = live.ravel(), shared_events(live)
    marginal_x, marginal_y = _marginals(chain_x, live, prices, events), _marginals(chain_y, live, prices, events)
    kept = 0
    for e in events:
        from_x, from_y = marginal_x[e], marginal_y[e]
        if e >= shared:  # a link on its own: the other chain has no say
            if e < 2 * shared:
                from_y = value_y
            else:
                from_x = value_x
        if from_x + from_y <= ceiling:
            flat[e] = DEAD
            prices.base[e] = -np.inf
        else:
            events[kept] = e
            kept += 1
    keep_x, dropped_x = _prune_states(chain_x, live, node.null_x, marginal_y, value_y, ceiling)
    keep_y, dropped_y = _prune_states(chain_y, live, node.null_y, marginal_x, value_x, ceiling)
    if dropped_x + dropped_y > 0.05 * (len(keep_x) + len(keep_y)):
        return (shrink(chain_x, keep_x), shrink(chain_y, keep_y)), events[:kept], True
    return chains, events[:kept], False


@kernel
def _refine(problem, node, chains):
    """Fine chains, if they have no more moves than the coarse ones had before pruning; else the chains as they are."""
    theta, omega, live = problem.theta, problem.omega, node.live
    first_x = fine_states(theta, live, node.null_x, 1.0)
    first_y = fine_states(omega, live, node.null_y, -1.0)
    I, J = len(theta), len(omega)
    if number_of_moves(first_x) + number_of_moves(first_y) > I * J * (I + J) + 1:
        return chains
    return fine_chain(theta, live, node.null_x, 1.0, first_x), fine_chain(omega, live, node.null_y, -1.0, first_y)


@kernel
def descend(problem, node, incumbent, iterations):
    """Polyak steps with momentum on D(mu): mu -= gamma (D - score) / |d|^2 d, with d = subgradient + MOMENTUM d.

    Prunes the node's events on the way, leaves it the multipliers of its lowest bound, and lowers figures[BOUND] to that
    bound.  Returns True when the node holds nothing better than the incumbent.
    """
    live, figures = node.live, incumbent.figures
    base, events = _bases(problem, live)
    mu, momentum, average = node.mu.ravel(), np.zeros(live.size), node.average.ravel()
    prices = Prices(base, mu, momentum, average)
    best_mu = np.zeros(live.size)
    shared = shared_events(live)
    chains = (
        coarse_chain(problem.theta, live, node.null_x, 1.0),
        coarse_chain(problem.omega, live, node.null_y, -1.0),
    )
    path_x, path_y = np.zeros(len(incumbent.x), np.int64), np.zeros(len(incumbent.y), np.int64)
    x, y = np.zeros(len(path_x), np.int64), np.zeros(len(path_y), np.int64)
    lowest = np.inf
    changed = True
    for t in range(iterations):
        if changed and not chains[0].fine and kind_of(live) == ADJACENCY:
            chains = _refine(problem, node, chains)
            if chains[0].fine:
                figures[records.GAMMA] = 1.0
        changed = False
        figures[records.ITERATIONS] += 1
        for e in events:
            momentum[e] *= MOMENTUM
            average[e] *= FORGET
        value_x = _solve(chains[0], live, prices, path_x)
        value_y = _solve(chains[1], live, prices, path_y)
        value = value_x + value_y
        figures[records.STALL] += 1
        if value < lowest:
            lowest = value
            figures[records.STALL] = 0
            for e in events:
                best_mu[e] = mu[e]
        elif figures[records.STALL] >= PATIENCE:
            figures[records.GAMMA] *= 0.8
            figures[records.STALL] = 0
        if value > figures[records.CEILING]:
            for i in range(1, len(x)):
                x[i] = chains[0].position[path_x[i]]
                incumbent.seen[i, x[i]] = True
            for j in range(1, len(y)):
                y[j] = chains[1].position[path_y[j]]
                incumbent.seen[y[j], j] = True
            figures[records.UNTIL_SEARCH] -= 1
            if figures[records.UNTIL_SEARCH] <= 0:
                _search(problem, live, incumbent, x, y)
        # the two values may be large and cancel: their rounding is not a gap
        if value <= figures[records.CEILING] + 1e-13 * (abs(value_x) + abs(value_y)):
            figures[records.BOUND] = min(figures[records.BOUND], lowest)
            return True
        if t == 0 or (t + 1) % PRUNE_EVERY == 0:
            chains, events, changed = _prune(node, chains, prices, (value_x, value_y), figures[records.CEILING], events)
        # without a good pair yet, a huge gap must not blow the multipliers up
        gap = min(value - max(figures[records.SCORE], problem.floor), max(100.0, abs(value)))
        norm = 0.0
        for e in events:
            if e < shared:
                norm += momentum[e] * momentum[e]
        if norm > 0.0:
            step = figures[records.GAMMA] * gap / norm
            for e in events:
                if e < shared:
                    mu[e] -= step * momentum[e]
    for e in events:
        mu[e] = best_mu[e]
    figures[records.BOUND] = min(figures[records.BOUND], lowest)
    return False
