"""Feasible pairs of alignments: their score, repair of pairs that are not, and local search.

An alignment of one direction is kept with its start: `x` (I + 1,), x[0] = 0 the start, x[i] = j in 1..J or 0 for NULL;
`y` (J + 1,) likewise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.bidirectional.records import ADJACENCY, DISAGREEMENT, FULL

TOLERANCE = 1e-11  # of the sum of a score's absolute terms: a bound this near the score proves it
SWEEPS = 10  # of local search at most; it stops earlier when nothing moves


@leaf
def link_cost(agreement, position, answer):
    """What the link at `position` costs when the other direction links its partner to `answer` (0: NULL)."""
    if answer == position:
        return 0.0
    if agreement.kind == DISAGREEMENT:
        return agreement.cost
    if agreement.kind == ADJACENCY and answer != 0 and abs(answer - position) == 1:
        return agreement.cost
    return -np.inf


@kernel
def penalties(agreement, side, other):
    """What all links of one side cost."""
    total = 0.0
    for n in range(1, len(side)):
        if side[n] != 0:
            total += link_cost(agreement, n, other[side[n]])
    return total


@leaf
def pair_score(problem, x, y):
    """f(x) + g(y) + h(x, y) from the potentials as they were given, -inf where the pair is not allowed; and the sum of the
    absolute values of its terms, which says how exactly the score can be known."""
    score = magnitude = 0.0
    for direction in range(2):
        potentials, side, other = (problem.theta, x, y) if direction == 0 else (problem.omega, y, x)
        for n in range(1, len(side)):
            term = potentials[n - 1, side[n - 1], side[n]]
            if side[n] != 0:
                term += link_cost(problem.agreement, n, other[side[n]])
            score += term
            magnitude += abs(term)
    return score, magnitude


@kernel
def score_and_ceiling(problem, x, y):
    """The score, and its ceiling: a bound at or below that proves that no pair is better.

    An impossible pair scores -inf, and its ceiling is below all finite scores.
    """
    score, magnitude = pair_score(problem, x, y)
    return score, score + TOLERANCE * magnitude if score > -np.inf else problem.floor


@kernel
def repair(agreement, x, y):
    """Delete links that the other direction does not allow until the pair is feasible (for FULL: the intersection)."""
    changed = True
    while changed:
        changed = False
        for direction in range(2):
            side, other = (x, y) if direction == 0 else (y, x)
            for n in range(1, len(side)):
                if side[n] != 0 and link_cost(agreement, n, other[side[n]]) == -np.inf:
                    side[n] = 0
                    changed = True


class Attempt(NamedTuple):
    """One attempt of local search: what it changes, and which terms of the score that may touch.

    change[n] = (position, new value): of x for n in (0, 1), of y for n in (2, 3); position 0 stands for no change.
    """

    change: np.ndarray  # int64 (4, 2)
    noted: np.ndarray  # int64 (4, 32): moves of x, links of x, moves of y, links of y; noted[n, 0] of them from 1 on
    stamps: np.ndarray  # int64 (4, 1 + longer side): attempt that noted a position last; stamps[0, 0] counts attempts


# An attempt looks at a dozen numbers: as kernels, these functions spent more on counting references than on the search.
@leaf
def _note(attempt, n, position, last):
    """Put the position on the n-th list unless it is there already or outside 1..last."""
    stamp, tick = attempt.stamps[n], attempt.stamps[0, 0]
    if 1 <= position <= last and stamp[position] != tick:
        listed = attempt.noted[n]
        stamp[position] = tick
        listed[0] += 1
        listed[listed[0]] = position


@leaf
def _note_change(attempt, first, side, other, position, value):
    """Note each term of the score that side[position] = value may change.

    This side's lists are `first` (0 or 2) and the one after it.
    """
    last, other_last = len(side) - 1, len(other) - 1
    _note(attempt, first, position, last)
    _note(attempt, first, position + 1, last)
    _note(attempt, first + 1, position, last)
    for partner in (side[position], value):
        if partner != 0:
            for near in range(partner - 1, partner + 2):
                _note(attempt, 3 - first, near, other_last)


@leaf
def _local_score(problem, x, y, noted):
    """Sum of the noted terms; a potential of -inf counts `worst`, so that a pair can climb out of it."""
    score = 0.0
    for first in range(0, 4, 2):
        potentials, side, other = (problem.theta, x, y) if first == 0 else (problem.omega, y, x)
        for n in range(1, noted[first, 0] + 1):
            at = noted[first, n]
            score += max(potentials[at - 1, side[at - 1], side[at]], problem.worst)
        for n in range(1, noted[first + 1, 0] + 1):
            at = noted[first + 1, n]
            if side[at] != 0:
                score += link_cost(problem.agreement, at, other[side[at]])
    return score


@leaf
def _attempt(problem, x, y, attempt):
    """Make the changes if they raise the score.  O(1): only terms next to a change are added up, before and after."""
    change, noted = attempt.change, attempt.noted
    attempt.stamps[0, 0] += 1  # positions start at 1, so that this place is free
    for n in range(4):
        noted[n, 0] = 0
    for n in range(4):
        if change[n, 0] != 0:
            side, other = (x, y) if n < 2 else (y, x)
            _note_change(attempt, n // 2 * 2, side, other, change[n, 0], change[n, 1])
    before = 0.0
    for done in range(2):
        score = _local_score(problem, x, y, noted)
        if done and score - before > 1e-12 * abs(before):
            return True
        before = score
        _exchange(x, y, change)  # the first time makes the changes, the second undoes them
    return False


@leaf
def _exchange(x, y, change):
    """Swap the changed positions' values with those in `change`: done twice, nothing has happened."""
    for n in range(4):
        position = change[n, 0]
        if position != 0:
            side = x if n < 2 else y
            side[position], change[n, 1] = change[n, 1], side[position]


@leaf
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
def improve(problem, x, y, cells):
    """Local search over the links (i, j) in `cells`: every move of `_plan` that raises the score, until none does.

    The pair (x, y) must be feasible and stays so.
    """
    longer = max(len(x), len(y))
    attempt = Attempt(np.zeros((4, 2), np.int64), np.zeros((4, 32), np.int64), np.zeros((4, longer), np.int64))
    moves = 3 if problem.agreement.kind == FULL else 5
    for _ in range(SWEEPS):
        moved = False
        for n in range(len(cells)):
            for move in range(moves):
                if _plan(x, y, cells[n, 0], cells[n, 1], move, attempt.change):
                    moved |= _attempt(problem, x, y, attempt)
        if not moved:
            break
