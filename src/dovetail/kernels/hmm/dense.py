"""The alignment HMM: the next link depends on where the last one was (Vogel et al. 1996).

NULLs keep the position (Och and Ney 2003, section 2.2): what follows a NULL depends only on the last linked word.  So
one number per position, `position[j, i]`, carries both "word j is linked to i" and "word j is NULL, the last link was i".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET

NEGLIGIBLE = np.float32(1e-8)  # a state with less of the mass is passed over: trained models leave a handful a column


@kernel
def largest(first, last, lines):
    """Words of the longest side, and cells of the largest of pieces first..last - 1."""
    longest = 0
    cells = 0
    for piece in range(first, last):
        longest = max(longest, lines[piece, LENGTH_I], lines[piece, LENGTH_J])
        cells = max(cells, lines[piece, LENGTH_I] * lines[piece, LENGTH_J])
    return longest, cells


@leaf
def total_of(values):
    """The sum, in four strands: a single one waits four cycles for every addition."""
    n = len(values)
    s0 = s1 = s2 = s3 = np.float32(0.0)
    whole = n - n % 4
    for k in range(0, whole, 4):
        s0 += values[k]
        s1 += values[k + 1]
        s2 += values[k + 2]
        s3 += values[k + 3]
    for k in range(whole, n):
        s0 += values[k]
    return (s0 + s1) + (s2 + s3)


@kernel
def add_rows(share, rows, total):
    """total += sum over k of share[k] rows[k], four rows at a time so that a sum is stored once for four products."""
    n, width = rows.shape
    whole = n - n % 4
    for k in range(0, whole, 4):
        a, b, c, d = share[k], share[k + 1], share[k + 2], share[k + 3]
        if a + b + c + d > NEGLIGIBLE:
            for i in range(width):
                total[i] += (a * rows[k, i] + b * rows[k + 1, i]) + (c * rows[k + 2, i] + d * rows[k + 3, i])
    for k in range(whole, n):
        a = share[k]
        for i in range(width):
            total[i] += a * rows[k, i]


class JumpWeights(NamedTuple):
    """Weights of one direction's jumps for sentences up to some length."""

    jump: np.ndarray  # float32 (2 * longest + 1,): of every distance, 0 in the middle
    start: np.ndarray  # float32 (longest,): of every first position
    backwards: np.ndarray  # float32 (2 * longest + 1,): of every distance, in reverse order
    before_distance: np.ndarray  # float64 (2 * longest + 2,): their running sums


def running_sums(weights):
    """Sums of the first 0, 1, 2 ... weights."""
    return np.concatenate([np.zeros(1), np.cumsum(weights, dtype=np.float64)])


def jump_weights(jump, start):
    return JumpWeights(jump, start, jump[::-1].copy(), running_sums(jump))


@kernel
def transitions(I, jumps, table, transposed, first, exits):
    """p(i | i') = jump[i - i'] / sum over i of jump[i - i'], and the first link's distribution, for one sentence.

    Fills `table` (I, I) with [i', i], `transposed` with [i, i'], `first` (I,), and `exits` (I + 1,) with 1 / the sums,
    start's last.
    """
    jump, start, backwards, before_distance = jumps
    middle = len(jump) // 2
    for before in range(I):
        total = before_distance[middle - before + I] - before_distance[middle - before]
        exits[before] = np.float32(1.0 / total)
    for before in range(I):
        scale = exits[before]
        shift = middle - before
        for i in range(I):
            table[before, i] = jump[shift + i] * scale
    for i in range(I):
        shift = middle - i
        for before in range(I):
            transposed[i, before] = backwards[shift + before] * exits[before]
    total = 0.0
    for i in range(I):
        total += start[i]
    exits[I] = np.float32(1.0 / total)
    for i in range(I):
        first[i] = start[i] * exits[I]


class Transitions(NamedTuple):
    """The moves of one sentence of I words."""

    table: np.ndarray  # float32 (I, I): p(i | i') at [i', i]
    transposed: np.ndarray  # float32 (I, I)
    first: np.ndarray  # float32 (I,): of the first link
    last: np.ndarray  # float32 (I,): weights of the last link's position; ones for a model that does not care


