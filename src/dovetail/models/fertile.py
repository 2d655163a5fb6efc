"""IBM Model 1 and the HMM with fertility (Zhao and Gildea 2010): their expectations are sampled, not summed."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import Block, Shard
from dovetail.bitext.store import release
from dovetail.kernels.gibbs import counts as gibbs_counts
from dovetail.kernels.gibbs import records
from dovetail.kernels.gibbs import sample as kernels
from dovetail.kernels.lexicon.table import FLOOR
from dovetail.kernels.records import LENGTH_I, LENGTH_J, SOURCE_SIDE, TARGET_SIDE, Workspace
from dovetail.models.checks import Array, Unsound, checked_arrays
from dovetail.models.fertility.entries import FertilityMeans
from dovetail.models.fertility.factor import MOST, Fertility, fertilities, saved_fertility
from dovetail.models.fertility.features import spelling
from dovetail.models.hmm import DIRECTIONS, HMM
from dovetail.models.ibm1 import IBM1
from dovetail.models.lexicon.table import LexiconCounts, TableLexicon, add_with_nulls, slot_parts
from dovetail.models.lexicon.words import WordMap
from dovetail.models.model import Alignments, Potentials, Worked
from dovetail.models.sampled_statistics import SampledStatistics, ShardAlignments, add_moves
from dovetail.options import Options, Settings, option
from dovetail.pool import Pool

LIKELY = 0.01  # with soft counts, candidates below this are counted only when they are drawn
COMMON = 50  # so are all links between two words that were seen as often: enough draws to trust their mean

# Links that every word keeps of the last iteration's translations.  A few draws say little of a rare word: it should not
# forget at once what the sums of IBM Model 1 knew.  (On development sets better than 3, that than 1, and that than none.)
INERTIA = 10.0

# By how much of their sum every weight of a jump is raised.  More samples learn sharper jumps, and full stops, often far
# from the last link, went to NULL.  (On development sets about as good as 0.01; 0.1 was worse.)
EVEN = 0.02

# Hard counts go with the paper's own M-step: neither of the two.

F = TypeVar("F", bound="FertilityModel")


@dataclass(frozen=True)
class FertilityOptions(Options):
    """How many links a word takes."""

    fertility: str = option("poisson", choices=fertilities, help="the distribution of the number of links of a word")


@dataclass(frozen=True)
class Deficiency(Options):
    """What becomes of the ways to order links."""

    deficient: bool = option(True, help="whether the model wastes probability as in the paper's equation 1")
    empty_words: bool = option(False, help="whether a sentence of I words has I + 1 empty ones (the paper's way)")


@dataclass(frozen=True)
class NullFertility(Options):
    """How many links NULL takes."""

    null_counts: bool = option(True, help="whether NULL's number of links has a probability, too (Poisson)")


@dataclass(frozen=True)
class DecodingSamples(Options):
    """How alignments are drawn when aligning."""

    decoding_samples: int = option(
        30, at_least=1, at_most=10_000, help="sweeps whose draws count, per sentence and chain, in aligning"
    )
    decoding_restarts: int = option(1, at_least=1, at_most=1_000, help="chains per sentence in aligning")
    burn_in: int = option(5, at_least=0, help="sweeps before those, which do not count, in aligning")


@dataclass(frozen=True)
class Sampling:
    """How alignments are drawn: `restarts` chains, each of `burn_in` sweeps that do not count and `samples` that do.

    With `soft`, links of words that are not common are counted by the probabilities they had in a draw, else only the one
    that was drawn; what a word is credited with is then one in expectation only, which is enough for training and no
    posterior.  `first_sweep` numbers the sweeps, so that no two iterations of a training use the same random numbers.
    """

    seed: int = 0
    samples: int = 30
    restarts: int = 1
    burn_in: int = 5
    first_sweep: int = 0
    soft: bool = False


@dataclass(kw_only=True)
class FertilityModel(IBM1):
    """What the two models share: sampling, counting, the M-step of fertility, and moving to another text.

    An E-step samples as `sampling` says; shards remember where chains begin.
    """

    fertility: tuple[Fertility, Fertility] = field(default=())  # type: ignore[assignment]
    sampling: Sampling = field(default_factory=Sampling)
    deficient: bool = True
    null_counts: bool = True
    empty_words: bool = False

    decoding_options = (DecodingSamples,)

    @abstractmethod
    def factors(self, longest: int) -> records.Jumps:
        """Jumps as the sampler takes them, for sentences up to some length."""

    @abstractmethod
    def log_moves(self, direction: int, I: int) -> tuple[np.ndarray, float]:
        """Logarithms of p(i | i') (I + 1, I), the start first, and of entering NULL."""

    def zeros(self, shard: Shard) -> Any:
        """Nothing counted yet, but tokens."""
        slots = shard.slots
        widths = [MOST + 1 if fertility.wants_histogram else 0 for fertility in self.fertility]
        return SampledStatistics(
            LexiconCounts.zeros(slots),
            shard.token_counts(),
            (np.zeros((slots.n_sources, widths[0])), np.zeros((slots.n_targets, widths[1]))),
            (self.fertility[0].zero, self.fertility[1].zero),
            [self.no_sums(shard.longest)],
        )

    def expect(
        self, shard: Shard, memory: ShardAlignments | None, pool: Pool, worked: Worked
    ) -> tuple[Any, ShardAlignments]:
        """Counts from the samples of every sentence, each of which has random numbers of its own.

        Chains begin where the shard remembers, in every iteration (Algorithm 1); to go on where the last one ended was no
        better in trials.  Without samples the starts are found, IBM Model 1's best alignments, and those are counted.
        """
        if memory is None:
            empty = [(np.empty(block.columns, np.int16), np.empty(block.rows, np.int16)) for block in shard]
            memory = ShardAlignments(empty)
        statistics = self.zeros(shard)
        work = shard.workspace()
        for block, start in zip(shard, memory.blocks, strict=True):
            streams = shard.first + np.arange(block.first, block.last)
            none = self.sampling.samples == 0
            self.sample(block, block.view(work), pool, self.sampling, streams, start, none, statistics)
            worked(block.last - block.first)
        return statistics, memory

    def reestimate(self: F, statistics: Any, pool: Pool) -> F:
        return self.with_counts(statistics, pool, *((INERTIA, EVEN) if self.sampling.soft else (0.0, 0.0)))

    def with_counts(self: F, statistics: SampledStatistics, pool: Pool, inertia: float = 0.0, even: float = 0.0) -> F:
        """M-step of fertility and lexicon.

        With `inertia`, every word keeps its translations as if it had been seen with so many more links that went by them;
        `even` is for jumps, where there are some.
        """
        slots, table = self.lexicon.slots, self.lexicon.table
        statistics = statistics.whole(slots, pool)
        (forward, reverse), seen = self.fertility, statistics.fertility(slots)
        counts = cast(LexiconCounts, statistics.lexicon)
        if inertia > 0.0:
            for first, last in slot_parts(len(slots)):
                gibbs_counts.add_expected(table[first:last], inertia, counts.slots[first:last])
                release(counts.slots[first:last])
                release(table[first:last])
        lexicon = self.lexicon.reestimate(counts, pool)
        return replace(self, lexicon=lexicon, fertility=(forward.reestimate(seen[0]), reverse.reestimate(seen[1])))

    def sample(
        self,
        block: Block,
        work: Workspace,
        pool: Pool,
        sampling: Sampling,
        streams: np.ndarray,
        alignments: Alignments,
        keep_best: bool = False,
        statistics: SampledStatistics | None = None,
    ) -> np.ndarray:
        """Draw alignments of the block's pieces; returns log-scores (pieces, 2), of the best or of the last ones.

        For an E-step, `statistics` are added to and the probabilities come straight from the lexicon; else those that the
        workspace holds become the samples' mean.  `alignments` are where chains start or, with `keep_best`, where the best
        of those seen goes; chains then start from IBM Model 1's best.
        """
        longest, counting = block.longest, statistics is not None
        scores = np.empty((len(block.lines), 2))
        histograms = [
            np.zeros((rows, MOST + 1 if counting and fertility.wants_histogram else 0), np.float32)
            for rows, fertility in zip((block.rows, block.columns), self.fertility, strict=True)
        ]
        forward, reverse = self.fertility
        table = self.lexicon.table.view(np.uint64).reshape(-1)
        translations = records.Translations(table, self.lexicon.nulls, not counting)
        ratios, zeros, null_means = zip(*((own.ratios, own.zero, own.null) for own in self.fertility), strict=True)
        flags = forward.falling, self.deficient, self.null_counts, self.empty_words
        fertility = records.Fertility(ratios, zeros, null_means, *flags)
        factors = records.Model(translations, self.factors(longest), fertility)
        seed = sampling.seed % (1 << 62)  # any whole number is a seed
        schedule = records.Schedule(
            seed, sampling.first_sweep, streams, sampling.restarts, sampling.burn_in, sampling.samples
        )
        ends = records.Ends(alignments, not keep_best, keep_best)
        problem = records.Problem(block.pieces, block.ranks, factors, work, schedule, ends)
        soft_words = (forward.tokens < COMMON) & sampling.soft, (reverse.tokens < COMMON) & sampling.soft
        jumping = counting and factors.jumps.normalised

        def task(first: int, last: int) -> tuple[np.ndarray, np.ndarray, records.Links]:
            moves = np.zeros((2, 2, 2 * longest + 2 if jumping else 0))
            firsts = np.zeros((2, 2, longest + 1 if jumping else 0))
            tallies = records.Tallies(moves, firsts, tuple(histograms), scores, soft_words, LIKELY)
            return moves, firsts, kernels.sample(first, last, problem, tallies)

        parts = pool.map(task, block.tasks)
        if statistics is not None:
            self._count(block, work, [links for _, _, links in parts], histograms, statistics, pool)
            sums = self.no_sums(longest)
            sums.log_likelihood += scores.sum(axis=0)
            for moves, firsts, _ in parts if jumping else ():
                add_moves(sums.jumps, moves, firsts)
            statistics.blocks.append(sums)
        return scores

    def _count(
        self,
        block: Block,
        work: Workspace,
        links: list[records.Links],
        histograms: list[np.ndarray],
        statistics: SampledStatistics,
        pool: Pool,
    ) -> None:
        """Add links and NULLs to the counts of their word types.  No two tasks share an entry."""
        counts = cast(LexiconCounts, statistics.lexicon)

        def add(direction: int, low: int, high: int) -> None:
            for found in links:
                number = found.numbers[direction]
                slots, posteriors = found.slots[direction][:number], found.posteriors[direction][:number]
                gibbs_counts.add_links(slots, posteriors, low, high, direction, counts.slots)

        # Sums of rounded posteriors are exact: here the number of tasks may follow the number of threads.
        edges = np.linspace(0, len(self.lexicon.slots), pool.threads + 1).astype(np.int64)
        tasks = [(add, direction, *pair) for direction in range(2) for pair in pairwise(edges)]
        add_with_nulls(tasks, counts.null_forward, counts.null_reverse, block, work, pool)
        lines, source_ids, target_ids = block.pieces
        for direction, place in enumerate(((SOURCE_SIDE, source_ids), (TARGET_SIDE, target_ids))):
            if self.fertility[direction].wants_histogram:
                gibbs_counts.scatter_histograms(lines, *place, histograms[direction], statistics.histograms[direction])

    def posteriors(self, block: Block, work: Workspace, pool: Pool) -> np.ndarray:
        """Marginals averaged over samples, and the log-score of the best alignment seen (pieces, 2)."""
        return self.samples(block, work, pool)[1]

    def samples(self, block: Block, work: Workspace, pool: Pool) -> tuple[Alignments, np.ndarray]:
        """The best alignments among samples; random numbers depend on a pair's lengths, not on its place in the text: the
        same pair gets the same answer wherever it stands."""
        best = np.empty(block.columns, np.int16), np.empty(block.rows, np.int16)
        streams = block.lines[:, LENGTH_I] << 20 | block.lines[:, LENGTH_J]
        return best, self.sample(block, work, pool, self.sampling, streams, best, keep_best=True)

    def with_options(self: F, settings: Settings) -> F:
        """With what else its options say, before training."""
        return replace(self, null_counts=settings.of(NullFertility).null_counts)

    def begun(self: F, statistics: SampledStatistics, jumps: Any) -> F:
        """The model to begin with, given what IBM Model 1's best alignments count, and jumps, if there are some."""
        return self

    def for_decoding(self: F, settings: Settings, seed: int, bitext: Bitext, shard: Shard) -> F:
        own = settings.of(DecodingSamples)
        return replace(self, sampling=Sampling(seed, own.decoding_samples, own.decoding_restarts, own.burn_in))

    def for_words(self: F, words: WordMap) -> F:
        forward, reverse = (
            fertility.transfer(numbers, lambda new=new, old=old: spelling(new, old))  # type: ignore[misc]
            for fertility, numbers, new, old in zip(
                self.fertility, (words.source, words.target), words.vocabularies, words.known, strict=True
            )
        )
        return replace(self, fertility=(forward, reverse))

    def fertility_means(self, side: int) -> FertilityMeans:
        fertility = self.fertility[side]
        return FertilityMeans(fertility.means(), fertility.tokens, fertility.null)

    def potentials(self, direction: int, words: np.ndarray, emission: np.ndarray, nulls: np.ndarray) -> Potentials:
        I, J = emission.shape
        log_emission = np.empty((I + 1, J))
        with np.errstate(divide="ignore"):
            np.log(nulls, out=log_emission[0])
            np.log(emission, out=log_emission[1:])
        transition, null = self.log_moves(direction, I)
        fertility = self.fertility[direction].log_table(words, J)
        null_fertility = np.zeros(J + 1)
        if self.null_counts:  # log Poisson(count; I lambda_0)
            mean = I * self.fertility[direction].null
            null_fertility -= mean
            null_fertility[1:] += np.cumsum(np.log(mean / np.arange(1, J + 1)))
        if not self.deficient:  # the count! ways to order the links of a word (section 3), out of J! in all
            ways = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, J + 1)))])
            fertility = fertility + ways
            null_fertility = null_fertility + ways - ways[-1]
        return Potentials(log_emission, transition, null, fertility, null_fertility)

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {
            **super().arrays(),
            "deficient": np.array([self.deficient]),
            "null_counts": np.array([self.null_counts]),
            "empty_words": np.array([self.empty_words]),
        }
        for name, fertility in zip(DIRECTIONS, self.fertility, strict=True):
            for parameter, values in fertility.parameters().items():
                arrays[f"fertility.{name}.{fertility.kind}.{parameter}"] = values
        return arrays


