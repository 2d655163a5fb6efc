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

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.bidirectional.records import DEAD, DISAGREEMENT, FORCED, FULL, LIVE, Chain


@leaf
def kind_of(live):
    """The kind of agreement that has these events: FULL has E0 alone, DISAGREEMENT two more, ADJACENCY four."""
    return live.shape[0] // 2


@leaf
def shared_events(live):
    """How many events both chains must claim alike: they come first, and a link on its own is none of them."""
    return live.shape[1] * live.shape[2] if kind_of(live) == DISAGREEMENT else live.size


@leaf
def mode_kind(live, sign, mode):
    """The kind of event that is the mode-th mode (0..kind of agreement) of the forward (sign 1) or reverse (-1) chain."""
    if mode == 0:
        return 0
    return mode if sign > 0 else mode + kind_of(live)


@leaf
def mode_event(live, sign, mode, row, position):
    """Flat index of the event that a link of this chain, at `row` to `position`, claims by its mode."""
    i, j = (row, position) if sign > 0 else (position, row)
    return (mode_kind(live, sign, mode) * live.shape[1] + i) * live.shape[2] + j


@leaf
def guest_event(live, sign, guest, row, position):
    """Flat index of the event by which it hosts the other chain's link from position - 1 (guest 0) or + 1 (guest 1)."""
    beside = position + 2 * guest - 1
    if sign > 0:
        return ((4 - guest) * live.shape[1] + row) * live.shape[2] + beside
    return ((2 - guest) * live.shape[1] + beside) * live.shape[2] + row


@leaf
def live_modes(live, sign, row, position):
    """How many modes the link has that live."""
    i, j = (row, position) if sign > 0 else (position, row)
    count = 0
    for mode in range(kind_of(live) + 1):
        count += live[mode_kind(live, sign, mode), i, j] != DEAD
    return count


@leaf
def number_of_moves(first):
    """From every state of a row to every state of the next."""
    moves = 0
    for r in range(1, len(first) - 1):
        moves += (first[r] - first[r - 1]) * (first[r + 1] - first[r])
    return moves


@kernel
def _new_chain(sign, fine, first, position, moves, claims):
    n = first[-1]
    return Chain(sign, fine, first, position, moves, claims, np.zeros(n), np.zeros(n), np.zeros(n))


@kernel
def coarse_chain(potentials, live, null, sign):
    """One state for NULL (where null[row] lives) and for each link that has a live mode.

    Full agreement gives no position twice, so that two neighbouring rows never share one.
    """
    rows, width = potentials.shape[0], potentials.shape[1]
    full = kind_of(live) == FULL
    first, position = np.zeros(rows + 2, np.int64), np.zeros(1 + rows * width, np.int64)
    first[1] = 1
    for r in range(1, rows + 1):
        s = first[r]
        if null[r] != DEAD:
            s += 1
        for c in range(1, width):
            if live_modes(live, sign, r, c) > 0:
                position[s] = c
                s += 1
        first[r + 1] = s
    moves = np.empty(number_of_moves(first))
    at = 0
    for r in range(1, rows + 1):
        for a in range(first[r - 1], first[r]):
            for b in range(first[r], first[r + 1]):
                moves[at] = potentials[r - 1, position[a], position[b]]
                if full and position[a] == position[b] and position[a] != 0:
                    moves[at] = -np.inf
                at += 1
    return _new_chain(sign, np.bool_(False), first, position, moves, np.zeros((first[-1], 3), np.int64))


@kernel
def fine_states(potentials, live, null, sign):
    """`first` of a fine chain: where the states of each row begin."""
    rows, width = potentials.shape[0], potentials.shape[1]
    flat = live.ravel()
    first = np.zeros(rows + 2, np.int64)
    first[1] = 1
    for r in range(1, rows + 1):
        first[r + 1] = first[r] + (null[r] != DEAD)
        for c in range(1, width):
            states = live_modes(live, sign, r, c)
            for guest in range(2):
                if flat[guest_event(live, sign, guest, r, c)] == LIVE:
                    states *= 2
            first[r + 1] += states
    return first


