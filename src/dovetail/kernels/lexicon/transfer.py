"""A trained lexicon for other text: look every co-occurring pair of the new text up in the old rows."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.text.search import place_of

SPREAD = 8  # an old row longer than this many times the new one is searched, not spread out


@kernel
def look_up(
    first,
    last,
    row_start,
    target,
    source_number,
    target_number,
    twin,
    old_row_start,
    old_target,
    old_table,
    missing,
    unseen,
    both_unseen,
    same,
    table,
):
    """Fill `table` for the slots of new source words first..last - 1.

    `source_number` and `target_number` map new words to old ones, -1 for words never seen; old rows are sorted by target
    word.  A pair of known words that never met gets `missing`, a pair with one unseen word `unseen`, with two
    `both_unseen`, or `same` if they are spelled alike (`twin[e]` is the target word spelled like e).
    """
    for e in range(first, last):
        old_e = source_number[e]
        for slot in range(row_start[e], row_start[e + 1]):
            f = target[slot]
            old_f = target_number[f]
            forward = missing
            reverse = missing
            if old_e < 0 and old_f < 0:
                forward = same if twin[e] == f else both_unseen
                reverse = forward
            elif old_e < 0 or old_f < 0:
                forward = unseen
                reverse = unseen
            else:
                old = place_of(old_f, old_target, old_row_start[old_e], old_row_start[old_e + 1])
                if old >= 0:
                    forward = old_table[old, 0]
                    reverse = old_table[old, 1]
            table[slot, 0] = forward
            table[slot, 1] = reverse


@kernel
def look_up_null(number, old, unseen, table):
    """NULL's entries for new words."""
    for word in range(len(number)):
        table[word] = old[number[word]] if number[word] >= 0 else unseen


@kernel
def look_up_counts(row_start, target, source_number, target_number, old_row_start, old_target, old_counts, counts):
    """Fill `counts` for every slot with the count of the same pair in the old rows (sorted by target), 0 if it has none."""
    size = 0
    for old_f in old_target:
        size = max(size, old_f + 1)
    found = np.zeros(size)  # one old row by target word
    for e in range(len(row_start) - 1):
        counts[row_start[e] : row_start[e + 1]] = 0.0
        old_e = source_number[e]
        if old_e < 0:
            continue
        first, last = old_row_start[old_e], old_row_start[old_e + 1]
        if last - first > SPREAD * (row_start[e + 1] - row_start[e]):
            for slot in range(row_start[e], row_start[e + 1]):
                old_f = target_number[target[slot]]
                old = place_of(old_f, old_target, first, last)
                if old >= 0:
                    counts[slot] = old_counts[old]
            continue
        for old in range(first, last):
            found[old_target[old]] = old_counts[old]
        for slot in range(row_start[e], row_start[e + 1]):
            old_f = target_number[target[slot]]
            if 0 <= old_f < len(found):
                counts[slot] = found[old_f]
        for old in range(first, last):
            found[old_target[old]] = 0.0
