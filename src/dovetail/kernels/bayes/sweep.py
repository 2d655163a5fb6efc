"""Collapsed Gibbs sampling of alignments under Dirichlet priors (Mermer and Saraçlar 2011; with jumps and fertility).

p(a_j = i | all other links) is proportional to

    (n(e_i, f_j) + alpha) / (n(e_i) + alpha V)            equation 7: the lexicon integrated out, the link itself taken out
    times p(i - before) p(after - i)                      jumps, whose weights are drawn once a sweep
    times (m(e_i, c + 1) + b_(c+1)) / (m(e_i, c) + b_c)   fertility, integrated out too: token i has c links without this one

where n counts links of word types, m tokens of a word type by their number of links, the token itself taken out.  A heated
sampler draws from a power of all this below 1, a cooled one from a power above 1.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.gibbs.random import draw, stream, uniform
from dovetail.kernels.gibbs.sweep import NULL
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J, SOURCE, TARGET
from dovetail.kernels.text.cooccurrence import RANK_LIMIT

# Columns of `side`: where a line says that the generating and the generated tokens begin, their number and their place.
GIVEN, GIVEN_LENGTH, GIVEN_PLACE, MADE, MADE_LENGTH, MADE_PLACE = range(6)


@kernel
def slot_of(line, i, j, source_ids, target_ids, row_start, rank):
    """The slot of cell (i, j), i being a source and j a target position."""
    word = source_ids[line[SOURCE] + i]
    start = row_start[word]
    if row_start[word + 1] - start > RANK_LIMIT:
        return start + target_ids[line[TARGET] + j]
    return start + rank[line[CELL] + i * line[LENGTH_J] + j]


@kernel
def find_slots(line, reverse, source_ids, target_ids, row_start, rank, slots):
    """The slots of a piece's cells, a row for each generated word."""
    I, J = line[LENGTH_I], line[LENGTH_J]
    step = 1 if reverse else I
    for i in range(I):
        word = source_ids[line[SOURCE] + i]
        start = row_start[word]
        cell = line[CELL] + i * J
        k = i * J if reverse else i
        if row_start[word + 1] - start > RANK_LIMIT:
            for j in range(J):
                slots[k] = start + target_ids[line[TARGET] + j]
                k += step
        else:
            for j in range(J):
                slots[k] = start + rank[cell + j]
                k += step


@kernel
def look_up(slots, counts, row):
    """row = counts[slots]."""
    for i in range(len(row)):
        row[i] = counts[slots[i]]


@kernel
def gain(histogram, prior, tail, word, count):
    """What one more link is worth to a token with `count` of them: its word's other tokens and the prior say.

    The last column of `histogram` (words, C + 1) and `prior` (C + 1,) stands for C links and more, each more of which is
    worth `tail`.  The token itself is in the histogram, at its count.
    """
    last = len(prior) - 1
    if count >= last:
        return np.float32(tail)
    value = (histogram[word, count + 1] + prior[count + 1]) / (histogram[word, count] - 1.0 + prior[count])
    if count + 1 == last:
        value *= 1.0 - tail
    return np.float32(value)


@kernel
def fill(row, alpha, scale, weight):
    """Equation 7 for all source words.  A function of its own: here numba's loop is one of vectors."""
    for i in range(len(scale)):
        weight[i] = (row[i] + alpha) * scale[i]


@kernel
def fill_moves(row, alpha, scale, into, out, factor, weight):
    """The same times the jumps to the word and from it."""
    for i in range(len(scale)):
        weight[i] = ((row[i] + alpha) * scale[i]) * (into[i] * out[i] * factor)


@kernel
def temper(weight, n, quarters):
    """weight ** (quarters / 4), for 2, 3 or 8 quarters: square roots go in vectors, powers do not."""
    if quarters == 2:
        for i in range(n):
            weight[i] = np.sqrt(weight[i])
    elif quarters == 8:
        for i in range(n):
            weight[i] *= weight[i]
    else:
        for i in range(n):
            root = np.sqrt(weight[i])
            weight[i] = root * np.sqrt(root)


