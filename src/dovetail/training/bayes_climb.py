"""Climbing to likelier alignments between sweeps: block moves of all chains (see `kernels.bayes_climb`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.kernels.bayes import climb as kernels
from dovetail.kernels.records import CELL, COLUMN, ROW
from dovetail.kernels.text import cooccurrence
from dovetail.models.bayes import SIDES
from dovetail.pool import Pool
from dovetail.training.bayes_chains import Chain, Strands

MOST_TOKENS = 100  # of a word whose links are moved; links of more frequent words find each other by themselves


def climb(chains: Sequence[Chain], pool: Pool) -> None:
    """Block moves of every generated word in every chain, word by word, as long as they make its alignment likelier."""
    if not chains or not chains[0].text.shard.blocks:
        return
    lines, rank = _whole(chains[0].text)
    pool.map(lambda chain: _climb(chain, lines, rank), [(chain,) for chain in chains])


def _whole(text: Strands) -> tuple[np.ndarray, np.ndarray]:
    """Lines and ranks of all blocks as if they were one."""
    blocks = text.shard.blocks
    if len(blocks) == 1:
        return blocks[0].lines, blocks[0].rank
    parts = []
    before = np.zeros(3, np.int64)
    for block in blocks:
        lines = block.lines.copy()
        lines[:, [ROW, COLUMN, CELL]] += before
        parts.append(lines)
        before += block.rows, block.columns, block.cells
    return np.concatenate(parts), np.concatenate([block.rank for block in blocks])


def _climb(chain: Chain, lines: np.ndarray, rank: np.ndarray) -> None:
    shard, side, prior = chain.text.shard, SIDES[chain.direction], chain.prior
    pieces = shard.pieces
    start, length, ids, size = (
        (pieces.target_start, pieces.target_length, shard.target_ids, shard.slots.n_targets),
        (pieces.source_start, pieces.source_length, shard.source_ids, shard.slots.n_sources),
    )[chain.direction]
    places = np.concatenate([[0], np.cumsum(length, dtype=np.int64)])
    token_piece, words = np.empty(places[-1], np.int32), np.empty(places[-1], np.int32)
    cooccurrence.row_words(ids, start, length, places, token_piece, words)
    order, starts = cooccurrence.sort_by_word(words, size)
    alpha = np.array([prior.alpha, prior.null_alpha])
    alignment = np.concatenate(chain.alignments)
    kernels.climb(
        order,
        starts,
        token_piece,
        lines,
        side,
        chain.direction == 1,
        shard.source_ids,
        shard.target_ids,
        shard.slots.row_start,
        rank,
        chain.counts.links,
        chain.counts.totals,
        chain.counts.nulls,
        alpha,
        alpha * size,
        MOST_TOKENS,
        alignment,
    )
    before = chain.alignments
    chain.alignments = np.split(alignment, np.cumsum([len(part) for part in before])[:-1])
    chain.count_again(before)
