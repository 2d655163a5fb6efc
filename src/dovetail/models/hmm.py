"""The alignment HMM (Vogel et al. 1996): lexicon, jumps and NULL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dovetail.bitext.shards import Block
from dovetail.kernels.hmm import dense as kernels
from dovetail.kernels.hmm import viterbi as viterbi_kernels
from dovetail.kernels.projection.records import PlainModel
from dovetail.kernels.records import JumpSums, Workspace
from dovetail.models.ibm1 import IBM1, BlockSums, DenseStatistics
from dovetail.models.jumps.distance import JumpCounts, JumpFactor, JumpOptions, WindowJumps, saved_jumps
from dovetail.models.lexicon.table import TableLexicon
from dovetail.models.model import Memory, Moves
from dovetail.models.null import Null, saved_null
from dovetail.options import Options, option
from dovetail.pool import Pool

DIRECTIONS = ("forward", "reverse")


@dataclass(frozen=True)
class HMMStage(Options):
    """The HMM, which begins with IBM Model 1's lexicon."""

    hmm_iterations: int = option(5, at_least=0, help="EM iterations of the HMM, those on the whole text included")


@dataclass
class HMM(IBM1):
    """p(f, a | e) = product over j of p(a_j | a_(j-1)) t(f_j | e_a_j), in both directions; NULLs keep the position."""

    jumps: tuple[JumpFactor, JumpFactor] = field(default_factory=lambda: (WindowJumps.uniform(), WindowJumps.uniform()))
    null: float = 0.2  # p0, the probability that a word is NULL's

    name = "hmm"
    moving = True
    options = (*IBM1.options, HMMStage, JumpOptions, Null)

    def no_sums(self, longest: int) -> BlockSums:
        return BlockSums(np.zeros(2), (JumpCounts.zeros(longest), JumpCounts.zeros(longest)))

    def reestimate(self, statistics: DenseStatistics, pool: Pool) -> HMM:
        forward, reverse = (jumps.reestimate(seen) for jumps, seen in zip(self.jumps, statistics.jumps, strict=True))
        lexicon = self.lexicon.reestimate(statistics.lexicon, pool)
        return replace(self, lexicon=lexicon, jumps=(forward, reverse))

    def infer(
        self,
        block: Block,
        work: Workspace,
        pool: Pool,
        statistics: DenseStatistics | None = None,
        memory: Memory = None,
    ) -> np.ndarray:
        """As `posteriors`; jumps are added to `statistics`, task after task."""
        scores = np.empty((len(block.lines), 2))
        weights, nulls = self.weights(block.longest), self.lexicon.nulls

        def task(first: int, last: int) -> JumpSums:
            sums = JumpSums.zeros(block.longest, statistics is not None)
            kernels.expect(first, last, block.pieces, nulls, work, scores, self.null, weights, sums)
            return sums

        for sums in pool.map(task, block.tasks):
            if statistics is not None:
                statistics.add_jumps(sums)
        return scores

    def weights(self, longest: int) -> tuple[kernels.JumpWeights, kernels.JumpWeights]:
        """Of both directions, for sentences up to some length."""
        forward, reverse = (kernels.jump_weights(*jumps.expand(longest)) for jumps in self.jumps)
        return forward, reverse

    def mark_best_paths(self, block: Block, work: Workspace, marks: np.ndarray, pool: Pool) -> None:
        weights = self.weights(block.longest)
        given = block.pieces, self.lexicon.nulls, work, self.null, weights
        pool.map(viterbi_kernels.mark_hmm, block.tasks, *given, marks)

    def moves(self, longest: int) -> Callable[[int, np.ndarray], Moves]:
        weights = self.weights(longest)

        def of(direction: int, words: np.ndarray) -> Moves:
            width = len(words)
            table, first = np.empty((width, width), np.float32), np.empty(width, np.float32)
            exits = np.empty(width + 1, np.float32)
            kernels.transitions(width, weights[direction], table, np.empty_like(table), first, exits)
            return Moves(table, first, np.ones(width, np.float32))

        return of

    @property
    def jumps_to_start(self) -> tuple[JumpFactor, JumpFactor]:
        return self.jumps

    def plain(self, longest: int) -> PlainModel:
        weights = self.weights(longest)
        flat = not any(np.ptp(values) for own in weights for values in (own.jump, own.start))
        return PlainModel(True, self.lexicon.nulls, self.null, weights, flat)

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {"null": np.array([self.null])}
        for name, jumps in zip(DIRECTIONS, self.jumps, strict=True):
            arrays |= {f"jumps.{name}{part}": values for part, values in jumps.arrays().items()}
        return arrays

    def settings(self) -> dict[str, Any]:
        return {"jumps": self.jumps[0].kind}

    @classmethod
    def from_arrays(cls, lexicon: TableLexicon, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> HMM:
        forward, reverse = (saved_jumps(arrays, side, settings.get("jumps", "window")) for side in DIRECTIONS)
        return cls(lexicon, (forward, reverse), saved_null(arrays))
