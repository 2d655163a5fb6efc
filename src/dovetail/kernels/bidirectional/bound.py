"""Dual descent on one node of the bidirectional branch and bound: bound, prune, and look for better pairs on the way.

For any multipliers mu, one for each event that the two chains share,

    D(mu) = max_x [f(x) + sum over x's claims of (base + mu)] + max_y [g(y) + sum over y's claims of (base - mu)]

is an upper bound on the score of every feasible pair.  `base` is what the event costs, half of it in each chain, and -inf
once it is dead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.bidirectional.chains import (
    DEAD,
    FORCED,
    LIVE,
    backward,
    coarse_chain,
    fine_chain,
    fine_rows,
    guest_event,
    mode_event,
    shrink,
    viterbi,
)
from dovetail.kernels.bidirectional.search import ADJACENCY, DISAGREEMENT, improve, pair_score, repair

MOMENTUM = 0.7  # share of the last step's direction that the next one keeps: the largest single gain in iterations
FORGET = 0.95  # of the running averages that branching looks at
PATIENCE = 10  # iterations without a lower bound before steps shrink
PRUNE_EVERY = 10
LONGEST_PAUSE = 20  # iterations between two local searches while they find nothing


class Problem(NamedTuple):
    """What is to be solved.  `worst` stands for -inf in local search; `floor` is less than any finite score; `tolerance` is
    relative to the magnitude of a score's terms; chains become fine when they then have `fine_moves` moves or fewer."""

    theta: np.ndarray
    omega: np.ndarray
    agreement: int
    cost: float
    worst: float
    floor: float
    tolerance: float
    fine_moves: int


class Node(NamedTuple):
    """A part of the pairs: those whose events and NULLs all live.  Its multipliers, and how often each event was claimed."""

    live: np.ndarray
    null_x: np.ndarray
    null_y: np.ndarray
    mu: np.ndarray
    average: np.ndarray


class Incumbent(NamedTuple):
    """The best pair so far, the links that any chain ever chose (seen), and `figures`.  Among them: its score, and the
    ceiling, a little above it.  Pairs at or below the ceiling need not be looked for."""

    x: np.ndarray
    y: np.ndarray
    seen: np.ndarray
    figures: np.ndarray


# entries of Incumbent.figures
SCORE, CEILING, BOUND, ITERATIONS, GAMMA, STALL, PAUSE, UNTIL_SEARCH = 0, 1, 2, 3, 4, 5, 6, 7


@kernel
def _bases(problem, live):
    """base of each event, and which events live."""
    flat = live.ravel()
    base, events = np.zeros(len(flat)), np.zeros(len(flat), np.int64)
    cells = live.shape[1] * live.shape[2]
    other = 0.5 * problem.cost if problem.agreement == ADJACENCY else problem.cost
    alive = 0
    for e in range(1, len(flat)):  # 0 is the empty claim, and costs nothing
        if flat[e] == DEAD:
            base[e] = -np.inf
        else:
            base[e] = 0.0 if e < cells else other
            events[alive] = e
            alive += 1
    return base, events[:alive]


@kernel
def _price_coarse(chain, agreement, live, base, mu, sign):
    """Let each link claim its best mode and every guest that pays."""
    flat = live.ravel()
    for r in range(1, len(chain.first) - 1):
        for s in range(chain.first[r], chain.first[r + 1]):
            c = chain.position[s]
            if c == 0:
                continue
            best, value = 0, -np.inf
            for mode in range(agreement + 1):
                e = mode_event(agreement, live, sign, mode, r, c)
                if base[e] + sign * mu[e] > value:
                    best, value = e, base[e] + sign * mu[e]
            chain.claims[s, 0] = best
            if agreement == ADJACENCY:
                for guest in range(2):
                    e = guest_event(live, sign, guest, r, c)
                    chain.claims[s, 1 + guest] = 0
                    if base[e] + sign * mu[e] > 0.0 or flat[e] == FORCED:
                        value += base[e] + sign * mu[e]
                        chain.claims[s, 1 + guest] = e
            chain.earned[s] = value


@kernel
def _price_fine(chain, base, mu, sign):
    for s in range(1, len(chain.earned)):
        own, left, right = chain.claims[s, 0], chain.claims[s, 1], chain.claims[s, 2]
        chain.earned[s] = (base[own] + base[left] + base[right]) + sign * (mu[own] + mu[left] + mu[right])


@kernel
def _solve(chain, fine, agreement, live, base, mu, sign, path, momentum, average):
    """Best path of one chain under mu.  Its claims go into the momentum of the subgradient and the running average."""
    if fine:
        _price_fine(chain, base, mu, sign)
    else:
        _price_coarse(chain, agreement, live, base, mu, sign)
    value = viterbi(chain, path)
    if value > -np.inf:
        for r in range(1, len(path)):
            for n in range(3):
                e = chain.claims[path[r], n]
                momentum[e] += sign
                average[e] += 0.5 * (1.0 - FORGET)
    return value