@kernel
def sweep(
    first_piece,
    last_piece,
    lines,
    side,
    reverse,
    source_ids,
    target_ids,
    row_start,
    rank,
    twin,
    counts,
    totals,
    null_counts,
    alpha,
    mass,
    null_alpha,
    null_mass,
    p0,
    quarters,
    moving,
    jump,
    first,
    last,
    fertile,
    histogram,
    prior,
    tail,
    alignment,
    seed,
    sweep_number,
    first_number,
    share,
    marginal,
    null_marginal,
):
    """Draw the links of pieces first_piece..last_piece - 1 of a block once each, from left to right, each given all others.

    One direction: `side` tells where a line has its generating and generated words.  `counts` (slots,), `totals`
    (words + 1, the last is NULL's) and `null_counts` are links of word types, `histogram` tokens by their links; all
    are kept up to date, and so is `alignment` (a position a generated token, -1 is NULL).  Jumps count if `moving`:
    `jump` has weights of distances, `first` and `last` of the first link's and the last link's distance from the
    sentence's ends; `p0` is NULL's weight.  Fertility counts if `fertile`.  `quarters` other than 4: every draw is from the
    conditional's power quarters / 4, at temperature 4 / quarters.  `twin` leads from a generating token to
    the next of the same word in its piece, round and round.  Piece p draws from the stream (seed,
    sweep_number, first_number + p).  The conditional probabilities of every draw, times `share`, are added to
    `marginal` (cells) and `null_marginal` (generated tokens) unless these are empty.
    """
    longest = 0
    area = 0
    for piece in range(first_piece, last_piece):
        longest = max(longest, lines[piece, LENGTH_I], lines[piece, LENGTH_J])
        area = max(area, lines[piece, LENGTH_I] * lines[piece, LENGTH_J])
    all_slots = np.empty(area, np.int64)
    row_space = np.empty(longest, np.float32)
    scale_space = np.empty(longest, np.float32)
    gains = np.ones(longest, np.float32)
    links = np.empty(longest, np.int64)
    weight = np.empty(longest + 7, np.float32)
    sums = np.empty(longest // 8 + 1, np.float32)
    after = np.empty(longest, np.int64)
    backwards = jump[::-1].copy()
    middle = len(jump) // 2
    ends = last[::-1].copy()
    nothing = len(totals) - 1
    top = histogram.shape[1] - 1
    alpha = np.float32(alpha)
    one = np.float32(1.0)
    link_weight = np.float32(1.0 - p0)
    null_weight = p0 if moving else 1.0
    given_ids = target_ids if reverse else source_ids
    made_ids = source_ids if reverse else target_ids
    for piece in range(first_piece, last_piece):
        line = lines[piece]
        given, I, place = line[side[GIVEN]], line[side[GIVEN_LENGTH]], line[side[GIVEN_PLACE]]
        made, J, column = line[side[MADE]], line[side[MADE_LENGTH]], line[side[MADE_PLACE]]
        key = stream(seed, sweep_number, first_number + piece)
        row = row_space[:I]
        scale = scale_space[:I]
        find_slots(line, reverse, source_ids, target_ids, row_start, rank, all_slots)
        following = NULL
        links[:I] = 0
        for j in range(J - 1, -1, -1):
            after[j] = following
            if alignment[column + j] != NULL:
                following = np.int64(alignment[column + j])
                links[following] += 1
        for i in range(I):
            word = given_ids[given + i]
            if fertile:
                gains[i] = gain(histogram, prior, tail, word, links[i])
            scale[i] = gains[i] / np.float32(totals[word] + mass)
        before = NULL
        for j in range(J):
            old = np.int64(alignment[column + j])
            made_word = made_ids[made + j]
            slots = all_slots[j * I : (j + 1) * I]
            if old == NULL:
                null_counts[made_word] -= one
                totals[nothing] -= 1.0
            else:
                word = given_ids[given + old]
                counts[slots[old]] -= one
                totals[word] -= 1.0
                links[old] -= 1
                if fertile:
                    histogram[word, min(links[old] + 1, top)] -= one
                    histogram[word, min(links[old], top)] += one
                i = old
                while True:
                    if fertile:
                        gains[i] = gain(histogram, prior, tail, word, links[i])
                    scale[i] = gains[i] / np.float32(totals[word] + mass)
                    i = np.int64(twin[place + i])
                    if i == old:
                        break
            look_up(slots, counts, row)
            null = np.float32(null_weight * (null_counts[made_word] + null_alpha) / (totals[nothing] + null_mass))
            if moving:
                next_link = after[j]
                out = middle - next_link
                into = middle - before
                if before == NULL and next_link == NULL:
                    fill_moves(row, alpha, scale, first, ends[len(ends) - I :], link_weight, weight)
                elif before == NULL:
                    fill_moves(row, alpha, scale, first, backwards[out : out + I], link_weight, weight)
                    null *= first[next_link]
                elif next_link == NULL:
                    fill_moves(row, alpha, scale, jump[into : into + I], ends[len(ends) - I :], link_weight, weight)
                    null *= last[I - 1 - before]
                else:
                    fill_moves(row, alpha, scale, jump[into : into + I], backwards[out : out + I], link_weight, weight)
                    null *= jump[into + next_link]
            else:
                fill(row, alpha, scale, weight)
            if quarters != 4:
                weight[I] = null
                temper(weight, I + 1, quarters)
                null = weight[I]
            new, total = draw(weight, I, null, uniform(key, j), sums)
            if new == -2:  # nothing is possible: it stays where it was
                new = old
            elif len(marginal) > 0:
                part = np.float32(share) / total
                null_marginal[column + j] += null * part
                start = line[CELL] + (j * I if reverse else j)
                step = 1 if reverse else J
                for i in range(I):
                    marginal[start + i * step] += weight[i] * part
            alignment[column + j] = new
            if new == NULL:
                null_counts[made_word] += one
                totals[nothing] += 1.0
                continue
            before = new
            word = given_ids[given + new]
            counts[slots[new]] += one
            totals[word] += 1.0
            links[new] += 1
            if fertile:
                histogram[word, min(links[new] - 1, top)] -= one
                histogram[word, min(links[new], top)] += one
            i = new
            while True:
                if fertile:
                    gains[i] = gain(histogram, prior, tail, word, links[i])
                scale[i] = gains[i] / np.float32(totals[word] + mass)
                i = np.int64(twin[place + i])
                if i == new:
                    break
