"""IBM Model 1 and the HMM with fertility (Zhao and Gildea 2010): their expectations are sampled, not summed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.engines import Threads
from dovetail.kernels.gibbs import counts as gibbs_counts
from dovetail.kernels.gibbs import records
from dovetail.kernels.gibbs import sample as kernels
from dovetail.kernels.lexicon.table import scatter_null
from dovetail.kernels.records import LENGTH_I, LENGTH_J, SOURCE_SIDE, TARGET_SIDE, Nulls, Workspace
from dovetail.models.fertility.factor import MOST, Fertility, FertilityCounts, fertilities
from dovetail.models.fertility.features import spelling
from dovetail.models.hmm import HMM
from dovetail.models.ibm1 import IBM1
from dovetail.models.jumps.distance import JumpCounts, Jumps
from dovetail.models.lexicon.table import Lexicon, LexiconCounts, WordMap

DIRECTIONS = ("forward", "reverse")
LIKELY = 0.01  # with soft counts, candidates below this are counted only when they are drawn
COMMON = 50  # so are all links between two words that were seen as often: enough draws to trust their mean


@dataclass(frozen=True)
class Sampling:
    """How alignments are drawn: `restarts` chains, each of `burn_in` sweeps that do not count and `samples` that do.

    With `soft`, links of words that are not common are counted by the probabilities they had in a draw, else only the one
    that was drawn; what a word is credited with is then one in expectation only, which is enough for training and no
    posterior.
    `first_sweep` numbers the sweeps, so that no two iterations of a training use the same random numbers.
    """

    seed: int = 0
    samples: int = 30
    restarts: int = 1
    burn_in: int = 5
    first_sweep: int = 0
    soft: bool = False


@dataclass(frozen=True)
class Potentials:
    """Logarithms of the factors for one sentence pair in one direction, as `decoding.fertility` takes them."""

    emission: np.ndarray  # (I + 1, J), NULL first
    transition: np.ndarray  # (I + 1, I), the start first
    null: float
    fertility: np.ndarray  # (I, J + 1)
    null_fertility: np.ndarray  # (J + 1,)


@dataclass
class SampledCounts:
    """What an E-step leaves for the M-step.  Histograms (words, MOST + 1) have no columns unless the factor wants them."""

    lexicon: LexiconCounts
    jumps: tuple[JumpCounts, JumpCounts]
    tokens: tuple[np.ndarray, np.ndarray]
    histograms: tuple[np.ndarray, np.ndarray]
    log_likelihood: np.ndarray
    rows: np.ndarray  # where each source word's slots begin
    columns: np.ndarray  # the target word of each slot

    def add_shard(self, part: tuple[np.ndarray, ...]) -> None:
        for total, moves, firsts in zip(self.jumps, part[0], part[1], strict=True):
            # Exposure comes as differences: every distance in reach of a word is exposed to it.
            total.jump[0] += moves[0, :-1]
            total.jump[1] += np.cumsum(moves[1])[:-1]
            total.start[0] += firsts[0, :-1]
            total.start[1] += np.cumsum(firsts[1])[:-1]

    def fertility(self, direction: int) -> FertilityCounts:
        slots = self.lexicon.slots
        if direction == 0:
            links = np.diff(np.concatenate([[0.0], np.cumsum(slots[:, 0])])[self.rows])
            nulls = self.lexicon.null_forward
        else:
            links = np.bincount(self.columns, slots[:, 1], len(self.tokens[1]))
            nulls = self.lexicon.null_reverse
        tokens = self.tokens[direction]
        return FertilityCounts(tokens, links, self.histograms[direction], float(nulls.sum()), float(tokens.sum()))


class _Sampled:
    """What the two models share: sampling, counting, the M-step of fertility, and moving to another text."""

    lexicon: Lexicon
    fertility: tuple[Fertility, Fertility]
    sampling: Sampling
    deficient: bool
    name: str
    _own_arrays: Callable[[], dict[str, np.ndarray]]

    def _moves(self, longest: int) -> tuple[float, float, list[np.ndarray], bool]:
        """p0, 1 - p0, weights of jumps and first links (forward's, reverse's), and whether those are renormalised."""
        raise NotImplementedError

    def zero_counts(self, shard: Shard, used: SampledCounts | None = None) -> Any:
        """Counts to add to.  `used` ones of the same text are cleared: fresh memory would cost more than that."""
        zero = [fertility.zero for fertility in self.fertility]
        if used is not None:
            arrays = used.lexicon.slots, used.lexicon.null_forward, used.lexicon.null_reverse, *used.histograms
            for array in (*arrays, *(part for jumps in used.jumps for part in (jumps.jump, jumps.start))):
                array.fill(0)
            used.log_likelihood[:] = [tokens @ logs for tokens, logs in zip(used.tokens, zero, strict=True)]
            return used
        slots, longest = shard.slots, shard.longest
        sizes = slots.n_sources, slots.n_targets
        tokens = np.zeros(sizes[0], np.int64), np.zeros(sizes[1], np.int64)
        for block in shard:
            gibbs_counts.count_tokens(block.lines, SOURCE_SIDE, shard.source_ids, tokens[0])
            gibbs_counts.count_tokens(block.lines, TARGET_SIDE, shard.target_ids, tokens[1])
        widths = [MOST + 1 if fertility.wants_histogram else 0 for fertility in self.fertility]
        return SampledCounts(
            LexiconCounts.zeros(slots),
            (JumpCounts.zeros(longest), JumpCounts.zeros(longest)),
            tokens,
            (np.zeros((sizes[0], widths[0])), np.zeros((sizes[1], widths[1]))),
            np.array([tokens[0] @ zero[0], tokens[1] @ zero[1]]),
            slots.row_start,
            slots.target,
        )

    def sample(
        self,
        shard: Shard,
        block: Block,
        work: Workspace,
        engine: Threads,
        sampling: Sampling,
        streams: np.ndarray,
        alignments: tuple[np.ndarray, np.ndarray] | None,
        keep_best: bool = False,
        counts: SampledCounts | None = None,
    ) -> np.ndarray:
        """Draw alignments of the block's pieces; returns log-scores (pieces, 2), of the best or of the last ones.

        For an E-step, `counts` are added to and the probabilities come straight from the lexicon; else those that the
        workspace holds become the samples' mean.  `alignments` (a position a token, block's columns and rows; -1 is NULL)
        are where chains start or, with `keep_best`, where the best of those seen goes; chains then start from IBM Model 1's
        best, as they do for None.
        """
        longest = shard.longest
        p0, p1, weights, normalised = self._moves(longest)
        scores = np.empty((len(block.lines), 2))
        histograms = [
            np.zeros((rows, MOST + 1 if counts is not None and fertility.wants_histogram else 0), np.float32)
            for rows, fertility in zip((block.rows, block.columns), self.fertility, strict=True)
        ]
        forward, reverse = self.fertility
        lexicon = self.lexicon
        nulls = Nulls(lexicon.null_forward, lexicon.null_reverse)
        factors = records.Model(
            records.Translations(lexicon.table.view(np.uint64).reshape(-1), nulls, counts is None),
            records.Jumps((weights[0], weights[2]), (weights[1], weights[3]), p0, p1, normalised),
            records.Fertility(
                (forward.ratios, reverse.ratios),
                (forward.zero, reverse.zero),
                (forward.null, reverse.null),
                forward.falling,
                self.deficient,
            ),
        )
        seed = sampling.seed % (1 << 62)  # any whole number is a seed
        schedule = records.Schedule(
            seed, sampling.first_sweep, streams, sampling.restarts, sampling.burn_in, sampling.samples
        )
        none = np.empty(0, np.int16)
        ends = records.Ends(alignments or (none, none), alignments is not None and not keep_best, keep_best)
        problem = records.Problem(block.pieces, block.ranks, factors, work, schedule, ends)
        soft_words = (forward.tokens < COMMON) & sampling.soft, (reverse.tokens < COMMON) & sampling.soft

        def task(first: int, last: int) -> tuple[np.ndarray, np.ndarray, records.Links]:
            counting = counts is not None and normalised
            moves = np.zeros((2, 2, 2 * longest + 2 if counting else 0))
            firsts = np.zeros((2, 2, longest + 1 if counting else 0))
            tallies = records.Tallies(moves, firsts, tuple(histograms), scores, soft_words, LIKELY)
            return moves, firsts, kernels.sample(first, last, problem, tallies)

        parts = engine.map(task, block.tasks)
        if counts is not None:
            self._count(shard, block, work, [links for _, _, links in parts], histograms, counts, engine)
            if normalised:
                for part in parts:
                    counts.add_shard(part[:2])
            counts.log_likelihood += scores.sum(axis=0)
        return scores

    def _count(
        self,
        shard: Shard,
        block: Block,
        work: Workspace,
        links: list[records.Links],
        histograms: list[np.ndarray],
        counts: SampledCounts,
        engine: Threads,
    ) -> None:
        """Add links and NULLs to the counts of their word types.  No two tasks share an entry."""

        def add(direction: int, low: int, high: int) -> None:
            for found in links:
                number = found.numbers[direction]
                slots, posteriors = found.slots[direction][:number], found.posteriors[direction][:number]
                gibbs_counts.add_links(slots, posteriors, low, high, direction, counts.lexicon.slots)

        # Sums of rounded posteriors are exact: here the number of tasks may follow the number of threads.
        edges = np.linspace(0, len(self.lexicon.slots), engine.threads + 1).astype(np.int64)
        engine.map(add, [(direction, *pair) for direction in range(2) for pair in pairwise(edges)])
        lines, lexicon = block.lines, counts.lexicon
        scatter_null(lines, *TARGET_SIDE, shard.target_ids, work.null_forward, lexicon.null_forward)
        scatter_null(lines, *SOURCE_SIDE, shard.source_ids, work.null_reverse, lexicon.null_reverse)
        for direction, place in enumerate(((SOURCE_SIDE, shard.source_ids), (TARGET_SIDE, shard.target_ids))):
            if self.fertility[direction].wants_histogram:
                gibbs_counts.scatter_histograms(lines, *place, histograms[direction], counts.histograms[direction])

    def posteriors(
        self, shard: Shard, block: Block, work: Workspace, engine: Threads, counting: bool = False
    ) -> tuple[np.ndarray, list[Any]]:
        """Marginals averaged over samples, and the log-score of the best alignment seen (pieces, 2).

        The random numbers depend on a pair's lengths and not on its place in the text: the same pair gets the same answer
        wherever it stands.
        """
        best = np.empty(block.columns, np.int16), np.empty(block.rows, np.int16)
        return self.sample(shard, block, work, engine, self.sampling, self.streams(block), best, keep_best=True), []

    @staticmethod
    def streams(block: Block) -> np.ndarray:
        """A number for each piece that is the same for the same lengths."""
        return block.lines[:, LENGTH_I] << 20 | block.lines[:, LENGTH_J]

    def with_lexicon(self, lexicon: Lexicon) -> Any:
        return replace(self, lexicon=lexicon)  # type: ignore[type-var]

    def with_options(self, options: Any, seed: int) -> Any:
        """Set how alignments are drawn in decoding."""
        sampling = Sampling(seed, options.decoding_samples, options.decoding_restarts, options.burn_in)
        return replace(self, sampling=sampling)  # type: ignore[type-var]

    def for_words(
        self,
        words: WordMap,
        vocabularies: tuple[Vocabulary, Vocabulary],
        known: tuple[Vocabulary, Vocabulary],
    ) -> Any:
        """The same model for another text's vocabularies; `known` are the ones it was trained with."""
        moved = [
            fertility.transfer(numbers, lambda new=new, old=old: spelling(new, old))  # type: ignore[misc]
            for fertility, numbers, new, old in zip(
                self.fertility, (words.source, words.target), vocabularies, known, strict=True
            )
        ]
        return replace(self, fertility=tuple(moved))  # type: ignore[type-var]

    def _from_counts(
        self, counts: SampledCounts, engine: Threads, inertia: float
    ) -> tuple[tuple[Fertility, Fertility], Lexicon]:
        """M-step of fertility and lexicon.

        With `inertia`, every word keeps its translations as if it had been seen with so many more links that went by them.
        """
        forward, reverse = self.fertility
        fertility = forward.reestimate(counts.fertility(0)), reverse.reestimate(counts.fertility(1))
        gibbs_counts.add_expected(self.lexicon.table, inertia, counts.lexicon.slots)
        return fertility, self.lexicon.reestimate(counts.lexicon, engine)

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {**self._own_arrays(), "deficient": np.array([self.deficient])}
        for name, fertility in zip(DIRECTIONS, self.fertility, strict=True):
            for parameter, values in fertility.parameters().items():
                arrays[f"fertility.{name}.{fertility.kind}.{parameter}"] = values
        return arrays

    def log_null_fertility(self, direction: int, I: int, J: int) -> np.ndarray:
        """log Poisson(count; I lambda_0) for count = 0 .. J."""
        mean = I * self.fertility[direction].null
        table = np.full(J + 1, -mean)
        table[1:] += np.cumsum(np.log(mean / np.arange(1, J + 1)))
        return table

    def potentials(self, direction: int, words: np.ndarray, emission: np.ndarray, nulls: np.ndarray) -> Potentials:
        """For a pair whose generating words are `words` (I,), with t(f_j | e_i) in `emission` (I, J), NULL's in `nulls`."""
        I, J = emission.shape
        log_emission = np.empty((I + 1, J))
        with np.errstate(divide="ignore"):
            np.log(nulls, out=log_emission[0])
            np.log(emission, out=log_emission[1:])
        transition, null = self._log_moves(direction, I)
        fertility = self.fertility[direction].log_table(words, J)
        null_fertility = self.log_null_fertility(direction, I, J)
        if not self.deficient:  # the count! ways to order the links of a word (section 3), out of J! in all
            ways = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, J + 1)))])
            fertility = fertility + ways
            null_fertility = null_fertility + ways - ways[-1]
        return Potentials(log_emission, transition, null, fertility, null_fertility)

    def _log_moves(self, direction: int, I: int) -> tuple[np.ndarray, float]:
        raise NotImplementedError


