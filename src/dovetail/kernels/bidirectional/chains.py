"""The two directional chains of the bidirectional problem, over the states that are still alive.

The chains are coupled by *events* at each cell (i, j), i in 1..I, j in 1..J:

E0: x_i = j and y_j = i         both directions pick the link
E1: x_i = j and y_j = i - 1     E2: x_i = j and y_j = i + 1     (ADJACENCY)
E3: y_j = i and x_i = j - 1     E4: y_j = i and x_i = j + 1     (ADJACENCY)
E1: x_i = j alone               E2: y_j = i alone               (DISAGREEMENT; nothing to agree on)

A link of the forward chain claims exactly one of its *modes*, the events that hold x_i = j (E0, E1, E2), and for
ADJACENCY any of two *guests*, reverse links onto the same row: E4 at (i, j - 1) and E3 at (i, j + 1).  The reverse chain
mirrors it: modes E0, E3, E4 of its own cell, guests E1 at (i + 1, j) and E2 at (i - 1, j).  Where both chains claim the
same events, the pair is feasible.

Events live in arrays (kinds, I + 2, J + 2), padded by one on every side so that neighbours need no care; their flat
index names them, and 0 (a corner of the padding) is the empty claim.  A *coarse* state is a position, and claims what
earns it most at the moment; a *fine* state is a position with its claims, and says which moves between neighbouring
rows contradict each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.bidirectional.search import FULL

DEAD, LIVE, FORCED = 0, 1, 2


class Chain(NamedTuple):
    """Row 0 is the start, row r has the states first[r]:first[r + 1].  State s is position[s] of the direction's own states
    (0: NULL) and claims the events claims[s] (0: none).  moves[block[r] + a * n + b] is the potential from the a-th state
    of row r - 1 to the b-th of the n states of row r: one flat array, so that inner loops are dense.

    earned[s]: what state s gets for its claims; alpha[s], beta[s]: best value of a path up to s, and of what follows it.
    """

    first: np.ndarray
    position: np.ndarray
    block: np.ndarray
    moves: np.ndarray
    claims: np.ndarray
    earned: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray


@kernel
def mode_kind(agreement, sign, mode):
    """The kind of event that is the mode-th mode (0..agreement) of the forward (sign 1) or reverse (sign -1) chain."""
    if mode == 0:
        return 0
    return mode if sign > 0 else mode + agreement


@kernel
def mode_event(agreement, live, sign, mode, row, position):
    """Flat index of the event that a link of this chain, at `row` to `position`, claims by its mode."""
    i, j = (row, position) if sign > 0 else (position, row)
    return (mode_kind(agreement, sign, mode) * live.shape[1] + i) * live.shape[2] + j


@kernel
def guest_event(live, sign, guest, row, position):
    """Flat index of the event by which it hosts the other chain's link from position - 1 (guest 0) or + 1 (guest 1)."""
    beside = position + 2 * guest - 1
    if sign > 0:
        return ((4 - guest) * live.shape[1] + row) * live.shape[2] + beside
    return ((2 - guest) * live.shape[1] + beside) * live.shape[2] + row


@kernel
def coarse_chain(potentials, agreement, live, null, sign):
    """One state for NULL (where null[row] lives) and for each link that has a live mode.

    Full agreement gives no position twice, so that two neighbouring rows never share one.
    """
    rows, width = potentials.shape[0], potentials.shape[1]
    flat = live.ravel()
    first, block = np.zeros(rows + 2, np.int64), np.zeros(rows + 2, np.int64)
    position = np.zeros(1 + rows * width, np.int64)
    first[1] = 1
    for r in range(1, rows + 1):
        s = first[r]
        if null[r] != DEAD:
            position[s] = 0
            s += 1
        for c in range(1, width):
            alive = False
            for mode in range(agreement + 1):
                alive |= flat[mode_event(agreement, live, sign, mode, r, c)] != DEAD
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
                if agreement == FULL and position[a] == position[b] and position[a] != 0:
                    moves[at] = -np.inf
                at += 1
    n = first[-1]
    claims = np.zeros((n, 3), np.int64)
    return Chain(first, position, block, moves, claims, np.zeros(n), np.zeros(n), np.zeros(n))


@kernel
def fine_rows(potentials, agreement, live, null, sign):
    """How many states each row of `fine_chain` has."""
    rows, width = potentials.shape[0], potentials.shape[1]
    flat = live.ravel()
    counts = np.zeros(rows + 1, np.int64)
    counts[0] = 1
    for r in range(1, rows + 1):
        counts[r] = null[r] != DEAD
        for c in range(1, width):
            states = 0
            for mode in range(agreement + 1):
                states += flat[mode_event(agreement, live, sign, mode, r, c)] != DEAD
            for guest in range(2):
                if flat[guest_event(live, sign, guest, r, c)] == LIVE:
                    states *= 2
            counts[r] += states
    return counts