class Room(NamedTuple):
    """What `forward_backward` writes on its way."""

    position: np.ndarray  # float32 (J, I)
    start_mass: np.ndarray  # float32 (J,) or more
    beta: np.ndarray  # float32 (I,) or more
    weight: np.ndarray  # float32 (I,) or more


class Moves(NamedTuple):
    """Expected moves of one sentence."""

    pairs: np.ndarray  # float32 (I, I): i' to i, still to be multiplied by table[i', i]
    leaving: np.ndarray  # float32 (I,): their sums over i
    first: np.ndarray  # float32 (I,): first links


@kernel
def forward_backward(emission, null_emission, null, transitions, room, expected, counting):
    """Posteriors of one sentence in one direction, scaled; emission (J, I) is overwritten by them.

    alpha[j, i] = (1 - p0) emission[j, i] sum over i' of position[j - 1, i'] table[i', i]
    position[j, i] = alpha[j, i] + p0 null_emission[j] position[j - 1, i],  each column scaled to sum to one
    beta[j - 1, i'] = sum over i of table[i', i] weight[j, i] + p0 null_emission[j] beta[j, i'] / total[j]
    with weight[j, i] = (1 - p0) emission[j, i] beta[j, i] / total[j]

    `null_emission` (J,) is overwritten by NULL's posteriors.  With `counting`, `expected` gets the expected moves.  Returns
    the log-likelihood.  O(I^2 J); inner loops run along i or i' so that they are vector operations.
    """
    table, transposed, first, last = transitions
    position, start_mass, beta, weight = room
    moves, leaving, first_moves = expected
    J, I = emission.shape
    p0 = np.float32(null)
    p1 = np.float32(1.0 - null)
    log_likelihood = 0.0
    mass = np.float32(1.0)  # probability that no word has been linked yet
    for j in range(J):
        for i in range(I):
            weight[i] = mass * first[i]
        if j > 0:
            add_rows(position[j - 1], table, weight)
        for i in range(I):
            weight[i] *= p1 * emission[j, i]
        skip = p0 * null_emission[j]
        total = skip + total_of(weight[:I])  # NULL takes this share of every position's mass, the start's included
        scale = np.float32(1.0) / total
        skip *= scale
        if j > 0:
            for i in range(I):
                position[j, i] = weight[i] * scale + skip * position[j - 1, i]
        else:
            for i in range(I):
                position[j, i] = weight[i] * scale
        scale *= p1
        for i in range(I):
            emission[j, i] *= scale  # all that the way back needs
        null_emission[j] = skip
        mass *= skip
        start_mass[j] = mass
        log_likelihood += math.log(total)

    # A sentence of nothing but NULLs ends nowhere: the mean stands for it.
    end = mass * total_of(last[:I]) / np.float32(I)
    for i in range(I):
        beta[i] = position[J - 1, i] * last[i]
    end += total_of(beta[:I])
    log_likelihood += math.log(end)
    for i in range(I):
        beta[i] = last[i] / end
    if counting:
        for before in range(I):
            for i in range(I):
                moves[before, i] = np.float32(0.0)
        for i in range(I):
            first_moves[i] = np.float32(0.0)
            leaving[i] = np.float32(0.0)
    for j in range(J - 1, -1, -1):
        skip = null_emission[j]
        for i in range(I):
            weight[i] = emission[j, i] * beta[i]
        # The posterior of a link: alpha beta, where alpha = position - what came through NULL.
        if j > 0:
            for i in range(I):
                emission[j, i] = max(np.float32(0.0), position[j, i] - skip * position[j - 1, i]) * beta[i]
        else:
            for i in range(I):
                emission[j, i] = position[j, i] * beta[i]
        null_emission[j] = max(np.float32(0.0), np.float32(1.0) - total_of(emission[j]))
        if counting:
            before_mass = start_mass[j - 1] if j > 0 else np.float32(1.0)
            for i in range(I):
                first_moves[i] += before_mass * first[i] * weight[i]
        if j > 0:
            for i in range(I):
                beta[i] *= skip
            if counting:
                for i in range(I):
                    leaving[i] -= position[j - 1, i] * beta[i]
            add_rows(weight, transposed, beta)
            if counting:
                for i in range(I):
                    leaving[i] += position[j - 1, i] * beta[i]
                for before in range(I):
                    share = position[j - 1, before]
                    if share > NEGLIGIBLE:
                        for i in range(I):
                            moves[before, i] += share * weight[i]
    return log_likelihood