def _saved(lexicon: TableLexicon, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    sizes = lexicon.slots.n_sources, lexicon.slots.n_targets
    forward, reverse = (
        saved_fertility(arrays, f"fertility.{name}.", words) for name, words in zip(DIRECTIONS, sizes, strict=True)
    )
    if forward.kind != reverse.kind:
        raise Unsound(f"fertility is {forward.kind} for source words and {reverse.kind} for target words")
    # Models of earlier versions did not say what was the only way.
    chosen = {"null_counts": np.array([True]), "empty_words": np.array([False]), **arrays}
    flags = {name: Array(np.bool_, (1,)) for name in ("deficient", "null_counts", "empty_words")}
    values = checked_arrays(chosen, "", flags, {})
    return {
        "fertility": (forward, reverse),
        **{name: bool(value[0]) for name, value in zip(flags, values, strict=True)},
    }


@dataclass
class FertilityIBM1(FertilityModel):
    """IBM Model 1 with fertility (equation 1), or without its deficiency (the last formula of section 3)."""

    name = "ibm1-fertility"
    options = (*IBM1.options, FertilityOptions, NullFertility, Deficiency)

    def with_options(self, settings: Settings) -> FertilityIBM1:
        own = settings.of(Deficiency)
        return replace(super().with_options(settings), deficient=own.deficient, empty_words=own.empty_words)

    def factors(self, longest: int) -> records.Jumps:
        ones = np.ones(2 * longest + 1, np.float32)
        return records.Jumps((ones, ones), (ones[:longest], ones[:longest]), 1.0, 1.0, False)

    def log_moves(self, direction: int, I: int) -> tuple[np.ndarray, float]:
        uniform = -np.log((2.0 * I if self.empty_words else I) + 1.0) if self.deficient else 0.0
        return np.full((I + 1, I), uniform), float(uniform)

    @classmethod
    def from_arrays(
        cls, lexicon: TableLexicon, arrays: dict[str, np.ndarray], settings: dict[str, Any]
    ) -> FertilityIBM1:
        return cls(lexicon, **_saved(lexicon, arrays))


@dataclass
class FertilityHMM(FertilityModel, HMM):
    """The HMM with fertility (equation 2)."""

    name = "hmm-fertility"
    options: ClassVar[tuple[type[Options], ...]] = (
        *(owner for owner in HMM.options if owner.__name__ != "HMMStage"),
        FertilityOptions,
        NullFertility,
    )

    def factors(self, longest: int) -> records.Jumps:
        forward, reverse = self.weights(longest)
        weights, first_links = (forward.jump, reverse.jump), (forward.start, reverse.start)
        return records.Jumps(weights, first_links, self.null, 1.0 - self.null, True)

    def log_moves(self, direction: int, I: int) -> tuple[np.ndarray, float]:
        weights, start = (array.astype(np.float64) for array in self.jumps[direction].expand(I))
        table = np.empty((I + 1, I))
        table[0] = start
        before = np.arange(I)
        table[1:] = weights[I + before[None, :] - before[:, None]]
        table *= (1.0 - self.null) / table.sum(axis=1, keepdims=True)
        return np.log(table), float(np.log(self.null))

    def begun(self, statistics: SampledStatistics, jumps: Any) -> FertilityHMM:
        forward, reverse = self.fertility
        for table, tokens in zip(self.lexicon.nulls, reversed(statistics.tokens), strict=True):
            table[:] = np.maximum(tokens / max(tokens.sum(), 1), FLOOR)
        if jumps is None:
            jumps = tuple(even.reestimate(seen) for even, seen in zip(self.jumps, statistics.jumps, strict=True))
        return replace(
            self, jumps=jumps, fertility=(replace(forward, null=self.null), replace(reverse, null=self.null))
        )

    def with_counts(
        self, statistics: SampledStatistics, pool: Pool, inertia: float = 0.0, even: float = 0.0
    ) -> FertilityHMM:
        """M-step; `even` is the part of their sum by which all weights of jumps are raised."""
        forward, reverse = (
            old.reestimate(seen).raised(even) for old, seen in zip(self.jumps, statistics.jumps, strict=True)
        )
        return replace(super().with_counts(statistics, pool, inertia), jumps=(forward, reverse))

    @classmethod
    def from_arrays(
        cls, lexicon: TableLexicon, arrays: dict[str, np.ndarray], settings: dict[str, Any]
    ) -> FertilityHMM:
        plain = HMM.from_arrays(lexicon, arrays, settings)
        return cls(lexicon, plain.jumps, plain.null, **_saved(lexicon, arrays))