@kernel
def _marginals(chain, fine, agreement, live, base, mu, sign, events, marginal):
    """marginal[e]: value of this chain's best path that claims event e."""
    backward(chain)
    flat = live.ravel()
    for e in events:
        marginal[e] = -np.inf
    for r in range(1, len(chain.first) - 1):
        for s in range(chain.first[r], chain.first[r + 1]):
            c = chain.position[s]
            through = chain.alpha[s] + chain.beta[s]
            if c == 0 or through == -np.inf:
                continue
            own = chain.claims[s, 0]
            if fine:
                for n in range(3):
                    e = chain.claims[s, n]
                    marginal[e] = max(marginal[e], through)
            else:
                for mode in range(agreement + 1):
                    e = mode_event(agreement, live, sign, mode, r, c)
                    if flat[e] != DEAD:
                        marginal[e] = through + (base[e] - base[own] + sign * (mu[e] - mu[own]))
                if agreement == ADJACENCY:
                    for guest in range(2):
                        e = guest_event(live, sign, guest, r, c)
                        if flat[e] == FORCED:
                            marginal[e] = through
                        elif flat[e] == LIVE:
                            marginal[e] = through + min(base[e] + sign * mu[e], 0.0)


@kernel
def _prune_states(chain, fine, agreement, live, null, sign, other_marginal, other_value, ceiling, keep):
    """keep[s]: does a better pair than the ceiling go through state s?  Returns how many don't."""
    flat = live.ravel()
    dropped = 0
    keep[0] = True
    for r in range(1, len(chain.first) - 1):
        for s in range(chain.first[r], chain.first[r + 1]):
            other = other_value
            alive = True
            if chain.position[s] == 0:
                alive = null[r] != DEAD
            elif fine:
                for n in range(3):
                    if chain.claims[s, n] != 0:
                        other = min(other, other_marginal[chain.claims[s, n]])
            else:
                alive = False
                for mode in range(agreement + 1):
                    alive |= flat[mode_event(agreement, live, sign, mode, r, chain.position[s])] != DEAD
            keep[s] = alive and chain.alpha[s] + chain.beta[s] + other > ceiling
            if not keep[s]:
                dropped += 1
                if chain.position[s] == 0:
                    null[r] = DEAD
    return dropped


@kernel
def _search(problem, live, incumbent, x, y):
    """Repair (x, y), improve it by links that live and were ever chosen, and keep it if it is the best pair so far."""
    repair(problem.agreement, problem.cost, x, y)
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
    improve(problem.theta, problem.omega, problem.agreement, problem.cost, x, y, cells[:count], problem.worst)
    score, magnitude = pair_score(problem.theta, problem.omega, problem.agreement, problem.cost, x, y)
    figures = incumbent.figures
    if score > figures[SCORE]:
        figures[SCORE] = score
        figures[CEILING] = score + problem.tolerance * magnitude
        for i in range(len(x)):
            incumbent.x[i] = x[i]
        for j in range(len(y)):
            incumbent.y[j] = y[j]
        figures[PAUSE] = 1
    else:
        figures[PAUSE] = min(LONGEST_PAUSE, 2 * figures[PAUSE])
    figures[UNTIL_SEARCH] = figures[PAUSE]


@kernel
def _prune(problem, node, chain_x, chain_y, fine, base, value_x, value_y, ceiling, events):
    """Kill events whose two max-marginals sum to the ceiling or less, as no better pair has them, and states likewise.

    Returns the chains, the live events, and whether the chains have changed: they are only packed again when it pays.
    """
    agreement, live, mu = problem.agreement, node.live, node.mu.ravel()
    flat, cells = live.ravel(), live.shape[1] * live.shape[2]
    marginal_x, marginal_y = np.zeros(len(flat)), np.zeros(len(flat))
    _marginals(chain_x, fine, agreement, live, base, mu, 1.0, events, marginal_x)
    _marginals(chain_y, fine, agreement, live, base, mu, -1.0, events, marginal_y)
    kept = 0
    for e in events:
        from_x, from_y = marginal_x[e], marginal_y[e]
        if agreement == DISAGREEMENT and e >= cells:  # a link on its own: the other chain has no say
            if e < 2 * cells:
                from_y = value_y
            else:
                from_x = value_x
        if from_x + from_y <= ceiling:
            flat[e] = DEAD
            base[e] = -np.inf
        else:
            events[kept] = e
            kept += 1
    keep_x, keep_y = np.zeros(len(chain_x.alpha), np.bool_), np.zeros(len(chain_y.alpha), np.bool_)
    dropped = _prune_states(chain_x, fine, agreement, live, node.null_x, 1.0, marginal_y, value_y, ceiling, keep_x)
    dropped += _prune_states(chain_y, fine, agreement, live, node.null_y, -1.0, marginal_x, value_x, ceiling, keep_y)
    if dropped > 0.05 * (len(keep_x) + len(keep_y)):
        return shrink(chain_x, keep_x), shrink(chain_y, keep_y), events[:kept], True
    return chain_x, chain_y, events[:kept], False


