"""Jumps that depend on the word jumped from: transition tables, and counts of moves, ends and fertilities by word."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel


@kernel
def word_transitions(words, first_word, I, weights, bins, start, end, table, transposed, first, last, exits):
    """p(i | i') = weights[word at i', bin of i - i'], normalised over the sentence; first and last positions likewise.

    `bins` numbers every distance, distance 0 in the middle; `start` and `end` are weights by position from the
    respective end, the last entry shared by the rest.  `exits` (I + 2,) gets 1 / the sums: jumps', start's, end's.
    """
    middle = len(bins) // 2
    for before in range(I):
        weight = weights[words[first_word + before]]
        total = np.float32(0.0)
        for i in range(I):
            value = weight[bins[middle + i - before]]
            table[before, i] = value
            total += value
        exits[before] = np.float32(1.0) / total
        for i in range(I):
            table[before, i] *= exits[before]
    for i in range(I):
        for before in range(I):
            transposed[i, before] = table[before, i]
    for side in range(2):
        shape, chances = (start, first) if side == 0 else (end, last)
        total = np.float32(0.0)
        for i in range(I):
            distance = i if side == 0 else I - 1 - i
            chances[i] = shape[min(distance, len(shape) - 1)]
            total += chances[i]
        exits[I + side] = np.float32(1.0) / total
        for i in range(I):
            chances[i] *= exits[I + side]


@kernel
def count_ends(first_moves, position, last_link, start_exit, end_exit, counts):
    """Add expected first and last positions, by distance from the respective end, and what each was exposed to."""
    I = len(first_moves)
    most = counts.shape[2] - 1
    begun = 0.0
    ended = 0.0
    for i in range(I):
        begun += first_moves[i]
        ended += position[i] * last_link[i]
    for i in range(I):
        counts[0, 0, min(i, most)] += first_moves[i]
        counts[0, 1, min(i, most)] += begun * start_exit
        place = min(I - 1 - i, most)
        counts[1, 0, place] += position[i] * last_link[i] / max(ended, 1e-30)
        counts[1, 1, place] += end_exit


@kernel
def bin_counts(lines, start, length, place, ids, moves, exposure, low, high, counts):
    """Add the tokens' moves (counts[word, 0]) and exposures (counts[word, 1]) by bin, for one side's tokens.

    A token at position i' of I is exposed to bin b once for each distance low[b]..high[b] that stays in the sentence.
    """
    for piece in range(len(lines)):
        line = lines[piece]
        I = line[length]
        for before in range(I):
            token = line[place] + before
            entry = counts[ids[line[start] + before]]
            for b in range(len(low)):
                reach = min(high[b], I - 1 - before) - max(low[b], -before) + 1
                if reach > 0:
                    entry[0, b] += moves[token, b]
                    entry[1, b] += reach * exposure[token]


@kernel
def add_beliefs(lines, start, length, place, ids, beliefs, counts):
    """Add the tokens' posteriors over fertilities to their words' (words, K + 1)."""
    for piece in range(len(lines)):
        line = lines[piece]
        for k in range(line[length]):
            word = ids[line[start] + k]
            for count in range(beliefs.shape[1]):
                counts[word, count] += beliefs[line[place] + k, count]
