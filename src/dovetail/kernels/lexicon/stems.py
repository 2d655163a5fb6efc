"""Stems of words, and slots of stem pairs: what word pairs share when their stems are the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel

LEVELS = 4
HEAD, TAIL, SHORT_HEAD, MIDDLE = range(LEVELS)


@kernel
def stem_of(level, length, unspaced):
    """Where the stem of a word of so many letters begins and ends.

    HEAD is the first four letters, TAIL the last four (the head of a compound, an ending), SHORT_HEAD the first three,
    MIDDLE the third to sixth (what follows a prefix; a word of up to four letters is its own).  Of an unspaced script they
    are the first character, the last, the first, and the second, if there is one.
    """
    if unspaced:
        if level == TAIL:
            return length - 1, length
        if level == MIDDLE and length > 1:
            return 1, 2
        return 0, 1
    if level == TAIL:
        return max(length - 4, 0), length
    if level == MIDDLE:
        return (2, min(length, 6)) if length > 4 else (0, length)
    return 0, min(length, 4 if level == HEAD else 3)


@kernel
def stem_keys(codes, offsets, unspaced, level, keys):
    """A number for each word's stem, the same for the same letters: 64 bits mixed from up to four letters of 21 bits."""
    for word in range(len(keys)):
        low = offsets[word]
        begin, end = stem_of(level, offsets[word + 1] - low, unspaced[word])
        key = np.uint64(end - begin)
        for k in range(low + begin, low + end):
            key = (key ^ np.uint64(codes[k])) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        keys[word] = key


class Known(NamedTuple):
    """Words and stems of a model, of one side: each word's stem and count; stems' keys in order, their numbers, tokens."""

    stem: np.ndarray  # int32 (words,)
    count: np.ndarray  # int64 (words,)
    keys: np.ndarray  # uint64 (stems,)
    number: np.ndarray  # int64 (stems,)
    tokens: np.ndarray  # float64 (stems,): a word never seen counts as half a time


@kernel
def find_stems(same, keys, known, numbers, shares):
    """For each word of another text the number of its stem, and p(word | stem) by what is known.

    Word w is the model's word same[w], or -1 and has the key keys[w].  A stem that the model never saw has the number
    after its last.
    """
    last = len(known.keys)
    for word in range(len(same)):
        seen, tokens = 0.5, 0.0
        if same[word] >= 0:
            number = np.int64(known.stem[same[word]])
            seen = max(np.float64(known.count[same[word]]), 0.5)
        else:
            low, high = 0, last  # where the key is, or would be; np.searchsorted would have half of numba loaded
            while low < high:
                middle = (low + high) // 2
                if known.keys[middle] < keys[word]:
                    low = middle + 1
                else:
                    high = middle
            number = known.number[low] if low < last and known.keys[low] == keys[word] else last
        if number < last:
            tokens = known.tokens[number]
        numbers[word] = number
        shares[word] = seen / max(tokens, seen)


@kernel
def group_slots(words_by_stem, stem_starts, row_start, target, target_stem, n_target_stems, group):
    """Number the pairs (stem of e, stem of f) over all slots: `group[slot]` (int32).

    Walks each source stem's words and numbers their target stems as they first appear.  Returns the target stem of
    each group and where each source stem's groups start.
    """
    seen = np.full(n_target_stems, -1, np.int32)
    partners = np.empty(len(target), np.int32)
    starts = np.zeros(len(stem_starts), np.int64)
    used = 0
    for stem in range(len(stem_starts) - 1):
        first = used
        for k in range(stem_starts[stem], stem_starts[stem + 1]):
            e = words_by_stem[k]
            for slot in range(row_start[e], row_start[e + 1]):
                f = target_stem[target[slot]]
                if seen[f] < first:
                    seen[f] = used
                    partners[used] = f
                    used += 1
                group[slot] = seen[f]
        starts[stem + 1] = used
    return partners[:used].copy(), starts


@kernel
def add_up(group, counts, totals):
    """totals[group[slot]] += counts[slot]."""
    for slot in range(len(group)):
        totals[group[slot]] += counts[slot]
