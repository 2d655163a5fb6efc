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

from dovetail.kernels import kernel, leaf
from dovetail.kernels.bayes.draw import STAYS, credit, draw_link, draws_of, look_around
from dovetail.kernels.bayes.records import Given, SweepRoom
from dovetail.kernels.bayes.slots import find_slots
from dovetail.kernels.gibbs.random import stream, uniform
from dovetail.kernels.hmm.best import NULL
from dovetail.kernels.hmm.dense import largest
from dovetail.kernels.records import CELL


@kernel
def look_up(slots, counts, row):
    """row = counts[slots]."""
    for i in range(len(row)):
        row[i] = counts[slots[i]]


@leaf
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


@leaf
def rescale(i, word, given, model, counts, draws):
    """Bring token i's scale up to date."""
    if model.fertile:
        given.gains[i] = gain(counts.histogram, model.fertility, model.tail, word, draws.links[i])
    draws.scale[i] = given.gains[i] / np.float32(counts.totals[word] + model.prior.mass)


@leaf
def count_link(i, amount, slot, given, model, counts, draws):
    """Count a link of token i in (amount 1) or out (-1), and bring the scales of its word's tokens up to date."""
    word = given.ids[i]
    counts.links[slot] += np.float32(amount)
    counts.totals[word] += amount
    top = counts.histogram.shape[1] - 1
    if model.fertile:
        counts.histogram[word, min(draws.links[i], top)] -= np.float32(1.0)
        counts.histogram[word, min(draws.links[i] + amount, top)] += np.float32(1.0)
    draws.links[i] += amount
    k = i
    while True:
        rescale(k, word, given, model, counts, draws)
        k = np.int64(given.twin[k])
        if k == i:
            break


@leaf
def count_null(word, amount, counts):
    """Count a generated word without a link in (amount 1) or out (-1)."""
    counts.nulls[word] += np.float32(amount)
    counts.totals[len(counts.totals) - 1] += amount


@leaf
def sweep_piece(line, key, direction, model, counts, twins, alignments, marginals, scratch):
    """Draw every link of one piece, from left to right."""
    draws, all_slots = scratch.draws, scratch.slots
    start, I, place = line[direction.given.start], line[direction.given.length], line[direction.given.place]
    made, J, column = line[direction.made.start], line[direction.made.length], line[direction.made.place]
    given = Given(direction.given_ids[start : start + I], twins[place : place + I], scratch.gains)
    alignment, row = alignments[column : column + J], scratch.row[:I]
    alpha, prior, nothing = np.float32(model.prior.alpha), model.prior, len(counts.totals) - 1
    null_weight = model.p0 if model.moving else 1.0
    cell, step, stride = (line[CELL], 1, I) if direction.reverse else (line[CELL], J, 1)
    find_slots(line, direction, all_slots)
    look_around(alignment, I, draws)
    for i in range(I):
        rescale(i, given.ids[i], given, model, counts, draws)
    before = NULL
    for j in range(J):
        old = np.int64(alignment[j])
        word = direction.made_ids[made + j]
        slots = all_slots[j * I : (j + 1) * I]
        if old == NULL:
            count_null(word, -1, counts)
        else:
            count_link(old, -1, slots[old], given, model, counts, draws)
        look_up(slots, counts.links, row)
        null = np.float32(
            null_weight * (counts.nulls[word] + prior.null_alpha) / (counts.totals[nothing] + prior.null_mass)
        )
        new, null, total = draw_link(row, alpha, null, before, draws.after[j], uniform(key, j), draws)
        if new == STAYS:
            new = old
        elif len(marginals.cells) > 0:
            part = np.float32(marginals.weight) / total
            marginals.nulls[column + j] += null * part
            credit(draws.weight, I, part, marginals.cells, cell + j * stride, step)
        alignment[j] = new
        if new == NULL:
            count_null(word, 1, counts)
        else:
            count_link(new, 1, slots[new], given, model, counts, draws)
            before = new


@kernel
def sweep(first_piece, last_piece, direction, model, counts, twins, alignments, numbers, marginals):
    """Draw the links of pieces first_piece..last_piece - 1 of a block once each, from left to right, each given all others.

    The counts are kept up to date, and so are the alignments (one position per generated token, -1 is NULL).  `twins` lead
    from a generating token to the next of the same word in its piece, round and round.
    """
    longest, cells = largest(first_piece, last_piece, direction.pieces.lines)
    link = np.float32(1.0 - model.p0)
    draws = draws_of(longest, model.moves, link, model.moving, model.quarters)
    scratch = SweepRoom(draws, np.ones(longest, np.float32), np.empty(longest, np.float32), np.empty(cells, np.int64))
    for piece in range(first_piece, last_piece):
        key = stream(numbers.seed, numbers.sweep, numbers.first + piece)
        line = direction.pieces.lines[piece]
        sweep_piece(line, key, direction, model, counts, twins, alignments, marginals, scratch)
