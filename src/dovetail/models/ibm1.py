"""IBM Model 1 (Brown et al. 1993): a lexicon and NULL, nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, ClassVar, cast

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.sharding import ManyShards, StoredShards
from dovetail.bitext.shards import Block, Shard
from dovetail.kernels.gibbs import alignments as alignment_kernels
from dovetail.kernels.hmm import agreement as agreement_kernels
from dovetail.kernels.hmm import ibm1 as kernels
from dovetail.kernels.hmm.dense import jump_weights
from dovetail.kernels.projection.records import PlainModel
from dovetail.kernels.records import JumpSums, Workspace
from dovetail.models.jumps.distance import JumpCounts
from dovetail.models.lexicon.lexicon import PriorOptions
from dovetail.models.lexicon.table import CountsApart, LexiconCounts, Smoothing, TableLexicon
from dovetail.models.model import Memory, Model, Worked
from dovetail.options import Options, option
from dovetail.pool import Pool


@dataclass(frozen=True)
class IBM1Stage(Options):
    """IBM Model 1, which every training begins with."""

    ibm1_iterations: int = option(5, at_least=0, help="EM iterations of IBM Model 1")


@dataclass
class BlockSums:
    """Of one block: the log-likelihood, and for models that jump, jumps of both directions."""

    log_likelihood: np.ndarray
    jumps: tuple[JumpCounts, ...] = ()

    def __add__(self, other: BlockSums) -> BlockSums:
        jumps = tuple(one + more for one, more in zip(self.jumps, other.jumps, strict=True))
        return BlockSums(self.log_likelihood + other.log_likelihood, jumps)


@dataclass
class DenseStatistics:
    """Links of word types, and what depends on the order of addition: sums of blocks, which are added in their order.

    So the sums are the same however blocks are shared out among shards.
    """

    lexicon: LexiconCounts | CountsApart
    blocks: list[BlockSums]

    def add_jumps(self, sums: JumpSums) -> None:
        """Jumps of the last block."""
        for total, jump, start in zip(self.blocks[-1].jumps, sums.jump, sums.start, strict=True):
            total.jump[:] += jump
            total.start[:] += start

    def __add__(self, other: DenseStatistics) -> DenseStatistics:
        return DenseStatistics(self.lexicon + other.lexicon, [reduce(add, self.blocks + other.blocks)])  # type: ignore[operator]

    @property
    def sums(self) -> BlockSums:
        """Of all blocks."""
        return reduce(add, self.blocks)

    @property
    def log_likelihood(self) -> np.ndarray:
        return self.sums.log_likelihood

    @property
    def jumps(self) -> tuple[JumpCounts, ...]:
        return self.sums.jumps

    def apart(self, corpus: StoredShards, number: int, pool: Pool) -> DenseStatistics:
        """Those of one of many shards, with its links put aside."""
        return replace(self, lexicon=self.lexicon.apart(corpus, number, pool))  # type: ignore[union-attr]


@dataclass
class IBM1(Model):
    """p(f, a | e) = product over j of t(f_j | e_a_j) / (I + 1), in both directions.

    With `agreement` both directions learn from the product of their posteriors.
    """

    lexicon: TableLexicon
    agreement: bool = field(default=False, kw_only=True)

    name = "ibm1"
    lexicon_type = TableLexicon
    options: ClassVar[tuple[type[Options], ...]] = (IBM1Stage, Smoothing, PriorOptions)

    def zeros(self, shard: Shard) -> DenseStatistics:
        """Nothing counted yet; room for the sums of one block."""
        return DenseStatistics(LexiconCounts.zeros(shard.slots), [self.no_sums(shard.longest)])

    def no_sums(self, longest: int) -> BlockSums:
        """Before a block is counted; pieces have up to `longest` tokens on a side."""
        return BlockSums(np.zeros(2))

    def sent(self) -> IBM1:
        return replace(self, lexicon=replace(self.lexicon, slots=self.lexicon.slots.none(), pseudo_counts=None))

    def on(self, shard: Shard, pool: Pool) -> IBM1:
        return replace(self, lexicon=self.lexicon.on(shard, pool))

    def expect(self, shard: Shard, memory: Memory, pool: Pool, worked: Worked) -> tuple[DenseStatistics, Memory]:
        statistics = self.zeros(shard)
        work = shard.workspace()
        for number, block in enumerate(shard):
            if number > 0:
                statistics.blocks.append(self.no_sums(shard.longest))
            view = block.view(work)
            self.lexicon.gather(block, view, pool)
            scores = self.infer(block, view, pool, statistics, memory)
            statistics.blocks[-1].log_likelihood += scores.sum(axis=0)
            if self.agreement:
                agree(block, view, pool)
            cast(LexiconCounts, statistics.lexicon).add(block, view, pool)
            worked(block.last - block.first)
        return statistics, memory

    def reestimate(self, statistics: DenseStatistics, pool: Pool) -> IBM1:
        return replace(self, lexicon=self.lexicon.reestimate(statistics.lexicon, pool))

    def posteriors(self, block: Block, work: Workspace, pool: Pool) -> np.ndarray:
        return self.infer(block, work, pool)

    def infer(
        self,
        block: Block,
        work: Workspace,
        pool: Pool,
        statistics: DenseStatistics | None = None,
        memory: Memory = None,
    ) -> np.ndarray:
        """As `posteriors`; what an E-step counts besides links is added to `statistics`, if there are any."""
        scores, nulls = np.empty((len(block.lines), 2)), self.lexicon.nulls
        pool.map(kernels.expect, block.tasks, block.pieces, nulls, work, scores)
        return scores

    def ready_for(self, bitext: Bitext, shard: Shard) -> IBM1:
        """As it is trained on this text."""
        return self

    def ready_for_all(self, bitext: Bitext, shards: ManyShards) -> IBM1:
        """The same for a text in many shards."""
        return self

    def mark_best_paths(self, block: Block, work: Workspace, marks: np.ndarray, pool: Pool) -> None:
        found = np.empty(block.columns, np.int16), np.empty(block.rows, np.int16)
        pool.map(alignment_kernels.best_words, block.tasks, block.pieces, self.lexicon.nulls, work, *found)
        pool.map(alignment_kernels.mark, block.tasks, block.lines, *found, marks)

    def plain(self, longest: int) -> PlainModel:
        """What a projection needs to know."""
        none = jump_weights(np.ones(1, np.float32), np.ones(1, np.float32))
        return PlainModel(False, self.lexicon.nulls, 0.5, (none, none), True)

    def with_lexicon(self, lexicon: TableLexicon) -> IBM1:
        return replace(self, lexicon=lexicon)

    def arrays(self) -> dict[str, np.ndarray]:
        return {}

    @classmethod
    def from_arrays(cls, lexicon: TableLexicon, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> IBM1:
        return cls(lexicon)


def agree(block: Block, work: Workspace, pool: Pool, power: float = 1.0) -> None:
    """The count of a cell becomes (forward posterior times reverse posterior) ** power, in both directions.

    The product alone (Liang, Taskar and Klein 2006, section 3) punishes one-to-many links; a power below 1 is milder.
    """
    pool.map(agreement_kernels.agree, block.tasks, block.lines, power, work)
