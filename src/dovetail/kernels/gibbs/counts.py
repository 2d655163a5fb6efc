"""From samples to counts: links of word types, and how many links their tokens have."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels._numba import fetch
from dovetail.kernels.lexicon.table import rounded

AHEAD = 24  # links between asking for a count's place in memory and adding to it


@kernel
def add_links(slots, posteriors, low, high, column, counts):
    """Add links' posteriors to column `column` of the counts (slots, 2), for slots from `low` to before `high`."""
    flat = counts.reshape(-1)
    last = len(slots) - 1
    for k in range(len(slots)):
        fetch(flat, np.uint64(2 * slots[min(k + AHEAD, last)]))
        if low <= slots[k] < high:
            flat[2 * slots[k] + column] += rounded(posteriors[k])


@kernel
def add_expected(table, links, counts):
    """Add what so many more links of every word would be expected to be: counts (slots, 2) += links * table."""
    for slot in range(len(table)):
        counts[slot, 0] += links * table[slot, 0]
        counts[slot, 1] += links * table[slot, 1]


@kernel
def scatter_histograms(lines, side, ids, histogram, counts):
    """Add tokens' histograms of counts (tokens, C) to those of their word types; exact in any order, being `rounded`."""
    for piece in range(len(lines)):
        for k in range(lines[piece, side.length]):
            word = ids[lines[piece, side.start] + k]
            for c in range(histogram.shape[1]):
                counts[word, c] += rounded(histogram[lines[piece, side.place] + k, c])
