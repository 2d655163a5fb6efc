"""The flagship's training: IBM Model 1 by agreement, then both HMMs at once over a counted lexicon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dovetail.bitext.sharding import Corpus, OneShard
from dovetail.bitext.shards import Shard
from dovetail.kernels.lexicon import spelling as spelling_kernels
from dovetail.models.fertility.beliefs import CategoricalFertility
from dovetail.models.hmm import HMMStage
from dovetail.models.ibm1 import IBM1, IBM1Stage, agree
from dovetail.models.joint import JointHMM, JointOptions, LiveMemory, Phase
from dovetail.models.joint_statistics import LinkCounts
from dovetail.models.jumps.word import WordJumps
from dovetail.models.lexicon.counted import CountedLexicon
from dovetail.models.lexicon.stems import FormPriors
from dovetail.models.lexicon.table import Smoothing
from dovetail.models.live import Live
from dovetail.models.model import Learner, Memory, Worked
from dovetail.models.null import Null
from dovetail.options import Settings
from dovetail.pool import Pool
from dovetail.training import em
from dovetail.training.drawing import SampleOptions
from dovetail.training.train import Task, reads

SPELLING_CELLS = 1 << 24  # cells of a shard on which the worth of a spelling is measured


def goes_over_shards(settings: Settings, cells: int) -> bool:
    """A text that is learned from at once, without a part of it first, is in memory as a whole."""
    samples = settings.of(SampleOptions)
    return not samples.over(cells) and _step(cells, samples.sample) > 2


@reads(SampleOptions, many_shards=goes_over_shards, resumes=True)
def train(task: Task) -> JointHMM:
    """IBM Model 1, then the joint HMM; of a large text both learn from a part first, and the HMM goes on with all of it.

    A sample of a larger text still is all there is to learn from.

    What single cells contributed is forgotten at the end, so that any text, the training text included, is aligned in the
    same way: whole or in chunks, now or with the saved model.
    """
    iterations = task.settings.of(HMMStage).hmm_iterations
    samples, pool = task.settings.of(SampleOptions), task.engine.pool
    size, learning, whole = samples.plan(iterations)
    alone = task.sampled or samples.over(task.corpus.total)  # nothing but what there is, and all iterations on it
    part = None if alone else sample(task.corpus, size, pool)
    options = task.settings.of(JointOptions)
    leave_one_out = options.leave_one_out and len(task.corpus.pieces) >= options.small_text
    if part is None:
        return _learn(task, iterations, leave_one_out)
    model = _learn(replace(task, corpus=OneShard(part)), learning, leave_one_out)
    if task.corpus.only is None:
        model = replace(model, lexicon=model.lexicon.compact())
        part = None  # what the sample's slots held goes before those of the text are laid out
        model = replace(model, lexicon=model.lexicon.weighed(task.corpus.slots, pool))
    else:
        model = replace(model, lexicon=model.lexicon.moved(task.corpus.slots, whole > 0, pool))
    # One iteration is for the words that the sample did not have; jumps and fertilities it taught well enough.
    return _iterate(task, model, None, whole, anew=0, moving=whole > 1)


def sample(text: Corpus, size: int, pool: Pool) -> Shard | None:
    """Every n-th piece, so that about `size` cells are left; None for a text of less than three times as many."""
    step = _step(text.total, size)
    return text.picked(np.arange(0, len(text.pieces), step), pool) if step > 2 else None


def _step(cells: int, size: int) -> int:
    return cells // size if size > 0 else 0


def _learn(task: Task, iterations: int, leave_one_out: bool) -> JointHMM:
    """From nothing to the joint HMM, on one text."""
    # Too early a choice of cells costs accuracy; for one or two iterations a second one is not worth its time.
    anew = 1 if iterations > 2 else -1
    return _iterate(task, *_handed_over(task, leave_one_out), iterations, anew=anew, moving=True)


def _handed_over(task: Task, leave_one_out: bool) -> tuple[JointHMM, Sequence[Memory]]:
    """The joint HMM as IBM Model 1, trained by agreement, leaves it; and the live cells."""
    rounds = max(task.settings.of(IBM1Stage).ibm1_iterations, 1)  # the HMM cannot start from nothing
    first = _first(task, leave_one_out)

    def schedule(model: Any, iteration: int) -> Learner:
        return Handover(model, first, task.settings.of(FormPriors).spelling) if iteration == rounds - 1 else model

    engine = task.engine
    lexicon = task.start.lexicon(task.corpus.slots, task.room(), engine.pool)
    lexicon = replace(lexicon, smoothing=Smoothing(additive=1e-5)).with_priors(task.priors, task.vocabularies)
    ibm1 = IBM1(lexicon, agreement=True)
    return em.fit(ibm1, task.corpus, engine, rounds, task.monitor, schedule=schedule, to_the_end=True)


def _first(task: Task, leave_one_out: bool) -> JointHMM:
    """The joint HMM before it has seen anything."""
    vocabularies, options = task.vocabularies, task.settings.of(JointOptions)
    lexicon = CountedLexicon.empty(task.shard.slots, vocabularies, task.settings.of(FormPriors), task.engine.pool)
    source, target = (len(vocabulary) for vocabulary in vocabularies)
    fertility = None
    if options.largest_fertility > 0:
        fertility = (
            CategoricalFertility.uniform(source, options.largest_fertility),
            CategoricalFertility.uniform(target, options.largest_fertility),
        )
    return JointHMM(
        lexicon.with_priors(task.priors),
        (WordJumps.local(source), WordJumps.local(target)),
        fertility,
        task.settings.of(Null).null,
        options.agreement_power,
        options.share,
        options.jump_strength,
        leave_one_out,
    )


def _iterate(
    task: Task, model: JointHMM, memory: Sequence[Memory] | None, iterations: int, anew: int, moving: bool
) -> JointHMM:
    """EM for the joint HMM.  In iteration `anew` live cells are chosen once more, by what the lexicon then knows."""

    def schedule(model: Any, iteration: int) -> JointHMM:
        phase = Phase(anew=iteration == anew, moving=moving, narrowing=iteration + 1 < iterations)
        return replace(model.widened(task.engine.pool) if phase.anew else model, phase=phase)

    model, _ = em.fit(model, task.corpus, task.engine, iterations, task.monitor, memory, schedule)
    return replace(model.widened(task.engine.pool), phase=Phase(), united=False)


@dataclass
class HandoverStatistics:
    """Links as the joint HMM counts them, and how many cells each spelling bin won."""

    lexicon: LinkCounts
    wins: np.ndarray
    log_likelihood: np.ndarray

    def __add__(self, other: HandoverStatistics) -> HandoverStatistics:
        return HandoverStatistics(
            self.lexicon + other.lexicon, self.wins + other.wins, self.log_likelihood + other.log_likelihood
        )


@dataclass
class Handover(Learner):
    """IBM Model 1's last iteration: its posteriors choose the live cells of the joint HMM that it turns into.

    On the way the worth of spellings is measured, if they count at all.
    """

    ibm1: IBM1
    joint: JointHMM
    spelling: bool

    name = "ibm1"

    def expect(
        self, shard: Shard, memory: LiveMemory | None, pool: Pool, worked: Worked
    ) -> tuple[HandoverStatistics, LiveMemory]:
        # Power 1 here: IBM Model 1 has no context that could tell a right one-to-many link from a wrong one.
        first = replace(self.joint, fertility=None, power=1.0)
        slots, bins = self.joint.lexicon.slots, self.joint.lexicon.spelling.bins
        links, wins = LinkCounts.zeros(slots, used=True), np.zeros((spelling_kernels.BINS, 2))
        statistics = HandoverStatistics(links, wins, np.zeros(2))
        work = shard.workspace()
        kept, measured = [], 0
        for block in shard:
            view = block.view(work)
            self.ibm1.lexicon.gather(block, view, pool)
            statistics.log_likelihood += self.ibm1.posteriors(block, view, pool).sum(axis=0)
            live, values = Live.select(block, view, first.share, len(slots), pool)
            first.settle(live, values, block, view, pool, keep=0.0)
            links.add(live, block, view, pool)
            if not first.leave_one_out:
                live.cells.count[:] = 0.0
            kept.append(live)
            if self.spelling and measured < SPELLING_CELLS:
                measured += block.cells
                agree(block, view, pool)
                rows = [(order,) for order in block.word_tasks]
                where = block.row_piece, block.pieces, block.ranks
                wins += sum(pool.map(spelling_kernels.count_wins, rows, *where, view.forward, bins))
            worked(block.last - block.first)
        return statistics, LiveMemory(kept, narrow=False)

    def reestimate(self, statistics: HandoverStatistics, pool: Pool) -> JointHMM:
        joint = self.joint
        if self.spelling:
            joint = replace(joint, lexicon=joint.lexicon.calibrated(statistics.wins))
        return joint.with_links(statistics.lexicon, pool)
