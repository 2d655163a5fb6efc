"""Hard EM: counts from the best alignment alone, found exactly (what Quirk 2013 hoped for in its last sentence).

A training that needs a decoder stands above both rooms, so it lives here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dovetail.bitext.shards import Shard
from dovetail.decoding.exact_fertility import ExactFertility, ExactOptions
from dovetail.models.fertile import FertilityModel, Sampling
from dovetail.models.model import Around, Memory, Worked
from dovetail.models.sampled_statistics import SampledStatistics
from dovetail.options import Options, option
from dovetail.pool import Pool
from dovetail.training import sampling
from dovetail.training.train import Task, reads

COUNT_AS_GIVEN = Sampling(samples=0, burn_in=0)


@dataclass(frozen=True)
class HardOptions(Options):
    """The last iterations, which count nothing but the best alignments."""

    hard_iterations: int = option(2, at_least=0, help="iterations of hard EM after those of Monte Carlo EM")


@dataclass
class Hard(Around):
    """Each iteration: the best alignment of every pair in both directions, then the M-step as if it were the truth."""

    limits: ExactOptions

    name = "hard"

    def expect(self, shard: Shard, memory: Memory, pool: Pool, worked: Worked) -> tuple[SampledStatistics, Memory]:
        limits = self.limits
        decoder = ExactFertility(limits.exact_iterations, limits.exact_seconds, limits.exact_method)
        statistics, work = self.model.zeros(shard), shard.workspace()
        for block in shard:
            view = block.view(work)
            self.model.lexicon.gather(block, view, pool)
            best, _ = decoder.solve(self.model, block, view, pool)
            streams = np.zeros(len(block.lines), np.int64)  # nothing is drawn
            self.model.sample(block, view, pool, COUNT_AS_GIVEN, streams, best, statistics=statistics)
            worked(block.last - block.first)
        return statistics, memory

    def reestimate(self, statistics: SampledStatistics, pool: Pool) -> Hard:
        return replace(self, model=self.model.with_counts(statistics, pool))


@reads(*sampling.train.options, ExactOptions, HardOptions, many_shards=lambda settings, cells: True, resumes=True)
def train(task: Task) -> FertilityModel:
    hard = Hard(sampling.train(task), task.settings.of(ExactOptions))
    return task.fit(hard, task.settings.of(HardOptions).hard_iterations).model
