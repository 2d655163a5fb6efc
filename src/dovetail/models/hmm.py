"""The alignment HMM (Vogel et al. 1996): lexicon, jumps and NULL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.kernels.hmm import dense as kernels
from dovetail.kernels.hmm import viterbi as viterbi_kernels
from dovetail.kernels.records import JumpSums, Workspace
from dovetail.models.ibm1 import IBM1Stage, agree
from dovetail.models.jumps.distance import JumpCounts, JumpFactor, JumpOptions, WindowJumps, saved_jumps
from dovetail.models.lexicon.table import LexiconCounts, Smoothing, TableLexicon
from dovetail.models.model import Memory, Model, Moves, Worked
from dovetail.options import Options, option
from dovetail.pool import Pool


@dataclass(frozen=True)
class HMMStage(Options):
    """The HMM, which begins with IBM Model 1's lexicon."""

    hmm_iterations: int = option(5, at_least=0, help="EM iterations of the HMM, those on the whole text included")


@dataclass(frozen=True)
class HMMOptions(Options):
    """NULL."""

    null: float = option(0.2, above=0.0, below=1.0, help="p0, the probability that a word is NULL's")


@dataclass
class HMMStatistics:
    """Links of word types, and jumps of both directions."""

    lexicon: LexiconCounts
    jumps: tuple[JumpCounts, JumpCounts]
    log_likelihood: np.ndarray

    @classmethod
    def zeros(cls, shard: Shard) -> HMMStatistics:
        jumps = JumpCounts.zeros(shard.longest), JumpCounts.zeros(shard.longest)
        return cls(LexiconCounts.zeros(shard.slots), jumps, np.zeros(2))

    def add_jumps(self, sums: JumpSums) -> None:
        for total, jump, start in zip(self.jumps, sums.jump, sums.start, strict=True):
            total.jump[:] += jump
            total.start[:] += start

    def __add__(self, other: HMMStatistics) -> HMMStatistics:
        jumps = self.jumps[0] + other.jumps[0], self.jumps[1] + other.jumps[1]
        return HMMStatistics(self.lexicon + other.lexicon, jumps, self.log_likelihood + other.log_likelihood)


@dataclass
class HMM(Model):
    """p(f, a | e) = product over j of p(a_j | a_(j-1)) t(f_j | e_a_j), in both directions; NULLs keep the position.

    With `agreement` both directions learn from the product of their posteriors.
    """

    lexicon: TableLexicon
    jumps: tuple[JumpFactor, JumpFactor] = field(default_factory=lambda: (WindowJumps.uniform(), WindowJumps.uniform()))
    null: float = 0.2  # p0, the probability that a word is NULL's
    agreement: bool = False

    name = "hmm"
    lexicon_type = TableLexicon
    options = (IBM1Stage, HMMStage, Smoothing, JumpOptions, HMMOptions)

    def expect(self, shard: Shard, memory: Memory, pool: Pool, worked: Worked) -> tuple[HMMStatistics, Memory]:
        statistics = HMMStatistics.zeros(shard)
        work = shard.workspace()
        for block in shard:
            view = block.view(work)
            self.lexicon.gather(block, view, pool)
            statistics.log_likelihood += self.posteriors(block, view, pool, statistics).sum(axis=0)
            if self.agreement:
                agree(block, view, pool)
            statistics.lexicon.add(block, view, pool)
            worked(block.last - block.first)
        return statistics, memory

    def reestimate(self, statistics: HMMStatistics, pool: Pool) -> HMM:
        forward, reverse = self.jumps
        jumps = forward.reestimate(statistics.jumps[0]), reverse.reestimate(statistics.jumps[1])
        return replace(self, lexicon=self.lexicon.reestimate(statistics.lexicon, pool), jumps=jumps)

    def posteriors(
        self, block: Block, work: Workspace, pool: Pool, statistics: HMMStatistics | None = None
    ) -> np.ndarray:
        """As every model's; jumps are added to `statistics`, task after task."""
        scores = np.empty((len(block.lines), 2))
        weights = self.weights(block.longest)
        longest = 0 if statistics is None else block.longest

        def task(first: int, last: int) -> JumpSums:
            sums = JumpSums(np.zeros((2, 2, 2 * longest + 1 if longest else 0)), np.zeros((2, 2, longest)))
            kernels.expect(first, last, block.pieces, self.lexicon.nulls, work, scores, self.null, weights, sums)
            return sums

        for sums in pool.map(task, block.tasks):
            if statistics is not None:
                statistics.add_jumps(sums)
        return scores

    def weights(self, longest: int) -> tuple[kernels.JumpWeights, kernels.JumpWeights]:
        """Of both directions, for sentences up to some length."""
        forward, reverse = (kernels.JumpWeights(*jumps.expand(longest)) for jumps in self.jumps)
        return forward, reverse

    def mark_best_paths(self, block: Block, work: Workspace, marks: np.ndarray, pool: Pool) -> None:
        weights = self.weights(block.longest)
        pool.map(
            lambda first, last: viterbi_kernels.mark_hmm(
                first, last, block.pieces, self.lexicon.nulls, work, self.null, weights, marks
            ),
            block.tasks,
        )

    def moves(self, longest: int) -> Callable[[int, np.ndarray], Moves]:
        tables = [
            (own.jump, own.jump[::-1].copy(), kernels.running_sums(own.jump), own.start)
            for own in self.weights(longest)
        ]

        def of(direction: int, words: np.ndarray) -> Moves:
            width = len(words)
            table, first = np.empty((width, width), np.float32), np.empty(width, np.float32)
            exits = np.empty(width + 1, np.float32)
            kernels.transitions(width, *tables[direction], table, np.empty_like(table), first, exits)
            return Moves(table, first, np.ones(width, np.float32))

        return of

    @property
    def jumps_to_start(self) -> tuple[JumpFactor, JumpFactor]:
        return self.jumps

    def with_lexicon(self, lexicon: TableLexicon) -> HMM:
        return replace(self, lexicon=lexicon)

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {"null": np.array([self.null])}
        for name, jumps in zip(("forward", "reverse"), self.jumps, strict=True):
            arrays |= {f"jumps.{name}{part}": values for part, values in jumps.arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, lexicon: TableLexicon, arrays: dict[str, np.ndarray]) -> HMM:
        jumps = saved_jumps(arrays, "forward"), saved_jumps(arrays, "reverse")
        return cls(lexicon, jumps, float(arrays["null"][0]))
