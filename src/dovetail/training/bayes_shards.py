"""Collapsed Gibbs sampling over a text in many shards: a sweep is an E-step, and its links are the next one's counts.

Every block is a strand: it sees the links of all others as they were when the sweep began (see `bayes_chains`).  Both
directions go together, chains one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from dovetail.bitext.sharding import StoredShards
from dovetail.bitext.shards import Shard, Slots
from dovetail.bitext.store import release
from dovetail.kernels.bayes import counts as kernels
from dovetail.kernels.bayes import records
from dovetail.kernels.bayes import sweep as sweep_kernels
from dovetail.kernels.bayes.records import LinkCounts
from dovetail.models.bayes import BayesHMM, BayesHMMOptions, BayesIBM1, SeenCounts, stream_key
from dovetail.models.fertility.histogram import TAIL, FertilityHistogram
from dovetail.models.ibm1 import IBM1
from dovetail.models.jumps.binned import BinnedJumps
from dovetail.models.lexicon.dirichlet import DirichletLexicon, DirichletOptions, LexiconPrior
from dovetail.models.lexicon.table import CountsApart, LexiconCounts, TableLexicon, slot_parts
from dovetail.models.model import Learner, Worked
from dovetail.models.null import Null
from dovetail.models.sampled_statistics import ShardAlignments
from dovetail.pool import Pool
from dovetail.training import em
from dovetail.training.bayes_chains import Stage, count_moves, move_weights, twins_of
from dovetail.training.sampling import best_words
from dovetail.training.train import Task

Both = tuple[np.ndarray, np.ndarray]  # of the two directions


@dataclass
class LinkStatistics:
    """Links as they are: of slots and NULL; of generating words, NULL last; tokens by their links; jumps.

    `log_likelihood`, log P(words | links), is known when those of all shards are together.
    """

    lexicon: LexiconCounts | CountsApart
    totals: Both
    tokens: Both
    jumps: tuple[BinnedJumps, BinnedJumps]
    log_likelihood: np.ndarray = field(default_factory=lambda: np.zeros(2))

    @classmethod
    def zeros(cls, slots: Slots, columns: int) -> LinkStatistics:
        """Nothing yet; `columns` are those of the histogram of numbers of links."""
        source, target = slots.n_sources, slots.n_targets
        return cls(
            LexiconCounts.zeros(slots),
            (np.zeros(source + 1), np.zeros(target + 1)),
            (np.zeros((source, columns), np.float32), np.zeros((target, columns), np.float32)),
            (BinnedJumps.zeros(), BinnedJumps.zeros()),
        )

    @classmethod
    def of(cls, shard: Shard, links: ShardAlignments, columns: int, pool: Pool) -> LinkStatistics:
        """Those of a shard."""
        made = cls.zeros(shard.slots, columns)
        lexicon = cast(LexiconCounts, made.lexicon)

        def count(d: int, nulls: np.ndarray) -> BinnedJumps:
            on_slots, on_nulls = np.zeros(len(shard.slots), np.float32), np.zeros(len(nulls), np.float32)
            counts = LinkCounts(on_slots, made.totals[d], on_nulls, made.tokens[d])
            for block, alignments in zip(shard, links.blocks, strict=True):
                direction = records.direction_of(block.pieces, block.ranks, d == 1)
                kernels.add_links(direction, alignments[d], counts, 1.0)
                kernels.add_fertilities(direction, alignments[d], counts.histogram)
            lexicon.slots[:, d], nulls[:] = on_slots, on_nulls
            return count_moves(shard, d, [alignments[d] for alignments in links.blocks])

        forward, reverse = pool.map(count, [(0, lexicon.null_forward), (1, lexicon.null_reverse)])
        return replace(made, jumps=(forward, reverse))

    @classmethod
    def seen(cls, seen: SeenCounts, columns: int) -> LinkStatistics:
        """What a model counted of other text: it stays, as if its links were known."""
        made, known = cls.zeros(seen.lexicon.slots, columns), seen.lexicon
        nulls = [on_grid(counts) for counts in known.null_counts]
        totals = [np.append(*both) for both in zip(known.totals, known.null_totals, strict=True)]
        tokens = made.tokens
        if seen.fertility is not None and seen.fertility[0].tokens.shape == tokens[0].shape:
            tokens = on_grid(seen.fertility[0].tokens), on_grid(seen.fertility[1].tokens)
        lexicon = LexiconCounts(on_grid(known.counts), nulls[0], nulls[1])
        return cls(lexicon, (totals[0], totals[1]), tokens, seen.jumps or made.jumps)

    def __add__(self, other: LinkStatistics) -> LinkStatistics:
        return LinkStatistics(
            self.lexicon + other.lexicon,  # type: ignore[operator]
            (self.totals[0] + other.totals[0], self.totals[1] + other.totals[1]),
            (self.tokens[0] + other.tokens[0], self.tokens[1] + other.tokens[1]),
            (self.jumps[0].plus(other.jumps[0]), self.jumps[1].plus(other.jumps[1])),
        )

    def apart(self, corpus: StoredShards, number: int, pool: Pool) -> LinkStatistics:
        return replace(self, lexicon=self.lexicon.apart(corpus, number, pool))  # type: ignore[union-attr]

    def without_slots(self) -> LinkStatistics:
        """All but the links of slots, which are a large table."""
        none = LexiconCounts(np.zeros((0, 2)), self.lexicon.null_forward, self.lexicon.null_reverse)
        return replace(self, lexicon=none)


def on_grid(values: np.ndarray) -> np.ndarray:
    """Rounded to 1/64: float32 then adds and takes away links without an error."""
    return np.round(values * 64) / 64


@dataclass
class FirstLinks(IBM1):
    """Where chains begin: at IBM Model 1's best alignments."""

    columns: int = field(default=1, kw_only=True)

    def expect(self, shard: Shard, memory: Any, pool: Pool, worked: Worked) -> tuple[Any, ShardAlignments]:
        links = ShardAlignments(best_words(self.lexicon, shard, pool))
        return LinkStatistics.of(shard, links, self.columns, pool), links


