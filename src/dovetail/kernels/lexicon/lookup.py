"""A trained counted lexicon for other text, cell by cell: no slots are laid out, nothing is kept of a pair of words.

The rows of a block are walked by source word.  What the lexicon knows of the word is spread out by target word and by target
stem, each pair of words is scored when it is first met, and its other cells find it by the target word.  Same equations,
in the same order, as kernels.lexicon.counted for slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.lexicon.counted import BACKOFF, FIRST_LEVEL, SCALE, SHARE, WIDTH
from dovetail.kernels.lexicon.search import place_of
from dovetail.kernels.lexicon.spelling import mark_places, spelling_bin, unmark_places
from dovetail.kernels.records import CELL, LENGTH_J, ROW, SOURCE, TARGET

SPREAD = 4  # a row longer than this many times the words that ask for it is searched, not spread out


class Known(NamedTuple):
    """A trained lexicon: counts of word pairs, then those of stem pairs of all levels, rows sorted by target.

    Row e of the word pairs is starts[e]:starts[e + 1], with target words `targets`; stems are numbered through all levels.
    """

    starts: np.ndarray  # int64 (source words + 1,)
    targets: np.ndarray  # int32 (pairs,)
    counts: np.ndarray  # float64 (pairs,)
    stem_starts: np.ndarray  # int64 (source stems + 1,)
    stem_targets: np.ndarray  # int32 (stem pairs,)
    stem_counts: np.ndarray  # float64 (stem pairs,)
    n_targets: int
    n_target_stems: int


class Words(NamedTuple):
    """Words of the new text: their numbers in the lexicon (-1: unseen), their stems there, and what they count."""

    source_number: np.ndarray  # int32 (source words,)
    target_number: np.ndarray  # int32 (target words,)
    source_stems: np.ndarray  # int32 (levels, source words); stems never seen have an empty row
    target_stems: np.ndarray  # int32 (levels, target words)
    sources: np.ndarray  # float32 (source words, columns of kernels.lexicon.counted)
    targets: np.ndarray  # float32 (target words, columns)


@kernel
def gather(order, row_piece, pieces, known, words, letters, n_codes, prior, work):
    """work.forward[cell] = t(f | e), work.reverse[cell] = t(e | f) for the cells of the rows in `order`, sorted by word.

    `letters` are the source's and the target's (`bitext.spelling.Letters`), numbered 0..n_codes - 1; `prior` is the count of
    each bin of likeness.
    """
    lines, source_ids, target_ids = pieces
    forward, reverse = work.forward, work.reverse
    n_words = len(words.target_number)
    met = np.full(n_words, -1, np.int32)  # the last source word that each target word met
    partners = np.empty(n_words + 1, np.int32)
    scores = np.empty((n_words, 2), np.float32)
    found = np.zeros(known.n_targets + 1, np.float32)  # the last one for words that the lexicon does not have
    found_stems = np.zeros(known.n_target_stems, np.float32)
    counts = np.empty(n_words, np.float32)
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
        count_spellings(e, partners[:n], letters, places, prior, scores)
        add_counts(e, partners[:n], known, words, found, scores)
        for level in range(len(words.source_stems)):
            add_stems(e, partners[:n], level, known, words, found_stems, counts, scores)
        scale = words.sources[e, SCALE]
        for f in partners[:n]:
            scores[f, 0] *= scale
            scores[f, 1] *= words.targets[f, SCALE]
        for row in range(k, end):
            cell, token = cells[row], tokens[row]
            for j in range(widths[row]):
                f = target_ids[token + j]
                forward[cell + j] = scores[f, 0]
                reverse[cell + j] = scores[f, 1]
        k = end


@leaf
def count_spellings(e, partners, letters, places, prior, scores):
    """Begin with the prior counts of the words' spellings."""
    source, target = letters
    first, last = source.offsets[e], source.offsets[e + 1]
    mark_places(source.codes, first, last, places)
    for f in partners:
        scores[f, 0] = prior[spelling_bin(source, e, target, f, places)]
    unmark_places(source.codes, first, last, places)


@leaf
def add_counts(e, partners, known, words, found, scores):
    """Add what the words count, and begin the other direction.  A row that is too long to be spread out is searched."""
    number = words.source_number[e]
    first, last = (known.starts[number], known.starts[number + 1]) if number >= 0 else (0, 0)
    if last - first > SPREAD * len(partners):
        for f in partners:
            place = place_of(words.target_number[f], known.targets, first, last)
            value = np.float32(known.counts[place]) if place >= 0 else np.float32(0.0)
            scores[f, 0] = scores[f, 1] = value + scores[f, 0]
        return
    for place in range(first, last):
        found[known.targets[place]] = known.counts[place]
    for f in partners:
        number = words.target_number[f]
        scores[f, 0] = scores[f, 1] = found[number if number >= 0 else known.n_targets] + scores[f, 0]
    for place in range(first, last):
        found[known.targets[place]] = np.float32(0.0)


@leaf
def add_stems(e, partners, level, known, words, found, counts, scores):
    """Add what the stems of one level count; that is nothing for most."""
    at = FIRST_LEVEL + WIDTH * level
    backoff, share = words.sources[e, at + BACKOFF], words.sources[e, at + SHARE]
    stem, stems = words.source_stems[level, e], words.target_stems[level]
    first, last = known.stem_starts[stem], known.stem_starts[stem + 1]
    if last - first <= SPREAD * len(partners):
        for place in range(first, last):
            found[known.stem_targets[place]] = known.stem_counts[place]
        for k in range(len(partners)):
            counts[k] = found[stems[partners[k]]]
        for place in range(first, last):
            found[known.stem_targets[place]] = np.float32(0.0)
    else:
        for k in range(len(partners)):
            place = place_of(stems[partners[k]], known.stem_targets, first, last)
            counts[k] = np.float32(known.stem_counts[place]) if place >= 0 else np.float32(0.0)
    for k in range(len(partners)):
        if counts[k] > np.float32(0.0):
            f = partners[k]
            scores[f, 0] += backoff * counts[k] * words.targets[f, at + SHARE]
            scores[f, 1] += words.targets[f, at + BACKOFF] * counts[k] * share
