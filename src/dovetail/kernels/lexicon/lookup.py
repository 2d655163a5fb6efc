"""A trained counted lexicon for other text, cell by cell: no slots are laid out, nothing is kept of a pair of words.

The rows of a block are walked by source word.  What the lexicon knows of the word and of its stems is spread out by target
word and stem, each pair of words is scored when it is first met, and its other cells find it by the target word.  Same
equations, in the same order, as kernels.lexicon.counted for slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.lexicon.counted import BACKOFF, FIRST_LEVEL, SCALE, SHARE, WIDTH
from dovetail.kernels.lexicon.search import place_of
from dovetail.kernels.lexicon.spelling import mark_places, spelling_bin, unmark_places
from dovetail.kernels.records import CELL, LENGTH_J, ROW, SOURCE, TARGET

SPREAD = 16  # a row longer than this many times the words that ask for it is searched, not spread out


class Known(NamedTuple):
    """A trained lexicon as one table of rows: counts of word pairs, then those of stem pairs of all levels.

    Row r is starts[r]:starts[r + 1], sorted by target.  Words and stems are numbered through, each kind with one more behind
    it, which has no counts: that of words, or stems, never seen.
    """

    starts: np.ndarray  # int64 (source words and stems + 1,)
    targets: np.ndarray  # int32 (pairs,)
    counts: np.ndarray  # float32 (pairs,)
    n_targets: int  # target words and stems


class Words(NamedTuple):
    """Words of the new text: where the lexicon has them and their stems, and what they count."""

    source_places: np.ndarray  # int32 (source words, 1 + levels)
    target_places: np.ndarray  # int32 (target words, 1 + levels)
    sources: np.ndarray  # float32 (source words, columns of kernels.lexicon.counted)
    targets: np.ndarray  # float32 (target words, columns)


@kernel
def gather(order, row_piece, pieces, known, words, letters, n_codes, prior, like, work):
    """work.forward[cell] = t(f | e), work.reverse[cell] = t(e | f) for the cells of the rows in `order`, sorted by word.

    `letters` are the source's and the target's (`bitext.spelling.Letters`), numbered 0..n_codes - 1; `prior` is the count of
    each bin of likeness, the same for all below `like`.
    """
    lines, source_ids, target_ids = pieces
    forward, reverse = work.forward, work.reverse
    n_words = len(words.target_places)
    met = np.full(n_words, -1, np.int32)  # the last source word that each target word met
    partners = np.empty(n_words + 1, np.int32)
    scores = np.empty((n_words, 2), np.float32)
    found = np.zeros(known.n_targets, np.float32)
    places = np.zeros(n_codes, np.uint64)
    # Where rows are is found out first, for all of them: the next one's place does not wait for this one's to be looked up.
    of_rows = np.empty((4, len(order)), np.int64)
    row_words, cells, tokens, widths = of_rows[0], of_rows[1], of_rows[2], of_rows[3]
    for k in range(len(order)):
        line = lines[row_piece[order[k]]]
        i = order[k] - line[ROW]
        row_words[k] = source_ids[line[SOURCE] + i]
        cells[k] = line[CELL] + i * line[LENGTH_J]
        tokens[k] = line[TARGET]
        widths[k] = line[LENGTH_J]
    k = 0
    while k < len(order):
        e = row_words[k]
        end = k
        n = 0
        while end < len(order) and row_words[end] == e:
            for token in range(tokens[end], tokens[end] + widths[end]):
                f = target_ids[token]
                partners[n] = f  # written always, kept if new: no branch to guess wrong
                n += met[f] != e
                met[f] = e
            end += 1
        for level in range(words.source_places.shape[1]):
            spread(words.source_places[e, level], known, words.target_places[:, level], partners[:n], found)
        score(e, partners[:n], words, found, letters, places, prior, like, scores)
        for level in range(words.source_places.shape[1]):
            clear(words.source_places[e, level], known, words.target_places[:, level], partners[:n], found)
        for row in range(k, end):
            cell, token = cells[row], tokens[row]
            for j in range(widths[row]):
                f = target_ids[token + j]
                forward[cell + j] = scores[f, 0]
                reverse[cell + j] = scores[f, 1]
        k = end


@leaf
def spread(row, known, places, partners, found):
    """found[place] = count for what is in a row; of one that is too long, for what the partners ask for."""
    first, last = known.starts[row], known.starts[row + 1]
    if last - first <= SPREAD * len(partners):
        for k in range(first, last):
            found[known.targets[k]] = known.counts[k]
    else:
        for f in partners:
            k = place_of(places[f], known.targets, first, last)
            if k >= 0:
                found[places[f]] = known.counts[k]


@leaf
def clear(row, known, places, partners, found):
    """Undo `spread`."""
    first, last = known.starts[row], known.starts[row + 1]
    if last - first <= SPREAD * len(partners):
        for k in range(first, last):
            found[known.targets[k]] = np.float32(0.0)
    else:
        for f in partners:
            found[places[f]] = np.float32(0.0)


@leaf
def score(e, partners, words, found, letters, places, prior, like, scores):
    """Probabilities of both directions: what the words count, and their spelling, and their stems (nothing for most)."""
    source, target = letters
    own = words.sources[e]
    begin, end = source.offsets[e], source.offsets[e + 1]
    mark_places(source.codes, begin, end, places)
    for f in partners:
        other, found_at = words.targets[f], words.target_places[f]
        forward = reverse = found[found_at[0]] + prior[spelling_bin(source, e, target, f, places, like)]
        for level in range(1, len(found_at)):  # nothing is added for most: cheaper than a branch to guess wrong
            count = found[found_at[level]]
            at = FIRST_LEVEL + WIDTH * (level - 1)
            forward += own[at + BACKOFF] * count * other[at + SHARE]
            reverse += other[at + BACKOFF] * count * own[at + SHARE]
        scores[f, 0] = forward * own[SCALE]
        scores[f, 1] = reverse * other[SCALE]
    unmark_places(source.codes, begin, end, places)
