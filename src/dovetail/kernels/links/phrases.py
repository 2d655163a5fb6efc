"""Phrase pairs that an alignment allows (Och, Tillmann and Ney 1999; Koehn, Och and Marcu 2003)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel, leaf


class LinkedText(NamedTuple):
    """Consecutive sentence pairs as word numbers, and their links."""

    source_ids: np.ndarray  # int64 (tokens,)
    source_offsets: np.ndarray  # int64 (pairs + 1,)
    target_ids: np.ndarray
    target_offsets: np.ndarray
    link_offsets: np.ndarray
    link_source: np.ndarray  # int32, sorted by (i, j) within a pair
    link_target: np.ndarray
    link_probability: np.ndarray  # float32


@kernel
def extract(source, target, I, J, longest):
    """All pairs of spans with at least one link inside and none that leaves either span, unaligned edges included.

    `source` and `target` are the links' positions.  Returns rows (first i, last i, first j, last j), both ends
    inclusive, spans of at most `longest` words.
    """
    free = np.ones(J, np.bool_)
    low = np.full(I, J, np.int64)  # the outermost target words linked to each source word, and back
    high = np.full(I, -1, np.int64)
    back_low = np.full(J, I, np.int64)
    back_high = np.full(J, -1, np.int64)
    for k in range(len(source)):
        i, j = source[k], target[k]
        free[j] = False
        low[i], high[i] = min(low[i], j), max(high[i], j)
        back_low[j], back_high[j] = min(back_low[j], i), max(back_high[j], i)
    room = 64
    found = np.empty((room, 4), np.int32)
    n = 0
    for first in range(I):
        begin = J
        end = -1
        for last in range(first, min(first + longest, I)):
            begin, end = min(begin, low[last]), max(end, high[last])
            if end < 0:
                continue
            if end - begin + 1 > longest:
                break
            inside = True
            for j in range(begin, end + 1):
                if back_high[j] >= 0 and (back_low[j] < first or back_high[j] > last):
                    inside = False
                    break
            if not inside:
                continue
            left = begin
            while True:
                right = end
                while right - left < longest:
                    if n == room:
                        room *= 2
                        larger = np.empty((room, 4), np.int32)
                        for k in range(n):
                            for side in range(4):
                                larger[k, side] = found[k, side]
                        found = larger
                    found[n, 0], found[n, 1], found[n, 2], found[n, 3] = first, last, left, right
                    n += 1
                    right += 1
                    if right >= J or not free[right]:
                        break
                left -= 1
                if left < 0 or not free[left] or end - left >= longest:
                    break
    return found[:n]


@leaf
def linked(matrix, i, j):
    """Whether two positions are linked; the places before both sentences are, and those behind both."""
    I, J = matrix.shape
    if i < 0 or j < 0:
        return i < 0 and j < 0
    if i >= I or j >= J:
        return i >= I and j >= J
    return matrix[i, j]


@kernel
def attached(matrix, a, b, c, d):
    """Whether Thot's phrase model takes this phrase pair too (as seen from outside, by what `PhraseModel.build` makes).

    Runs of target words without links come whole or not at all.  A run between two links of one source word belongs to it;
    any other needs a source word of the phrase, linked to a word beside the run, that attaches no other run: a bipartite
    matching.  And the whole source sentence goes with the whole target sentence only.
    """
    I, J = matrix.shape
    if b - a + 1 == I and d - c + 1 < J:
        return False
    owner = np.full(I, -1, np.int64)  # which run each source word attaches
    first = np.empty(d - c + 1, np.int64)
    last = np.empty(d - c + 1, np.int64)
    runs = 0
    j = c
    while j <= d:
        if matrix[:, j].any():
            j += 1
            continue
        begin = j
        while j <= d and not matrix[:, j].any():
            j += 1
        if (begin == c and c > 0 and not matrix[:, c - 1].any()) or (
            j > d and d < J - 1 and not matrix[:, d + 1].any()
        ):
            return False
        inside = False
        for i in range(a, b + 1):
            inside |= matrix[i, c:begin].any() and matrix[i, j : d + 1].any()
        if not inside:
            first[runs], last[runs] = begin, j - 1
            runs += 1
    came_from = np.empty(I, np.int64)
    queue = np.empty(runs, np.int64)
    before = np.empty(runs, np.int64)  # the source word that a run in the queue would have to give up
    for run in range(runs):
        came_from[:] = -1
        queue[0], before[run], size, place, free = run, -1, 1, 0, -1
        while place < size and free < 0:
            current = queue[place]
            place += 1
            for i in range(a, b + 1):
                beside = (first[current] > c and matrix[i, first[current] - 1]) or (
                    last[current] < d and matrix[i, last[current] + 1]
                )
                if not beside or came_from[i] >= 0:
                    continue
                came_from[i] = current
                if owner[i] < 0:
                    free = i
                    break
                queue[size], before[owner[i]] = owner[i], i
                size += 1
        if free < 0:
            return False
        while free >= 0:  # every run on the way takes the word that the next one gives up
            current = came_from[free]
            owner[free] = current
            free = before[current]
    return True


@kernel
def collect(first, last, text, longest, one, thot):
    """Every phrase pair of pairs first..last - 1: what it is, and what is counted of it.

    What it is: a row of the first result, uint32: `longest` target words, as many source words (numbers plus 1, then zeros),
    and bit i * longest + j of the rest, 32 at a time, for a link between its words i and j.  What is counted, int64: 1; the
    probability that all its links are right, in parts of `one`; 1 if it follows the phrase before it monotonely, 1 if it is
    swapped with it; and both for the phrase behind it.  Orientations are word-based (Koehn et al. 2005): a link at the one
    corner and none at the other.  With `thot`, phrase pairs that are not `attached` are left out.  A third array has the
    sentence pair of each row.
    """
    width = 2 * longest + (longest * longest + 31) // 32
    room = 1024
    keys = np.zeros((room, width), np.uint32)
    values = np.zeros((room, 6), np.int64)
    places = np.zeros(room, np.int64)
    n = 0
    for pair in range(first, last):
        s, t, k = text.source_offsets[pair], text.target_offsets[pair], text.link_offsets[pair]
        I, J = text.source_offsets[pair + 1] - s, text.target_offsets[pair + 1] - t
        links = slice(k, text.link_offsets[pair + 1])
        i_of, j_of = text.link_source[links], text.link_target[links]
        found = extract(i_of, j_of, I, J, longest)
        matrix = np.zeros((I, J), np.bool_)
        for link in range(len(i_of)):
            matrix[i_of[link], j_of[link]] = True
        while n + len(found) > room:
            room *= 2
            more_keys = np.zeros((room, width), np.uint32)
            more_keys[:n] = keys[:n]
            more_values = np.zeros((room, 6), np.int64)
            more_values[:n] = values[:n]
            more_places = np.zeros(room, np.int64)
            more_places[:n] = places[:n]
            keys, values, places = more_keys, more_values, more_places
        for phrase in range(len(found)):
            a, b, c, d = found[phrase, 0], found[phrase, 1], found[phrase, 2], found[phrase, 3]
            if thot and not attached(matrix, a, b, c, d):
                continue
            for j in range(c, d + 1):
                keys[n, j - c] = text.target_ids[t + j] + 1
            for i in range(a, b + 1):
                keys[n, longest + i - a] = text.source_ids[s + i] + 1
            right = 1.0
            for link in range(np.searchsorted(i_of, a), len(i_of)):
                if i_of[link] > b:
                    break
                bit = (i_of[link] - a) * longest + j_of[link] - c
                keys[n, 2 * longest + bit // 32] |= np.uint32(1) << np.uint32(bit % 32)
                right *= text.link_probability[k + link]
            places[n] = pair
            values[n, 0] = 1
            values[n, 1] = round(right * one)
            before, swapped = linked(matrix, a - 1, c - 1), linked(matrix, b + 1, c - 1)
            values[n, 2], values[n, 3] = before and not swapped, swapped and not before
            behind, swapped = linked(matrix, b + 1, d + 1), linked(matrix, a - 1, d + 1)
            values[n, 4], values[n, 5] = behind and not swapped, swapped and not behind
            n += 1
    return keys[:n], values[:n], places[:n]


class WordLinks(NamedTuple):
    """How often words are linked: pairs of words sorted by `keys` (source << 32 | target), and each word's totals.

    Totals are of links and of occurrences without any, `free` the latter alone; all float64 but the keys.
    """

    keys: np.ndarray
    links: np.ndarray
    source_total: np.ndarray
    target_total: np.ndarray
    source_free: np.ndarray
    target_free: np.ndarray


@kernel
def lexical_weights(keys, longest, words):
    """Lexical weights (Koehn, Och and Marcu 2003) of phrase pairs: (N, 2), of the source given the target, and back.

    lex(t | s, a) = product over j of the mean of w(t_j | s_i) over the i linked to j; w(t_j | NULL) where there is none.

    `keys` as of `collect`; w(t | s) is the share of s's links, and of its occurrences without any, that goes to t.
    """
    source_null, target_null = max(1.0, words.target_free.sum()), max(1.0, words.source_free.sum())
    result = np.ones((len(keys), 2))
    of_source = np.zeros((longest, 2))  # sum and number of what is linked to each position
    of_target = np.zeros((longest, 2))
    for n in range(len(keys)):
        of_source[:] = 0
        of_target[:] = 0
        for i in range(longest):
            for j in range(longest):
                bit = i * longest + j
                if keys[n, 2 * longest + bit // 32] >> np.uint32(bit % 32) & np.uint32(1):
                    s, t = np.int64(keys[n, longest + i]) - 1, np.int64(keys[n, j]) - 1
                    count = words.links[np.searchsorted(words.keys, (s << 32) | t)]
                    of_source[i, 0] += count / words.target_total[t]
                    of_source[i, 1] += 1
                    of_target[j, 0] += count / words.source_total[s]
                    of_target[j, 1] += 1
        for k in range(longest):
            if keys[n, longest + k] > 0:
                word = np.int64(keys[n, longest + k]) - 1
                free = words.source_free[word] / target_null
                result[n, 0] *= of_source[k, 0] / of_source[k, 1] if of_source[k, 1] > 0 else free
            if keys[n, k] > 0:
                word = np.int64(keys[n, k]) - 1
                free = words.target_free[word] / source_null
                result[n, 1] *= of_target[k, 0] / of_target[k, 1] if of_target[k, 1] > 0 else free
    return result


@kernel
def joined(pieces, pool, starts, sizes):
    """Texts by their numbers, one behind the other: uint8.  Text p is pool[starts[p] : starts[p] + sizes[p]]."""
    total = 0
    for piece in pieces:
        total += sizes[piece]
    result = np.empty(total, np.uint8)
    n = 0
    for piece in pieces:
        for place in range(starts[piece], starts[piece] + sizes[piece]):
            result[n] = pool[place]
            n += 1
    return result
