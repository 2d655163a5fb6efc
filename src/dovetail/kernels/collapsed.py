"""The collapsed lexicon: before a cell is scored, what the cell itself contributed is taken out of the counts.

That is how collapsed inference scores a token, and it cures the rare words that plain EM lets explain everything
around them.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.cooccurrence import RANK_LIMIT
from dovetail.kernels.lines import CELL, LENGTH_J, ROW, SOURCE, TARGET

# Columns of the tables of words: total count, weight of the prior, counts of the two stems, p(word | stem) twice, and,
# for cells that take nothing out, the factors ready to multiply.
TOTAL, PRIOR, STEM_1, STEM_2, SHARE_1, SHARE_2, SCALE, BACKOFF_1, BACKOFF_2 = range(9)


@kernel
def ready_factors(words, weight_1, weight_2):
    """Fill SCALE = 1 / (total + prior + both weights), BACKOFF = weight / (stem's count + 1) for every word."""
    for w in range(len(words)):
        words[w, SCALE] = np.float32(1.0) / (words[w, TOTAL] + words[w, PRIOR] + weight_1 + weight_2)
        words[w, BACKOFF_1] = weight_1 / (words[w, STEM_1] + np.float32(1.0))
        words[w, BACKOFF_2] = weight_2 / (words[w, STEM_2] + np.float32(1.0))


@kernel
def fill_support(counts, spelling, prior, group_1, counts_1, group_2, counts_2, support):
    """support[slot] = the pair's count, its stem pairs' counts (0 without groups), the prior count of its spelling."""
    for slot in range(len(counts)):
        support[slot, 0] = counts[slot]
        support[slot, 1] = counts_1[group_1[slot]] if len(group_1) else np.float32(0.0)
        support[slot, 2] = counts_2[group_2[slot]] if len(group_2) else np.float32(0.0)
        support[slot, 3] = prior[spelling[slot]]


@kernel
def add_by_word(row_start, target, values, by_source, by_target):
    """Add the slots' values up by source word and by target word."""
    for e in range(len(row_start) - 1):
        total = 0.0
        for slot in range(row_start[e], row_start[e + 1]):
            total += values[slot]
            by_target[target[slot]] += values[slot]
        by_source[e] += total


@kernel
def without(own, count, prior, stem_1, stem_2, word, other, weight_1, weight_2):
    """t(other | word) with the cell's `own` count taken out of every count it went into.

    (n - q + prior + sum over stem levels of A (n_stem - q) / (n_stem(word) - q + 1) p(other | its stem))
    / (n(word) - q + its prior + the sum of A)
    """
    zero = np.float32(0.0)
    one = np.float32(1.0)
    top = max(count - own, zero) + prior
    top += weight_1 * max(stem_1 - own, zero) / (max(word[STEM_1] - own, zero) + one) * other[SHARE_1]
    top += weight_2 * max(stem_2 - own, zero) / (max(word[STEM_2] - own, zero) + one) * other[SHARE_2]
    return top / (max(word[TOTAL] - own, zero) + word[PRIOR] + weight_1 + weight_2)


@kernel
def gather(
    order,
    row_piece,
    lines,
    source_ids,
    target_ids,
    row_start,
    rank,
    support,
    sources,
    targets,
    forward,
    reverse,
):
    """Emissions of the cells of the rows in `order`, both directions, nothing taken out.

    `support` (slots, 4) holds the counts of the pair and of its two stem pairs, and the pair's prior count.
    """
    for k in range(len(order)):
        row = order[k]
        line = lines[row_piece[row]]
        i = row - line[ROW]
        J = line[LENGTH_J]
        e = source_ids[line[SOURCE] + i]
        cell = line[CELL] + i * J
        start = row_start[e]
        dense = row_start[e + 1] - start > RANK_LIMIT
        source = sources[e]
        scale = source[SCALE]
        for j in range(J):
            f = target_ids[line[TARGET] + j]
            slot = start + (f if dense else rank[cell + j])
            target = targets[f]
            base = support[slot, 0] + support[slot, 3]
            stem_1 = support[slot, 1]
            stem_2 = support[slot, 2]
            forward[cell + j] = scale * (
                base + source[BACKOFF_1] * stem_1 * target[SHARE_1] + source[BACKOFF_2] * stem_2 * target[SHARE_2]
            )
            reverse[cell + j] = target[SCALE] * (
                base + target[BACKOFF_1] * stem_1 * source[SHARE_1] + target[BACKOFF_2] * stem_2 * source[SHARE_2]
            )