@kernel
def fine_chain(potentials, agreement, live, null, sign, counts):
    """ADJACENCY: one state for NULL and for each link with one mode and a choice of guests; counts as from `fine_rows`.

    A state says which links of the other chain land on its row (`hosts`: its own position in mode 0, and its guests).  So
    a move from a to b contradicts itself, and is forbidden, where both rows host the same link, where b's partner
    answers the row before (mode 1) and a does not host it or the reverse, and where a's partner answers the row after
    (mode 2) and b does not host it or the reverse.
    """
    rows, width = potentials.shape[0], potentials.shape[1]
    flat = live.ravel()
    first, block = np.zeros(rows + 2, np.int64), np.zeros(rows + 2, np.int64)
    for r in range(rows + 1):
        first[r + 1] = first[r] + counts[r]
        if r > 0:
            block[r + 1] = block[r] + counts[r - 1] * counts[r]
    n = first[-1]
    position, modes = np.zeros(n, np.int64), np.zeros(n, np.int64)
    hosts, claims = np.zeros((n, 3), np.int64), np.zeros((n, 3), np.int64)
    s = 1
    for r in range(1, rows + 1):
        if null[r] != DEAD:
            s += 1
        for c in range(1, width):
            for mode in range(agreement + 1):
                own = mode_event(agreement, live, sign, mode, r, c)
                if flat[own] == DEAD:
                    continue
                for choice in range(4):
                    allowed = True
                    for guest in range(2):
                        state = flat[guest_event(live, sign, guest, r, c)]
                        allowed &= state != DEAD if choice >> guest & 1 else state != FORCED
                    if not allowed:
                        continue
                    position[s], modes[s], claims[s, 0] = c, mode, own
                    if mode == 0:
                        hosts[s, 0] = c
                    for guest in range(2):
                        if choice >> guest & 1:
                            hosts[s, 1 + guest] = c + 2 * guest - 1
                            claims[s, 1 + guest] = guest_event(live, sign, guest, r, c)
                    s += 1
    moves = np.empty(block[rows + 1])
    for r in range(1, rows + 1):
        at = block[r]
        for a in range(first[r - 1], first[r]):
            for b in range(first[r], first[r + 1]):
                moves[at] = potentials[r - 1, position[a], position[b]]
                if _contradict(position[a], modes[a], hosts[a], position[b], modes[b], hosts[b]):
                    moves[at] = -np.inf
                at += 1
    return Chain(first, position, block, moves, claims, np.zeros(n), np.zeros(n), np.zeros(n))


@kernel
def _contradict(position, mode, hosts, next_position, next_mode, next_hosts):
    hosted_before = hosted_after = False
    for a in range(3):
        if hosts[a] != 0:
            hosted_before |= hosts[a] == next_position
            for b in range(3):
                if hosts[a] == next_hosts[b]:
                    return True
        if next_hosts[a] != 0:
            hosted_after |= next_hosts[a] == position
    return hosted_before != (next_position != 0 and next_mode == 1) or hosted_after != (position != 0 and mode == 2)


@kernel
def shrink(chain, keep):
    """The chain without the states s whose keep[s] is False."""
    first, position, block, moves, claims = chain.first, chain.position, chain.block, chain.moves, chain.claims
    rows = len(first) - 2
    kept = 0
    for s in range(first[rows + 1]):
        kept += keep[s]
    new_first, new_block = np.zeros(rows + 2, np.int64), np.zeros(rows + 2, np.int64)
    new_position, new_claims = np.zeros(kept, np.int64), np.zeros((kept, 3), np.int64)
    s = 0
    for r in range(rows + 1):
        for old in range(first[r], first[r + 1]):
            if keep[old]:
                new_position[s] = position[old]
                for n in range(3):
                    new_claims[s, n] = claims[old, n]
                s += 1
        new_first[r + 1] = s
        if r > 0:
            new_block[r + 1] = new_block[r] + (new_first[r] - new_first[r - 1]) * (s - new_first[r])
    new_moves = np.empty(new_block[rows + 1])
    to = 0
    for r in range(1, rows + 1):
        at = block[r]
        for a in range(first[r - 1], first[r]):
            for b in range(first[r], first[r + 1]):
                if keep[a] and keep[b]:
                    new_moves[to] = moves[at]
                    to += 1
                at += 1
    return Chain(
        new_first, new_position, new_block, new_moves, new_claims, np.zeros(kept), np.zeros(kept), np.zeros(kept)
    )


@kernel
def viterbi(chain, path):
    """Value of the best path; path[r] is its state at row r.

    No back-pointers: the best predecessor is looked up again along the one path that is wanted.
    """
    first, block, moves, earned, alpha = chain.first, chain.block, chain.moves, chain.earned, chain.alpha
    rows = len(first) - 2
    alpha[0] = 0.0
    for r in range(1, rows + 1):
        low, n = first[r], first[r + 1] - first[r]
        here = alpha[low : low + n]
        for b in range(n):
            here[b] = -np.inf
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
        path[r] = state
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
def backward(chain):
    """Fill beta, so that alpha[s] + beta[s] is the value of the best path through s, its max-marginal."""
    first, block, moves, earned, beta = chain.first, chain.block, chain.moves, chain.earned, chain.beta
    rows = len(first) - 2
    widest = 0
    for r in range(rows + 1):
        widest = max(widest, first[r + 1] - first[r])
    follow = np.empty(widest)
    for s in range(first[rows], first[rows + 1]):
        beta[s] = 0.0
    for r in range(rows, 0, -1):
        low, n = first[r], first[r + 1] - first[r]
        for b in range(n):
            follow[b] = earned[low + b] + beta[low + b]
        at = block[r]
        for a in range(first[r - 1], first[r]):
            # four running maxima: none has to wait for the one before it
            m0 = m1 = m2 = m3 = -np.inf
            for b in range(0, n - 3, 4):
                m0 = max(m0, moves[at + b] + follow[b])
                m1 = max(m1, moves[at + b + 1] + follow[b + 1])
                m2 = max(m2, moves[at + b + 2] + follow[b + 2])
                m3 = max(m3, moves[at + b + 3] + follow[b + 3])
            for b in range(n - n % 4, n):
                m0 = max(m0, moves[at + b] + follow[b])
            beta[a] = max(max(m0, m1), max(m2, m3))
            at += n
