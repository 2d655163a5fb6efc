"""Which word types ever stand in the same sentence pair: one slot for each such pair of types, without sorting cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.lexicon.slots import RANK_LIMIT


@kernel
def sort_by_word(words, n_words):
    """Counting sort: positions of `words` in order of word, first come first within a word; and where each word starts."""
    starts = np.zeros(n_words + 1, np.int64)
    for k in range(len(words)):
        starts[words[k] + 1] += 1
    for word in range(n_words):
        starts[word + 1] += starts[word]
    order = np.empty(len(words), np.int32)
    filled = starts[:-1].copy()
    for k in range(len(words)):
        word = words[k]
        order[filled[word]] = k
        filled[word] += 1
    return order, starts


class Tokens(NamedTuple):
    """Rows of a text by source word, and where each row's cells and target words are."""

    order: np.ndarray  # int32 (rows,): rows by source word
    word_starts: np.ndarray  # int64 (source words + 1,)
    row_piece: np.ndarray  # int32 (rows,)
    piece_row: np.ndarray  # int64 (pieces + 1,)
    piece_cell: np.ndarray  # int64 (pieces + 1,)
    target_start: np.ndarray  # int64 (pieces,)
    target_length: np.ndarray  # int32 (pieces,)
    target_ids: np.ndarray  # int32 (tokens,)


@kernel
def rank_cells(first_word, last_word, tokens, n_targets, bound, rank):
    """Ranks of the cells of source words first_word..last_word - 1 among their word's partners.

    A row is one source token of one piece; its J cells are consecutive.  Walks each word's rows in corpus order and
    numbers its target words as they first appear, so frequent partners get low ranks and lie close together.  Writes
    `rank` for each cell, returns the partners of all the words (at most `bound`), concatenated, and how many each word has.
    A word with more than RANK_LIMIT partners gets a dense row instead: one slot for every target word, found by its id.
    """
    order, word_starts, row_piece, piece_row, piece_cell, target_start, target_length, target_ids = tokens
    seen = np.full(n_targets, -1, np.int32)  # base + rank of each target word; older bases mean "not seen by this word"
    partners = np.empty(bound, np.int32)
    lengths = np.empty(last_word - first_word, np.int64)
    used = 0
    base = 0
    for word in range(first_word, last_word):
        first = used
        for k in range(word_starts[word], word_starts[word + 1]):
            row = order[k]
            piece = row_piece[row]
            J = target_length[piece]
            start = target_start[piece]
            cell = piece_cell[piece] + (row - piece_row[piece]) * J
            for j in range(J):
                f = target_ids[start + j]
                if seen[f] < base:
                    seen[f] = base + used - first
                    partners[used] = f
                    used += 1
                rank[cell + j] = seen[f] - base
        if used - first > RANK_LIMIT:
            for f in range(n_targets):
                partners[first + f] = f
            used = first + n_targets
        lengths[word - first_word] = used - first
        base += used - first
    return partners[:used].copy(), lengths


@kernel
def unite(starts, targets, n_targets, ranks):
    """Rows of several shards become one row each: a word's partners, numbered as they first appear from shard to shard.

    `starts` (shards, words + 1) says where in `targets`, the rows of all shards, each shard has its row of each word.
    Writes to `ranks` where every entry is found in its united row; returns the united rows, concatenated, and their lengths.
    """
    shards, words = starts.shape[0], starts.shape[1] - 1
    seen = np.full(n_targets, -1, np.int64)  # base + rank, as in `rank_cells`
    partners = np.empty(len(targets), np.int32)
    lengths = np.empty(words, np.int64)
    used = 0
    for word in range(words):
        first = used
        for shard in range(shards):
            for k in range(starts[shard, word], starts[shard, word + 1]):
                f = targets[k]
                if seen[f] < first:
                    seen[f] = used
                    partners[used] = f
                    used += 1
                ranks[k] = seen[f] - first
        lengths[word] = used - first
    return partners[:used].copy(), lengths
