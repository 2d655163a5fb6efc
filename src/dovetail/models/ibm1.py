"""IBM Model 1 (Brown et al. 1993): a lexicon and NULL, nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.kernels.hmm import agreement as agreement_kernels
from dovetail.kernels.hmm import ibm1 as kernels
from dovetail.kernels.hmm import viterbi as viterbi_kernels
from dovetail.kernels.records import Workspace
from dovetail.models.lexicon.table import LexiconCounts, Smoothing, TableLexicon
from dovetail.models.model import Memory, Model, Worked
from dovetail.options import Options, option
from dovetail.pool import Pool


@dataclass(frozen=True)
class IBM1Stage(Options):
    """IBM Model 1, which every training begins with."""

    ibm1_iterations: int = option(5, at_least=0, help="EM iterations of IBM Model 1")


@dataclass
class IBM1Statistics:
    """Links of word types."""

    lexicon: LexiconCounts
    log_likelihood: np.ndarray

    def __add__(self, other: IBM1Statistics) -> IBM1Statistics:
        return IBM1Statistics(self.lexicon + other.lexicon, self.log_likelihood + other.log_likelihood)


@dataclass
class IBM1(Model):
    """p(f, a | e) = product over j of t(f_j | e_a_j) / (I + 1), in both directions.

    With `agreement` both directions learn from the product of their posteriors.
    """

    lexicon: TableLexicon
    agreement: bool = False

    name = "ibm1"
    lexicon_type = TableLexicon
    options = (IBM1Stage, Smoothing)

    def expect(self, shard: Shard, memory: Memory, pool: Pool, worked: Worked) -> tuple[IBM1Statistics, Memory]:
        statistics = IBM1Statistics(LexiconCounts.zeros(shard.slots), np.zeros(2))
        work = shard.workspace()
        for block in shard:
            view = block.view(work)
            self.lexicon.gather(block, view, pool)
            statistics.log_likelihood += self.posteriors(block, view, pool).sum(axis=0)
            if self.agreement:
                agree(block, view, pool)
            statistics.lexicon.add(block, view, pool)
            worked(block.last - block.first)
        return statistics, memory

    def reestimate(self, statistics: IBM1Statistics, pool: Pool) -> IBM1:
        return replace(self, lexicon=self.lexicon.reestimate(statistics.lexicon, pool))

    def posteriors(self, block: Block, work: Workspace, pool: Pool) -> np.ndarray:
        scores = np.empty((len(block.lines), 2))
        pool.map(
            lambda first, last: kernels.expect(first, last, block.pieces, self.lexicon.nulls, work, scores), block.tasks
        )
        return scores

    def mark_best_paths(self, block: Block, work: Workspace, marks: np.ndarray, pool: Pool) -> None:
        pool.map(
            lambda first, last: viterbi_kernels.mark_ibm1(first, last, block.pieces, self.lexicon.nulls, work, marks),
            block.tasks,
        )

    def with_lexicon(self, lexicon: TableLexicon) -> IBM1:
        return replace(self, lexicon=lexicon)

    def arrays(self) -> dict[str, np.ndarray]:
        return {}

    @classmethod
    def from_arrays(cls, lexicon: TableLexicon, arrays: dict[str, np.ndarray]) -> IBM1:
        return cls(lexicon)


def agree(block: Block, work: Workspace, pool: Pool, power: float = 1.0) -> None:
    """The count of a cell becomes (forward posterior times reverse posterior) ** power, in both directions.

    The product alone (Liang, Taskar and Klein 2006, section 3) punishes one-to-many links; a power below 1 is milder.
    """
    pool.map(lambda first, last: agreement_kernels.agree(first, last, block.lines, power, work), block.tasks)
