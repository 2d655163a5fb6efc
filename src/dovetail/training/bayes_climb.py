"""Climbing to likelier alignments between sweeps: block moves of all chains (see `kernels.bayes.climb`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.bitext.shards import token_places
from dovetail.kernels.bayes import climb as kernels
from dovetail.kernels.bayes.records import Occurrences, direction_of
from dovetail.kernels.records import CELL, COLUMN, ROW, Pieces, Ranks
from dovetail.kernels.text.cooccurrence import sort_by_word
from dovetail.pool import Pool
from dovetail.training.bayes_chains import Chain, Strands

MOST_TOKENS = 100  # of a word whose links are moved; links of more frequent words find each other by themselves


def climb(chains: Sequence[Chain], pool: Pool) -> None:
    """Block moves of every generated word in every chain, word by word, as long as they make its alignment likelier."""
    if not chains or not chains[0].text.shard.blocks:
        return
    whole = _whole(chains[0].text)
    pool.map(_climb, [(chain,) for chain in chains], *whole)


def _whole(text: Strands) -> tuple[Pieces, Ranks]:
    """The pieces of all blocks as if they were one."""
    blocks = text.shard.blocks
    pieces, ranks = blocks[0].pieces, blocks[0].ranks
    if len(blocks) == 1:
        return pieces, ranks
    parts = []
    before = np.zeros(3, np.int64)
    for block in blocks:
        lines = block.lines.copy()
        lines[:, [ROW, COLUMN, CELL]] += before
        parts.append(lines)
        before += block.rows, block.columns, block.cells
    rank = np.concatenate([block.rank for block in blocks])
    return pieces._replace(lines=np.concatenate(parts)), ranks._replace(rank=rank)


def _climb(chain: Chain, whole: Pieces, ranks: Ranks) -> None:
    shard = chain.text.shard
    pieces = shard.pieces
    start, length, ids, size = (
        (pieces.target_start, pieces.target_length, shard.target_ids, shard.slots.n_targets),
        (pieces.source_start, pieces.source_length, shard.source_ids, shard.slots.n_sources),
    )[chain.direction]
    token_piece = np.repeat(np.arange(len(pieces), dtype=np.int32), length)
    order, starts = sort_by_word(ids[token_places(start, length)], size)
    alignment = np.concatenate(chain.alignments)
    occurrences, direction = Occurrences(order, starts, token_piece), direction_of(whole, ranks, chain.direction == 1)
    kernels.climb(occurrences, direction, chain.counts, chain.prior_record(), MOST_TOKENS, alignment)
    before = chain.alignments
    chain.alignments = np.split(alignment, np.cumsum([len(part) for part in before])[:-1])
    chain.count_again(before)
