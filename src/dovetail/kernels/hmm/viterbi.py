"""Best paths.  Scores are kept as scaled products: one multiplication per candidate, and no logarithms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.hmm.dense import largest, transitions
from dovetail.kernels.hmm.word_jumps import word_transitions
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J, SOURCE, TARGET

FORWARD = np.uint8(1)  # marks on cells: a link of the forward direction,
REVERSE = np.uint8(2)  # of the reverse direction,
EITHER = np.uint8(4)  # of both together


@kernel
def best_path(emission, null_emission, null, table, first, last, delta, came_from, path):
    """Best path of the position-keeping HMM (Vogel et al. 1996; NULLs as in Och and Ney 2003, section 2.2).

    delta[j, i] = emission[j, i] max over i' of delta[j - 1, i'] table[i', i], state I + i being NULL after position i,
    state 2 I NULL before any link.  Columns are scaled to a maximum of one.  Fills `path` (J,) with source positions,
    -1 for NULL; `last` (I,) weighs the last position.  Ties go to the link before NULL, then to the lower position.
    O(I^2 J).
    """
    J, I = emission.shape
    p0 = np.float32(null)
    p1 = np.float32(1.0 - null)
    for j in range(J):
        if j == 0:
            for i in range(I):
                delta[0, i] = p1 * first[i] * emission[0, i]
                came_from[0, i] = 2 * I
                delta[0, I + i] = np.float32(0.0)
                came_from[0, I + i] = I + i
            delta[0, 2 * I] = p0 * null_emission[0]
        else:
            start = delta[j - 1, 2 * I]
            for i in range(I):
                delta[j, i] = start * first[i]
                came_from[j, i] = 2 * I
            for before in range(I):
                linked = delta[j - 1, before]
                skipped = delta[j - 1, I + before]
                state = np.int32(before)
                if skipped > linked:
                    linked = skipped
                    state = np.int32(I + before)
                delta[j, I + before] = p0 * null_emission[j] * linked
                came_from[j, I + before] = state
                if linked > np.float32(0.0):
                    for i in range(I):
                        value = linked * table[before, i]
                        if value > delta[j, i]:
                            delta[j, i] = value
                            came_from[j, i] = state
            for i in range(I):
                delta[j, i] *= p1 * emission[j, i]
            delta[j, 2 * I] = p0 * null_emission[j] * start
        came_from[j, 2 * I] = 2 * I
        largest = np.float32(0.0)
        for state in range(2 * I + 1):
            largest = max(largest, delta[j, state])
        scale = np.float32(1.0) / largest
        for state in range(2 * I + 1):
            delta[j, state] *= scale
    mean = np.float32(0.0)  # for a sentence of nothing but NULLs, which ends nowhere
    for i in range(I):
        delta[J - 1, i] *= last[i]
        delta[J - 1, I + i] *= last[i]
        mean += last[i] / np.float32(I)
    delta[J - 1, 2 * I] *= mean
    best = 0
    for state in range(2 * I + 1):
        if delta[J - 1, state] > delta[J - 1, best]:
            best = state
    for j in range(J - 1, -1, -1):
        path[j] = best if best < I else -1
        best = came_from[j, best]


class Lattice(NamedTuple):
    """Room for the largest piece's emissions and lattice, and for the transitions of its longer side."""

    emission: np.ndarray  # float32
    delta: np.ndarray  # float32
    came_from: np.ndarray  # int32
    table: np.ndarray  # float32
    transposed: np.ndarray  # float32
    first: np.ndarray  # float32
    last: np.ndarray  # float32: ones, for a model that does not care
    exits: np.ndarray  # float32


@kernel
def lattice_for(first, last, lines):
    """Room for pieces first..last - 1."""
    longest, area = largest(first, last, lines)
    states = 2 * area + longest
    values, squares = np.empty((2, states), np.float32), np.empty((2, longest * longest), np.float32)
    first_link, last_link = np.empty(longest, np.float32), np.ones(longest, np.float32)
    exits, came_from = np.empty(longest + 1, np.float32), np.empty(states, np.int32)
    return Lattice(values[0], values[1], came_from, squares[0], squares[1], first_link, last_link, exits)


@kernel
def mark_path(line, direction, pieces, nulls, work, null, lattice, marks):
    """Mark the best path of one piece in one direction, whose transitions are in the lattice's tables."""
    cell = line[CELL]
    I, J = line[LENGTH_I], line[LENGTH_J]
    if direction == 1:
        I, J = J, I
    null_emission = np.empty(J, np.float32)
    path = np.empty(J, np.int64)
    emission = lattice.emission[: I * J].reshape(J, I)
    for j in range(J):
        for i in range(I):
            emission[j, i] = work.forward[cell + i * J + j] if direction == 0 else work.reverse[cell + j * I + i]
        if direction == 0:
            null_emission[j] = nulls.forward[pieces.target_ids[line[TARGET] + j]]
        else:
            null_emission[j] = nulls.reverse[pieces.source_ids[line[SOURCE] + j]]
    size, table = J * (2 * I + 1), lattice.table[: I * I].reshape(I, I)
    delta, came_from = lattice.delta[:size].reshape(J, 2 * I + 1), lattice.came_from[:size].reshape(J, 2 * I + 1)
    best_path(emission, null_emission, null, table, lattice.first, lattice.last, delta, came_from, path)
    for j in range(J):
        if path[j] >= 0:
            if direction == 0:
                marks[cell + path[j] * J + j] |= FORWARD
            else:
                marks[cell + j * I + path[j]] |= REVERSE


@kernel
def mark_hmm(first, last, pieces, nulls, work, null, jumps, marks):
    """Mark the best paths of both directions for pieces first..last - 1; the workspace holds emissions."""
    lattice = lattice_for(first, last, pieces.lines)
    for piece in range(first, last):
        line = pieces.lines[piece]
        for direction in range(2):
            I = line[LENGTH_I] if direction == 0 else line[LENGTH_J]
            table, transposed = lattice.table[: I * I].reshape(I, I), lattice.transposed[: I * I].reshape(I, I)
            transitions(I, jumps[direction], table, transposed, lattice.first, lattice.exits)
            mark_path(line, direction, pieces, nulls, work, null, lattice, marks)


@kernel
def mark_words(first, last, pieces, nulls, work, jumps, marks):
    """The same for HMMs whose jumps depend on the word jumped from (`jumps`: kernels.live.records.Jumps)."""
    lattice = lattice_for(first, last, pieces.lines)
    for piece in range(first, last):
        line = pieces.lines[piece]
        for direction in range(2):
            if direction == 0:
                words, weights = pieces.source_ids[line[SOURCE] :][: line[LENGTH_I]], jumps.forward.weights
            else:
                words, weights = pieces.target_ids[line[TARGET] :][: line[LENGTH_J]], jumps.reverse.weights
            start, end = jumps.ends[direction, 0], jumps.ends[direction, 1]
            table = lattice.table[: len(words) ** 2].reshape(len(words), len(words))
            word_transitions(words, weights, jumps.bins.of, start, end, table, lattice.first, lattice.last)
            mark_path(line, direction, pieces, nulls, work, jumps.null, lattice, marks)
