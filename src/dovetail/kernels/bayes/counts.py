"""Counts of sampled alignments: links of word types, moves, tokens by their links; and what the sampler needs to know."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.bayes.slots import link_slot
from dovetail.kernels.hmm.best import NULL, best_partner
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW


@kernel
def twins(lines, side, ids, twin):
    """For each token the position of the next token of the same word in its piece, from the last to the first again."""
    for piece in range(len(lines)):
        start, n, place = lines[piece, side.start], lines[piece, side.length], lines[piece, side.place]
        for k in range(n):
            other = k + 1 if k + 1 < n else 0
            while ids[start + other] != ids[start + k]:
                other = other + 1 if other + 1 < n else 0
            twin[place + k] = other


@kernel
def add_links(direction, alignment, counts, times):
    """Add the links of a block's alignments, so many times, to the counts of their word types."""
    given, made = direction.given, direction.made
    nothing = len(counts.totals) - 1
    for piece in range(len(direction.pieces.lines)):
        line = direction.pieces.lines[piece]
        for j in range(line[made.length]):
            i = np.int64(alignment[line[made.place] + j])
            if i == NULL:
                counts.nulls[direction.made_ids[line[made.start] + j]] += times
                counts.totals[nothing] += times
            else:
                counts.links[link_slot(line, i, j, direction)] += times
                counts.totals[direction.given_ids[line[given.start] + i]] += times


@kernel
def move_links(direction, old, new, links):
    """Take the links of the alignments `old` out of the counts of slots and put those of `new` in."""
    made = direction.made
    for piece in range(len(direction.pieces.lines)):
        line = direction.pieces.lines[piece]
        for j in range(line[made.length]):
            before, now = np.int64(old[line[made.place] + j]), np.int64(new[line[made.place] + j])
            if before == now:
                continue
            if before != NULL:
                links[link_slot(line, before, j, direction)] -= np.float32(1.0)
            if now != NULL:
                links[link_slot(line, now, j, direction)] += np.float32(1.0)


@kernel
def add_fertilities(direction, alignment, histogram):
    """Add every generating token to the histogram (words, C + 1) of its word's numbers of links."""
    given, made = direction.given, direction.made
    top = histogram.shape[1] - 1
    links = np.zeros(1, np.int64)
    for piece in range(len(direction.pieces.lines)):
        line = direction.pieces.lines[piece]
        I = line[given.length]
        if len(links) < I:
            links = np.zeros(2 * I, np.int64)
        links[:I] = 0
        for j in range(line[made.length]):
            i = alignment[line[made.place] + j]
            if i != NULL:
                links[i] += 1
        for i in range(I):
            histogram[direction.given_ids[line[given.start] + i], min(links[i], top)] += 1.0


@kernel
def add_moves(direction, alignment, bins, ends, moves, firsts, lasts):
    """Count jumps by the bin of their distance, first and last links by the bin of theirs from the sentence's ends."""
    given, made = direction.given, direction.made
    middle = len(bins) // 2
    for piece in range(len(direction.pieces.lines)):
        line = direction.pieces.lines[piece]
        before = NULL
        for j in range(line[made.length]):
            i = alignment[line[made.place] + j]
            if i == NULL:
                continue
            if before == NULL:
                firsts[ends[i]] += 1.0
            else:
                moves[bins[middle + i - before]] += 1.0
            before = i
        if before != NULL:
            lasts[ends[line[given.length] - 1 - before]] += 1.0


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


@leaf
def mode(posterior, start, step, I, null, j, J):
    """Word j's likeliest of I partners, the nearest to the diagonal if there are several; NULL if that is as likely."""
    best = best_partner(posterior, start, step, I, null)
    if best != NULL:
        value = posterior[start + best * step]
        for i in range(best + 1, I):
            if posterior[start + i * step] == value and nearer(i, best, j, I, J):
                best = i
    return best


@kernel
def modes(first_piece, last_piece, lines, work, a, b):
    """The likeliest partner of each word, or NULL, laid out as `gibbs.alignments.best_words` does; posteriors in `work`.

    Of partners that are equally likely, as all tokens of a word are to IBM Model 1, the one nearest to the diagonal: the
    first would collect what belongs to them all.
    """
    for piece in range(first_piece, last_piece):
        line = lines[piece]
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        for j in range(J):
            a[line[COLUMN] + j] = mode(work.forward, cell + j, J, I, work.null_forward[line[COLUMN] + j], j, J)
        for i in range(I):
            b[line[ROW] + i] = mode(work.reverse, cell + i * J, 1, J, work.null_reverse[line[ROW] + i], i, I)
