"""Lexicon entries to cells and back: gather probabilities before an E-step, scatter posteriors after it, renormalise.

Rows are walked by source word, so a word's entries stay in the cache while all its tokens of the block are served, and
two threads never touch the same entry: the sums need no locks, no copies, and come out the same for any number of them.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.lexicon.slots import cells_of, slot_of

# Zhao and Gildea's smoothing (section 6); it also keeps the HMM's products out of the denormals
FLOOR = np.float32(1e-8)


@kernel
def gather(order, row_piece, pieces, ranks, table, work):
    """Lexicon entries of the cells of the rows in `order`: work.forward[cell] = t(f | e), work.reverse[cell] = t(e | f).

    `table` is (slots, 2), the two directions side by side since both are always wanted.
    """
    for k in range(len(order)):
        row, cell, token, J = cells_of(order[k], row_piece, pieces, ranks.row_start)
        for j in range(J):
            slot = slot_of(row, ranks.rank, cell + j, pieces.target_ids, token + j)
            work.forward[cell + j] = table[slot, 0]
            work.reverse[cell + j] = table[slot, 1]


@kernel
def rounded(posterior):
    """The posterior on a grid of 2^-23: sums of such numbers are exact in float64, whatever their order."""
    return np.float64((posterior + np.float32(1.0)) - np.float32(1.0))


@kernel
def scatter(order, row_piece, pieces, ranks, work, counts):
    """Add the cells' posteriors to the counts (slots, 2) of their word types."""
    for k in range(len(order)):
        row, cell, token, J = cells_of(order[k], row_piece, pieces, ranks.row_start)
        for j in range(J):
            slot = slot_of(row, ranks.rank, cell + j, pieces.target_ids, token + j)
            counts[slot, 0] += rounded(work.forward[cell + j])
            counts[slot, 1] += rounded(work.reverse[cell + j])


@kernel
def scatter_null(lines, side, ids, posterior, counts):
    """Add NULL's posteriors, one per token of a side."""
    for piece in range(len(lines)):
        line = lines[piece]
        for k in range(line[side.length]):
            counts[ids[line[side.start] + k]] += rounded(posterior[line[side.place] + k])


@kernel
def take(first, last, places, table, taken):
    """Entries first..last - 1 of a shard's table from the whole text's: taken[k] = table[places[k]]."""
    for k in range(first, last):
        taken[k, 0] = table[places[k], 0]
        taken[k, 1] = table[places[k], 1]


@kernel
def put(places, counts, total):
    """Add a shard's counts (slots, 2) to the whole text's: total[places[k]] += counts[k]."""
    for k in range(len(places)):
        total[places[k], 0] += counts[k, 0]
        total[places[k], 1] += counts[k, 1]


@kernel
def digamma(x):
    """The logarithmic derivative of the gamma function: recurrence up to 6, then the asymptotic series."""
    result = 0.0
    while x < 6.0:
        result -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    return (
        result + math.log(x) - 0.5 / x - inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse / 240)))
    )


@kernel
def share(count, total, size, additive, variational):
    """One entry of the M-step: (count + a) / (total + a * size), or exp(digamma) of both (variational Bayes)."""
    count += additive
    total += additive * size
    if total <= 0.0:
        return FLOOR
    if variational:
        if count <= 0.0:
            return FLOOR
        value = math.exp(digamma(count) - digamma(total))
    else:
        value = count / total
    return max(np.float32(value), FLOOR)


@kernel
def normalise_rows(first, last, row_start, counts, additive, variational, table):
    """M-step of the forward direction for source words first..last - 1: t(f | e) from its row of counts."""
    for word in range(first, last):
        low, high = row_start[word], row_start[word + 1]
        total = 0.0
        for slot in range(low, high):
            total += counts[slot, 0]
        for slot in range(low, high):
            table[slot, 0] = share(counts[slot, 0], total, high - low, additive, variational)


@kernel
def column_totals(target, counts, totals, sizes):
    """Counts and number of partners of each target word in the reverse direction."""
    for slot in range(len(target)):
        totals[target[slot]] += counts[slot, 1]
        sizes[target[slot]] += 1


@kernel
def normalise_columns(first, last, target, totals, sizes, counts, additive, variational, table):
    """M-step of the reverse direction for slots first..last - 1: t(e | f)."""
    for slot in range(first, last):
        f = target[slot]
        table[slot, 1] = share(counts[slot, 1], totals[f], sizes[f], additive, variational)


@kernel
def normalise_null(counts, additive, variational, table):
    """M-step of NULL's translations."""
    total = 0.0
    for word in range(len(counts)):
        total += counts[word]
    for word in range(len(counts)):
        table[word] = share(counts[word], total, len(counts), additive, variational)
