"""The two directional chains of the bidirectional problem, over the states that are still alive.

The chains are coupled by *events* at each cell (i, j), i in 1..I, j in 1..J (arrays are padded by one on every side):

E0: x_i = j and y_j = i         both directions pick the link
E1: x_i = j and y_j = i - 1     E2: x_i = j and y_j = i + 1     (ADJACENCY)
E3: y_j = i and x_i = j - 1     E4: y_j = i and x_i = j + 1     (ADJACENCY)
E1: x_i = j alone               E2: y_j = i alone               (DISAGREEMENT; nothing to agree on, so mu stays 0)

A link of the forward chain claims exactly one of its *modes*, the events that contain x_i = j (E0, E1, E2), and for
ADJACENCY any of two *guests*, reverse links onto the same row: E4 at (i, j - 1) and E3 at (i, j + 1).  The reverse chain
mirrors it: modes E0, E3, E4 of its own cell, guests E1 at (i + 1, j) and E2 at (i - 1, j).  Where both chains claim the
same events the pair is feasible, so that

    D(mu) = max_x [f(x) + sum of base + mu over x's claims] + max_y [g(y) + sum of base - mu over y's claims]

bounds every feasible pair from above.  `base` is the event's cost, half in each chain, and -inf for a dead event.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.bidirectional_search import ADJACENCY

DEAD, LIVE, FORCED = 0, 1, 2


@kernel
def mode_kind(agreement, sign, mode):
    """The event that is the mode-th mode (0..agreement) of the forward (sign 1) or reverse (sign -1) chain."""
    if mode == 0:
        return 0
    return mode if sign > 0 else mode + agreement


@kernel
def guest_event(sign, guest, i, j):
    """Kind and cell of the guest-th (0 or 1) event that a link at (i, j) may host."""
    if sign > 0:
        return (4, i, j - 1) if guest == 0 else (3, i, j + 1)
    return (1, i + 1, j) if guest == 0 else (2, i - 1, j)


@kernel
def link_value(agreement, live, base, mu, sign, i, j):
    """The most a link at (i, j) can earn: its best mode and every guest that pays; -inf for a dead link."""
    value = base[0, i, j] + sign * mu[0, i, j]
    for mode in range(1, agreement + 1):
        kind = mode_kind(agreement, sign, mode)
        value = max(value, base[kind, i, j] + sign * mu[kind, i, j])
    if agreement == ADJACENCY:
        for guest in range(2):
            kind, row, column = guest_event(sign, guest, i, j)
            earned = base[kind, row, column] + sign * mu[kind, row, column]
            if earned > 0.0 or live[kind, row, column] == FORCED:
                value += earned
    return value


@kernel
def pack(potentials, agreement, base, null, sign):
    """The chain over states that are still alive, moves between them in one flat array so that inner loops are dense.

    Row 0 is the start.  Row r has states first[r]:first[r + 1]; state s is position[s] of the original chain (0: NULL);
    moves[block[r] + a * n + b] is the potential from the a-th state of row r - 1 to the b-th of the n states of row r.
    """
    rows, width = potentials.shape[0], potentials.shape[1]
    first = np.zeros(rows + 2, np.int64)
    block = np.zeros(rows + 2, np.int64)
    position = np.zeros(1 + rows * width, np.int64)
    first[1] = 1
    for r in range(1, rows + 1):
        s = first[r]
        if null[r] != DEAD:
            position[s] = 0
            s += 1
        for c in range(1, width):
            i, j = (r, c) if sign > 0 else (c, r)
            alive = False
            for mode in range(agreement + 1):
                alive |= base[mode_kind(agreement, sign, mode), i, j] > -np.inf
            if alive:
                position[s] = c
                s += 1
        first[r + 1] = s
        block[r + 1] = block[r] + (first[r] - first[r - 1]) * (s - first[r])
    moves = np.empty(block[rows + 1])
    for r in range(1, rows + 1):
        at = block[r]
        for a in range(first[r - 1], first[r]):
            for b in range(first[r], first[r + 1]):
                moves[at] = potentials[r - 1, position[a], position[b]]
                at += 1
    return first, position, block, moves


@kernel
def price(agreement, live, base, mu, sign, first, position, earned):
    """earned[s]: what state s claims at best; 0 for NULL."""
    for r in range(1, len(first) - 1):
        for s in range(first[r], first[r + 1]):
            c = position[s]
            if c == 0:
                earned[s] = 0.0
            elif sign > 0:
                earned[s] = link_value(agreement, live, base, mu, sign, r, c)
            else:
                earned[s] = link_value(agreement, live, base, mu, sign, c, r)


@kernel
def viterbi(first, position, block, moves, earned, alpha, path):
    """Value of the best path and path[r] = its position at row r.  alpha[s]: best value of a path that ends in state s.

    No back-pointers: the best predecessor is looked up again along the one path that is wanted.
    """
    rows = len(first) - 2
    alpha[0] = 0.0
    for r in range(1, rows + 1):
        low, n = first[r], first[r + 1] - first[r]
        here = alpha[low : low + n]
        here[:] = -np.inf
        at = block[r]
        for a in range(first[r - 1], first[r]):
            value = alpha[a]
            move = moves[at : at + n]
            for b in range(n):
                here[b] = max(here[b], value + move[b])
            at += n
        for b in range(n):
            here[b] += earned[low + b]
    best, state = -np.inf, -1
    for s in range(first[rows], first[rows + 1]):
        if alpha[s] > best:
            best, state = alpha[s], s
    if state < 0:
        return best
    for r in range(rows, 0, -1):
        path[r] = position[state]
        n = first[r + 1] - first[r]
        at = block[r] + state - first[r]
        highest, before = -np.inf, -1
        for a in range(first[r - 1], first[r]):
            if alpha[a] + moves[at] > highest:
                highest, before = alpha[a] + moves[at], a
            at += n
        state = before
    return best


@kernel
def backward(first, block, moves, earned, beta):
    """beta[s]: best value of what follows state s; alpha + beta is the best path through s (its max-marginal)."""
    rows = len(first) - 2
    beta[first[rows] : first[rows + 1]] = 0.0
    for r in range(rows, 0, -1):
        low, n = first[r], first[r + 1] - first[r]
        at = block[r]
        for a in range(first[r - 1], first[r]):
            # four running maxima: the processor need not wait for one before it starts the next
            m0 = m1 = m2 = m3 = -np.inf
            for b in range(0, n - 3, 4):
                m0 = max(m0, moves[at + b] + earned[low + b] + beta[low + b])
                m1 = max(m1, moves[at + b + 1] + earned[low + b + 1] + beta[low + b + 1])
                m2 = max(m2, moves[at + b + 2] + earned[low + b + 2] + beta[low + b + 2])
                m3 = max(m3, moves[at + b + 3] + earned[low + b + 3] + beta[low + b + 3])
            for b in range(n - n % 4, n):
                m0 = max(m0, moves[at + b] + earned[low + b] + beta[low + b])
            beta[a] = max(max(m0, m1), max(m2, m3))
            at += n