@dataclass
class Samples:
    """What the samples of all chains add up to: counts of slots, all other counts, and how many there are."""

    table: np.ndarray  # float32 (slots, 2)
    besides: LinkStatistics
    number: int = 0

    def plus(self, chain: Sweep) -> Samples:
        """With one more; the table is added to in place."""
        for first, last in slot_parts(len(self.table)):
            self.table[first:last] += chain.lexicon.counts[first:last]
            release(self.table[first:last])
            release(chain.lexicon.counts[first:last])
        return Samples(self.table, self.besides + chain.counts_besides(), self.number + 1)

    def mean_lexicon(self, lexicon: DirichletLexicon) -> DirichletLexicon:
        """One like this with the samples' mean counts."""
        for first, last in slot_parts(len(self.table)):
            self.table[first:last] /= self.number
            release(self.table[first:last])
        totals = self.besides.totals[0] / self.number, self.besides.totals[1] / self.number
        nulls = self.besides.lexicon.null_forward / self.number, self.besides.lexicon.null_reverse / self.number
        return replace(lexicon, counts=self.table, **_of_words(totals, nulls))

    def mean_jumps(self, direction: int) -> BinnedJumps:
        return BinnedJumps.zeros().plus(self.besides.jumps[direction], 1.0 / self.number)

    def mean_tokens(self, direction: int) -> np.ndarray:
        return (self.besides.tokens[direction] / self.number).astype(np.float32)


def _of_words(totals: Both, nulls: Both) -> dict[str, Any]:
    """A lexicon's counts of words; NULL's is the last of the totals."""
    return {
        "totals": (totals[0][:-1], totals[1][:-1]),
        "null_counts": (nulls[0].astype(np.float32), nulls[1].astype(np.float32)),
        "null_totals": (float(totals[0][-1]), float(totals[1][-1])),
    }


