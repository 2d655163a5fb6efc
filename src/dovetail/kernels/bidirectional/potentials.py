"""Potentials of one direction's HMM, in the form that the bidirectional decoder takes.

Chang et al.'s (2014, footnote 1) chains have one NULL state, which forgets where the last link was; ours remember it.  So
what follows a NULL is given by its expectation: with q_r(a) the probability of standing at position a after rows 0..r, as
the forward pass has it (NULLs keep the position),

    p(b | NULL at r - 1) = sum over a of q_{r-2}(a) p(b | a)

since the NULL at r - 1 left the position where it was.  Everything else is the HMM's own.  A chain that `forgets` has the
paper's NULL instead: the state that it starts in, so that p(b | NULL) = p(b | start).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel


class Walk(NamedTuple):
    """What the forward pass takes from row to row.  One entry per position; `standing` has a last one: no link yet."""

    log_moves: np.ndarray  # float64 (W, W)
    predicted: np.ndarray  # float64 (W,): p(b), if row r is a link
    follows_null: np.ndarray  # float64 (W,): the same, if row r - 1 is a NULL
    standing: np.ndarray  # float64 (W + 1,): q of row r - 1
    standing_before: np.ndarray  # float64 (W + 1,): q of row r - 2


@kernel
def _begin(chain):
    width = len(chain.first)
    log_moves = np.empty((width, width))
    for a in range(width):
        for b in range(width):
            log_moves[a, b] = np.log(np.float64(chain.moves[a, b]))
    walk = Walk(log_moves, np.zeros(width), np.zeros(width), np.zeros(width + 1), np.zeros(width + 1))
    for b in range(width):
        walk.predicted[b] = chain.first[b]
    walk.standing[width] = walk.standing_before[width] = 1.0
    return walk


@kernel
def _fill_row(chain, walk, r, row):
    """row (W + 1, W + 1), [position before, position]: log p of the moves into row r; the walk goes on to the next."""
    emission, null, last = chain.emission, chain.null, chain.last
    log_moves, predicted, follows_null, standing, standing_before = walk
    rows, width = emission.shape
    for b in range(width):
        follows_null[b] = chain.first[b] if chain.forgets else predicted[b]
    if r > 0:
        for b in range(width):
            predicted[b] = standing[width] * chain.first[b]
        for a in range(width):
            for b in range(width):
                predicted[b] += standing[a] * chain.moves[a, b]
    skipped = null * chain.null_emission[r]
    at_end = 0.0  # what ending with NULL after NULL costs
    if r == rows - 1:
        for a in range(width):
            at_end += (standing_before[a] + standing_before[width] / width) * last[a]
        at_end = np.log(at_end)
    row[0, 0] = np.log(skipped) + at_end
    for b in range(width):
        here = np.log((1.0 - null) * emission[r, b])
        if r == rows - 1:
            here += np.log(last[b])
        row[0, b + 1] = here + np.log(follows_null[b])
        row[1, b + 1] = here
    for a in range(width, 0, -1):  # row 1 holds `here` until its own turn
        row[a, 0] = np.log(skipped)
        if r == rows - 1:
            row[a, 0] += np.log(last[a - 1])
        for b in range(width):
            row[a, b + 1] = row[1, b + 1] + log_moves[a - 1, b]
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
def chain_potentials(chain):
    """log p of each move (R, W + 1, W + 1), [row, position before, position], state 0 being NULL and the start."""
    rows, width = chain.emission.shape
    potentials = np.empty((rows, width + 1, width + 1))
    walk = _begin(chain)
    for r in range(rows):
        _fill_row(chain, walk, r, potentials[r])
    return potentials


@kernel
def chain_best(chain, path):
    """Best path of the same chain, and its value, without room for all potentials: path (R + 1,), path[0] = 0 the start."""
    rows, width = chain.emission.shape
    walk = _begin(chain)
    row = np.empty((width + 1, width + 1))
    alpha, before = np.full(width + 1, -np.inf), np.empty(width + 1)
    alpha[0] = 0.0
    origin = np.zeros((rows, width + 1), np.int16)
    for r in range(rows):
        _fill_row(chain, walk, r, row)
        for b in range(width + 1):
            before[b], alpha[b] = alpha[b], -np.inf
        for a in range(width + 1):
            for b in range(width + 1):
                if before[a] + row[a, b] > alpha[b]:
                    alpha[b] = before[a] + row[a, b]
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
def chain_score(chain, path):
    """What a path of the same chain is worth."""
    rows, width = chain.emission.shape
    walk = _begin(chain)
    row = np.empty((width + 1, width + 1))
    score = 0.0
    for r in range(rows):
        _fill_row(chain, walk, r, row)
        score += row[path[r], path[r + 1]]
    return score
