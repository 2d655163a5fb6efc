"""Models whose parameters are integrated out: what is left of training are counts, averaged over samples and chains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import Block, Shard
from dovetail.kernels.bayes import frozen as kernels
from dovetail.kernels.bayes import records
from dovetail.kernels.gibbs.random import stream
from dovetail.kernels.hmm import viterbi as viterbi_kernels
from dovetail.kernels.hmm.dense import jump_weights
from dovetail.kernels.records import Workspace
from dovetail.models.fertility.entries import FertilityMeans
from dovetail.models.fertility.histogram import TAIL, FertilityHistogram
from dovetail.models.hmm import DIRECTIONS
from dovetail.models.ibm1 import IBM1, IBM1Stage
from dovetail.models.jumps.binned import BinnedJumps
from dovetail.models.lexicon.dirichlet import DirichletLexicon, DirichletOptions
from dovetail.models.lexicon.table import Smoothing
from dovetail.models.model import Memory, Model, Moves, Worked, refused
from dovetail.models.null import Null, saved_null
from dovetail.options import Options, Settings, option
from dovetail.pool import Pool

FEW = records.Chains(0, restarts=2, burn_in=2, samples=4)


@dataclass(frozen=True)
class Annealing(Options):
    """Whether IBM Model 1's chains are warm at first."""

    annealing: bool = option(
        True,
        help="whether burn-in begins warm, moves all links of a word at once where that is likelier, and ends cool",
    )


@dataclass(frozen=True)
class BayesHMMOptions(Options):
    """What comes before the sweeps with fertility, and fertility's prior."""

    ibm1_sweeps: int = option(5, at_least=0, help="sweeps of IBM Model 1, before those of the HMM")
    hmm_sweeps: int = option(10, at_least=0, help="sweeps of the HMM, before those with fertility")
    largest_fertility: int = option(5, at_least=1, at_most=20, help="numbers of links told apart")
    fertility_strength: float = option(
        2.0, at_least=1e-6, at_most=1e6, help="how many tokens of a word fertility's prior is worth"
    )


@dataclass(frozen=True)
class FrozenOptions(Options):
    """How text is sampled in aligning, while the counts stay as they are."""

    decoding_samples: int = option(
        5, at_least=1, at_most=10_000, help="sweeps whose draws count, per sentence and chain, in aligning"
    )
    decoding_restarts: int = option(2, at_least=1, at_most=1_000, help="chains per sentence in aligning")


@dataclass
class BayesIBM1(IBM1):
    """IBM Model 1 with the lexicon integrated out.  Given the counts, marginals have a closed form: IBM Model 1's."""

    lexicon: DirichletLexicon  # type: ignore[assignment]

    name = "ibm1-bayes"
    lexicon_type = DirichletLexicon  # type: ignore[assignment]
    options = (IBM1Stage, Smoothing, DirichletOptions, Annealing)

    @property
    def counts_to_start(self) -> SeenCounts:
        return SeenCounts(self.lexicon)


@dataclass(frozen=True)
class SeenCounts:
    """What a Bayesian model counted of other text: its links, and jumps and fertilities, where it has them."""

    lexicon: DirichletLexicon
    jumps: tuple[BinnedJumps, BinnedJumps] | None = None
    fertility: tuple[FertilityHistogram, FertilityHistogram] | None = None


