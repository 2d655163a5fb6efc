"""Monte Carlo EM for the fertility models (Zhao and Gildea 2010, section 5): sample every sentence, then re-estimate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dovetail.bitext.shards import Shard
from dovetail.kernels.gibbs import alignments as kernels
from dovetail.models.fertile import FertilityModel, FertilityOptions, Sampling
from dovetail.models.fertility.factor import MOST, FertilityCounts, Spelling, fertilities
from dovetail.models.fertility.features import spelling
from dovetail.models.lexicon.table import TableLexicon
from dovetail.models.model import Alignments
from dovetail.options import Options, option
from dovetail.pool import Pool
from dovetail.training import em
from dovetail.training.train import Task, reads


@dataclass(frozen=True)
class SamplingOptions(Options):
    """Monte Carlo EM."""

    fertility_iterations: int = option(5, at_least=0, help="iterations of Monte Carlo EM")
    samples: int = option(30, at_least=1, help="sweeps whose draws are counted, per sentence, chain and iteration")
    restarts: int = option(1, at_least=1, help="chains per sentence in training")
    soft_counts: bool = option(
        True,
        help="whether a draw's candidates count by their probabilities, else the one that was drawn (the paper's way)",
    )


def best_words(lexicon: TableLexicon, shard: Shard, pool: Pool) -> list[Alignments]:
    """IBM Model 1's best alignments of both directions, where chains of other samplers begin."""
    starts, work = [], shard.workspace()
    for block in shard:
        view = block.view(work)
        lexicon.gather(block, view, pool)
        found = np.empty(block.columns, np.int16), np.empty(block.rows, np.int16)
        pool.map(kernels.best_words, block.tasks, block.pieces, lexicon.nulls, view, *found)
        starts.append(found)
    return starts


def begin(task: Task, lexicon: TableLexicon, sampling: Sampling) -> tuple[FertilityModel, Any]:
    """The fertility model to start from: IBM Model 1's lexicon, jumps, and one fertility for all words; and chains' starts.

    Jumps that are not given are taken from IBM Model 1's best alignments: one sweep with even jumps would teach little (1 to
    2 points of AER with one sample).  The HMM's NULL has as many links as p0 says, and any word as its translation, by how
    often it is seen: IBM Model 1's NULL, which is hardly ever anybody's best, prefers full stops.
    """
    model, counts, memory = counted(task, lexicon, sampling)
    return model.begun(counts, task.start.jumps), memory


def counted(task: Task, lexicon: TableLexicon, sampling: Sampling) -> tuple[FertilityModel, Any, Any]:
    """The model with one fertility for all words, that of IBM Model 1's best alignments; their counts, and themselves."""
    kind = fertilities[task.settings.of(FertilityOptions).fertility]
    spellings: list[Spelling] = [lambda words=words: spelling(words, words) for words in task.vocabularies]  # type: ignore[misc]

    def blank(size: int) -> Any:
        zeros = np.zeros(size, np.int64)
        counts = FertilityCounts(zeros, np.zeros(size), np.zeros((size, MOST + 1)), 0.0, 0.0)
        return kind.initial(counts, lambda: (zeros, zeros))

    sizes = [len(vocabulary) for vocabulary in task.vocabularies]
    fertility = blank(sizes[0]), blank(sizes[1])
    first: FertilityModel = replace(task, start=replace(task.start, jumps=None)).untrained(
        lexicon, fertility=fertility, sampling=Sampling(samples=0, burn_in=0)
    )
    first = first.with_options(task.settings)
    counts: Any
    counts, memory = task.engine.sum(first, task.corpus, [None] * len(task.corpus), lambda pieces: None)
    seen = counts.whole(lexicon.slots, task.engine.pool).fertility(lexicon.slots)
    forward, reverse = (kind.initial(*known) for known in zip(seen, spellings, strict=True))
    return replace(first, fertility=(forward, reverse), sampling=sampling), counts, memory


@reads(SamplingOptions, many_shards=lambda settings, cells: True, resumes=True)
def train(task: Task) -> FertilityModel:
    """From a trained IBM Model 1 to the fertility model of that name; the objective shown is the joint log-probability of
    the text and the last samples."""
    options = task.settings.of(SamplingOptions)
    sampling = Sampling(task.seed, options.samples, options.restarts, 0, soft=options.soft_counts)
    model, memory = begin(task, task.ibm1().lexicon, sampling)

    def schedule(model: Any, iteration: int) -> FertilityModel:
        sweeps = iteration * sampling.restarts * (sampling.burn_in + sampling.samples)
        return replace(model, sampling=replace(sampling, first_sweep=sweeps))

    iterations = options.fertility_iterations
    return em.fit(model, task.corpus, task.engine, iterations, task.monitor, memory, schedule)[0]
