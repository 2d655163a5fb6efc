"""Bayesian training (Mermer and Saraçlar 2011): chains of collapsed Gibbs sampling, then the mean of their counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np

from dovetail.bitext.shards import Shard
from dovetail.kernels.bayes.records import LinkCounts
from dovetail.kernels.records import Nulls
from dovetail.models.bayes import Annealing, BayesHMM, BayesHMMOptions, BayesIBM1, SeenCounts, stream_key
from dovetail.models.fertility.histogram import FertilityHistogram
from dovetail.models.jumps.binned import BinnedJumps
from dovetail.models.lexicon.dirichlet import DirichletLexicon, DirichletOptions, LexiconPrior
from dovetail.models.lexicon.table import LexiconCounts, TableLexicon
from dovetail.models.model import Alignments
from dovetail.models.null import Null
from dovetail.options import Options, Settings, option
from dovetail.pool import Pool
from dovetail.training.bayes_chains import Chain, Stage, Strands, Sums, sweep
from dovetail.training.bayes_climb import climb
from dovetail.training.bayes_shards import on_grid, train_over_shards
from dovetail.training.monitor import Monitor
from dovetail.training.sampling import best_words
from dovetail.training.train import Task, reads

SMALL_CELLS = 1 << 19  # up to here a text gets all the sweeps that were asked for
USUAL_CELLS = 5_000_000  # here the HMM gets as many as were asked for
LEAST, MOST = 0.2, 2.0  # how far its sweeps follow the size of the text
LARGE_CELLS = 250_000_000  # from here on there are fewer chains, too
KEPT_SECONDS = 10.0  # between sweeps after which a killed run can go on
LEAST_BURN_IN, LEAST_SAMPLES = 60, 20  # of IBM Model 1, however large the text


@dataclass(frozen=True)
class ChainOptions(Options):
    """Chains of collapsed Gibbs sampling."""

    chains: int = option(1, at_least=1, help="chains that run side by side, each in both directions")
    start: str = option(
        "em",
        choices=("em", "cooccurrence"),
        help="where chains begin: at IBM Model 1's best alignments, or at words that stand together most often",
    )
    burn_in: int = option(5, at_least=0, help="sweeps of each chain that do not count")
    samples: int = option(30, at_least=1, help="sweeps of each chain that count, after those")
    lag: int = option(1, at_least=1, help="every so many sweeps after burn-in one is a sample")
    adapt_sweeps: bool = option(True, help="whether large texts get fewer sweeps and chains")
    shards: int = option(0, at_least=0, help="strands of the text that are sampled side by side (0: by its size)")


@reads(ChainOptions, many_shards=lambda settings, cells: settings.of(ChainOptions).start == "em", resumes=True)
def train(task: Task) -> BayesIBM1 | BayesHMM:
    """From a trained IBM Model 1, whose best alignments are where chains begin, to the Bayesian model.

    A Bayesian model to start from brings the counts of other text: they stay, as if its links were known.
    """
    lexicon = task.ibm1().lexicon
    pool, settings = task.engine.pool, task.settings
    seen = task.start.warm(task.corpus.slots).counts_to_start if task.start.warm is not None else None
    stages = (hmm_stages if task.kind.moving else ibm1_stages)(task.corpus.total, settings)
    if task.corpus.only is None:
        return train_over_shards(
            task, lexicon, stages, number_of_chains(task.corpus.total, settings.of(ChainOptions)), seen
        )
    chains = begin(lexicon, task.shard, settings, task.seed, pool, seen)
    run(chains, stages, pool, task.monitor)
    mean = mean_lexicon(chains, settings.of(DirichletOptions).discount)
    if not task.kind.moving:
        return BayesIBM1(mean)
    jumps = mean_jumps(chains, 0), mean_jumps(chains, 1)
    fertility = mean_fertility(chains, 0), mean_fertility(chains, 1)
    return BayesHMM(mean, jumps, fertility, settings.of(Null).null)


def begin(
    lexicon: TableLexicon, shard: Shard, settings: Settings, seed: int, pool: Pool, seen: SeenCounts | None = None
) -> list[Chain]:
    """Chains of both directions at their first alignments.  `seen`, for the same words, are counts of other text."""
    options = settings.of(ChainOptions)
    if options.start == "cooccurrence":
        lexicon = cooccurrences(shard, pool)
    return make_chains(Strands.of(shard, options.shards), best_words(lexicon, shard, pool), settings, seed, seen)


def ibm1_stages(cells: int, settings: Settings) -> list[Stage]:
    """What is sampled of IBM Model 1, and how often.

    With `adapt_sweeps` large texts get fewer sweeps in proportion, since their counts say more.  With `annealing` burn-in
    is for a third at temperature 2, for a third at 4/3, then for a while at 1, and for the last quarter at 1/2, where
    samples are; each of these ends with block moves.  Links of a word pair hold on to one another and hardly leave one at a
    time: a cool chain keeps many pairs that it began with, and a warm one has many that are nothing but noise.
    """
    options, size = settings.of(ChainOptions), max(1, cells)
    burn_in, samples, lag = options.burn_in, options.samples, options.lag
    if options.adapt_sweeps and size > SMALL_CELLS:
        fewer = SMALL_CELLS / size
        draws = samples * lag * fewer
        burn_in = min(burn_in, max(LEAST_BURN_IN, round(burn_in * fewer)))
        lag = max(1, round(lag * fewer))
        samples = min(samples, max(LEAST_SAMPLES, round(draws / lag)))
    if not settings.of(Annealing).annealing:
        return [Stage("burn-in", burn_in), Stage("samples", samples * lag, lag=lag)]
    third, quarter = burn_in // 3, burn_in // 4
    return [
        Stage("hot burn-in", third, quarters=2, climb=True),
        Stage("warm burn-in", third, quarters=3, climb=True),
        Stage("burn-in", burn_in - 2 * third - quarter, climb=True),  # without it, frequent words freeze anywhere
        Stage("cool burn-in", quarter, quarters=8, climb=True),
        Stage("samples", samples * lag, quarters=8, lag=lag),
    ]


def hmm_stages(cells: int, settings: Settings) -> list[Stage]:
    """The same of the HMM; with `adapt_sweeps` there are fewer with the square root of the size."""
    options, own, size = settings.of(ChainOptions), settings.of(BayesHMMOptions), max(1, cells)
    sweeps = own.ibm1_sweeps, own.hmm_sweeps, options.burn_in, options.samples
    if options.adapt_sweeps:
        factor = min(MOST, max(LEAST, (USUAL_CELLS / size) ** 0.5))
        sweeps = tuple(round(number * factor) for number in sweeps)
    ibm1, hmm, burn_in, samples = sweeps
    return [
        Stage("ibm1 sweeps", ibm1),
        Stage("hmm sweeps", hmm, moving=True),
        Stage("fertility burn-in", burn_in, moving=True, fertile=True),
        Stage("samples", max(1, samples) * options.lag, moving=True, fertile=True, lag=options.lag),
    ]


def number_of_chains(cells: int, options: ChainOptions) -> int:
    """As many as were asked for; of a very large text, with `adapt_sweeps`, fewer by the square root of its size."""
    fewer = (LARGE_CELLS / max(1, cells)) ** 0.5 if options.adapt_sweeps else 1.0
    return max(1, round(options.chains * min(1.0, fewer)))


def run(
    chains: Sequence[Chain],
    stages: Sequence[Stage],
    pool: Pool,
    monitor: Monitor,
) -> None:
    """All stages of all chains, side by side.  A killed run goes on after a sweep."""
    stages = [stage for stage in stages if stage.sweeps]
    pieces = len(chains[0].text.shard.pieces) if chains else 0
    history: list[list[np.ndarray]] = []  # objectives of the stages that have begun, sweep by sweep
    keeper, kept_at = monitor.keeper, monotonic()
    known = keeper.begin() if keeper is not None else None
    if known is not None:
        history = known["history"]
        for chain, state in zip(chains, known["chains"], strict=True):
            chain.go_on(state)
    begun = len(history)
    for number, stage in enumerate(stages):
        monitor.begin(stage.name, stage.sweeps, pieces)
        if number < begun:
            monitor.resume(history[number], pieces)
        if number < begun - 1:
            continue
        if number >= begun:
            history.append([])
            if stage.fertile and not any(before.fertile for before in stages[:number]):
                _learn_fertility_prior(chains)
        pool.map(Chain.begin, [(chain,) for chain in chains], stage)
        for turn in range(len(history[number]), stage.sweeps):
            sweep(chains, stage, pool)
            if stage.lag > 0 and (turn + 1) % stage.lag == 0:
                pool.map(lambda chain: chain.keep_sample(), [(chain,) for chain in chains])
            monitor.worked(pieces)
            history[number].append(_objective(chains, pool))
            monitor.iterated(history[number][-1])
            if keeper is not None and monotonic() - kept_at >= KEPT_SECONDS:
                keeper.keep(history=history, chains=[chain.state() for chain in chains])
                kept_at = monotonic()
        if stage.climb:
            climb(chains, pool)


def _objective(chains: Sequence[Chain], pool: Pool) -> np.ndarray:
    """Twice the mean log-probability of the chains of each direction."""
    objective = np.zeros(2)
    values = pool.map(Chain.log_probability, [(chain,) for chain in chains])
    for chain, value in zip(chains, values, strict=True):
        objective[chain.direction] += 2.0 * value / len(chains)
    return objective


def _learn_fertility_prior(chains: Sequence[Chain]) -> None:
    """The prior's mean is the part of tokens with each number of links, now, in all chains of a direction."""
    for direction in range(2):
        own = [chain for chain in chains if chain.direction == direction]
        tokens = sum(chain.histogram().sum(axis=0, dtype=np.float64) for chain in own)
        for chain in own:
            strength = chain.fertility_prior.sum()
            parts = tokens + 1.0
            chain.fertility_prior = strength * parts / parts.sum()