@kernel
def fine_chain(potentials, live, null, sign, first):
    """ADJACENCY: one state for NULL and for each link with one mode and a choice of guests; first as from `fine_states`.

    A state says which links of the other chain land on its row (`hosts`: its own position in mode 0, and its guests).  So
    a move from a to b contradicts itself, and is forbidden, where both rows host the same link, where b's partner
    answers the row before (mode 1) and a does not host it or the reverse, and where a's partner answers the row after
    (mode 2) and b does not host it or the reverse.
    """
    rows, width = potentials.shape[0], potentials.shape[1]
    flat = live.ravel()
    n = first[-1]
    position, modes = np.zeros(n, np.int64), np.zeros(n, np.int64)
    hosts, claims = np.zeros((n, 3), np.int64), np.zeros((n, 3), np.int64)
    s = 1
    for r in range(1, rows + 1):
        if null[r] != DEAD:
            s += 1
        for c in range(1, width):
            for mode in range(kind_of(live) + 1):
                own = mode_event(live, sign, mode, r, c)
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
    moves = np.empty(number_of_moves(first))
    at = 0
    for r in range(1, rows + 1):
        for a in range(first[r - 1], first[r]):
            for b in range(first[r], first[r + 1]):
                moves[at] = potentials[r - 1, position[a], position[b]]
                if _contradict(position[a], modes[a], hosts[a], position[b], modes[b], hosts[b]):
                    moves[at] = -np.inf
                at += 1
    return _new_chain(sign, np.bool_(True), first, position, moves, claims)


@leaf
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
    old, rows = chain.first, len(chain.first) - 2
    kept = 0
    for s in range(old[-1]):
        kept += keep[s]
    first, position, claims = np.zeros(rows + 2, np.int64), np.zeros(kept, np.int64), np.zeros((kept, 3), np.int64)
    s = 0
    for r in range(rows + 1):
        for a in range(old[r], old[r + 1]):
            if keep[a]:
                position[s] = chain.position[a]
                for n in range(3):
                    claims[s, n] = chain.claims[a, n]
                s += 1
        first[r + 1] = s
    moves = np.empty(number_of_moves(first))
    at = to = 0
    for r in range(1, rows + 1):
        for a in range(old[r - 1], old[r]):
            for b in range(old[r], old[r + 1]):
                if keep[a] and keep[b]:
                    moves[to] = chain.moves[at]
                    to += 1
                at += 1
    return _new_chain(chain.sign, chain.fine, first, position, moves, claims)


@kernel
def viterbi(chain, path):
    """Value of the best path; path[r] is its state at row r.

    No back-pointers: the best predecessor is looked up again along the one path that is wanted.
    """
    first, moves, earned, alpha = chain.first, chain.moves, chain.earned, chain.alpha
    rows = len(first) - 2
    alpha[0] = 0.0
    at = 0
    for r in range(1, rows + 1):
        low, n = first[r], first[r + 1] - first[r]
        here = alpha[low : low + n]
        for b in range(n):
            here[b] = -np.inf
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
    block = len(moves)
    for r in range(rows, 0, -1):
        path[r] = state
        n = first[r + 1] - first[r]
        block -= (first[r] - first[r - 1]) * n
        at = block + state - first[r]
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
    first, moves, earned, beta = chain.first, chain.moves, chain.earned, chain.beta
    rows = len(first) - 2
    widest = 0
    for r in range(rows + 1):
        widest = max(widest, first[r + 1] - first[r])
    follow = np.empty(widest)
    for s in range(first[rows], first[rows + 1]):
        beta[s] = 0.0
    block = len(moves)
    for r in range(rows, 0, -1):
        low, n = first[r], first[r + 1] - first[r]
        for b in range(n):
            follow[b] = earned[low + b] + beta[low + b]
        block -= (first[r] - first[r - 1]) * n
        at = block
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
