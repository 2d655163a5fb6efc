"""Monte Carlo EM as Zhao and Gildea (2010) describe it: how it begins, jumps by their counts, sampling without fertility."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.sharding import OneShard
from dovetail.bitext.shards import Block, Shard, lay_out
from dovetail.bitext.store import release
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.kernels.hmm.viterbi import FORWARD, REVERSE
from dovetail.kernels.laboratory.empty_words import expect
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, Nulls, Workspace
from dovetail.models.checks import Array, Unsound, checked_arrays
from dovetail.models.fertile import FertilityModel, Sampling
from dovetail.models.fertility.factor import MOST, SAVED, Fertility, FertilityCounts, Spelling, null_mean
from dovetail.models.fertility.features import spelling
from dovetail.models.hmm import HMM
from dovetail.models.ibm1 import IBM1, DenseStatistics
from dovetail.models.jumps.distance import JumpCounts, JumpOptions
from dovetail.models.lexicon.table import slot_parts
from dovetail.models.model import Alignments, Around, Learner, Memory, Worked
from dovetail.models.sampled_statistics import ShardAlignments
from dovetail.options import Options, Settings, option
from dovetail.pool import Pool
from dovetail.training import em, sampling
from dovetail.training.train import Task, reads

SMOOTHING = 1e-8  # added to every parameter (section 6)


@dataclass(frozen=True)
class BeginningOptions(Options):
    """Where parameters begin."""

    parameter_start: str = option(
        "ibm1",
        choices=("ibm1", "even"),
        help="IBM Model 1's lexicon and links, or all translations and fertilities alike",
    )


@dataclass(frozen=True)
class ChainStart(Options):
    """Where every chain begins in every E-step; without jumps there is one place only."""

    chain_start: str = option(
        "ibm1", choices=("ibm1", "hmm"), help="IBM Model 1's best alignments, or the HMM's by the parameters so far"
    )


@dataclass(frozen=True)
class UpdateOptions(Options):
    """How often parameters are learned."""

    updates: int = option(
        1,
        at_least=1,
        at_most=100,
        help="M-steps per iteration: 1 is batch learning, more are towards the paper's online learning (section 5)",
    )


@dataclass
class EmptyWordsIBM1(IBM1):
    """IBM Model 1 with I + 1 empty words."""

    name = "zhao2010-ibm1"

    def infer(
        self,
        block: Block,
        work: Workspace,
        pool: Pool,
        statistics: DenseStatistics | None = None,
        memory: Memory = None,
    ) -> np.ndarray:
        scores, nulls = np.empty((len(block.lines), 2)), self.lexicon.nulls
        pool.map(lambda first, last: expect(first, last, block.pieces, nulls, work, scores), block.tasks)
        return scores


@dataclass(frozen=True)
class CountedJumps:
    """p(i | i') = c(i - i') / sum over i'' of c(i'' - i'), c(d) being the share of jumps over d (equation 5, section 2.2).

    First links by position likewise.  Distances and positions that were never seen have `rest`.
    """

    weights: np.ndarray  # float64 (2 n + 1,): of distances -n..n
    start: np.ndarray  # float64 (m,): of positions 0..m - 1
    rest: float

    kind = "counts"

    @classmethod
    def uniform(cls, window: int = 5) -> CountedJumps:
        return cls(np.ones(1), np.ones(1), 1.0)

    def expand(self, longest: int) -> tuple[np.ndarray, np.ndarray]:
        jump, start = np.full(2 * longest + 1, self.rest), np.full(longest, self.rest)
        near = min(longest, len(self.weights) // 2)
        middle = len(self.weights) // 2
        jump[longest - near : longest + near + 1] = self.weights[middle - near : middle + near + 1]
        first = min(longest, len(self.start))
        start[:first] = self.start[:first]
        return jump.astype(np.float32), start.astype(np.float32)

    def reestimate(self, counts: JumpCounts) -> CountedJumps:
        shares = [moves / max(moves.sum(), 1.0) + SMOOTHING for moves in (counts.jump[0], counts.start[0])]
        return CountedJumps(shares[0], shares[1], SMOOTHING)

    def raised(self, even: float) -> CountedJumps:
        weights, start = (values + even * values.sum() for values in (self.weights, self.start))
        return CountedJumps(weights, start, self.rest + even)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"": self.weights, "_start": self.start, "_rest": np.array([self.rest])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> CountedJumps:
        some = Array(np.float64, ("distances",), least=SMOOTHING / 2)
        wanted = {"": some, "_start": some._replace(shape=("positions",)), "_rest": some._replace(shape=(1,))}
        weights, start, rest = checked_arrays(arrays, "", wanted, {})
        if len(weights) % 2 == 0:
            raise Unsound(" have no middle")
        return cls(weights, start, float(rest[0]))


@dataclass(frozen=True)
class NoFertility(Fertility):
    """Any number of links is worth the same: the samplers then draw from the plain HMM (end of section 6)."""

    kind = "none"
    wants_histogram = False

    @classmethod
    def initial(cls, counts: FertilityCounts, spelling: Spelling) -> NoFertility:
        return cls(counts.tokens, null_mean(counts))

    @property
    def ratios(self) -> np.ndarray:
        return np.ones((len(self.tokens), 1), np.float32)

    @property
    def zero(self) -> np.ndarray:
        return np.zeros(len(self.tokens))

    def means(self) -> np.ndarray:
        return np.ones(len(self.tokens))

    def reestimate(self, counts: FertilityCounts) -> NoFertility:
        return NoFertility(counts.tokens, null_mean(counts))

    def transfer(self, words: np.ndarray, spelling: Spelling) -> NoFertility:
        tokens = self.tokens[words] if len(self.tokens) else np.zeros(len(words), np.int64)
        return replace(self, tokens=np.where(words >= 0, tokens, 0))

    def parameters(self) -> dict[str, np.ndarray]:
        return {"tokens": self.tokens, "null": np.array([self.null])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], prefix: str, words: int) -> NoFertility:
        tokens, null = checked_arrays(arrays, prefix, SAVED, {"words": words})
        return cls(tokens, float(null[0]))


@dataclass
class FromBestPaths(Around):
    """A model whose chains begin at its own best paths (section 5: initialising by the HMM's Viterbi algorithm)."""

    name = "viterbi starts"

    def expect(self, shard: Shard, memory: Memory, pool: Pool, worked: Worked) -> tuple[Any, Memory]:
        starts, work = [], shard.workspace()
        for block in shard:
            view = block.view(work)
            self.model.lexicon.gather(block, view, pool)
            marks = np.zeros(block.cells, np.uint8)
            self.model.mark_best_paths(block, view, marks, pool)
            starts.append(marked_alignments(block, marks))
        statistics, _ = self.model.expect(shard, ShardAlignments(starts), pool, worked)
        return statistics, memory

    def reestimate(self, statistics: Any, pool: Pool) -> FromBestPaths:
        return replace(self, model=self.model.reestimate(statistics, pool))


def marked_alignments(block: Block, marks: np.ndarray) -> Alignments:
    """Both directions' alignments, one position per token and -1 for NULL, from the marks of their links."""
    forward, reverse = np.full(block.columns, -1, np.int16), np.full(block.rows, -1, np.int16)
    for line in block.lines:
        I, J = line[LENGTH_I], line[LENGTH_J]
        cells = marks[line[CELL] : line[CELL] + I * J].reshape(I, J)
        i, j = np.nonzero(cells & FORWARD)
        forward[line[COLUMN] + j] = i
        i, j = np.nonzero(cells & REVERSE)
        reverse[line[ROW] + i] = j
    return forward, reverse


@reads(many_shards=lambda settings, cells: True, resumes=True)
def train_hmm(task: Task) -> HMM:
    """The HMM by EM, from an IBM Model 1 with I + 1 empty words: what the paper compares with."""
    return task.fit_dense(first=EmptyWordsIBM1)


def many_shards(settings: Settings, cells: int) -> bool:
    return bool(settings.updates == 1)


@reads(sampling.SamplingOptions, BeginningOptions, UpdateOptions, many_shards=many_shards, resumes=True)
def train(task: Task) -> FertilityModel:
    """Every chain begins at IBM Model 1's best alignments."""
    return train_by_samples(task, from_paths=False)


@reads(sampling.SamplingOptions, BeginningOptions, ChainStart, UpdateOptions, many_shards=many_shards, resumes=True)
def train_moving(task: Task) -> FertilityModel:
    """The same of models with jumps, whose own best paths are another place to begin at."""
    return train_by_samples(task, task.settings.of(ChainStart).chain_start == "hmm")


def train_by_samples(task: Task, from_paths: bool) -> FertilityModel:
    """IBM Model 1 with I + 1 empty words; then the model with its lexicon, even jumps and one fertility for all words.

    With `parameter_start` "even" IBM Model 1 only tells chains where to begin.
    """
    options, begin = task.settings.of(sampling.SamplingOptions), task.settings.of(BeginningOptions)
    updates = task.settings.of(UpdateOptions).updates
    if updates > 1:
        task = replace(task, corpus=OneShard(in_parts(task.bitext, task.shard, updates, task.engine.pool)))
    ibm1 = task.ibm1(EmptyWordsIBM1)
    draws = Sampling(task.seed, options.samples, options.restarts, 0, soft=options.soft_counts)
    model, _, memory = sampling.counted(task, ibm1.lexicon, draws)
    if begin.parameter_start == "even":
        model = evened(model, task.vocabularies)
    if model.moving:
        model = replace(model, jumps=task.start.jumps or task.settings.of(JumpOptions).uniform())  # type: ignore[call-arg]

    def schedule(learner: Any, iteration: int) -> Learner:
        drawn = replace(draws, first_sweep=iteration * options.restarts * options.samples)
        if from_paths:
            return replace(learner, model=replace(learner.model, sampling=drawn))
        return replace(learner, sampling=drawn)

    learner: Learner = FromBestPaths(model) if from_paths else model
    iterations = options.fertility_iterations
    if updates > 1:
        learned = fit_online(learner, task, iterations, memory[0], schedule)
    else:
        learned = em.fit(learner, task.corpus, task.engine, iterations, task.monitor, memory, schedule)[0]
    return learned.model if from_paths else learned


def evened(model: FertilityModel, vocabularies: tuple[Vocabulary, Vocabulary]) -> FertilityModel:
    """With every word of the vocabulary as likely a translation of any other, and of NULL (section 6); fertilities likewise.

    The paper does not say with which means these begin.  Here as if all of a sentence's 2 I + 1 positions were alike: half
    of its J words go to the empty ones, lambda = lambda(NULL) = J / 2 I.
    """
    lexicon = model.lexicon
    even = [1.0 / max(size, 1) for size in (lexicon.slots.n_targets, lexicon.slots.n_sources)]
    for first, last in slot_parts(len(lexicon.slots)):
        lexicon.table[first:last] = even
        release(lexicon.table[first:last])
    nulls = Nulls(*(np.full_like(null, value) for null, value in zip(lexicon.nulls, even, strict=True)))
    tokens = [int(fertility.tokens.sum()) for fertility in model.fertility]
    means = tokens[1] / max(tokens[0], 1) / 2, tokens[0] / max(tokens[1], 1) / 2
    forward, reverse = map(_even, model.fertility, means, vocabularies)
    return replace(model, lexicon=replace(lexicon, nulls=nulls), fertility=(forward, reverse))


def _even(kind: Any, mean: float, words: Vocabulary) -> Any:
    """The Poisson distribution of this mean, or what the kind makes of it, for all words."""
    tokens, counts = kind.tokens, np.arange(MOST + 1)
    shares = np.exp(-mean) * mean**counts / np.cumprod(np.maximum(counts, 1))
    total = float(tokens.sum())
    told = FertilityCounts(tokens, tokens * mean, np.outer(tokens, shares), total * mean, total)
    return type(kind).initial(told, lambda: spelling(words, words))


def in_parts(bitext: Bitext, shard: Shard, parts: int, pool: Pool) -> Shard:
    """The bitext with the same slots, in about so many blocks."""
    source, target = bitext.source, bitext.target
    sizes = len(source.vocabulary), len(target.vocabulary)
    cells = max(1, -(-shard.total // parts))
    return lay_out(source.ids, source.offsets, target.ids, target.offsets, *sizes, pool, cells)


def fit_online(learner: Any, task: Task, iterations: int, memory: ShardAlignments, schedule: em.Schedule) -> Any:
    """EM with an M-step after every block: what was counted of it before is replaced, what others counted stays.

    The paper only says that sampling "updates parameters constantly"; this is incremental EM (Neal and Hinton 1998).  The
    first iteration goes by batch, since one block says nothing of the words of the others.
    """
    shard, pool = task.shard, task.engine.pool
    parts = [part_of(shard, block) for block in shard]
    starts = [ShardAlignments([start]) for start in memory.blocks]
    statistics: list[Any] = [None] * len(parts)
    task.monitor.begin(learner.name, iterations, len(shard.pieces))
    for iteration in range(iterations):
        learner = schedule(learner, iteration)
        for n, part in enumerate(parts):
            statistics[n] = task.engine.sum(learner, OneShard(part), [starts[n]], task.monitor.worked)[0]
            if iteration > 0 or n == len(parts) - 1:
                learner = learner.reestimate(reduce(add, statistics), pool)
        if task.monitor.iterated(reduce(add, [own.log_likelihood for own in statistics])).converged:
            break
    return learner


def part_of(shard: Shard, block: Block) -> Shard:
    """A shard of this block alone."""
    pieces = shard.pieces.part(block.first, block.last)
    return replace(shard, pieces=pieces, blocks=[block])