def cooccurrences(shard: Shard, pool: Pool) -> TableLexicon:
    """How often words stand in the same pair in the whole text (the paper's footnote 9), and nothing for NULL."""
    counts, work = LexiconCounts.zeros(shard.slots), shard.workspace()
    for block in shard:
        view = block.view(work)
        for buffer in (view.forward, view.reverse):
            buffer[:] = 1.0
        for buffer in (view.null_forward, view.null_reverse):
            buffer[:] = 0.0
        counts.add(block, view, pool)
    slots = shard.slots
    nulls = Nulls(np.zeros(slots.n_targets, np.float32), np.zeros(slots.n_sources, np.float32))
    return TableLexicon(slots, counts.slots.astype(np.float32), nulls)


def make_chains(
    text: Strands, starts: list[Alignments], settings: Settings, seed: int, seen: SeenCounts | None
) -> list[Chain]:
    """Chains of both directions, each at `starts`."""
    slots, options = text.shard.slots, settings.of(ChainOptions)
    sizes, prior = (slots.n_sources, slots.n_targets), settings.of(DirichletOptions)
    moving = "largest_fertility" in settings
    own = settings.of(BayesHMMOptions) if moving else BayesHMMOptions()
    columns = own.largest_fertility + 1
    made = []
    for number in range(number_of_chains(text.shard.total, options)):
        for direction in range(2):
            counts = LinkCounts(
                np.zeros(len(slots), np.float32),
                np.zeros(sizes[direction] + 1),
                np.zeros(sizes[1 - direction], np.float32),
                np.zeros((sizes[direction], columns), np.float32),
            )
            jumps = BinnedJumps.zeros()
            if seen is not None:
                _begin_with(counts, seen, direction)
                jumps = seen.jumps[direction] if seen.jumps is not None else jumps
            chain = Chain(
                text,
                direction,
                stream_key(seed, 2 + 2 * number + direction),
                counts,
                [start[direction].copy() for start in starts],
                LexiconPrior(prior.alpha, prior.alpha),
                settings.of(Null).null if moving else Null().null,
                np.full(columns, own.fertility_strength / columns),
                jumps,
                counts.histogram.copy(),
                Sums(LinkCounts(*map(np.zeros_like, counts))),
            )
            chain.count()
            made.append(chain)
    return made


