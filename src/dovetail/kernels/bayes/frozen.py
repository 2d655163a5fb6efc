"""Sampling new text's alignments with all parameters as they are: the HMM with jumps and fertility, by sentence."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.bayes.sweep import GIVEN, GIVEN_LENGTH, MADE, MADE_LENGTH, MADE_PLACE, fill_moves
from dovetail.kernels.gibbs.random import draw, stream, uniform
from dovetail.kernels.gibbs.sweep import NULL
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J


@kernel
def more(ratios, tail, word, count):
    """p(count + 1 | word) / p(count | word): a column of `ratios`, then `tail`."""
    return ratios[word, count] if count < ratios.shape[1] else np.float32(tail)


@kernel
def add_row(weight, factor, row):
    """row += factor * weight, in vectors."""
    for i in range(len(row)):
        row[i] += weight[i] * factor


@kernel
def begin(emission, null_emission, p0, jump, first, alignment):
    """A start from left to right: for each word the best place given the one before, NULL where that is better."""
    J, I = emission.shape
    middle = len(jump) // 2
    before = NULL
    for j in range(J):
        best = NULL
        # NULL leaves the jump to the next word, which will be one to the right more often than not.
        value = p0 * null_emission[j] * jump[middle + 1]
        for i in range(I):
            move = first[i] if before == NULL else jump[middle + i - before]
            if (np.float32(1.0) - p0) * emission[j, i] * move > value:
                value = (np.float32(1.0) - p0) * emission[j, i] * move
                best = i
        alignment[j] = best
        if best != NULL:
            before = best


@kernel
def log_score(alignment, emission, null_emission, p0, jump, first, last, words, ratios, zero, tail):
    """log of the joint probability of the sentence and its alignment; logarithms are taken of long products only."""
    J, I = emission.shape
    middle = len(jump) // 2
    links = np.zeros(I, np.int64)
    before = NULL
    score = 0.0
    for i in range(I):
        score += zero[words[i]]
    product = 1.0
    for j in range(J):
        i = alignment[j]
        if i == NULL:
            product *= np.float64(p0) * null_emission[j]
        else:
            product *= (1.0 - p0) * emission[j, i] * more(ratios, tail, words[i], links[i])
            product *= first[i] if before == NULL else jump[middle + i - before]
            links[i] += 1
            before = i
        if product < 1e-200:
            score += math.log(product) if product > 0.0 else -1e6
            product = 1.0
    if before != NULL:
        product *= last[I - 1 - before]
    return score + (math.log(product) if product > 0.0 else -1e6)


@kernel
def sample(
    first_piece,
    last_piece,
    lines,
    side,
    reverse,
    given_ids,
    made_ids,
    null_table,
    cells,
    null_posterior,
    p0,
    jump,
    first,
    last,
    ratios,
    zero,
    tail,
    seed,
    restarts,
    burn_in,
    samples,
    scores,
):
    """Pieces first_piece..last_piece - 1 of a block in one direction: `cells` hold probabilities and then marginals.

    Each of `restarts` chains makes `burn_in` sweeps that do not count and `samples` that do; what is averaged is not the
    draws but the conditional probabilities that they are drawn from.  The random numbers depend on a piece's lengths and
    not on its place in the text.  `scores` (pieces,) get the log-score of the best alignment seen.
    """
    longest = 0
    area = 0
    for piece in range(first_piece, last_piece):
        longest = max(longest, lines[piece, LENGTH_I], lines[piece, LENGTH_J])
        area = max(area, lines[piece, LENGTH_I] * lines[piece, LENGTH_J])
    emission_space = np.empty(area, np.float32)
    mean_space = np.empty(area, np.float32)
    null_space = np.empty(longest, np.float32)
    null_mean = np.empty(longest, np.float32)
    gain_space = np.empty(longest, np.float32)
    links = np.empty(longest, np.int64)
    alignment_space = np.empty(longest, np.int64)
    weight = np.empty(longest + 7, np.float32)
    sums = np.empty(longest // 8 + 1, np.float32)
    after = np.empty(longest, np.int64)
    backwards = jump[::-1].copy()
    middle = len(jump) // 2
    ends = last[::-1].copy()
    p0 = np.float32(p0)
    p1 = np.float32(1.0) - p0
    nought = np.float32(0.0)
    share = np.float32(1.0 / (restarts * samples))
    for piece in range(first_piece, last_piece):
        line = lines[piece]
        I, J, cell = line[side[GIVEN_LENGTH]], line[side[MADE_LENGTH]], line[CELL]
        words = given_ids[line[side[GIVEN]] : line[side[GIVEN]] + I]
        emission = emission_space[: I * J].reshape(J, I)
        mean = mean_space[: I * J].reshape(J, I)
        mean[:] = nought
        alignment = alignment_space[:J]
        gains = gain_space[:I]
        for j in range(J):
            null_space[j] = null_table[made_ids[line[side[MADE]] + j]]
            null_mean[j] = nought
            for i in range(I):
                emission[j, i] = cells[cell + j * I + i] if reverse else cells[cell + i * J + j]
        best = -np.inf
        for restart in range(restarts):
            begin(emission, null_space, p0, jump, first, alignment)
            links[:I] = 0
            for j in range(J):
                if alignment[j] != NULL:
                    links[alignment[j]] += 1
            for i in range(I):
                gains[i] = more(ratios, tail, words[i], links[i])
            for turn in range(burn_in + samples):
                key = stream(seed, restart * (burn_in + samples) + turn, I << 20 | J)
                following = NULL
                for j in range(J - 1, -1, -1):
                    after[j] = following
                    if alignment[j] != NULL:
                        following = alignment[j]
                before = NULL
                for j in range(J):
                    old = alignment[j]
                    if old != NULL:
                        links[old] -= 1
                        gains[old] = more(ratios, tail, words[old], links[old])
                    null = p0 * null_space[j]
                    next_link = after[j]
                    out = middle - next_link
                    into = middle - before
                    if before == NULL and next_link == NULL:
                        fill_moves(emission[j], nought, gains, first, ends[len(ends) - I :], p1, weight)
                    elif before == NULL:
                        fill_moves(emission[j], nought, gains, first, backwards[out : out + I], p1, weight)
                        null *= first[next_link]
                    elif next_link == NULL:
                        fill_moves(emission[j], nought, gains, jump[into : into + I], ends[len(ends) - I :], p1, weight)
                        null *= last[I - 1 - before]
                    else:
                        fill_moves(
                            emission[j], nought, gains, jump[into : into + I], backwards[out : out + I], p1, weight
                        )
                        null *= jump[into + next_link]
                    new, total = draw(weight, I, null, uniform(key, j), sums)
                    if new == -2:
                        new = old
                    elif turn >= burn_in:
                        null_mean[j] += null * (share / total)
                        add_row(weight, share / total, mean[j])
                    alignment[j] = new
                    if new != NULL:
                        links[new] += 1
                        gains[new] = more(ratios, tail, words[new], links[new])
                        before = new
                if turn >= burn_in:
                    score = log_score(alignment, emission, null_space, p0, jump, first, last, words, ratios, zero, tail)
                    best = max(best, score)
        scores[piece] = best
        for j in range(J):
            null_posterior[line[side[MADE_PLACE]] + j] = null_mean[j]
            for i in range(I):
                if reverse:
                    cells[cell + j * I + i] = mean[j, i]
                else:
                    cells[cell + i * J + j] = mean[j, i]
