"""IBM Model 1 (Brown et al. 1993): a lexicon and NULL, nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.engines import Threads
from dovetail.kernels.hmm import ibm1 as kernels
from dovetail.kernels.records import Workspace
from dovetail.models.lexicon.table import Lexicon, LexiconCounts


@dataclass
class IBM1Counts:
    """What an E-step leaves for the M-step; `log_likelihood` holds the two directions' totals."""

    lexicon: LexiconCounts
    log_likelihood: np.ndarray

    def add_shard(self, part: None) -> None:
        """Nothing but the lexicon is counted."""


@dataclass
class IBM1:
    """p(f, a | e) = product over j of t(f_j | e_a_j) / (I + 1), in both directions."""

    lexicon: Lexicon

    name = "ibm1"
    path = "ibm1"
    lexicon_type = Lexicon

    def zero_counts(self, shard: Shard) -> IBM1Counts:
        return IBM1Counts(LexiconCounts.zeros(shard.slots), np.zeros(2))

    def posteriors(
        self, shard: Shard, block: Block, work: Workspace, engine: Threads, counting: bool = False
    ) -> tuple[np.ndarray, list[None]]:
        """Turn the workspace's probabilities into posteriors; returns log-likelihoods (pieces, 2) and no shard counts."""
        scores = np.empty((len(block.lines), 2))

        def task(first: int, last: int) -> None:
            kernels.expect(
                first,
                last,
                block.lines,
                shard.source_ids,
                shard.target_ids,
                self.lexicon.null_forward,
                self.lexicon.null_reverse,
                work.forward,
                work.reverse,
                work.null_forward,
                work.null_reverse,
                scores,
            )

        return scores, engine.map(task, block.tasks)

    def with_lexicon(self, lexicon: Lexicon) -> IBM1:
        return replace(self, lexicon=lexicon)

    def reestimate(self, counts: IBM1Counts, engine: Threads) -> IBM1:
        return IBM1(self.lexicon.reestimate(counts.lexicon, engine))

    def arrays(self) -> dict[str, np.ndarray]:
        """Parameters besides the lexicon, by name, for saving."""
        return {}

    @classmethod
    def from_arrays(cls, lexicon: Lexicon, arrays: dict[str, np.ndarray]) -> IBM1:
        return cls(lexicon)
