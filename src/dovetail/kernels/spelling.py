"""How alike two words are spelled: the longest common subsequence, in bins."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.cooccurrence import RANK_LIMIT
from dovetail.kernels.lines import CELL, LENGTH_J, ROW, SOURCE, TARGET

# Bins 0-9: ratio of the common subsequence to the longer word, in tenths; then the cases that are judged apart.
IDENTICAL, IDENTICAL_SHORT, IDENTICAL_OTHER, UNCOMPARED = 10, 11, 12, 13
BINS = 14
SHORT = 4  # identical words below this length, and
COMPARED = 3  # words below this length, say little by their letters


@kernel
def common_subsequence(one, other, row):
    """Length of the longest common subsequence; `row` is scratch of at least len(other) + 1."""
    for k in range(len(other) + 1):
        row[k] = 0
    for letter in one:
        diagonal = 0
        for k in range(len(other)):
            above = row[k + 1]
            if letter == other[k]:
                row[k + 1] = diagonal + 1
            elif row[k] > above:
                row[k + 1] = row[k]
            diagonal = above
    return row[len(other)]


@kernel
def compare_spellings(
    first,
    last,
    row_start,
    target,
    source_codes,
    source_offsets,
    source_plain,
    target_codes,
    target_offsets,
    target_plain,
    bins,
):
    """The bin of every slot of source words first..last - 1."""
    row = np.zeros(256, np.int32)
    for e in range(first, last):
        one = source_codes[source_offsets[e] : source_offsets[e + 1]]
        for slot in range(row_start[e], row_start[e + 1]):
            f = target[slot]
            other = target_codes[target_offsets[f] : target_offsets[f + 1]]
            longer = max(len(one), len(other))
            same = len(one) == len(other)
            if same:
                for k in range(longer):
                    if one[k] != other[k]:
                        same = False
                        break
            if same:
                if not source_plain[e]:
                    bins[slot] = IDENTICAL_OTHER
                elif longer < SHORT:
                    bins[slot] = IDENTICAL_SHORT
                else:
                    bins[slot] = IDENTICAL
            elif not source_plain[e] or not target_plain[f] or min(len(one), len(other)) < COMPARED:
                bins[slot] = UNCOMPARED
            else:
                bins[slot] = min(10 * common_subsequence(one, other, row) // longer, 9)


@kernel
def bin_shares(order, row_piece, lines, source_ids, target_ids, row_start, rank, posterior, bins, wins):
    """Add, for each spelling bin, the posteriors of its cells (wins[bin, 0]) and their number (wins[bin, 1])."""
    for k in range(len(order)):
        line = lines[row_piece[order[k]]]
        i = order[k] - line[ROW]
        J = line[LENGTH_J]
        word = source_ids[line[SOURCE] + i]
        cell = line[CELL] + i * J
        start = row_start[word]
        dense = row_start[word + 1] - start > RANK_LIMIT
        for j in range(J):
            slot = start + (target_ids[line[TARGET] + j] if dense else rank[cell + j])
            wins[bins[slot], 0] += posterior[cell + j]
            wins[bins[slot], 1] += 1.0
