"""Monte Carlo EM for the fertility models (Zhao and Gildea 2010, section 5): sample every sentence, then re-estimate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dovetail.bitext.shards import Shard
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.engines import Threads
from dovetail.kernels.gibbs import alignments as kernels
from dovetail.kernels.lexicon.table import FLOOR
from dovetail.kernels.records import Nulls, Workspace
from dovetail.models.fertile import FertilityHMM, FertilityIBM1, SampledCounts, Sampling
from dovetail.models.fertility.factor import MOST, FertilityCounts, Spelling, fertilities
from dovetail.models.fertility.features import spelling
from dovetail.models.ibm1 import IBM1
from dovetail.models.jumps.distance import Jumps
from dovetail.training.monitor import Monitor

# Links that every word keeps of the last iteration's translations.  A few draws say little of a rare word: it should not
# forget at once what the sums of IBM Model 1 knew.  (On development sets better than 3, that than 1, and that than none.)
INERTIA = 10.0

# By how much of their sum every weight of a jump is raised.  More samples learn sharper jumps, and full stops, often far
# from the last link, went to NULL.  (On development sets about as good as 0.01; 0.1 was worse.)
EVEN = 0.02

# Hard counts go with the paper's own M-step: neither of the two.

Starts = list[tuple[np.ndarray, np.ndarray]]  # of each block: a position a target token, and a position a source token


def best_words(model: IBM1, shard: Shard, work: Workspace, engine: Threads) -> Starts:
    """IBM Model 1's best alignments of both directions, where chains of other samplers begin."""
    starts = []
    nulls = Nulls(model.lexicon.null_forward, model.lexicon.null_reverse)
    for block in shard:
        view = block.view(work)
        model.lexicon.gather(shard, block, view, engine)
        found = np.empty(block.columns, np.int16), np.empty(block.rows, np.int16)
        engine.map(
            lambda first, last: kernels.best_words(
                first,
                last,
                block.pieces,  # noqa: B023 (the tasks end before the next block)
                nulls,
                view,  # noqa: B023
                *found,  # noqa: B023
            ),
            block.tasks,
        )
        starts.append(found)
    return starts


def expect(
    model: Any,
    shard: Shard,
    work: Workspace,
    engine: Threads,
    monitor: Monitor,
    sampling: Sampling,
    starts: Starts,
    used: SampledCounts | None = None,
) -> SampledCounts:
    """E-step: counts from the samples of every sentence, each of which has random numbers of its own.

    Without samples, `starts` get IBM Model 1's best alignments, and those are counted.  Counts that were `used` are cleared
    and taken again.
    """
    counts = model.zero_counts(shard, used)
    for block, start in zip(shard, starts, strict=True):
        view = block.view(work)
        pieces = np.arange(block.first, block.last)
        model.sample(shard, block, view, engine, sampling, pieces, start, sampling.samples == 0, counts)
        monitor.worked(block.last - block.first)
    return counts


def fit(
    model: Any,
    shard: Shard,
    engine: Threads,
    iterations: int,
    monitor: Monitor,
    starts: Starts,
    work: Workspace,
) -> Any:
    """Monte Carlo EM in batches; the objective shown is the joint log-probability of the text and the last samples.

    Chains begin at `starts` in every iteration (Algorithm 1); to go on where the last one ended was no better in trials.
    """
    sampling = model.sampling
    monitor.begin(model.name, iterations, len(shard.pieces))
    counts = None
    for iteration in range(iterations):
        numbered = replace(sampling, first_sweep=iteration * sampling.restarts * (sampling.burn_in + sampling.samples))
        counts = expect(model, shard, work, engine, monitor, numbered, starts, counts)
        model = model.reestimate(counts, engine, *((INERTIA, EVEN) if sampling.soft else (0.0, 0.0)))
        if monitor.iterated(counts.log_likelihood).converged:
            break
    return model


def begin(
    name: str,
    ibm1: IBM1,
    jumps: tuple[Jumps, Jumps] | None,
    shard: Shard,
    options: Any,
    sampling: Sampling,
    engine: Threads,
    spellings: tuple[Spelling, Spelling],
    starts: Starts,
    work: Workspace,
) -> Any:
    """The fertility model to start from: IBM Model 1's lexicon, the given jumps, and one fertility for all words.

    That one is taken from IBM Model 1's best alignments, and so are jumps that are not given: one sweep with even jumps
    would teach little (1 to 2 points of AER with one sample).  The HMM's NULL has as many links as p0 says, and any word
    as its translation, by how often it is seen: IBM Model 1's NULL, which is hardly ever anybody's best, prefers full stops.
    """
    kind = fertilities[options.fertility]
    even = Jumps.uniform(options.window)

    def made(fertility: tuple[Any, Any], jumps: tuple[Jumps, Jumps]) -> Any:
        if name == "ibm1-fertility":
            return FertilityIBM1(ibm1.lexicon, fertility, sampling, options.deficient)
        return FertilityHMM(ibm1.lexicon, jumps, options.null, fertility, sampling)

    def blank(size: int) -> Any:
        zeros = np.zeros(size, np.int64)
        counts = FertilityCounts(zeros, np.zeros(size), np.zeros((size, MOST + 1)), 0.0, 0.0)
        return kind.initial(counts, lambda: (zeros, zeros))

    first = made((blank(shard.slots.n_sources), blank(shard.slots.n_targets)), (even, even))
    counts = expect(first, shard, work, engine, Monitor(), Sampling(samples=0, burn_in=0), starts)
    fertility = kind.initial(counts.fertility(0), spellings[0]), kind.initial(counts.fertility(1), spellings[1])
    if name == "hmm-fertility":
        fertility = replace(fertility[0], null=options.null), replace(fertility[1], null=options.null)
        for table, tokens in zip(
            (ibm1.lexicon.null_forward, ibm1.lexicon.null_reverse), reversed(counts.tokens), strict=True
        ):
            table[:] = np.maximum(tokens / max(tokens.sum(), 1), FLOOR)
    return made(fertility, jumps or (even.reestimate(counts.jumps[0]), even.reestimate(counts.jumps[1])))


def train(
    name: str,
    ibm1: IBM1,
    jumps: tuple[Jumps, Jumps] | None,
    vocabularies: tuple[Vocabulary, Vocabulary],
    shard: Shard,
    options: Any,
    seed: int,
    engine: Threads,
    monitor: Monitor,
) -> Any:
    """From a trained IBM Model 1 to the fertility model of that name."""
    work = shard.workspace()
    starts = [(np.empty(block.columns, np.int16), np.empty(block.rows, np.int16)) for block in shard]
    source, target = vocabularies
    model = begin(
        name,
        ibm1,
        jumps,
        shard,
        options,
        Sampling(seed, options.samples, options.restarts, 0, soft=options.soft_counts),
        engine,
        (lambda: spelling(source, source), lambda: spelling(target, target)),
        starts,
        work,
    )
    return fit(model, shard, engine, options.fertility_iterations, monitor, starts, work)
