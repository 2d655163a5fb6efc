"""What the flagship's E-step counts: links, exactly, and jumps and fertilities of words, block after block."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from dovetail.bitext.sharding import StoredShards
from dovetail.bitext.shards import Block
from dovetail.kernels.records import TARGET_SIDE, Side
from dovetail.models.jumps.word import BINS, POSITIONS
from dovetail.models.lexicon.counted import LinkCounts, LinksApart


@dataclass
class WordSums:
    """Jumps (words, 2, bins) and fertilities (words, K + 1) of source and of target words, ends of sentences.

    Of a block, these are the words that `words` names, by source and by target; of a text, all.
    """

    jumps: tuple[np.ndarray, np.ndarray]
    ends: np.ndarray  # float64 (directions, start and end, counts and exposure, positions)
    fertility: tuple[np.ndarray, np.ndarray]
    log_likelihood: np.ndarray
    words: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def zeros(cls, sizes: tuple[int, int], fertilities: int) -> WordSums:
        jumps = np.zeros((sizes[0], 2, BINS)), np.zeros((sizes[1], 2, BINS))
        fertility = np.zeros((sizes[0], fertilities)), np.zeros((sizes[1], fertilities))
        return cls(jumps, np.zeros((2, 2, 2, POSITIONS)), fertility, np.zeros(2))

    def add(self, block: WordSums) -> None:
        """Add a block's sums to these of a text."""
        self.ends += block.ends
        self.log_likelihood += block.log_likelihood
        for side, words in enumerate(block.words or ()):
            self.jumps[side][words] += block.jumps[side]
            self.fertility[side][words] += block.fertility[side]


@dataclass
class JointStatistics:
    """Links, whose sums are exact, and sums over words, to which blocks are added in the order of the text.

    So they are the same however blocks are shared out among shards.  Of one of many shards, `blocks` wait for that.
    """

    lexicon: LinkCounts | LinksApart
    blocks: list[WordSums] = field(default_factory=list)
    sums: WordSums | None = None  # of the blocks before those

    def __add__(self, other: JointStatistics) -> JointStatistics:
        both = self.lexicon + other.lexicon  # type: ignore[operator]
        return JointStatistics(both, other.blocks, self.added())

    def added(self) -> WordSums:
        """All blocks, added up."""
        if self.sums is None:
            links, fertilities = self.lexicon, max((block.fertility[0].shape[1] for block in self.blocks), default=1)
            self.sums = WordSums.zeros((len(links.null_reverse), len(links.null_forward)), fertilities)
        while self.blocks:
            self.sums.add(self.blocks.pop(0))
        return self.sums

    @property
    def log_likelihood(self) -> np.ndarray:
        return self.added().log_likelihood

    def apart(self, corpus: StoredShards, number: int) -> JointStatistics:
        """Those of one of many shards, with its links put aside."""
        return replace(self, lexicon=self.lexicon.apart(corpus, number))  # type: ignore[union-attr]


class OwnWords(NamedTuple):
    """Words of one side of a block, and its tokens by their numbers among these."""

    words: np.ndarray  # int64: ascending
    lines: np.ndarray  # the block's, for these ids
    ids: np.ndarray  # int32 (tokens,)


def own_words(block: Block, side: Side) -> OwnWords:
    """Number the words of a block's tokens."""
    lines, ids = block.lines.copy(), (block.pieces.source_ids, block.pieces.target_ids)[side is TARGET_SIDE]
    first = lines[:, side.start].min(initial=len(ids))
    last = (lines[:, side.start] + lines[:, side.length]).max(initial=first)
    lines[:, side.start] -= first
    tokens = ids[first:last]
    number = np.zeros(tokens.max(initial=-1) + 1, np.int32)
    number[tokens] = 1
    words = np.flatnonzero(number)
    number[words] = np.arange(len(words))
    return OwnWords(words, lines, number[tokens])
