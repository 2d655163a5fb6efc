"""A trained lexicon for other text: look every co-occurring pair of the new text up in the old rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.lexicon.search import place_of

SPREAD = 8  # an old row longer than this many times the new one is searched, not spread out


class NewRows(NamedTuple):
    """Slots of a new text, and the numbers of its words in the old one: -1 for words never seen."""

    row_start: np.ndarray  # int64 (source words + 1,)
    target: np.ndarray  # int32 (slots,)
    source_number: np.ndarray  # int32 (source words,)
    target_number: np.ndarray  # int32 (target words,)
    twin: np.ndarray  # int32 (source words,): the target word spelled like a source word


class OldRows(NamedTuple):
    """A trained lexicon, rows sorted by target word."""

    row_start: np.ndarray  # int64 (source words + 1,)
    target: np.ndarray  # int32 (slots,)
    table: np.ndarray  # float32 (slots, 2), or counts: float64 or float32 (slots,)
    n_targets: int


class Guesses(NamedTuple):
    """Probabilities of pairs that the lexicon does not have: known words that never met, one or both words unseen."""

    missing: np.float32
    unseen: np.float32
    both_unseen: np.float32
    same: np.float32  # both unseen and spelled alike


@kernel
def look_up(first, last, new, old, guesses, table):
    """Fill `table` for the slots of new source words first..last - 1."""
    row_start, target, source_number, target_number, twin = new
    missing, unseen, both_unseen, same = guesses
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
                place = place_of(old_f, old.target, old.row_start[old_e], old.row_start[old_e + 1])
                if place >= 0:
                    forward = old.table[place, 0]
                    reverse = old.table[place, 1]
            table[slot, 0] = forward
            table[slot, 1] = reverse


@kernel
def look_up_counts(new, old, counts):
    """Fill `counts` for every slot with the count of the same pair in the old rows, 0 if it has none."""
    row_start, target, source_number, target_number, _ = new
    old_row_start, old_target, old_counts, n_targets = old
    found = np.zeros(n_targets)  # one old row by target word
    for e in range(len(row_start) - 1):
        counts[row_start[e] : row_start[e + 1]] = 0.0
        old_e = source_number[e]
        if old_e < 0:
            continue
        first, last = old_row_start[old_e], old_row_start[old_e + 1]
        if last - first > SPREAD * (row_start[e + 1] - row_start[e]):
            for slot in range(row_start[e], row_start[e + 1]):
                old_f = target_number[target[slot]]
                place = place_of(old_f, old_target, first, last)
                if place >= 0:
                    counts[slot] = old_counts[place]
            continue
        for place in range(first, last):
            found[old_target[place]] = old_counts[place]
        for slot in range(row_start[e], row_start[e + 1]):
            old_f = target_number[target[slot]]
            if 0 <= old_f < len(found):
                counts[slot] = found[old_f]
        for place in range(first, last):
            found[old_target[place]] = 0.0
