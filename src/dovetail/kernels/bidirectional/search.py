"""Feasible pairs of alignments: their score, repair of pairs that are not, and local search.

An alignment of one direction is kept with its start: `x` (I + 1,), x[0] = 0 the start, x[i] = j in 1..J or 0 for NULL;
`y` (J + 1,) likewise.  What the two owe each other is told by `agreement` and `cost`:

FULL          x_i = j if and only if y_j = i
DISAGREEMENT  a link that the other direction lacks costs `cost`
ADJACENCY     |y_j - i| <= 1 for every x_i = j and |x_i - j| <= 1 for every y_j = i; each that is off by one costs `cost`
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel

FULL, DISAGREEMENT, ADJACENCY = 0, 1, 2

SWEEPS = 10  # of local search at most; it stops earlier when nothing moves


@kernel
def link_cost(agreement, cost, position, answer):
    """What the link at `position` costs when the other direction links its partner to `answer` (0: NULL)."""
    if answer == position:
        return 0.0
    if agreement == DISAGREEMENT:
        return cost
    if agreement == ADJACENCY and answer != 0 and abs(answer - position) == 1:
        return cost
    return -np.inf


@kernel
def pair_score(theta, omega, agreement, cost, x, y):
    """f(x) + g(y) + h(x, y) from the potentials as they were given, -inf where the pair is not allowed; and the sum of the
    absolute values of its terms, which says how exactly the score can be known."""
    score = magnitude = 0.0
    for i in range(1, len(x)):
        term = theta[i - 1, x[i - 1], x[i]]
        if x[i] != 0:
            term += link_cost(agreement, cost, i, y[x[i]])
        score += term
        magnitude += abs(term)
    for j in range(1, len(y)):
        term = omega[j - 1, y[j - 1], y[j]]
        if y[j] != 0:
            term += link_cost(agreement, cost, j, x[y[j]])
        score += term
        magnitude += abs(term)
    return score, magnitude


@kernel
def repair(agreement, cost, x, y):
    """Delete links that the other direction does not allow until the pair is feasible (for FULL: the intersection)."""
    changed = True
    while changed:
        changed = False
        for i in range(1, len(x)):
            if x[i] != 0 and link_cost(agreement, cost, i, y[x[i]]) == -np.inf:
                x[i] = 0
                changed = True
        for j in range(1, len(y)):
            if y[j] != 0 and link_cost(agreement, cost, j, x[y[j]]) == -np.inf:
                y[j] = 0
                changed = True


@kernel
def _note(listed, stamp, tick, index, last):
    """Put `index` on the list (its length is listed[0]) unless it is there already or outside 1..last."""
    if 1 <= index <= last and stamp[index] != tick:
        stamp[index] = tick
        listed[0] += 1
        listed[listed[0]] = index


@kernel
def _note_change(side, other, position, value, noted, stamps, tick, first):
    """Note each term of the score that side[position] = value may change.

    noted[0], noted[1]: moves and links of x, noted[2], noted[3] those of y; `first` is 0 or 2, where this side's begin.
    """
    last, other_last = len(side) - 1, len(other) - 1
    _note(noted[first], stamps[first], tick, position, last)
    _note(noted[first], stamps[first], tick, position + 1, last)
    _note(noted[first + 1], stamps[first + 1], tick, position, last)
    for partner in (side[position], value):
        if partner != 0:
            for near in range(partner - 1, partner + 2):
                _note(noted[3 - first], stamps[3 - first], tick, near, other_last)


@kernel
def _local_score(theta, omega, agreement, cost, x, y, noted, worst):
    """Sum of the noted terms; a potential of -inf counts `worst`, so that a pair can climb out of it."""
    score = 0.0
    for n in range(1, noted[0, 0] + 1):
        i = noted[0, n]
        score += max(theta[i - 1, x[i - 1], x[i]], worst)
    for n in range(1, noted[1, 0] + 1):
        i = noted[1, n]
        if x[i] != 0:
            score += link_cost(agreement, cost, i, y[x[i]])
    for n in range(1, noted[2, 0] + 1):
        j = noted[2, n]
        score += max(omega[j - 1, y[j - 1], y[j]], worst)
    for n in range(1, noted[3, 0] + 1):
        j = noted[3, n]
        if y[j] != 0:
            score += link_cost(agreement, cost, j, x[y[j]])
    return score


@kernel
def _attempt(theta, omega, agreement, cost, x, y, change, noted, stamps, worst):
    """Make the changes if they raise the score: x[change[n, 0]] = change[n, 1] for n in (0, 1), and y[...] for n in (2, 3).

    Position 0 stands for no change.  O(1): only the terms next to a change are added up, before and after.
    """
    stamps[0, 0] += 1  # positions start at 1, so that this place is free to count the attempts
    tick = stamps[0, 0]
    for n in range(4):
        noted[n, 0] = 0
    for n in range(4):
        if change[n, 0] != 0:
            side, other = (x, y) if n < 2 else (y, x)
            _note_change(side, other, change[n, 0], change[n, 1], noted, stamps, tick, n // 2 * 2)
    before = _local_score(theta, omega, agreement, cost, x, y, noted, worst)
    _exchange(x, y, change)
    after = _local_score(theta, omega, agreement, cost, x, y, noted, worst)
    if after - before > 1e-12 * abs(before):
        return True
    _exchange(x, y, change)
    return False


@kernel
def _exchange(x, y, change):
    """Swap the changed positions' values with those in `change`: done twice, nothing has happened."""
    for n in range(4):
        position = change[n, 0]
        if position != 0:
            side = x if n < 2 else y
            side[position], change[n, 1] = change[n, 1], side[position]


