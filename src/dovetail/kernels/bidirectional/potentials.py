"""Potentials of one direction's HMM, in the form that the bidirectional decoder takes.

Chang et al.'s (2014, footnote 1) chains have one NULL state, which forgets where the last link was; ours remember it.  So
what follows a NULL is given by its expectation: with q_r(a) the probability of standing at position a after rows 0..r, as
the forward pass has it (NULLs keep the position),

    p(b | NULL at r - 1) = sum over a of q_{r-2}(a) p(b | a)

since the NULL at r - 1 left the position where it was.  Everything else is the HMM's own.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel

# rows of the state that goes from row to row; its last column is that of "no link yet"
PREDICTED, FOLLOWS_NULL, STANDING, STANDING_BEFORE = 0, 1, 2, 3


@kernel
def _begin(first):
    width = len(first)
    state = np.zeros((4, width + 1))
    for b in range(width):
        state[PREDICTED, b] = first[b]
    state[STANDING, width] = state[STANDING_BEFORE, width] = 1.0
    return state


@kernel
def _logs(table):
    logs = np.empty(table.shape)
    for a in range(table.shape[0]):
        for b in range(table.shape[1]):
            logs[a, b] = np.log(np.float64(table[a, b]))
    return logs


@kernel
def _fill_row(r, emission, null_emission, null, table, log_table, first, last, state, moves):
    """moves (W + 1, W + 1), [position before, position]: log p of the moves into row r; takes `state` to the next row."""
    rows, width = emission.shape
    predicted, follows_null = state[PREDICTED], state[FOLLOWS_NULL]
    standing, standing_before = state[STANDING], state[STANDING_BEFORE]
    for b in range(width):
        follows_null[b] = predicted[b]
    if r > 0:
        for b in range(width):
            predicted[b] = standing[width] * first[b]
        for a in range(width):
            for b in range(width):
                predicted[b] += standing[a] * table[a, b]
    skipped = null * null_emission[r]
    at_end = 0.0  # what ending with NULL after NULL costs
    if r == rows - 1:
        for a in range(width):
            at_end += (standing_before[a] + standing_before[width] / width) * last[a]
        at_end = np.log(at_end)
    moves[0, 0] = np.log(skipped) + at_end
    for b in range(width):
        here = np.log((1.0 - null) * emission[r, b])
        if r == rows - 1:
            here += np.log(last[b])
        moves[0, b + 1] = here + np.log(follows_null[b])
        moves[1, b + 1] = here
    for a in range(width, 0, -1):  # row 1 holds `here` until its own turn
        moves[a, 0] = np.log(skipped)
        if r == rows - 1:
            moves[a, 0] += np.log(last[a - 1])
        for b in range(width):
            moves[a, b + 1] = moves[1, b + 1] + log_table[a - 1, b]
    total = skipped * standing[width]
    for b in range(width + 1):
        standing_before[b] = standing[b]
        standing[b] *= skipped
    for b in range(width):
        standing[b] += (1.0 - null) * emission[r, b] * predicted[b]
        total += standing[b]
    if total > 0.0:  # else this row's word is impossible, and so is whatever follows it
        for b in range(width + 1):
            standing[b] /= total


@kernel
def chain_potentials(emission, null_emission, null, table, first, last):
    """log p of each move (R, W + 1, W + 1), [row, position before, position], state 0 being NULL and the start.

    `emission` (R, W) and `null_emission` (R,) are probabilities of row r's word; `table` (W, W) those of moves, `first` (W,)
    of first positions; `last` (W,) weighs the last position.
    """
    rows, width = emission.shape
    potentials = np.empty((rows, width + 1, width + 1))
    log_table = _logs(table)
    state = _begin(first)
    for r in range(rows):
        _fill_row(r, emission, null_emission, null, table, log_table, first, last, state, potentials[r])
    return potentials


@kernel
def chain_best(emission, null_emission, null, table, first, last, path):
    """Best path of the same chain, and its value, without room for all potentials: path (R + 1,), path[0] = 0 the start."""
    rows, width = emission.shape
    log_table = _logs(table)
    state = _begin(first)
    moves = np.empty((width + 1, width + 1))
    alpha, before = np.full(width + 1, -np.inf), np.empty(width + 1)
    alpha[0] = 0.0
    origin = np.zeros((rows, width + 1), np.int16)
    for r in range(rows):
        _fill_row(r, emission, null_emission, null, table, log_table, first, last, state, moves)
        for b in range(width + 1):
            before[b], alpha[b] = alpha[b], -np.inf
        for a in range(width + 1):
            for b in range(width + 1):
                if before[a] + moves[a, b] > alpha[b]:
                    alpha[b] = before[a] + moves[a, b]
                    origin[r, b] = a
    best = 0
    for b in range(width + 1):
        if alpha[b] > alpha[best]:
            best = b
    value = alpha[best]
    for r in range(rows - 1, -1, -1):
        path[r + 1] = best
        best = origin[r, best]
    return value


@kernel
def chain_score(emission, null_emission, null, table, first, last, path):
    """What a path of the same chain is worth."""
    rows, width = emission.shape
    log_table = _logs(table)
    state = _begin(first)
    moves = np.empty((width + 1, width + 1))
    score = 0.0
    for r in range(rows):
        _fill_row(r, emission, null_emission, null, table, log_table, first, last, state, moves)
        score += moves[path[r], path[r + 1]]
    return score