@dataclass
class Sweep(Learner):
    """A chain between two sweeps: all its links, and those that were `seen` in other text, are counted in `lexicon`."""

    lexicon: DirichletLexicon
    tokens: Both  # float32 (generating words, C + 1)
    jumps: tuple[BinnedJumps, BinnedJumps]
    seeds: tuple[int, int]
    null: float
    fertility_prior: Both  # float64 (C + 1,)
    seen: LinkStatistics | None
    samples: Samples  # of this chain and those before it
    stage: Stage
    turn: int = 0  # sweeps of the stage,
    sweeps: int = 0  # and of the chain

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.stage.name

    @property
    def is_sample(self) -> bool:
        """Whether the next sweep is a sample."""
        return self.stage.lag > 0 and (self.turn + 1) % self.stage.lag == 0

    def sent(self) -> Sweep:
        lexicon = replace(self.lexicon, slots=self.lexicon.slots.none())
        return replace(
            self, lexicon=lexicon, seen=None, samples=replace(self.samples, table=np.zeros((0, 2), np.float32))
        )

    def on(self, shard: Shard, pool: Pool) -> Sweep:
        return replace(self, lexicon=self.lexicon.on(shard, pool))

    def expect(
        self, shard: Shard, memory: ShardAlignments, pool: Pool, worked: Worked
    ) -> tuple[LinkStatistics, ShardAlignments]:
        """Draw every link of the shard once."""
        links = ShardAlignments([(forward.copy(), reverse.copy()) for forward, reverse in memory.blocks])
        models = [self._model(direction, shard.longest) for direction in range(2)]
        counts = [self._counts(direction) for direction in range(2)]
        none = records.Marginals(np.empty(0, np.float32), np.empty(0, np.float32), 0.0)

        def task(direction: int, number: int) -> None:
            block = shard.blocks[number]
            own = records.direction_of(block.pieces, block.ranks, direction == 1)
            given = own, models[direction], counts[direction].copy(), twins_of(block, direction)
            stream = records.Stream(self.seeds[direction], self.sweeps, shard.first + block.first)
            sweep_kernels.sweep(0, len(block.lines), *given, links.blocks[number][direction], stream, none)

        pool.map(task, [(direction, number) for number in range(len(shard.blocks)) for direction in range(2)])
        worked(len(shard.pieces))
        return LinkStatistics.of(shard, links, self.tokens[0].shape[1], pool), links

    def _counts(self, direction: int) -> LinkCounts:
        lexicon = self.lexicon
        totals = np.append(lexicon.totals[direction], lexicon.null_totals[direction])
        links = np.ascontiguousarray(lexicon.counts[:, direction])
        return LinkCounts(links, totals, lexicon.null_counts[direction], self.tokens[direction])

    def _model(self, direction: int, longest: int) -> records.Collapsed:
        """What a direction draws from; jumps, drawn given all links there are, are the same for all shards."""
        stage, key = self.stage, (self.seeds[direction], self.sweeps)
        moves = records.MoveWeights(*move_weights(self.jumps[direction], longest, stage, key))
        fertility = stage.fertile, self.fertility_prior[direction], TAIL
        return records.Collapsed(self._prior(direction), self.null, stage.moving, moves, *fertility, stage.quarters)

    def _prior(self, direction: int) -> records.Prior:
        prior, size = self.lexicon.prior, self.lexicon.sizes[1 - direction]
        return records.Prior(prior.alpha, prior.alpha * size, prior.null_alpha, prior.null_alpha * size)

    def reestimate(self, statistics: LinkStatistics, pool: Pool) -> Sweep:
        """The counts are those of the links there are now; every `lag`-th sweep of the stage is a sample."""
        swept = self.counted(statistics, pool)
        samples = self.samples.plus(swept) if self.is_sample else self.samples
        return replace(swept, samples=samples, turn=self.turn + 1, sweeps=self.sweeps + 1)

    def counted(self, statistics: LinkStatistics, pool: Pool) -> Sweep:
        """With these links, and those that were seen, for counts: in place, since the table of a large text is large."""
        lexicon = self.lexicon
        links = statistics.lexicon.whole(lexicon.slots, pool)

        def count(first: int, last: int) -> np.ndarray:
            own = lexicon.counts[first:last]
            own[:] = links.slots[first:last]
            if self.seen is not None:
                own += cast(LexiconCounts, self.seen.lexicon).slots[first:last]
            values = [kernels.log_marginal(np.ascontiguousarray(own[:, d]), lexicon.prior.alpha) for d in range(2)]
            release(links.slots[first:last])
            release(own)
            return np.array(values)

        value = sum(pool.map(count, slot_parts(len(lexicon.slots))), np.zeros(2))
        rest = replace(statistics, lexicon=links).without_slots()
        if self.seen is not None:
            rest = rest + self.seen.without_slots()
        nulls = rest.lexicon.null_forward, rest.lexicon.null_reverse
        for d, (totals, null_counts) in enumerate(zip(rest.totals, nulls, strict=True)):
            prior = self._prior(d)
            value[d] += kernels.log_marginal(null_counts, prior.null_alpha)
            value[d] -= kernels.log_marginal(totals[:-1], prior.mass)
            value[d] -= kernels.log_marginal(totals[-1:], prior.null_mass)
        statistics.log_likelihood = value
        made = replace(lexicon, **_of_words(rest.totals, nulls))
        tokens = rest.tokens[0].astype(np.float32), rest.tokens[1].astype(np.float32)
        return replace(self, lexicon=made, tokens=tokens, jumps=rest.jumps)

    def counts_besides(self) -> LinkStatistics:
        """All counts but those of slots."""
        lexicon, none = self.lexicon, np.zeros((0, 2))
        totals = [np.append(*both) for both in zip(lexicon.totals, lexicon.null_totals, strict=True)]
        nulls = [counts.astype(np.float64) for counts in lexicon.null_counts]
        tokens = self.tokens[0].astype(np.float64), self.tokens[1].astype(np.float64)
        return LinkStatistics(LexiconCounts(none, *nulls), (totals[0], totals[1]), tokens, self.jumps)

    def with_learned_prior(self) -> Sweep:
        """The prior's mean becomes the part of this text's tokens with each number of links, now."""
        priors = []
        for d, prior in enumerate(self.fertility_prior):
            tokens = self.tokens[d] if self.seen is None else self.tokens[d] - self.seen.tokens[d]
            parts = tokens.sum(axis=0, dtype=np.float64) + 1.0
            priors.append(prior.sum() * parts / parts.sum())
        return replace(self, fertility_prior=(priors[0], priors[1]))


