"""Best paths.  Scores are kept as scaled products: one multiplication a candidate, and no logarithms."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.hmm.best import NULL, best_partner
from dovetail.kernels.hmm.dense import running_sums, transitions
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


@kernel
def largest_piece(first, last, lines):
    """Words of the longest side, and states of the largest lattice, of pieces first..last - 1."""
    longest = 0
    states = 0
    for piece in range(first, last):
        I, J = lines[piece, LENGTH_I], lines[piece, LENGTH_J]
        longest = max(longest, I, J)
        states = max(states, (2 * I + 1) * J, (2 * J + 1) * I)
    return longest, states


@kernel
def mark_path(
    line,
    direction,
    source_ids,
    target_ids,
    null_forward,
    null_reverse,
    forward,
    reverse,
    null,
    table,
    first,
    last,
    emission_space,
    delta_space,
    came_from_space,
    marks,
):
    """Mark the best path of one piece in one direction, given its transitions."""
    cell = line[CELL]
    if direction == 0:
        I, J = line[LENGTH_I], line[LENGTH_J]
    else:
        I, J = line[LENGTH_J], line[LENGTH_I]
    nulls = np.empty(J, np.float32)
    path = np.empty(J, np.int64)
    emission = emission_space[: I * J].reshape(J, I)
    for j in range(J):
        for i in range(I):
            emission[j, i] = forward[cell + i * J + j] if direction == 0 else reverse[cell + j * I + i]
        if direction == 0:
            nulls[j] = null_forward[target_ids[line[TARGET] + j]]
        else:
            nulls[j] = null_reverse[source_ids[line[SOURCE] + j]]
    size = J * (2 * I + 1)
    best_path(
        emission,
        nulls,
        null,
        table,
        first,
        last,
        delta_space[:size].reshape(J, 2 * I + 1),
        came_from_space[:size].reshape(J, 2 * I + 1),
        path,
    )
    for j in range(J):
        if path[j] >= 0:
            if direction == 0:
                marks[cell + path[j] * J + j] |= FORWARD
            else:
                marks[cell + j * I + path[j]] |= REVERSE


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
    longest, states = largest_piece(first, last, lines)
    table_space = np.empty(longest * longest, np.float32)
    transposed_space = np.empty(longest * longest, np.float32)
    emission_space = np.empty(states, np.float32)
    delta_space = np.empty(states, np.float32)
    came_from_space = np.empty(states, np.int32)
    first_link = np.empty(longest, np.float32)
    ones = np.ones(longest, np.float32)
    exits = np.empty(longest + 1, np.float32)
    forward_back = forward_jump[::-1].copy()
    reverse_back = reverse_jump[::-1].copy()
    forward_sums = running_sums(forward_jump)
    reverse_sums = running_sums(reverse_jump)
    for piece in range(first, last):
        for direction in range(2):
            if direction == 0:
                I = lines[piece, LENGTH_I]
                jump, back, sums, start = forward_jump, forward_back, forward_sums, forward_start
            else:
                I = lines[piece, LENGTH_J]
                jump, back, sums, start = reverse_jump, reverse_back, reverse_sums, reverse_start
            table = table_space[: I * I].reshape(I, I)
            transitions(I, jump, back, sums, start, table, transposed_space[: I * I].reshape(I, I), first_link, exits)
            mark_path(
                lines[piece],
                direction,
                source_ids,
                target_ids,
                null_forward,
                null_reverse,
                forward,
                reverse,
                null,
                table,
                first_link,
                ones,
                emission_space,
                delta_space,
                came_from_space,
                marks,
            )


@kernel
def mark_joint(
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
    forward_weights,
    reverse_weights,
    bins,
    ends,
    marks,
):
    """The same for HMMs whose jumps depend on the word jumped from (see kernels.joint_hmm)."""
    longest, states = largest_piece(first, last, lines)
    table_space = np.empty(longest * longest, np.float32)
    transposed_space = np.empty(longest * longest, np.float32)
    emission_space = np.empty(states, np.float32)
    delta_space = np.empty(states, np.float32)
    came_from_space = np.empty(states, np.int32)
    first_link = np.empty(longest, np.float32)
    last_link = np.empty(longest, np.float32)
    exits = np.empty(longest + 2, np.float32)
    for piece in range(first, last):
        line = lines[piece]
        for direction in range(2):
            if direction == 0:
                I, words, first_word, weights = line[LENGTH_I], source_ids, line[SOURCE], forward_weights
            else:
                I, words, first_word, weights = line[LENGTH_J], target_ids, line[TARGET], reverse_weights
            table = table_space[: I * I].reshape(I, I)
            word_transitions(
                words,
                first_word,
                I,
                weights,
                bins,
                ends[direction, 0],
                ends[direction, 1],
                table,
                transposed_space[: I * I].reshape(I, I),
                first_link,
                last_link,
                exits,
            )
            mark_path(
                line,
                direction,
                source_ids,
                target_ids,
                null_forward,
                null_reverse,
                forward,
                reverse,
                null,
                table,
                first_link,
                last_link,
                emission_space,
                delta_space,
                came_from_space,
                marks,
            )


@kernel
def mark_ibm1(first, last, lines, source_ids, target_ids, null_forward, null_reverse, forward, reverse, marks):
    """Mark each word's best partner in both directions, unless NULL is better; ties go to the lower position."""
    for piece in range(first, last):
        line = lines[piece]
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        for j in range(J):
            i = best_partner(forward, cell + j, J, I, null_forward[target_ids[line[TARGET] + j]])
            if i != NULL:
                marks[cell + i * J + j] |= FORWARD
        for i in range(I):
            j = best_partner(reverse, cell + i * J, 1, J, null_reverse[source_ids[line[SOURCE] + i]])
            if j != NULL:
                marks[cell + i * J + j] |= REVERSE
