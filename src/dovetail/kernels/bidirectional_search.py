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
    """f(x) + g(y) + h(x, y) from the potentials as they were given; -inf where the pair is not allowed."""
    score = 0.0
    for i in range(1, len(x)):
        score += theta[i - 1, x[i - 1], x[i]]
        if x[i] != 0:
            score += link_cost(agreement, cost, i, y[x[i]])
    for j in range(1, len(y)):
        score += omega[j - 1, y[j - 1], y[j]]
        if y[j] != 0:
            score += link_cost(agreement, cost, j, x[y[j]])
    return score


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
def _note_change(side, other, position, value, steps, links, other_links, stamps, tick, first):
    """Note each term of the score that side[position] = value may change; stamps[first:] are this side's own."""
    last, other_last = len(side) - 1, len(other) - 1
    _note(steps, stamps[first], tick, position, last)
    _note(steps, stamps[first], tick, position + 1, last)
    _note(links, stamps[first + 1], tick, position, last)
    for partner in (side[position], value):
        if partner != 0:
            for near in range(partner - 1, partner + 2):
                _note(other_links, stamps[3 - first], tick, near, other_last)


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
    """Make the changes if they raise the score: x[change[n, 1]] = change[n, 2] where change[n, 0] is 0, y where it is 1.

    change[0, 0] counts them.  O(1): only the terms next to a change are added up, before and after.
    """
    stamps[0, 0] += 1
    tick = stamps[0, 0]
    noted[:, 0] = 0
    for n in range(1, change[0, 0] + 1):
        position, value = change[n, 1], change[n, 2]
        if change[n, 0] == 0:
            _note_change(x, y, position, value, noted[0], noted[1], noted[3], stamps, tick, 0)
        else:
            _note_change(y, x, position, value, noted[2], noted[3], noted[1], stamps, tick, 2)
    before = _local_score(theta, omega, agreement, cost, x, y, noted, worst)
    _exchange(x, y, change)
    if _local_score(theta, omega, agreement, cost, x, y, noted, worst) > before + 1e-9:
        return True
    _exchange(x, y, change)
    return False


@kernel
def _exchange(x, y, change):
    """Swap the changed positions' values with those in `change`: done twice, nothing has happened."""
    for n in range(1, change[0, 0] + 1):
        side = x if change[n, 0] == 0 else y
        position = change[n, 1]
        side[position], change[n, 2] = change[n, 2], side[position]


@kernel
def _plan(change, side, position, value):
    change[0, 0] += 1
    n = change[0, 0]
    change[n, 0], change[n, 1], change[n, 2] = side, position, value


@kernel
def _plan_pair(change, x, y, i, j):
    """x_i = j and y_j = i; whoever loses its partner by that goes to NULL."""
    change[0, 0] = 0
    old_j, old_i = x[i], y[j]
    _plan(change, 0, i, j)
    _plan(change, 1, j, i)
    if old_j != 0 and old_j != j and y[old_j] == i:
        _plan(change, 1, old_j, 0)
    if old_i != 0 and old_i != i and x[old_i] == j:
        _plan(change, 0, old_i, 0)


@kernel
def improve(theta, omega, agreement, cost, x, y, cells, count, sweeps, worst):
    """Local search over links (i, j) in cells[:count]: add, move, exchange or delete them until nothing raises the score.

    The pair (x, y) must be feasible and stays so.
    """
    change = np.zeros((5, 3), np.int64)
    noted = np.zeros((4, 32), np.int64)
    stamps = np.zeros((4, max(len(x), len(y))), np.int64)
    for _ in range(sweeps):
        moved = False
        for n in range(count):
            i, j = cells[n, 0], cells[n, 1]
            if x[i] == j and y[j] == i:
                change[0, 0] = 0
                _plan(change, 0, i, 0)
                _plan(change, 1, j, 0)
                moved |= _attempt(theta, omega, agreement, cost, x, y, change, noted, stamps, worst)
            else:
                _plan_pair(change, x, y, i, j)
                if _attempt(theta, omega, agreement, cost, x, y, change, noted, stamps, worst):
                    moved = True
                elif x[i] != 0 and y[j] != 0 and y[x[i]] == i and x[y[j]] == j:
                    # (i, j') and (i', j) become (i, j) and (i', j')
                    old_j, old_i = x[i], y[j]
                    change[0, 0] = 0
                    _plan(change, 0, i, j)
                    _plan(change, 1, j, i)
                    _plan(change, 0, old_i, old_j)
                    _plan(change, 1, old_j, old_i)
                    moved |= _attempt(theta, omega, agreement, cost, x, y, change, noted, stamps, worst)
            if agreement != FULL:
                change[0, 0] = 0
                _plan(change, 0, i, 0 if x[i] == j else j)
                moved |= _attempt(theta, omega, agreement, cost, x, y, change, noted, stamps, worst)
                change[0, 0] = 0
                _plan(change, 1, j, 0 if y[j] == i else i)
                moved |= _attempt(theta, omega, agreement, cost, x, y, change, noted, stamps, worst)
        if not moved:
            break
