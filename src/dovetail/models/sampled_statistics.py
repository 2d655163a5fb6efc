"""What the sampled E-step of a fertility model leaves for its M-step, and what its shards remember."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from dovetail.bitext.sharding import StoredShards
from dovetail.bitext.shards import Slots
from dovetail.models import tree
from dovetail.models.fertility.factor import FertilityCounts
from dovetail.models.ibm1 import BlockSums
from dovetail.models.jumps.distance import JumpCounts
from dovetail.models.lexicon.table import CountsApart, LexiconCounts, link_totals
from dovetail.models.model import Alignments
from dovetail.pool import Pool


@dataclass
class ShardAlignments:
    """What a shard remembers of samplers: the alignments of its blocks, where chains begin in every iteration, or are."""

    blocks: list[Alignments]

    def arrays(self) -> dict[str, np.ndarray]:
        """For the store of a shard."""
        return tree.kept(self, {})

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> ShardAlignments:
        return tree.taken(arrays, {})


@dataclass
class SampledStatistics:
    """Links, tokens of words and how many had 0, 1 ... links (words, MOST + 1; no columns unless wanted); sums of blocks.

    Scores of blocks leave out `zero`, log p(0 | word) of every token.
    """

    lexicon: LexiconCounts | CountsApart
    tokens: tuple[np.ndarray, np.ndarray]
    histograms: tuple[np.ndarray, np.ndarray]
    zero: tuple[np.ndarray, np.ndarray]
    blocks: list[BlockSums]

    @property
    def log_likelihood(self) -> np.ndarray:
        unlinked = [tokens @ zero for tokens, zero in zip(self.tokens, self.zero, strict=True)]
        return np.array(unlinked) + reduce(add, self.blocks).log_likelihood

    @property
    def jumps(self) -> tuple[JumpCounts, ...]:
        return reduce(add, self.blocks).jumps

    def fertility(self, slots: Slots) -> tuple[FertilityCounts, FertilityCounts]:
        """What both directions' distributions learn from; links must be whole."""
        counts = self.lexicon
        assert isinstance(counts, LexiconCounts)
        forward, reverse = (
            FertilityCounts(tokens, links, histogram, float(nulls.sum()), float(tokens.sum()))
            for tokens, links, histogram, nulls in zip(
                self.tokens,
                link_totals(counts.slots, slots),
                self.histograms,
                (counts.null_forward, counts.null_reverse),
                strict=True,
            )
        )
        return forward, reverse

    def __add__(self, other: SampledStatistics) -> SampledStatistics:
        return SampledStatistics(
            self.lexicon + other.lexicon,  # type: ignore[operator]
            (self.tokens[0] + other.tokens[0], self.tokens[1] + other.tokens[1]),
            (self.histograms[0] + other.histograms[0], self.histograms[1] + other.histograms[1]),
            self.zero,
            [reduce(add, self.blocks + other.blocks)],
        )

    def apart(self, corpus: StoredShards, number: int, pool: Pool) -> SampledStatistics:
        """Those of one of many shards, with its links put aside."""
        return replace(self, lexicon=self.lexicon.apart(corpus, number, pool))  # type: ignore[union-attr]

    def whole(self, slots: Slots, pool: Pool) -> SampledStatistics:
        """With the links of all shards, which were put aside, added up."""
        return replace(self, lexicon=self.lexicon.whole(slots, pool))


def add_moves(total: tuple[JumpCounts, ...], moves: np.ndarray, firsts: np.ndarray) -> None:
    """Add a task's jumps; exposure comes as differences: every distance in reach of a word is exposed to it."""
    for own, of_moves, of_firsts in zip(total, moves, firsts, strict=True):
        own.jump[0] += of_moves[0, :-1]
        own.jump[1] += np.cumsum(of_moves[1])[:-1]
        own.start[0] += of_firsts[0, :-1]
        own.start[1] += np.cumsum(of_firsts[1])[:-1]