@kernel
def collect_moves(moves, leaving, table, exits, first_moves, jump_counts, start_counts):
    """Add one sentence's expected moves to the counts by distance, and what each distance was exposed to.

    counts[0, d] += expected moves over distance d
    counts[1, d] += sum over i' with i' + d in the sentence of (moves out of i') / (sum of weights reachable from i')
    """
    I = len(first_moves)
    middle = jump_counts.shape[1] // 2
    for before in range(I):
        counts = jump_counts[0, middle - before : middle - before + I]
        for i in range(I):
            counts[i] += moves[before, i] * table[before, i]
        counts = jump_counts[1, middle - before : middle - before + I]
        out = np.float64(max(leaving[before], np.float32(0.0)) * exits[before])
        for i in range(I):
            counts[i] += out
    out = 0.0
    for i in range(I):
        start_counts[0, i] += first_moves[i]
        out += first_moves[i]
    for i in range(I):
        start_counts[1, i] += out * exits[I]


@kernel
def expect(first, last, pieces, nulls, work, log_likelihood, null, jumps, sums):
    """E-step of both directions for pieces first..last - 1, in place: translation probabilities become posteriors.

    `jumps` are the two directions' weights; `sums` (JumpSums) are added to, unless empty.
    """
    lines, source_ids, target_ids = pieces
    forward, reverse = work.forward, work.reverse
    counting = sums.jump.size > 0
    longest, area = largest(first, last, lines)
    # Arrays of one type and shape are planes of one array: it compiles faster.
    squares, areas = np.empty((3, longest * longest), np.float32), np.empty((2, area), np.float32)
    rows, ones = np.empty((6, longest), np.float32), np.ones(longest, np.float32)
    exits = np.empty(longest + 1, np.float32)
    for piece in range(first, last):
        line = lines[piece]
        cell = line[CELL]
        for direction in range(2):
            I, J = line[LENGTH_I], line[LENGTH_J]
            if direction == 1:
                I, J = J, I
            table, transposed = squares[0, : I * I].reshape(I, I), squares[1, : I * I].reshape(I, I)
            pairs, first_link = squares[2, : I * I].reshape(I, I), rows[0, :I]
            room = Room(areas[0, : I * J].reshape(J, I), rows[1], rows[2], rows[3])
            moves = Moves(pairs, rows[4, :I], rows[5, :I])
            transitions(I, jumps[direction], table, transposed, first_link, exits)
            if direction == 0:
                emission = areas[1, : I * J].reshape(J, I)
                for i in range(I):
                    for j in range(J):
                        emission[j, i] = forward[cell + i * J + j]
                null_emission = work.null_forward[line[COLUMN] : line[COLUMN] + J]
                for j in range(J):
                    null_emission[j] = nulls.forward[target_ids[line[TARGET] + j]]
            else:
                emission = reverse[cell : cell + I * J].reshape(J, I)
                null_emission = work.null_reverse[line[ROW] : line[ROW] + J]
                for j in range(J):
                    null_emission[j] = nulls.reverse[source_ids[line[SOURCE] + j]]
            log_likelihood[piece, direction] = forward_backward(
                emission, null_emission, null, Transitions(table, transposed, first_link, ones), room, moves, counting
            )
            if direction == 0:
                for i in range(I):
                    for j in range(J):
                        forward[cell + i * J + j] = emission[j, i]
            if counting:
                collect_moves(
                    pairs, moves.leaving, table, exits, moves.first, sums.jump[direction], sums.start[direction]
                )
