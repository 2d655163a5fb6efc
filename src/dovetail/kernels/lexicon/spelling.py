"""How alike two words are spelled: the longest common subsequence, in bins."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.lexicon.slots import cells_of, slot_of

# Bins 0-9: ratio of the common subsequence to the longer word, in tenths; then the cases that are judged apart.
IDENTICAL, IDENTICAL_SHORT, IDENTICAL_OTHER, UNCOMPARED = 10, 11, 12, 13
BINS = 14
SHORT = 4  # identical words below this length, and
COMPARED = 3  # words below this length, say little by their letters


@leaf
def mark_places(word, places):
    """Bit k of places[letter] is set where word[k] is that letter."""
    for k in range(len(word)):
        places[word[k]] |= np.uint64(1) << np.uint64(k)


@leaf
def unmark_places(word, places):
    for letter in word:
        places[letter] = np.uint64(0)


@leaf
def ones(bits):
    """How many bits are set."""
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@leaf
def common_subsequence(places, length, other):
    """Length of the longest common subsequence of `other` and the word of up to 64 letters whose `places` are marked.

    A row of the usual table in one machine word: bit k is 0 where the row grows at k (Hyyrö 2004, "Bit-parallel LCS-length
    computation revisited").
    """
    row = np.uint64(0xFFFFFFFFFFFFFFFF)
    for letter in other:
        matches = row & places[letter]
        row = (row + matches) | (row - matches)
    if length < 64:
        row |= np.uint64(0xFFFFFFFFFFFFFFFF) << np.uint64(length)
    return 64 - ones(row)


@kernel
def compare_spellings(first, last, row_start, target, source, targets, n_codes, bins):
    """The bin of every slot of source words first..last - 1; `source` and `targets` are their letters
    (`bitext.spelling.Letters`), numbered 0..n_codes - 1.
    """
    places = np.zeros(n_codes, np.uint64)
    for e in range(first, last):
        one = source.codes[source.offsets[e] : source.offsets[e + 1]]
        mark_places(one, places)
        for slot in range(row_start[e], row_start[e + 1]):
            f = target[slot]
            other = targets.codes[targets.offsets[f] : targets.offsets[f + 1]]
            longer = max(len(one), len(other))
            same = len(one) == len(other)
            if same:
                for k in range(longer):
                    if one[k] != other[k]:
                        same = False
                        break
            if same:
                if not source.plain[e]:
                    bins[slot] = IDENTICAL_OTHER
                elif longer < SHORT:
                    bins[slot] = IDENTICAL_SHORT
                else:
                    bins[slot] = IDENTICAL
            elif not source.plain[e] or not targets.plain[f] or min(len(one), len(other)) < COMPARED:
                bins[slot] = UNCOMPARED
            else:
                bins[slot] = min(10 * common_subsequence(places, len(one), other) // longer, 9)
        unmark_places(one, places)


@kernel
def count_wins(order, row_piece, pieces, ranks, posterior, bins, wins):
    """Add, for each spelling bin, the posteriors of its cells (wins[bin, 0]) and their number (wins[bin, 1])."""
    for k in range(len(order)):
        row, cell, token, J = cells_of(order[k], row_piece, pieces, ranks.row_start)
        for j in range(J):
            slot = slot_of(row, ranks.rank, cell + j, pieces.target_ids, token + j)
            wins[bins[slot], 0] += posterior[cell + j]
            wins[bins[slot], 1] += 1.0
