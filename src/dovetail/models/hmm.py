"""The alignment HMM (Vogel et al. 1996): lexicon, jumps and NULL."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.engines import Threads
from dovetail.kernels.hmm import dense as kernels
from dovetail.kernels.records import Workspace
from dovetail.models.jumps.distance import JumpCounts, Jumps
from dovetail.models.lexicon.table import Lexicon, LexiconCounts


@dataclass
class HMMCounts:
    """What an E-step leaves for the M-step; `jumps` of both directions."""

    lexicon: LexiconCounts
    jumps: tuple[JumpCounts, JumpCounts]
    log_likelihood: np.ndarray

    def add_shard(self, part: tuple[np.ndarray, np.ndarray]) -> None:
        for total, jump, start in zip(self.jumps, part[0], part[1], strict=True):
            total.jump[:] += jump
            total.start[:] += start


@dataclass
class HMM:
    """p(f, a | e) = product over j of p(a_j | a_(j-1)) t(f_j | e_a_j), in both directions; NULLs keep the position."""

    lexicon: Lexicon
    jumps: tuple[Jumps, Jumps] = field(default_factory=lambda: (Jumps.uniform(), Jumps.uniform()))
    null: float = 0.2  # p0, the probability that a word is NULL's

    name = "hmm"
    path = "hmm"
    lexicon_type = Lexicon

    def zero_counts(self, shard: Shard) -> HMMCounts:
        longest = shard.longest
        return HMMCounts(
            LexiconCounts.zeros(shard.slots),
            (JumpCounts.zeros(longest), JumpCounts.zeros(longest)),
            np.zeros(2),
        )

    def posteriors(
        self, shard: Shard, block: Block, work: Workspace, engine: Threads, counting: bool = False
    ) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
        """Turn the workspace's probabilities into posteriors.

        Returns log-likelihoods (pieces, 2) and, with `counting`, jump and start counts of each shard.
        """
        scores = np.empty((len(block.lines), 2))
        longest = shard.longest
        weights = [array for jumps in self.jumps for array in jumps.expand(longest)]

        def task(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
            jump = np.zeros((2, 2, 2 * longest + 1 if counting else 0))
            start = np.zeros((2, 2, longest if counting else 0))
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
                self.null,
                *weights,
                jump,
                start,
            )
            return jump, start

        return scores, engine.map(task, block.tasks)

    def with_lexicon(self, lexicon: Lexicon) -> HMM:
        return replace(self, lexicon=lexicon)

    def reestimate(self, counts: HMMCounts, engine: Threads) -> HMM:
        forward, reverse = self.jumps
        return HMM(
            self.lexicon.reestimate(counts.lexicon, engine),
            (forward.reestimate(counts.jumps[0]), reverse.reestimate(counts.jumps[1])),
            self.null,
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """Parameters besides the lexicon, by name, for saving."""
        forward, reverse = self.jumps
        return {
            "jumps.forward": forward.weights,
            "jumps.forward_start": forward.start,
            "jumps.reverse": reverse.weights,
            "jumps.reverse_start": reverse.start,
            "null": np.array([self.null]),
        }

    @classmethod
    def from_arrays(cls, lexicon: Lexicon, arrays: dict[str, np.ndarray]) -> HMM:
        jumps = (
            Jumps(arrays["jumps.forward"], arrays["jumps.forward_start"]),
            Jumps(arrays["jumps.reverse"], arrays["jumps.reverse_start"]),
        )
        return cls(lexicon, jumps, float(arrays["null"][0]))
