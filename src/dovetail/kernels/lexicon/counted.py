"""The counted lexicon: before a cell is scored, what the cell itself contributed is taken out of the counts.

That is how collapsed inference scores a token, and it cures the rare words that plain EM lets explain everything
around them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.lexicon.search import place_of
from dovetail.kernels.lexicon.transfer import SPREAD

# Columns of the tables of words: total count, weight of the prior, 1 / (total + prior + weights of all stem levels); then,
# for each level, count of the word's stem, p(word | stem), and weight / (stem's count + 1).
TOTAL, PRIOR, SCALE, FIRST_LEVEL = range(4)
STEM, SHARE, BACKOFF, WIDTH = range(4)


class Entries(NamedTuple):
    """What scoring a cell reads: counts of its slot, of its words, and weights of the stem levels."""

    support: np.ndarray  # float32 (slots, 2 + levels): counts of the pair, of its spelling, of its stems
    sources: np.ndarray  # float32 (source words, columns)
    targets: np.ndarray  # float32 (target words, columns)
    weights: np.ndarray  # float32 (levels,)


class WordTables(NamedTuple):
    """Columns TOTAL ... of all words."""

    sources: np.ndarray  # float32 (source words, columns)
    targets: np.ndarray  # float32 (target words, columns)


class StemCounts(NamedTuple):
    """Counts of pairs of stems: those of source stem s are starts[s]:starts[s + 1], with target stems `partners`."""

    starts: np.ndarray  # int64 (source stems + 1,)
    partners: np.ndarray  # int32 (groups,)
    counts: np.ndarray  # float64 (groups,)
    target_stem: np.ndarray  # int32 (target words,)
    n_target_stems: int


@kernel
def fill_support(first, last, row_start, counts, spelling, prior, support):
    """support[slot, :2] = the pair's count, and the prior count of its spelling, for source words first..last - 1."""
    for slot in range(row_start[first], row_start[last]):
        support[slot, 0] = counts[slot]
        support[slot, 1] = prior[spelling[slot]]


@kernel
def fill_level(first, last, row_start, group, counts, column, support):
    """support[slot, column] = the count of the pair's stems, for source words first..last - 1."""
    for slot in range(row_start[first], row_start[last]):
        support[slot, column] = counts[group[slot]]


@kernel
def begin_emissions(first, last, row_start, counts, spelling, prior, emissions):
    """Of source words first..last - 1, in both directions: what the pair and its spelling count."""
    for slot in range(row_start[first], row_start[last]):
        value = np.float32(counts[slot]) + prior[spelling[slot]]
        emissions[slot, 0] = value
        emissions[slot, 1] = value


@kernel
def add_stems(first_stem, last_stem, words_by_stem, stem_starts, stems, row_start, target, level, entries, emissions):
    """Add what the pairs' stems of one level count, for the words of source stems first_stem..last_stem - 1.

    A source stem's counts are spread out by target stem; if they are far more than its slots (in a short text that a
    trained lexicon aligns) they are sorted, and searched.
    """
    starts, partners, counts, target_stem, n_target_stems = stems
    sources, targets = entries.sources, entries.targets
    at = FIRST_LEVEL + WIDTH * level
    found = np.zeros(n_target_stems, np.float32)
    for stem in range(first_stem, last_stem):
        words = words_by_stem[stem_starts[stem] : stem_starts[stem + 1]]
        slots = 0
        for e in words:
            slots += row_start[e + 1] - row_start[e]
        first, last = starts[stem], starts[stem + 1]
        spread = last - first <= SPREAD * slots
        if spread:
            for k in range(first, last):
                found[partners[k]] = counts[k]
        for e in words:
            backoff = sources[e, at + BACKOFF]
            share = sources[e, at + SHARE]
            for slot in range(row_start[e], row_start[e + 1]):
                f = target[slot]
                if spread:
                    count = found[target_stem[f]]
                else:
                    k = place_of(target_stem[f], partners, first, last)
                    count = np.float32(counts[k]) if k >= 0 else np.float32(0.0)
                if count > np.float32(0.0):
                    emissions[slot, 0] += backoff * count * targets[f, at + SHARE]
                    emissions[slot, 1] += targets[f, at + BACKOFF] * count * share
        if spread:
            for k in range(first, last):
                found[partners[k]] = np.float32(0.0)


@kernel
def scale_emissions(first, last, row_start, target, sources, targets, emissions):
    """Divide by what the words count in all."""
    for e in range(first, last):
        scale = sources[e, SCALE]
        for slot in range(row_start[e], row_start[e + 1]):
            emissions[slot, 0] *= scale
            emissions[slot, 1] *= targets[target[slot], SCALE]


@kernel
def add_by_word(row_start, target, values, by_source, by_target):
    """Add the slots' values up by source word and by target word."""
    for e in range(len(row_start) - 1):
        total = 0.0
        for slot in range(row_start[e], row_start[e + 1]):
            total += values[slot]
            by_target[target[slot]] += values[slot]
        by_source[e] += total


@leaf
def without(own, support, word, other, weights):
    """t(other | word) with the cell's `own` count taken out of every count it went into.

    (n - q + prior + sum over stem levels of A (n_stem - q) / (n_stem(word) - q + 1) p(other | its stem))
    / (n(word) - q + its prior + the sum of A)

    `support` holds the count of the pair, its prior count, and the counts of its stem pairs.
    """
    zero = np.float32(0.0)
    one = np.float32(1.0)
    top = max(support[0] - own, zero) + support[1]
    bottom = max(word[TOTAL] - own, zero) + word[PRIOR]
    for level in range(len(weights)):
        at = FIRST_LEVEL + WIDTH * level
        shared = max(support[2 + level] - own, zero)
        top += weights[level] * shared / (max(word[at + STEM] - own, zero) + one) * other[at + SHARE]
        bottom += weights[level]
    return top / bottom