@kernel
def descend(problem, node, incumbent, iterations):
    """Polyak steps with momentum on D(mu): mu -= gamma (D - score) / |d|^2 d, with d = subgradient + MOMENTUM d.

    Prunes the node's events on the way, leaves it the multipliers of its lowest bound, and lowers figures[BOUND] to that
    bound.  Returns True when the node holds nothing better than the incumbent.
    """
    theta, omega, agreement = problem.theta, problem.omega, problem.agreement
    live, figures = node.live, incumbent.figures
    mu, average = node.mu.ravel(), node.average.ravel()
    base, events = _bases(problem, live)
    shared = live.size if agreement != DISAGREEMENT else live.shape[1] * live.shape[2]
    momentum, best_mu = np.zeros(live.size), np.zeros(live.size)
    chain_x = coarse_chain(theta, agreement, live, node.null_x, 1.0)
    chain_y = coarse_chain(omega, agreement, live, node.null_y, -1.0)
    path_x, path_y = np.zeros(theta.shape[0] + 1, np.int64), np.zeros(omega.shape[0] + 1, np.int64)
    x, y = np.zeros(len(path_x), np.int64), np.zeros(len(path_y), np.int64)
    lowest = np.inf
    fine, changed = False, True
    for t in range(iterations):
        if changed and not fine and agreement == ADJACENCY:
            counts_x = fine_rows(theta, agreement, live, node.null_x, 1.0)
            counts_y = fine_rows(omega, agreement, live, node.null_y, -1.0)
            size = 0
            for r in range(1, len(counts_x)):
                size += counts_x[r - 1] * counts_x[r]
            for r in range(1, len(counts_y)):
                size += counts_y[r - 1] * counts_y[r]
            if size <= problem.fine_moves:
                chain_x = fine_chain(theta, agreement, live, node.null_x, 1.0, counts_x)
                chain_y = fine_chain(omega, agreement, live, node.null_y, -1.0, counts_y)
                figures[GAMMA] = 1.0
                fine = True
        changed = False
        figures[ITERATIONS] += 1
        for e in events:
            momentum[e] *= MOMENTUM
            average[e] *= FORGET
        value_x = _solve(chain_x, fine, agreement, live, base, mu, 1.0, path_x, momentum, average)
        value_y = _solve(chain_y, fine, agreement, live, base, mu, -1.0, path_y, momentum, average)
        value = value_x + value_y
        figures[STALL] += 1
        if value < lowest:
            lowest = value
            figures[STALL] = 0
            for e in events:
                best_mu[e] = mu[e]
        elif figures[STALL] >= PATIENCE:
            figures[GAMMA] *= 0.8
            figures[STALL] = 0
        if value > figures[CEILING]:
            for i in range(1, len(x)):
                x[i] = chain_x.position[path_x[i]]
                incumbent.seen[i, x[i]] = True
            for j in range(1, len(y)):
                y[j] = chain_y.position[path_y[j]]
                incumbent.seen[y[j], j] = True
            figures[UNTIL_SEARCH] -= 1
            if figures[UNTIL_SEARCH] <= 0:
                _search(problem, live, incumbent, x, y)
        # the two values may be large and cancel: their rounding is not a gap
        if value <= figures[CEILING] + 1e-13 * (abs(value_x) + abs(value_y)):
            figures[BOUND] = min(figures[BOUND], lowest)
            return True
        if t == 0 or (t + 1) % PRUNE_EVERY == 0:
            chain_x, chain_y, events, changed = _prune(
                problem, node, chain_x, chain_y, fine, base, value_x, value_y, figures[CEILING], events
            )
        # without a good pair yet, a huge gap must not blow the multipliers up
        gap = min(value - max(figures[SCORE], problem.floor), max(100.0, abs(value)))
        norm = 0.0
        for e in events:
            if e < shared:
                norm += momentum[e] * momentum[e]
        if norm > 0.0:
            step = figures[GAMMA] * gap / norm
            for e in events:
                if e < shared:
                    mu[e] -= step * momentum[e]
    for e in events:
        mu[e] = best_mu[e]
    figures[BOUND] = min(figures[BOUND], lowest)
    return False