def train_over_shards(
    task: Task,
    start: TableLexicon,
    stages: Sequence[Stage],
    chains: int,
    seen: SeenCounts | None,
    kind: type[Sweep] = Sweep,
) -> BayesIBM1 | BayesHMM:
    """From IBM Model 1's lexicon to the Bayesian model.  Block moves, of words that are in many shards, are left out.

    `kind` is what goes over the shards, for one that does more there than sweep.
    """
    corpus, slots, settings = task.corpus, task.corpus.slots, task.settings
    own = settings.of(BayesHMMOptions) if task.kind.moving else BayesHMMOptions()
    columns = own.largest_fertility + 1
    even = np.full(columns, own.fertility_strength / columns)
    nothing = LinkStatistics.zeros(slots.rows(0, 0), columns)
    chain = kind(
        no_counts(slots, corpus.table("links", (len(slots), 2), np.float32), settings.of(DirichletOptions)),
        nothing.tokens,
        nothing.jumps,
        (0, 0),
        settings.of(Null).null if task.kind.moving else Null().null,
        (even, even),
        None if seen is None else LinkStatistics.seen(seen, columns),
        Samples(cast(np.ndarray, corpus.table("sums", (len(slots), 2), np.float32)), nothing),
        stages[0],
    )
    for number in range(chains):
        seeds = stream_key(task.seed, 2 + 2 * number), stream_key(task.seed, 3 + 2 * number)
        first, memory = task.engine.sum(
            FirstLinks(start, columns=columns), corpus, [None] * len(corpus), lambda pieces: None
        )
        chain = chain.counted(cast(LinkStatistics, first), task.engine.pool)
        chain = replace(chain, seeds=seeds, fertility_prior=(even, even), stage=stages[0], sweeps=0)
        for stage in stages:
            if stage.fertile and not chain.stage.fertile:
                chain = chain.with_learned_prior()
            chain = replace(chain, stage=stage, turn=0)
            chain, kept = em.fit(chain, corpus, task.engine, stage.sweeps, task.monitor, memory, to_the_end=True)
            memory = list(kept)
    samples = chain.samples
    mean = samples.mean_lexicon(chain.lexicon)
    if not task.kind.moving:
        return BayesIBM1(mean)
    forward, reverse = (
        FertilityHistogram(samples.mean_tokens(direction), chain.fertility_prior[direction]) for direction in range(2)
    )
    return BayesHMM(mean, (samples.mean_jumps(0), samples.mean_jumps(1)), (forward, reverse), chain.null)


def no_counts(slots: Slots, table: Any, options: DirichletOptions) -> DirichletLexicon:
    """Nothing counted yet; links of slots will be in `table`."""
    source, target = slots.n_sources, slots.n_targets
    totals, nulls = (np.zeros(source), np.zeros(target)), (np.zeros(target, np.float32), np.zeros(source, np.float32))
    prior = LexiconPrior(options.alpha, options.alpha)
    return DirichletLexicon(slots, table, totals, nulls, (0.0, 0.0), (source, target), prior, options.discount)
