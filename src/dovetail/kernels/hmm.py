"""The alignment HMM: the next link depends on where the last one was (Vogel et al. 1996).

NULLs keep the position (Och and Ney 2003, section 2.2): what follows a NULL depends only on the last linked word.  So
one number a position, `position[j, i]`, carries both "word j is linked to i" and "word j is NULL, the last link was i".
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.lines import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET

NEGLIGIBLE = np.float32(1e-8)  # a state with less of the mass is passed over: trained models leave a handful a column


@kernel
def transitions(I, jump, start, table, transposed, first, exits):
    """p(i | i') = jump[i - i'] / sum over i of jump[i - i'], and the first link's distribution, for one sentence.

    `jump` holds a weight for every distance, distance 0 in the middle; `start` one for every position.  Fills `table`
    (I, I) with [i', i], `transposed` with [i, i'], `first` (I,), and `exits` (I + 1,) with 1 / the sums, start's last.
    """
    middle = len(jump) // 2
    for before in range(I):
        total = 0.0
        for i in range(I):
            total += jump[middle + i - before]
        exits[before] = 1.0 / total
        scale = np.float32(exits[before])
        for i in range(I):
            table[before, i] = jump[middle + i - before] * scale
    for i in range(I):
        for before in range(I):
            transposed[i, before] = table[before, i]
    total = 0.0
    for i in range(I):
        total += start[i]
    exits[I] = 1.0 / total
    for i in range(I):
        first[i] = start[i] * np.float32(exits[I])


@kernel
def forward_backward(
    emission,
    null_emission,
    null,
    table,
    transposed,
    first,
    position,
    start_mass,
    beta,
    weight,
    moves,
    first_moves,
    counting,
):
    """Posteriors of one sentence in one direction, scaled; emission (J, I) is overwritten by them.

    alpha[j, i] = (1 - p0) emission[j, i] sum over i' of position[j - 1, i'] table[i', i]
    position[j, i] = alpha[j, i] + p0 null_emission[j] position[j - 1, i],  each column scaled to sum to one
    beta[j - 1, i'] = sum over i of table[i', i] weight[j, i] + p0 null_emission[j] beta[j, i'] / total[j]
    with weight[j, i] = (1 - p0) emission[j, i] beta[j, i] / total[j]

    `null_emission` (J,) is overwritten by NULL's posteriors.  With `counting`, `moves` (I, I) gets the expected number
    of moves i' to i, still to be multiplied by table[i', i], and `first_moves` (I,) that of first links.  Returns the
    log-likelihood.  O(I^2 J); inner loops run along i so that they are vector operations.
    """
    J, I = emission.shape
    p0 = np.float32(null)
    p1 = np.float32(1.0 - null)
    log_likelihood = 0.0
    mass = np.float32(1.0)  # probability that no word has been linked yet
    for j in range(J):
        for i in range(I):
            weight[i] = mass * first[i]
        if j > 0:
            for before in range(I):
                share = position[j - 1, before]
                if share > NEGLIGIBLE:
                    for i in range(I):
                        weight[i] += share * table[before, i]
        skip = p0 * null_emission[j]
        total = skip  # NULL takes this share of every position's mass, the start's included
        for i in range(I):
            weight[i] *= p1 * emission[j, i]
        for i in range(I):
            total += weight[i]
        if j > 0:
            for i in range(I):
                position[j, i] = weight[i] + skip * position[j - 1, i]
        else:
            for i in range(I):
                position[j, i] = weight[i]
        scale = np.float32(1.0) / total
        for i in range(I):
            position[j, i] *= scale
            # From here on only emission / total is needed: alpha = weight / total is found again below.
            emission[j, i] *= p1 * scale
        null_emission[j] = skip * scale
        mass *= skip * scale
        start_mass[j] = mass
        log_likelihood += math.log(total)

    for i in range(I):
        beta[i] = np.float32(1.0)
    if counting:
        for before in range(I):
            for i in range(I):
                moves[before, i] = np.float32(0.0)
        for i in range(I):
            first_moves[i] = np.float32(0.0)
    for j in range(J - 1, -1, -1):
        skip = null_emission[j]
        for i in range(I):
            weight[i] = emission[j, i] * beta[i]
        # The posterior of a link: alpha beta, where alpha = position - what came through NULL.
        if j > 0:
            total = np.float32(0.0)
            for i in range(I):
                emission[j, i] = max(np.float32(0.0), (position[j, i] - skip * position[j - 1, i])) * beta[i]
            for i in range(I):
                total += emission[j, i]
        else:
            total = np.float32(0.0)
            for i in range(I):
                emission[j, i] = position[j, i] * beta[i]
                total += emission[j, i]
        null_emission[j] = max(np.float32(0.0), np.float32(1.0) - total)
        before_mass = start_mass[j - 1] if j > 0 else np.float32(1.0)
        if counting:
            for i in range(I):
                first_moves[i] += before_mass * first[i] * weight[i]
        if j > 0:
            largest = np.float32(0.0)
            for i in range(I):
                beta[i] *= skip
                largest = max(largest, weight[i])
            for i in range(I):
                if weight[i] > NEGLIGIBLE * largest:
                    for before in range(I):
                        beta[before] += transposed[i, before] * weight[i]
            if counting:
                for before in range(I):
                    share = position[j - 1, before]
                    if share > NEGLIGIBLE:
                        for i in range(I):
                            moves[before, i] += share * weight[i]
    return log_likelihood


@kernel
def collect_moves(moves, table, exits, first_moves, jump_counts, start_counts):
    """Add one sentence's expected moves to the counts by distance, and what each distance was exposed to.

    counts[0, d] += expected moves over distance d
    counts[1, d] += sum over i' with i' + d in the sentence of (moves out of i') / (sum of weights reachable from i')
    """
    I = len(first_moves)
    middle = jump_counts.shape[1] // 2
    for before in range(I):
        out = 0.0
        for i in range(I):
            expected = moves[before, i] * table[before, i]
            jump_counts[0, middle + i - before] += expected
            out += expected
        out *= exits[before]
        for i in range(I):
            jump_counts[1, middle + i - before] += out
    out = 0.0
    for i in range(I):
        start_counts[0, i] += first_moves[i]
        out += first_moves[i]
    for i in range(I):
        start_counts[1, i] += out * exits[I]


@kernel
def expect(
    first,
    last,
    lines,
    source_ids,
    target_ids,
    null_forward,
    null_reverse,
    forward,
    reverse,
    null_forward_posterior,
    null_reverse_posterior,
    log_likelihood,
    null,
    forward_jump,
    forward_start,
    reverse_jump,
    reverse_start,
    jump_counts,
    start_counts,
):
    """E-step of both directions for pieces first..last - 1, in place: translation probabilities become posteriors.

    `jump_counts` (2 directions, 2, distances) and `start_counts` (2, 2, positions) are added to, unless empty.
    """
    counting = jump_counts.size > 0
    longest = 0
    area = 0
    for piece in range(first, last):
        longest = max(longest, lines[piece, LENGTH_I], lines[piece, LENGTH_J])
        area = max(area, lines[piece, LENGTH_I] * lines[piece, LENGTH_J])
    table_space = np.empty(longest * longest, np.float32)
    transposed_space = np.empty(longest * longest, np.float32)
    moves_space = np.empty(longest * longest if counting else 0, np.float32)
    emission_space = np.empty(area, np.float32)
    position_space = np.empty(area, np.float32)
    first_space = np.empty(longest, np.float32)
    first_moves_space = np.empty(longest, np.float32)
    exits = np.empty(longest + 1, np.float64)
    beta = np.empty(longest, np.float32)
    weight = np.empty(longest, np.float32)
    start_mass = np.empty(longest, np.float32)
    for piece in range(first, last):
        line = lines[piece]
        cell = line[CELL]
        for direction in range(2):
            if direction == 0:
                I, J = line[LENGTH_I], line[LENGTH_J]
                jump, start = forward_jump, forward_start
            else:
                I, J = line[LENGTH_J], line[LENGTH_I]
                jump, start = reverse_jump, reverse_start
            table = table_space[: I * I].reshape(I, I)
            transposed = transposed_space[: I * I].reshape(I, I)
            moves = moves_space[: I * I].reshape(I, I) if counting else moves_space.reshape(0, 0)
            position = position_space[: I * J].reshape(J, I)
            first_link = first_space[:I]
            first_moves = first_moves_space[:I]
            transitions(I, jump, start, table, transposed, first_link, exits)
            if direction == 0:
                emission = emission_space[: I * J].reshape(J, I)
                for i in range(I):
                    for j in range(J):
                        emission[j, i] = forward[cell + i * J + j]
                nulls = null_forward_posterior[line[COLUMN] : line[COLUMN] + J]
                for j in range(J):
                    nulls[j] = null_forward[target_ids[line[TARGET] + j]]
            else:
                emission = reverse[cell : cell + I * J].reshape(J, I)
                nulls = null_reverse_posterior[line[ROW] : line[ROW] + J]
                for j in range(J):
                    nulls[j] = null_reverse[source_ids[line[SOURCE] + j]]
            log_likelihood[piece, direction] = forward_backward(
                emission,
                nulls,
                null,
                table,
                transposed,
                first_link,
                position,
                start_mass,
                beta,
                weight,
                moves,
                first_moves,
                counting,
            )
            if direction == 0:
                for i in range(I):
                    for j in range(J):
                        forward[cell + i * J + j] = emission[j, i]
            if counting:
                collect_moves(moves, table, exits, first_moves, jump_counts[direction], start_counts[direction])