def _fertility_from_arrays(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    found: list[Fertility] = []
    for name in DIRECTIONS:
        prefix = f"fertility.{name}."
        kinds = {key[len(prefix) :].split(".")[0] for key in arrays if key.startswith(prefix)}
        (kind,) = kinds
        prefix += f"{kind}."
        own = {key[len(prefix) :]: values for key, values in arrays.items() if key.startswith(prefix)}
        found.append(fertilities[kind].from_parameters(own))
    return {"fertility": tuple(found), "deficient": bool(arrays["deficient"][0])}


@dataclass
class FertilityIBM1(_Sampled, IBM1):
    """IBM Model 1 with fertility (equation 1), or without its deficiency (the last formula of section 3)."""

    fertility: tuple[Fertility, Fertility]
    sampling: Sampling = field(default_factory=Sampling)
    deficient: bool = True

    name = "ibm1-fertility"

    def _moves(self, longest: int) -> tuple[float, float, list[np.ndarray], bool]:
        ones = np.ones(2 * longest + 1, np.float32)
        return 1.0, 1.0, [ones, ones[:longest]] * 2, False

    def _log_moves(self, direction: int, I: int) -> tuple[np.ndarray, float]:
        uniform = -np.log(I + 1.0) if self.deficient else 0.0
        return np.full((I + 1, I), uniform), float(uniform)

    def reestimate(self, counts: Any, engine: Threads, inertia: float = 0.0, even: float = 0.0) -> FertilityIBM1:
        """M-step; there are no jumps that could be `even`."""
        fertility, lexicon = self._from_counts(counts, engine, inertia)
        return replace(self, lexicon=lexicon, fertility=fertility)

    def _own_arrays(self) -> dict[str, np.ndarray]:
        return IBM1.arrays(self)

    @classmethod
    def from_arrays(cls, lexicon: Lexicon, arrays: dict[str, np.ndarray]) -> FertilityIBM1:
        return cls(lexicon, **_fertility_from_arrays(arrays))


@dataclass
class FertilityHMM(_Sampled, HMM):
    """The HMM with fertility (equation 2)."""

    fertility: tuple[Fertility, Fertility] = ()  # type: ignore[assignment]
    sampling: Sampling = field(default_factory=Sampling)
    deficient: bool = True

    name = "hmm-fertility"

    def _moves(self, longest: int) -> tuple[float, float, list[np.ndarray], bool]:
        weights = [array for jumps in self.jumps for array in jumps.expand(longest)]
        return self.null, 1.0 - self.null, weights, True

    def _log_moves(self, direction: int, I: int) -> tuple[np.ndarray, float]:
        weights, start = (array.astype(np.float64) for array in self.jumps[direction].expand(I))
        table = np.empty((I + 1, I))
        table[0] = start
        before = np.arange(I)
        table[1:] = weights[I + before[None, :] - before[:, None]]
        table *= (1.0 - self.null) / table.sum(axis=1, keepdims=True)
        return np.log(table), float(np.log(self.null))

    def reestimate(self, counts: Any, engine: Threads, inertia: float = 0.0, even: float = 0.0) -> FertilityHMM:
        """M-step; `even` is the share of their sum by which all weights of jumps are raised."""
        fertility, lexicon = self._from_counts(counts, engine, inertia)
        jumps = []
        for old, seen in zip(self.jumps, counts.jumps, strict=True):
            new = old.reestimate(seen)
            jumps.append(Jumps(new.weights + even * new.weights.sum(), new.start + even * new.start.sum()))
        return replace(self, lexicon=lexicon, jumps=(jumps[0], jumps[1]), fertility=fertility)

    def _own_arrays(self) -> dict[str, np.ndarray]:
        return HMM.arrays(self)

    @classmethod
    def from_arrays(cls, lexicon: Lexicon, arrays: dict[str, np.ndarray]) -> FertilityHMM:
        plain = HMM.from_arrays(lexicon, arrays)
        return cls(lexicon, plain.jumps, plain.null, **_fertility_from_arrays(arrays))
