"""Bayesian IBM Model 1 as Mermer and Saraçlar (2011) sample and decode it: of each word its most frequent partner.

P(A | E, F) is estimated by the samples alone (section 2).  The model remembers how often each link of the text that it was
trained on was in a sample; other text has no samples, and is aligned by the mean of the counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, Workspace
from dovetail.laboratory.tally import Cells, Samples, Tallied, keys_of
from dovetail.models import tree
from dovetail.models.bayes import BayesIBM1
from dovetail.models.lexicon.dirichlet import DirichletLexicon, DirichletOptions
from dovetail.models.model import Worked
from dovetail.models.sampled_statistics import ShardAlignments
from dovetail.pool import Pool
from dovetail.training import bayes
from dovetail.training.bayes_chains import Chain
from dovetail.training.bayes_shards import LinkStatistics, Sweep, train_over_shards
from dovetail.training.train import Task, reads


@dataclass
class SampledIBM1(BayesIBM1):
    """IBM Model 1 with the lexicon integrated out; posteriors of text that was sampled are the samples' shares."""

    samples_seen: Samples | None = None

    name = "mermer2011"

    def posteriors(self, block: Block, work: Workspace, pool: Pool) -> np.ndarray:
        scores = super().posteriors(block, work, pool)
        words = self.lexicon.words
        numbers = None if words is None else (words.source, words.target)
        for line, key in zip(block.lines, keys_of(block, numbers), strict=True):
            I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
            found = self.samples_seen.frequencies(key, I, J) if self.samples_seen is not None else None
            if found is not None:
                work.forward[cell : cell + I * J] = found[0].reshape(-1)
                work.reverse[cell : cell + I * J] = found[1].reshape(-1)
                work.null_forward[line[COLUMN] : line[COLUMN] + J] = np.maximum(1.0 - found[0].sum(axis=0), 0.0)
                work.null_reverse[line[ROW] : line[ROW] + I] = np.maximum(1.0 - found[1].sum(axis=1), 0.0)
        return scores

    def arrays(self) -> dict[str, np.ndarray]:
        return {**super().arrays(), **(self.samples_seen.arrays() if self.samples_seen is not None else {})}

    @classmethod
    def from_arrays(
        cls,
        lexicon: DirichletLexicon,  # type: ignore[override]
        arrays: dict[str, np.ndarray],
        settings: dict[str, Any],
    ) -> SampledIBM1:
        return cls(lexicon, samples_seen=Samples.from_arrays(arrays))


@dataclass
class TallyingChain(Chain):
    """A chain in memory that counts how often each cell was a link in its samples."""

    tally: list[Cells] = field(default_factory=list)  # of each block

    @classmethod
    def of(cls, chain: Chain) -> TallyingChain:
        return cls(**vars(chain), tally=[Cells.none()] * len(chain.alignments))

    def keep_sample(self) -> None:
        super().keep_sample()
        for number, block in enumerate(self.text.shard):  # one by one: a tally takes more memory than a chain
            links = Cells.linked(block, self.direction, self.alignments[number])
            self.tally[number] = self.tally[number].plus(links, block)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "tally": self.tally}

    def go_on(self, state: dict[str, Any]) -> None:
        super().go_on(state)
        self.tally = state["tally"]


@dataclass
class TallyingSweep(Sweep):
    """The same over shards, whose tallies of all chains so far wait in the store."""

    def expect(
        self, shard: Shard, memory: ShardAlignments, pool: Pool, worked: Worked
    ) -> tuple[LinkStatistics, ShardAlignments]:
        statistics, links = super().expect(shard, memory, pool, worked)
        if self.is_sample:
            _add_sample(shard, links, self.samples.number, pool)
        return statistics, links


def _add_sample(shard: Shard, links: ShardAlignments, before: int, pool: Pool) -> None:
    """Put the tally of one sample more than `before`.  That of one less stays for a sweep that begins again."""
    assert shard.place is not None
    number, store = shard.place.number, shard.place.store
    known = tree.taken(store.get(_tally(number, before)), {}) if before else [(Cells.none(),) * 2] * len(shard.blocks)

    def plus(b: int) -> tuple[Cells, ...]:
        block, both = shard.blocks[b], zip(known[b], links.blocks[b], strict=True)
        return tuple(own.plus(Cells.linked(block, d, alignment), block) for d, (own, alignment) in enumerate(both))

    store.remove(_tally(number, before - 1))
    store.put(_tally(number, before + 1), tree.kept(pool.map(plus, [(b,) for b in range(len(shard.blocks))]), {}))


def _tally(shard: int, samples: int) -> str:
    """The group in a store that has a shard's tally of so many samples."""
    return f"tally-{shard:05d}-{samples}"


@reads(*bayes.train.options, many_shards=bayes.train.many_shards, resumes=True)
def train(task: Task) -> SampledIBM1:
    """Table 1: from IBM Model 1's best alignments or naive ones, burn-in, then samples with a lag."""
    pool, settings, corpus = task.engine.pool, task.settings, task.corpus
    seen = task.start.warm(corpus.slots).counts_to_start if task.start.warm is not None else None
    lexicon, stages = task.ibm1().lexicon, bayes.ibm1_stages(corpus.total, settings)
    samples = sum(stage.sweeps // stage.lag for stage in stages if stage.lag)
    if corpus.only is None:
        number = bayes.number_of_chains(corpus.total, settings.of(bayes.ChainOptions))
        mean = train_over_shards(task, lexicon, stages, number, seen, TallyingSweep).lexicon
        samples *= number
        return SampledIBM1(mean, samples_seen=Samples.of(lambda: _in_shards(corpus, samples), samples))
    chains = [TallyingChain.of(chain) for chain in bayes.begin(lexicon, corpus.only, settings, task.seed, pool, seen)]
    bayes.run(chains, stages, pool, task.monitor)
    mean = bayes.mean_lexicon(chains, settings.of(DirichletOptions).discount)
    return SampledIBM1(mean, samples_seen=Samples.of(lambda: _in_memory(chains), samples * len(chains) // 2))


def _in_memory(chains: Sequence[TallyingChain]) -> Iterator[Tallied]:
    """The tallies of a text in memory, the chains of a direction together."""
    for number, block in enumerate(chains[0].text.shard):
        both = [Cells.none(), Cells.none()]
        for chain in chains:
            both[chain.direction] = both[chain.direction].plus(chain.tally[number], block)
        yield block, (both[0], both[1])


def _in_shards(corpus: Sequence[Shard], samples: int) -> Iterator[Tallied]:
    """Those of all shards of a text."""
    for number, shard in enumerate(corpus):
        assert shard.place is not None
        yield from zip(shard.blocks, tree.taken(shard.place.store.get(_tally(number, samples)), {}), strict=True)
