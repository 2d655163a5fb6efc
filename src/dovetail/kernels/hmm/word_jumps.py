"""Jumps that depend on the word jumped from: transition tables, and counts of moves, ends and fertilities by word."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel


@kernel
def word_transitions(words, weights, bins, start, end, table, first, last):
    """p(i | i') = weights[word at i', bin of i - i'], normalised over the sentence; first and last positions likewise.

    `bins` numbers every distance, distance 0 in the middle; `start` and `end` are weights by position from the
    respective end, the last entry shared by the rest.
    """
    middle, I = len(bins) // 2, len(words)
    for before in range(I):
        weight = weights[words[before]]
        total = np.float32(0.0)
        for i in range(I):
            value = weight[bins[middle + i - before]]
            table[before, i] = value
            total += value
        scale = np.float32(1.0) / total
        for i in range(I):
            table[before, i] *= scale
    for side in range(2):
        shape, chances = (start, first) if side == 0 else (end, last)
        total = np.float32(0.0)
        for i in range(I):
            distance = i if side == 0 else I - 1 - i
            chances[i] = shape[min(distance, len(shape) - 1)]
            total += chances[i]
        scale = np.float32(1.0) / total
        for i in range(I):
            chances[i] *= scale


@kernel
def widen(weights, bins, wide):
    """wide[word, k] = weights[word, bins[k]]"""
    for word in range(len(weights)):
        own = weights[word]
        for k in range(len(bins)):
            wide[word, k] = own[bins[k]]


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
def bin_counts(lines, side, ids, moves, bins, counts):
    """Add the tokens' moves (counts[word, 0]) and exposures (counts[word, 1]) by bin, for one side's tokens.

    A token at position i' of I is exposed to bin b once for each distance low[b]..high[b] that stays in the sentence.
    """
    of, low, high = bins
    middle = len(of) // 2
    for piece in range(len(lines)):
        line = lines[piece]
        I = line[side.length]
        for before in range(I):
            token = line[side.place] + before
            entry = counts[ids[line[side.start] + before]]
            left = of[middle - before]
            right = of[middle + I - 1 - before]
            for b in range(left, right + 1):
                entry[0, b] += moves.by_bin[token, b]
            for b in range(left + 1, right):
                entry[1, b] += (high[b] - low[b] + 1) * moves.exposure[token]
            # The outermost two may reach beyond the sentence.
            entry[1, left] += (min(high[left], I - 1 - before) + before + 1) * moves.exposure[token]
            if right > left:
                entry[1, right] += (I - 1 - before - max(low[right], -before) + 1) * moves.exposure[token]


@kernel
def word_weights(counts, prior, strength, floor, weights):
    """Each word's weights (words, bins) from its moves and exposures, and `strength` moves of the `prior` (2, bins).

    Moves over exposure, scaled to a mean of one over the bins that were exposed at all; `floor` at least, one for the rest.
    """
    for word in range(len(counts)):
        total = 0.0
        seen = 0
        for b in range(weights.shape[1]):
            exposure = counts[word, 1, b] + strength * prior[1, b]
            weights[word, b] = -1.0
            if exposure > 1e-9:
                ratio = (counts[word, 0, b] + strength * prior[0, b]) / exposure
                weights[word, b] = ratio
                total += ratio
                seen += 1
        scale = seen / total if total > 0.0 else 1.0
        for b in range(weights.shape[1]):
            weights[word, b] = max(weights[word, b] * scale, floor) if weights[word, b] >= 0.0 else 1.0


@kernel
def add_beliefs(lines, side, ids, beliefs, counts):
    """Add the tokens' posteriors over fertilities to their words' (words, K + 1)."""
    for piece in range(len(lines)):
        line = lines[piece]
        for k in range(line[side.length]):
            word = ids[line[side.start] + k]
            for count in range(beliefs.shape[1]):
                counts[word, count] += beliefs[line[side.place] + k, count]


@kernel
def add_rows(rows, values, sums):
    """sums[rows[k]] += values[k]."""
    for k in range(len(rows)):
        for column in range(values.shape[1]):
            sums[rows[k], column] += values[k, column]
