"""Bayesian training (Mermer and Saraçlar 2011): chains of collapsed Gibbs sampling, then the mean of their counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.bitext.shards import Shard
from dovetail.engines import Threads
from dovetail.errors import InputError
from dovetail.kernels.records import Workspace
from dovetail.models.bayes import BayesHMM, BayesIBM1, FertilityHistogram, Moves, stream_key
from dovetail.models.ibm1 import IBM1
from dovetail.models.lexicon.dirichlet import BayesLexicon, LexiconPrior
from dovetail.models.lexicon.table import Lexicon, LexiconCounts
from dovetail.training.bayes_chains import Chain, Counts, Stage, Text, sweep
from dovetail.training.bayes_climb import climb
from dovetail.training.monitor import Monitor
from dovetail.training.sampling import Starts, best_words

SMALL_CELLS = 1 << 19  # up to here a text gets all the sweeps that were asked for
USUAL_CELLS = 5_000_000  # here the HMM gets as many as were asked for
LEAST, MOST = 0.2, 2.0  # how far its sweeps follow the size of the text
LARGE_CELLS = 250_000_000  # from here on there are fewer chains, too
LEAST_BURN_IN, LEAST_SAMPLES = 60, 20  # of IBM Model 1, however large the text


def train(
    model: str,
    ibm1: IBM1,
    shard: Shard,
    options: Any,
    seed: int,
    engine: Threads,
    monitor: Monitor,
    warm: Any = None,
) -> BayesIBM1 | BayesHMM:
    """From a trained IBM Model 1, whose best alignments are where chains begin, to the Bayesian model of that name.

    `warm`, a Bayesian model for the same words, brings the counts of other text: they stay, as if its links were known.
    """
    chains = begin(ibm1, shard, options, seed, engine, warm)
    run(chains, stages(model, shard, options), engine, monitor)
    lexicon = mean_lexicon(chains, options.discount)
    if model == "ibm1-bayes":
        return BayesIBM1(lexicon)
    moves = mean_moves(chains, 0), mean_moves(chains, 1)
    fertility = mean_fertility(chains, 0), mean_fertility(chains, 1)
    return BayesHMM(lexicon, moves, fertility, options.null)


def begin(ibm1: IBM1, shard: Shard, options: Any, seed: int, engine: Threads, warm: Any = None) -> list[Chain]:
    """Chains of both directions at their first alignments."""
    work = shard.workspace()
    if options.start == "em":
        starts = best_words(ibm1, shard, work, engine)
    elif options.start == "cooccurrence":
        starts = cooccurring_words(shard, work, engine)
    else:
        raise InputError(f"no start {options.start!r}", remedy="Choose em or cooccurrence.")
    warm = warm if isinstance(warm, (BayesIBM1, BayesHMM)) else None
    return make_chains(Text.of(shard, options.shards), starts, options, seed, warm)


def stages(model: str, shard: Shard, options: Any) -> list[Stage]:
    """What is sampled, and how often.

    With `adapt_sweeps` large texts get fewer sweeps, since their counts say more: IBM Model 1 in proportion, the HMM with
    the square root.  With `annealing` IBM Model 1's burn-in is for a third at temperature 2, for a third at 4/3, then for a
    while at 1, and for the last quarter at 1/2, where samples are; each of these ends with block moves.  Links of a word
    pair hold on to one another and hardly leave one at a time: a cool chain keeps many pairs that it began with, and a
    warm one has many that are nothing but noise.
    """
    size = max(1, shard.total)
    burn_in, samples, lag = options.burn_in, options.samples, options.lag
    if model == "ibm1-bayes":
        if options.adapt_sweeps and size > SMALL_CELLS:
            share = SMALL_CELLS / size
            draws = samples * lag * share
            burn_in = min(burn_in, max(LEAST_BURN_IN, round(burn_in * share)))
            lag = max(1, round(lag * share))
            samples = min(samples, max(LEAST_SAMPLES, round(draws / lag)))
        if not options.annealing:
            return [Stage("burn-in", burn_in), Stage("samples", samples * lag, lag=lag)]
        third, quarter = burn_in // 3, burn_in // 4
        return [
            Stage("hot burn-in", third, quarters=2, climb=True),
            Stage("warm burn-in", third, quarters=3, climb=True),
            Stage("burn-in", burn_in - 2 * third - quarter, climb=True),  # without it, frequent words freeze anywhere
            Stage("cool burn-in", quarter, quarters=8, climb=True),
            Stage("samples", samples * lag, quarters=8, lag=lag),
        ]
    ibm1, hmm = options.ibm1_sweeps, options.hmm_sweeps
    if options.adapt_sweeps:
        share = min(MOST, max(LEAST, (USUAL_CELLS / size) ** 0.5))
        ibm1, hmm, burn_in, samples = (round(number * share) for number in (ibm1, hmm, burn_in, samples))
    return [
        Stage("ibm1 sweeps", ibm1),
        Stage("hmm sweeps", hmm, moving=True),
        Stage("fertility burn-in", burn_in, moving=True, fertile=True),
        Stage("samples", max(1, samples) * lag, moving=True, fertile=True, lag=lag),
    ]


def number_of_chains(shard: Shard, options: Any) -> int:
    """As many as were asked for; of a very large text, with `adapt_sweeps`, fewer by the square root of its size."""
    share = (LARGE_CELLS / max(1, shard.total)) ** 0.5 if options.adapt_sweeps else 1.0
    return max(1, round(options.chains * min(1.0, share)))


def run(chains: Sequence[Chain], stages: Sequence[Stage], engine: Threads, monitor: Monitor) -> None:
    """All stages of all chains, side by side."""
    for stage in stages:
        if not stage.sweeps:
            continue
        if stage.fertile and not any(before.fertile for before in stages[: stages.index(stage)]):
            _learn_fertility_prior(chains)
        engine.map(lambda chain: chain.begin(stage), [(chain,) for chain in chains])  # noqa: B023
        pieces = len(chains[0].text.shard.pieces) if chains else 0
        monitor.begin(stage.name, stage.sweeps, pieces)
        for turn in range(stage.sweeps):
            sampled = stage.lag > 0 and (turn + 1) % stage.lag == 0
            sweep(chains, stage, float(sampled), engine)
            if sampled:
                engine.map(lambda chain: chain.keep_sample(), [(chain,) for chain in chains])
            monitor.worked(pieces)
            objective = np.zeros(2)
            for chain, value in zip(
                chains, engine.map(lambda chain: chain.log_probability(), [(chain,) for chain in chains]), strict=True
            ):
                objective[chain.direction] += 2.0 * value / len(chains)
            monitor.iterated(objective)
        if stage.climb:
            climb(chains, engine)


def _learn_fertility_prior(chains: Sequence[Chain]) -> None:
    """The prior's mean is the share of tokens with each number of links, now, in all chains of a direction."""
    for direction in range(2):
        own = [chain for chain in chains if chain.direction == direction]
        tokens = sum(chain.histogram().sum(axis=0, dtype=np.float64) for chain in own)
        for chain in own:
            strength = chain.fertility_prior.sum()
            shares = tokens + 1.0
            chain.fertility_prior = strength * shares / shares.sum()