@dataclass
class BayesHMM(Model):
    """The HMM with fertility, lexicon and fertilities integrated out.  `null` is p0."""

    lexicon: DirichletLexicon
    jumps: tuple[BinnedJumps, BinnedJumps]
    fertility: tuple[FertilityHistogram, FertilityHistogram]
    null: float = 0.2
    sampling: records.Chains = FEW  # how new text is sampled

    name = "hmm-bayes"
    moving = True
    lexicon_type = DirichletLexicon
    options = (IBM1Stage, Smoothing, DirichletOptions, Null, BayesHMMOptions)
    decoding_options = (FrozenOptions,)

    def expect(self, shard: Shard, memory: Memory, pool: Pool, worked: Worked) -> tuple[Any, Memory]:
        raise refused(self, "is not learned by EM", "Train it by collapsed Gibbs sampling.")

    def reestimate(self, statistics: Any, pool: Pool) -> BayesHMM:
        raise refused(self, "is not learned by EM", "Train it by collapsed Gibbs sampling.")

    def posteriors(self, block: Block, work: Workspace, pool: Pool) -> np.ndarray:
        """Marginals averaged over samples and chains, and the log-score of the best alignment seen (pieces, 2)."""
        scores = np.empty((2, len(block.lines)))
        buffers = (work.forward, work.null_forward), (work.reverse, work.null_reverse)
        models = [
            records.Frozen(
                self.null, records.MoveWeights(*jumps.weights(block.longest)), *fertility.ratios(), TAIL, nulls
            )
            for jumps, fertility, nulls in zip(self.jumps, self.fertility, self.lexicon.nulls, strict=True)
        ]

        def task(direction: int, first: int, last: int) -> None:
            own = records.direction_of(block.pieces, block.ranks, direction == 1)
            chains = self.sampling._replace(seed=stream_key(self.sampling.seed, direction))
            kernels.sample(first, last, own, models[direction], chains, *buffers[direction], scores[direction])

        pool.map(task, [(direction, *run) for direction in range(2) for run in block.tasks])
        return np.ascontiguousarray(scores.T)

    def mark_best_paths(self, block: Block, work: Workspace, marks: np.ndarray, pool: Pool) -> None:
        """The HMM's: fertility has no part in a path."""
        weights = tuple(jump_weights(*jumps.weights(block.longest)[:2]) for jumps in self.jumps)
        given = block.pieces, self.lexicon.nulls, work, self.null, weights
        pool.map(viterbi_kernels.mark_hmm, block.tasks, *given, marks)

    def moves(self, longest: int) -> Callable[[int, np.ndarray], Moves]:
        weights = [jumps.weights(longest) for jumps in self.jumps]

        def of(direction: int, words: np.ndarray) -> Moves:
            jumps, first, last = weights[direction]
            place = np.arange(len(words))
            table = jumps[longest + place - place[:, None]]
            return Moves(table, first[: len(words)], last[: len(words)][::-1].copy())

        return of

    def with_lexicon(self, lexicon: DirichletLexicon) -> BayesHMM:
        if lexicon.words is None:
            return replace(self, lexicon=lexicon)
        forward, reverse = self.fertility
        fertility = forward.for_words(lexicon.words.source), reverse.for_words(lexicon.words.target)
        return replace(self, lexicon=lexicon, fertility=fertility)

    def fertility_means(self, side: int) -> FertilityMeans:
        fertility = self.fertility[side]
        tokens = np.rint(fertility.tokens.sum(axis=1, dtype=np.float64)).astype(np.int64)
        return FertilityMeans(fertility.means(), tokens, self.lexicon.null_totals[side] / max(int(tokens.sum()), 1))

    def for_decoding(self, settings: Settings, seed: int, bitext: Bitext, shard: Shard) -> BayesHMM:
        own = settings.of(FrozenOptions)
        chains = self.sampling._replace(seed=seed, restarts=own.decoding_restarts, samples=own.decoding_samples)
        return replace(self, sampling=chains)

    @property
    def counts_to_start(self) -> SeenCounts:
        return SeenCounts(self.lexicon, self.jumps, self.fertility)

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {"null": np.array([self.null])}
        for name, jumps, fertility in zip(DIRECTIONS, self.jumps, self.fertility, strict=True):
            arrays |= {f"moves.{name}.{part}": values for part, values in jumps.arrays().items()}
            arrays |= {f"fertility.{name}.{part}": values for part, values in fertility.arrays().items()}
        return arrays

    @classmethod
    def from_arrays(
        cls, lexicon: DirichletLexicon, arrays: dict[str, np.ndarray], settings: dict[str, Any]
    ) -> BayesHMM:
        jumps, fertility = [], []
        for name, words in zip(DIRECTIONS, lexicon.sizes, strict=True):
            jumps.append(BinnedJumps.from_arrays(arrays, f"moves.{name}."))
            fertility.append(FertilityHistogram.from_arrays(arrays, f"fertility.{name}.", words))
        return cls(lexicon, (jumps[0], jumps[1]), (fertility[0], fertility[1]), saved_null(arrays))


def stream_key(seed: int, number: int) -> int:
    """A seed of its own for chain or direction `number`."""
    return int(stream(seed % (1 << 62), 1 << 40, number)) >> 2