def _begin_with(counts: LinkCounts, seen: SeenCounts, direction: int) -> None:
    lexicon = seen.lexicon
    counts.links[:] = on_grid(lexicon.counts[:, direction])
    counts.totals[:-1] = lexicon.totals[direction]
    counts.totals[-1] = lexicon.null_totals[direction]
    counts.nulls[:] = on_grid(lexicon.null_counts[direction])
    if seen.fertility is not None and seen.fertility[direction].tokens.shape == counts.histogram.shape:
        counts.histogram[:] = on_grid(seen.fertility[direction].tokens)


def mean_lexicon(chains: Sequence[Chain], discount: float) -> DirichletLexicon:
    """The mean of all samples of all chains."""
    slots = chains[0].text.shard.slots
    forward, reverse = (_mean(chains, direction) for direction in range(2))
    counts, totals = np.stack([forward.links, reverse.links], axis=1), (forward.totals[:-1], reverse.totals[:-1])
    nulls, null_totals = (forward.nulls, reverse.nulls), (float(forward.totals[-1]), float(reverse.totals[-1]))
    sizes = slots.n_sources, slots.n_targets
    return DirichletLexicon(slots, counts, totals, nulls, null_totals, sizes, chains[0].prior, discount)


def _mean(chains: Sequence[Chain], direction: int) -> LinkCounts:
    own = [chain.sums for chain in chains if chain.direction == direction]
    samples = sum(sums.samples for sums in own)
    parts = zip(*(sums.counts for sums in own if sums.samples), strict=True)
    return LinkCounts(*((np.sum(part, axis=0) / samples).astype(part[0].dtype) for part in parts))


def mean_jumps(chains: Sequence[Chain], direction: int) -> BinnedJumps:
    """The mean of all samples' jumps, and the seed model's."""
    own = [chain for chain in chains if chain.direction == direction]
    total = BinnedJumps.zeros()
    for chain in own:
        total = total.plus(chain.sums.jumps, 1.0 / sum(chain.sums.samples for chain in own))
    return own[0].seen_jumps.plus(total)


def mean_fertility(chains: Sequence[Chain], direction: int) -> FertilityHistogram:
    prior = np.mean([chain.fertility_prior for chain in chains if chain.direction == direction], axis=0)
    return FertilityHistogram(_mean(chains, direction).histogram, prior)