def cooccurring_words(shard: Shard, work: Workspace, engine: Threads) -> Starts:
    """For each word the partner that stands in the same pair most often in the whole text (the paper's footnote 9)."""
    lexicon = Lexicon.uniform(shard.slots)
    counts = LexiconCounts.zeros(shard.slots)
    for block in shard:
        view = block.view(work)
        for buffer in (view.forward, view.reverse):
            buffer[:] = 1.0
        for buffer in (view.null_forward, view.null_reverse):
            buffer[:] = 0.0
        lexicon.scatter(shard, block, view, counts, engine)
    lexicon.table = counts.slots.astype(np.float32)
    lexicon.null_forward[:], lexicon.null_reverse[:] = 0.0, 0.0
    return best_words(IBM1(lexicon), shard, work, engine)


def make_chains(text: Text, starts: Starts, options: Any, seed: int, warm: BayesIBM1 | BayesHMM | None) -> list[Chain]:
    """Chains of both directions, each at `starts`.  `warm`, a model for the same words, brings counts of other text."""
    slots = text.shard.slots
    sizes = slots.n_sources, slots.n_targets
    columns = options.largest_fertility + 1
    made = []
    for number in range(number_of_chains(text.shard, options)):
        for direction in range(2):
            counts = Counts(
                np.zeros(len(slots), np.float32),
                np.zeros(sizes[direction] + 1),
                np.zeros(sizes[1 - direction], np.float32),
                np.zeros((sizes[direction], columns), np.float32),
            )
            moves = Moves.zeros()
            if warm is not None:
                lexicon = warm.lexicon
                counts.links[:] = _on_grid(lexicon.counts[:, direction])
                counts.totals[:-1] = lexicon.totals[direction]
                counts.totals[-1] = lexicon.null_totals[direction]
                counts.nulls[:] = _on_grid(lexicon.nulls[direction])
                if isinstance(warm, BayesHMM):
                    moves = warm.moves[direction]
                    if warm.fertility[direction].tokens.shape[1] == columns:
                        counts.histogram[:] = _on_grid(warm.fertility[direction].tokens)
            chain = Chain(
                text,
                direction,
                stream_key(seed, 2 + 2 * number + direction),
                counts,
                [start[direction].copy() for start in starts],
                LexiconPrior(options.alpha, options.alpha),
                options.null,
                np.full(columns, options.fertility_strength / columns),
                counts.histogram.copy(),
                seen=moves,
            )
            chain.count()
            made.append(chain)
    return made


def _on_grid(values: np.ndarray) -> np.ndarray:
    """Rounded to 1/64: float32 then adds and takes away links without an error."""
    return np.round(values * 64) / 64


def mean_lexicon(chains: Sequence[Chain], discount: float) -> BayesLexicon:
    """The mean of all samples of all chains."""
    slots = chains[0].text.shard.slots
    sums = [_mean(chains, direction) for direction in range(2)]
    return BayesLexicon(
        slots,
        np.stack([part.links for part in sums], axis=1),
        (sums[0].totals[:-1], sums[1].totals[:-1]),
        (sums[0].nulls, sums[1].nulls),
        (float(sums[0].totals[-1]), float(sums[1].totals[-1])),
        (slots.n_sources, slots.n_targets),
        chains[0].prior,
        discount,
    ).prepared()


def _mean(chains: Sequence[Chain], direction: int) -> Counts:
    own = [chain for chain in chains if chain.direction == direction]
    samples = sum(chain.samples for chain in own)
    parts = zip(*(chain.sums.parts() for chain in own if chain.sums is not None), strict=True)
    return Counts(*((np.sum(part, axis=0) / samples).astype(part[0].dtype) for part in parts))


def mean_moves(chains: Sequence[Chain], direction: int) -> Moves:
    """The mean of all samples' moves, and the seed model's."""
    own = [chain for chain in chains if chain.direction == direction]
    total = Moves.zeros()
    for chain in own:
        total = total.plus(chain.move_sums, 1.0 / sum(chain.samples for chain in own))
    return own[0].seen.plus(total)


def mean_fertility(chains: Sequence[Chain], direction: int) -> FertilityHistogram:
    prior = np.mean([chain.fertility_prior for chain in chains if chain.direction == direction], axis=0)
    return FertilityHistogram(_mean(chains, direction).histogram, prior)
