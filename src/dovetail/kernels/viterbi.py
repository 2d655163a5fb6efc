"""Best paths.  Scores are kept as scaled products: one multiplication a candidate, and no logarithms."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.hmm import running_sums, transitions
from dovetail.kernels.lines import CELL, LENGTH_I, LENGTH_J, SOURCE, TARGET

FORWARD = np.uint8(1)  # marks on cells: a link of the forward direction,
REVERSE = np.uint8(2)  # of the reverse direction,
EITHER = np.uint8(4)  # of both together


@kernel
def best_path(emission, null_emission, null, table, first, delta, came_from, path):
    """Best path of the position-keeping HMM (Vogel et al. 1996; NULLs as in Och and Ney 2003, section 2.2).

    delta[j, i] = emission[j, i] max over i' of delta[j - 1, i'] table[i', i], state I + i being NULL after position i,
    state 2 I NULL before any link.  Columns are scaled to a maximum of one.  Fills `path` (J,) with source positions,
    -1 for NULL.  Ties go to the link before NULL, then to the lower position.  O(I^2 J).
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
    best = 0
    for state in range(2 * I + 1):
        if delta[J - 1, state] > delta[J - 1, best]:
            best = state
    for j in range(J - 1, -1, -1):
        path[j] = best if best < I else -1
        best = came_from[j, best]


@kernel
def mark_hmm(
    first,
    last,
    lines,
    source_ids,
    target_ids,
    null_forward,
    null_reverse,
    forward,
    reverse,
    null,
    forward_jump,
    forward_start,
    reverse_jump,
    reverse_start,
    marks,
):
    """Mark the best paths of both directions for pieces first..last - 1; `forward` and `reverse` are emissions."""
    longest = 0
    states = 0
    for piece in range(first, last):
        I, J = lines[piece, LENGTH_I], lines[piece, LENGTH_J]
        longest = max(longest, I, J)
        states = max(states, (2 * I + 1) * J, (2 * J + 1) * I)
    table_space = np.empty(longest * longest, np.float32)
    transposed_space = np.empty(longest * longest, np.float32)
    emission_space = np.empty(states, np.float32)
    delta_space = np.empty(states, np.float32)
    came_from_space = np.empty(states, np.int32)
    first_space = np.empty(longest, np.float32)
    exits = np.empty(longest + 1, np.float32)
    forward_back = forward_jump[::-1].copy()
    reverse_back = reverse_jump[::-1].copy()
    forward_sums = running_sums(forward_jump)
    reverse_sums = running_sums(reverse_jump)
    nulls = np.empty(longest, np.float32)
    path = np.empty(longest, np.int64)
    for piece in range(first, last):
        line = lines[piece]
        cell = line[CELL]
        for direction in range(2):
            if direction == 0:
                I, J = line[LENGTH_I], line[LENGTH_J]
                jump, back, sums, start = forward_jump, forward_back, forward_sums, forward_start
            else:
                I, J = line[LENGTH_J], line[LENGTH_I]
                jump, back, sums, start = reverse_jump, reverse_back, reverse_sums, reverse_start
            table = table_space[: I * I].reshape(I, I)
            first_link = first_space[:I]
            transitions(I, jump, back, sums, start, table, transposed_space[: I * I].reshape(I, I), first_link, exits)
            emission = emission_space[: I * J].reshape(J, I)
            for j in range(J):
                for i in range(I):
                    emission[j, i] = forward[cell + i * J + j] if direction == 0 else reverse[cell + j * I + i]
                if direction == 0:
                    nulls[j] = null_forward[target_ids[line[TARGET] + j]]
                else:
                    nulls[j] = null_reverse[source_ids[line[SOURCE] + j]]
            shape = J, 2 * I + 1
            best_path(
                emission,
                nulls,
                null,
                table,
                first_link,
                delta_space[: shape[0] * shape[1]].reshape(shape),
                came_from_space[: shape[0] * shape[1]].reshape(shape),
                path,
            )
            for j in range(J):
                if path[j] >= 0:
                    if direction == 0:
                        marks[cell + path[j] * J + j] |= FORWARD
                    else:
                        marks[cell + j * I + path[j]] |= REVERSE


@kernel
def mark_ibm1(first, last, lines, source_ids, target_ids, null_forward, null_reverse, forward, reverse, marks):
    """Mark each word's best partner in both directions, unless NULL is better; ties go to the lower position."""
    for piece in range(first, last):
        line = lines[piece]
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        for j in range(J):
            best = -1
            value = null_forward[target_ids[line[TARGET] + j]]
            for i in range(I):
                if forward[cell + i * J + j] > value:
                    value = forward[cell + i * J + j]
                    best = i
            if best >= 0:
                marks[cell + best * J + j] |= FORWARD
        for i in range(I):
            best = -1
            value = null_reverse[source_ids[line[SOURCE] + i]]
            for j in range(J):
                if reverse[cell + i * J + j] > value:
                    value = reverse[cell + i * J + j]
                    best = j
            if best >= 0:
                marks[cell + i * J + best] |= REVERSE