@kernel
def _plan(x, y, i, j, move, change):
    """The changes that make up one move at cell (i, j); False if it does not apply there.

    0: delete the pair x_i = j, y_j = i.  1: link it; whoever loses its partner by that goes to NULL.  2: make the pairs
    (i, j') and (i', j) into (i, j) and (i', j').  3: link x_i to j, or if it is, delete that.  4: the same for y_j.
    """
    for n in range(4):
        change[n, 0] = change[n, 1] = 0
    old_j, old_i = x[i], y[j]
    if move == 3:
        change[0, 0], change[0, 1] = i, 0 if old_j == j else j
        return True
    if move == 4:
        change[2, 0], change[2, 1] = j, 0 if old_i == i else i
        return True
    change[0, 0], change[2, 0] = i, j
    if move == 0:
        return old_j == j and old_i == i
    change[0, 1], change[2, 1] = j, i
    if old_j == j and old_i == i:
        return False
    if move == 1:
        if old_j != 0 and old_j != j and y[old_j] == i:
            change[3, 0] = old_j
        if old_i != 0 and old_i != i and x[old_i] == j:
            change[1, 0] = old_i
        return True
    change[1, 0], change[1, 1] = old_i, old_j
    change[3, 0], change[3, 1] = old_j, old_i
    return old_j != 0 and old_i != 0 and y[old_j] == i and x[old_i] == j


@kernel
def improve(theta, omega, agreement, cost, x, y, cells, worst):
    """Local search over the links (i, j) in `cells`: every move of `_plan` that raises the score, until none does.

    The pair (x, y) must be feasible and stays so.
    """
    change = np.zeros((4, 2), np.int64)
    noted = np.zeros((4, 32), np.int64)
    stamps = np.zeros((4, max(len(x), len(y))), np.int64)
    moves = 3 if agreement == FULL else 5
    for _ in range(SWEEPS):
        moved = False
        for n in range(len(cells)):
            for move in range(moves):
                if _plan(x, y, cells[n, 0], cells[n, 1], move, change):
                    moved |= _attempt(theta, omega, agreement, cost, x, y, change, noted, stamps, worst)
        if not moved:
            break
