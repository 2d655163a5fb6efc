"""How alike two words are spelled: the longest common subsequence, in bins."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.lexicon.slots import cells_of, slot_of

# Bins up to 9: ratio of the common subsequence to the longer word, in tenths; then the cases that are judged apart.
# Words are as unlike as can be (UNLIKE) if they share fewer tenths than whoever asks tells apart, LIKE at most.
UNLIKE, IDENTICAL, IDENTICAL_SHORT, IDENTICAL_OTHER, UNCOMPARED = 0, 10, 11, 12, 13
BINS = 14
LIKE = 5
SHORT = 4  # identical words below this length, and
COMPARED = 3  # words below this length, say little by their letters


@kernel
def mark_letters(codes, offsets, marks):
    """marks[word] = a bit for each of its letters, the second of a kind by one of its own; letters may share a bit.

    Words have at most as many letters in common as they have marks, and as one of them has letters more than marks.
    """
    for word in range(len(marks)):
        first = offsets[word]
        bits = np.uint64(0)
        for k in range(first, offsets[word + 1]):
            before = 0
            for earlier in range(first, k):
                before += codes[earlier] == codes[k]
            bits |= np.uint64(1) << np.uint64((codes[k] + 32 * before) & 63)
        marks[word] = bits


@leaf
def mark_places(codes, first, last, places):
    """Bit k of places[letter] is set where the word codes[first:last] has that letter as its k-th."""
    for k in range(first, last):
        places[codes[k]] |= np.uint64(1) << np.uint64(k - first)


@leaf
def unmark_places(codes, first, last, places):
    for k in range(first, last):
        places[codes[k]] = np.uint64(0)


@leaf
def ones(bits):
    """How many bits are set."""
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@leaf
def common_subsequence(places, length, codes, first, last):
    """Length of the longest common subsequence of codes[first:last] and the word of up to 64 letters with these `places`.

    A row of the usual table in one machine word: bit k is 0 where the row grows at k (Hyyrö 2004, "Bit-parallel LCS-length
    computation revisited").
    """
    row = np.uint64(0xFFFFFFFFFFFFFFFF)
    for k in range(first, last):
        matches = row & places[codes[k]]
        row = (row + matches) | (row - matches)
    if length < 64:
        row |= np.uint64(0xFFFFFFFFFFFFFFFF) << np.uint64(length)
    return 64 - ones(row)


@leaf
def spelling_bin(source, e, targets, f, places, like):
    """The bin of source word e, whose `places` are marked, and target word f; both sides are letters in small numbers.

    Words that share fewer than `like` tenths are UNLIKE.
    """
    first, begin = source.offsets[e], targets.offsets[f]
    length, end = source.offsets[e + 1] - first, targets.offsets[f + 1]
    other = end - begin
    longer = max(length, other)
    compared = source.plain[e] & targets.plain[f] & (min(length, other) >= COMPARED)
    # Most words have too few letters in common to be alike, in whatever order.
    most = ones(source.marks[e] & targets.marks[f]) + length - ones(source.marks[e])
    if 10 * most < like * longer:
        return UNLIKE if compared else UNCOMPARED
    same = length == other
    if same:
        for k in range(length):
            if source.codes[first + k] != targets.codes[begin + k]:
                same = False
                break
    if same:
        if not source.plain[e]:
            return IDENTICAL_OTHER
        return IDENTICAL_SHORT if length < SHORT else IDENTICAL
    if not compared:
        return UNCOMPARED
    tenths = 10 * common_subsequence(places, length, targets.codes, begin, end) // longer
    return min(tenths, 9) if tenths >= like else UNLIKE


@kernel
def compare_spellings(first, last, row_start, target, source, targets, n_codes, like, bins):
    """The bin of every slot of source words first..last - 1; `source` and `targets` are their letters
    (`bitext.spelling.Letters`), numbered 0..n_codes - 1.
    """
    places = np.zeros(n_codes, np.uint64)
    for e in range(first, last):
        mark_places(source.codes, source.offsets[e], source.offsets[e + 1], places)
        for slot in range(row_start[e], row_start[e + 1]):
            bins[slot] = spelling_bin(source, e, targets, target[slot], places, like)
        unmark_places(source.codes, source.offsets[e], source.offsets[e + 1], places)


@kernel
def count_wins(order, row_piece, pieces, ranks, posterior, bins):
    """For each spelling bin the posteriors of its cells (wins[bin, 0]) and their number (wins[bin, 1])."""
    wins = np.zeros((BINS, 2))
    for k in range(len(order)):
        row, cell, token, J = cells_of(order[k], row_piece, pieces, ranks.row_start)
        for j in range(J):
            slot = slot_of(row, ranks.rank, cell + j, pieces.target_ids, token + j)
            wins[bins[slot], 0] += posterior[cell + j]
            wins[bins[slot], 1] += 1.0
    return wins
