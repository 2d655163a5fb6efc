"""Counts of sampled alignments: links of word types, moves, tokens by their links; and what the sampler needs to know."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.bayes.sweep import GIVEN, GIVEN_LENGTH, MADE, MADE_LENGTH, MADE_PLACE, slot_of
from dovetail.kernels.gibbs.sweep import NULL
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW


@kernel
def twins(lines, side, ids, twin):
    """For each token the position of the next token of the same word in its piece, from the last to the first again.

    `side` tells where a line has the start, the number and the place of the tokens.
    """
    for piece in range(len(lines)):
        start, n, place = lines[piece, side[0]], lines[piece, side[1]], lines[piece, side[2]]
        for k in range(n):
            other = k + 1 if k + 1 < n else 0
            while ids[start + other] != ids[start + k]:
                other = other + 1 if other + 1 < n else 0
            twin[place + k] = other


@kernel
def add_links(
    first_piece,
    last_piece,
    lines,
    side,
    reverse,
    source_ids,
    target_ids,
    row_start,
    rank,
    alignment,
    amount,
    counts,
    totals,
    null_counts,
):
    """Add `amount` for every link of the alignments to the counts of its word types (see `bayes.sweep`)."""
    given_ids = target_ids if reverse else source_ids
    made_ids = source_ids if reverse else target_ids
    nothing = len(totals) - 1
    for piece in range(first_piece, last_piece):
        line = lines[piece]
        for j in range(line[side[MADE_LENGTH]]):
            i = np.int64(alignment[line[side[MADE_PLACE]] + j])
            if i == NULL:
                null_counts[made_ids[line[side[MADE]] + j]] += amount
                totals[nothing] += amount
                continue
            r, c = (j, i) if reverse else (i, j)
            counts[slot_of(line, r, c, source_ids, target_ids, row_start, rank)] += amount
            totals[given_ids[line[side[GIVEN]] + i]] += amount


@kernel
def move_links(lines, side, reverse, source_ids, target_ids, row_start, rank, old, new, counts):
    """Take the links of the alignments `old` out of the counts of slots and put those of `new` in."""
    for piece in range(len(lines)):
        line = lines[piece]
        for j in range(line[side[MADE_LENGTH]]):
            before = np.int64(old[line[side[MADE_PLACE]] + j])
            now = np.int64(new[line[side[MADE_PLACE]] + j])
            if before == now:
                continue
            if before != NULL:
                r, c = (j, before) if reverse else (before, j)
                counts[slot_of(line, r, c, source_ids, target_ids, row_start, rank)] -= np.float32(1.0)
            if now != NULL:
                r, c = (j, now) if reverse else (now, j)
                counts[slot_of(line, r, c, source_ids, target_ids, row_start, rank)] += np.float32(1.0)


@kernel
def add_fertilities(first_piece, last_piece, lines, side, given_ids, alignment, amount, histogram):
    """Add `amount` for every generating token to the histogram (words, C + 1) of its word's numbers of links."""
    top = histogram.shape[1] - 1
    links = np.zeros(1, np.int64)
    for piece in range(first_piece, last_piece):
        line = lines[piece]
        I = line[side[GIVEN_LENGTH]]
        if len(links) < I:
            links = np.zeros(2 * I, np.int64)
        links[:I] = 0
        for j in range(line[side[MADE_LENGTH]]):
            i = alignment[line[side[MADE_PLACE]] + j]
            if i != NULL:
                links[i] += 1
        for i in range(I):
            histogram[given_ids[line[side[GIVEN]] + i], min(links[i], top)] += amount


@kernel
def add_moves(first_piece, last_piece, lines, side, alignment, bins, ends, moves, firsts, lasts):
    """Count jumps by the bin of their distance, first and last links by the bin of theirs from the sentence's ends."""
    middle = len(bins) // 2
    for piece in range(first_piece, last_piece):
        line = lines[piece]
        before = NULL
        for j in range(line[side[MADE_LENGTH]]):
            i = alignment[line[side[MADE_PLACE]] + j]
            if i == NULL:
                continue
            if before == NULL:
                firsts[ends[i]] += 1.0
            else:
                moves[bins[middle + i - before]] += 1.0
            before = i
        if before != NULL:
            lasts[ends[line[side[GIVEN_LENGTH]] - 1 - before]] += 1.0


@kernel
def log_marginal(counts, alpha):
    """sum over entries of log Gamma(n + alpha) - log Gamma(alpha), to which an entry without a count adds nothing."""
    total = 0.0
    base = math.lgamma(alpha)
    for k in range(len(counts)):
        if counts[k] > 0:
            total += math.lgamma(counts[k] + alpha) - base
    return total


@kernel
def nearer(i, other, j, I, J):
    """Whether word i of I lies nearer than word `other` to word j of J, by their middles on a scale from 0 to 1."""
    middle = (2 * j + 1) * I
    return abs((2 * i + 1) * J - middle) < abs((2 * other + 1) * J - middle)


@kernel
def mark_modes(first, last, lines, forward, reverse, null_forward, null_reverse, forward_mark, reverse_mark, marks):
    """Mark the likeliest partner of each word, if NULL is not likelier; all arguments but marks hold posteriors.

    Of partners that are equally likely, as all tokens of a word are to IBM Model 1, the one nearest to the diagonal: the
    first would collect what belongs to them all.
    """
    for piece in range(first, last):
        line = lines[piece]
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        for j in range(J):
            best = NULL
            value = null_forward[line[COLUMN] + j]
            for i in range(I):
                here = forward[cell + i * J + j]
                if here > value or (here == value and best != NULL and nearer(i, best, j, I, J)):
                    value = here
                    best = i
            if best != NULL:
                marks[cell + best * J + j] |= forward_mark
        for i in range(I):
            best = NULL
            value = null_reverse[line[ROW] + i]
            for j in range(J):
                here = reverse[cell + i * J + j]
                if here > value or (here == value and best != NULL and nearer(j, best, i, J, I)):
                    value = here
                    best = j
            if best != NULL:
                marks[cell + i * J + best] |= reverse_mark
