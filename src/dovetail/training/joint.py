"""The flagship's training: IBM Model 1 by agreement, then both HMMs at once over a collapsed lexicon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dovetail.bitext.shards import Block, Shard, Slots
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.engines import Threads
from dovetail.kernels.lexicon import spelling as spelling_kernels
from dovetail.kernels.records import Workspace
from dovetail.models.fertility.beliefs import CategoricalFertility
from dovetail.models.ibm1 import IBM1
from dovetail.models.joint import GENEROUS, JointCounts, JointHMM, Moves
from dovetail.models.jumps.word import WordJumps
from dovetail.models.lexicon.counted import CollapsedCounts, CollapsedLexicon, LexiconPriors
from dovetail.models.lexicon.spelling import compare_spellings
from dovetail.models.lexicon.table import Lexicon, Smoothing
from dovetail.models.live import Live
from dovetail.training import em
from dovetail.training.agreement import agree
from dovetail.training.monitor import Monitor

SPELLING_CELLS = 1 << 24  # cells on which the worth of a spelling is measured


def train_joint(
    shard: Shard,
    lexicon: Callable[[Slots], Lexicon],
    vocabularies: tuple[Vocabulary, Vocabulary],
    options: Any,
    engine: Threads,
    monitor: Monitor,
) -> JointHMM:
    """IBM Model 1, then the joint HMM; of a large text both learn from a sample first, and the HMM goes on with all of it.

    `lexicon` gives the one to start from for some slots.  What single cells contributed is forgotten at the end, so that
    any text, the training text included, is aligned in the same way: whole or in chunks, now or with the saved model.
    """
    size, learning, iterations = _sampling(shard.total, options)
    sample = _sample(shard, size, engine)
    if sample is None:
        model, lives, counts = _first_counts(shard, lexicon(shard.slots), vocabularies, options, engine, monitor)
        narrow = _narrow(model, lives, counts)
        model = model.reestimate_lexicon(counts)
        # Too early a choice of cells costs accuracy; for one or two iterations a second one is not worth its time.
        choose = 1 if options.hmm_iterations > 2 else -1
        return _iterate(model, shard, lives, narrow, options.hmm_iterations, choose, True, options, engine, monitor)
    learned = replace(options, sample=0, hmm_iterations=learning)
    model = train_joint(sample, lexicon, vocabularies, learned, engine, monitor)
    model.lexicon = model.lexicon.moved(shard.slots, iterations > 0, engine)
    nothing: list[Live | None] = [None] * len(shard.blocks)
    # One iteration is for the words that the sample did not have; jumps and fertilities it taught well enough.
    return _iterate(model, shard, nothing, None, iterations, 0, iterations > 1, options, engine, monitor)


def _sampling(cells: int, options: Any) -> tuple[int, int, int]:
    """How a text of so many cells is learned from: cells of its sample, iterations of the HMM on it, and on the whole text.

    The last `whole_iterations` are on the whole text.  Past `whole_cells` all are on the sample, which grows as the square
    root of the text instead.
    """
    if options.sample == 0 or options.whole_cells == 0 or cells <= options.whole_cells:
        return options.sample, max(options.hmm_iterations - options.whole_iterations, 1), options.whole_iterations
    return int(options.sample * (cells / options.whole_cells) ** 0.5), options.hmm_iterations, 0


def _sample(shard: Shard, size: int, engine: Threads) -> Shard | None:
    """Every n-th piece, so that about `size` cells are left; None for a text of less than three times as many."""
    step = shard.total // size if size > 0 else 0
    return shard.picked(np.arange(0, len(shard.pieces), step), engine) if step > 2 else None


@dataclass(frozen=True)
class Narrow:
    """The lexicon with all its slots, and which of them have a live cell.

    Nine in ten are hopeless, and every M-step would go through them.
    """

    whole: CollapsedLexicon
    used: np.ndarray

    def undone(self, lexicon: CollapsedLexicon) -> CollapsedLexicon:
        return lexicon.widened(self.whole, self.used)


def _narrow(model: JointHMM, lives: Sequence[Live | None], counts: CollapsedCounts) -> Narrow:
    """Leave slots without a live cell out of the model's lexicon and of the counts."""
    whole = model.lexicon
    used = np.zeros(len(whole.slots), np.bool_)
    known = [live for live in lives if live is not None]
    for live in known:
        used[live.slot] = True
    number = np.cumsum(used, dtype=known[0].slot.dtype if known else np.int32) - 1
    for live in known:
        live.slot[:] = number[live.slot]
    model.lexicon = whole.restricted(used)
    counts.slots = counts.slots[used]
    return Narrow(replace(whole), used)  # a copy, without its tables of all slots, which are large and made anew


def _iterate(
    model: JointHMM,
    shard: Shard,
    lives: list[Live | None],
    narrow: Narrow | None,
    iterations: int,
    choose: int,
    moving: bool,
    options: Any,
    engine: Threads,
    monitor: Monitor,
) -> JointHMM:
    """EM for the joint HMM.  In iteration `choose` live cells are chosen anew, by what the lexicon then knows.

    Without `moving` only the lexicon learns.
    """
    work = shard.workspace()
    monitor.begin(model.name, iterations, len(shard.pieces))
    for iteration in range(iterations):
        if iteration == choose and narrow is not None:
            model.lexicon, narrow = narrow.undone(model.lexicon), None
        counts = _expect(model, lives, shard, work, iteration == choose, moving, options, engine, monitor)
        if narrow is None and iteration + 1 < iterations:
            narrow = _narrow(model, lives, counts.lexicon)
        if moving:
            model = model.reestimate(counts, options.jump_strength)
        else:
            model = model.reestimate_lexicon(counts.lexicon)
        if monitor.iterated(counts.log_likelihood).converged:
            break
    if narrow is not None:
        model.lexicon = narrow.undone(model.lexicon)
    return model


def _first_counts(
    shard: Shard,
    lexicon: Lexicon,
    vocabularies: tuple[Vocabulary, Vocabulary],
    options: Any,
    engine: Threads,
    monitor: Monitor,
) -> tuple[JointHMM, list[Live | None], CollapsedCounts]:
    """EM with agreement for IBM Model 1; its last counts, and its live cells, are where the HMM starts."""
    lexicon.smoothing = Smoothing(additive=1e-5)
    stems = options.head_stems, options.tail_stems, options.short_stems, options.middle_stems
    collapsed = CollapsedLexicon.of(shard.slots, vocabularies, LexiconPriors(options.alpha, stems))
    collapsed.spelling = compare_spellings(shard.slots, *vocabularies, engine)
    fertility = None
    if options.largest_fertility > 0:
        fertility = (
            CategoricalFertility.uniform(len(vocabularies[0]), options.largest_fertility),
            CategoricalFertility.uniform(len(vocabularies[1]), options.largest_fertility),
        )
    jumps = WordJumps.local(len(vocabularies[0])), WordJumps.local(len(vocabularies[1]))
    # Power 1 here: IBM Model 1 has no context that could tell a right one-to-many link from a wrong one.
    model = JointHMM(collapsed, jumps, None, options.null, power=1.0, share=options.share)
    ibm1 = IBM1(lexicon)
    work = shard.workspace()
    iterations = max(options.ibm1_iterations, 1)  # the HMM cannot start from nothing
    monitor.begin(ibm1.name, iterations, len(shard.pieces))
    for _ in range(iterations - 1):
        expected = em.expect(ibm1, shard, work, engine, monitor, agree)
        monitor.iterated(expected.log_likelihood)
        ibm1 = ibm1.reestimate(expected, engine)

    counts = CollapsedCounts.zeros(shard.slots)
    lives: list[Live | None] = []
    wins = np.zeros((spelling_kernels.BINS, 2))
    measured = 0
    log_likelihood = np.zeros(2)
    for block in shard:
        view = block.view(work)
        ibm1.lexicon.gather(shard, block, view, engine)
        log_likelihood += ibm1.posteriors(shard, block, view, engine)[0].sum(axis=0)
        live, values = Live.select(shard, block, view, options.share, engine)
        model.settle(live, values, shard, block, view, engine, keep=0.0)
        counts.add(live, shard, block, view, engine)
        if not options.leave_one_out:
            live.count[:] = 0.0
        lives.append(live)
        if options.spelling and measured < SPELLING_CELLS:
            measured += block.cells
            agree(block, view, engine)
            _measure_spellings(shard, block, collapsed.spelling, view, wins)
        monitor.worked(block.last - block.first)
    monitor.iterated(log_likelihood)
    if options.spelling:
        collapsed.calibrate(wins[:, 0] / np.maximum(wins[:, 1], 1.0))
    model.fertility, model.power = fertility, options.agreement_power
    return model, lives, counts


def _measure_spellings(shard: Shard, block: Block, bins: np.ndarray, view: Workspace, wins: np.ndarray) -> None:
    spelling_kernels.bin_shares(
        block.order,
        block.row_piece,
        block.lines,
        shard.source_ids,
        shard.target_ids,
        shard.slots.row_start,
        block.rank,
        view.forward,
        bins,
        wins,
    )


def _expect(
    model: JointHMM,
    lives: list[Live | None],
    shard: Shard,
    work: Workspace,
    anew: bool,
    moving: bool,
    options: Any,
    engine: Threads,
    monitor: Monitor,
) -> JointCounts:
    """E-step; what it believed of each live cell stays with the cell, and cells that lost their share are dropped.

    With `anew`, live cells are chosen by emissions; those that were live before take along what is known of them.
    Without `moving`, jumps and fertilities are not counted.
    """
    counts = model.zero_counts(shard)
    for k, block in enumerate(shard):
        view = block.view(work)
        live = lives[k]
        if anew or live is None:
            model.lexicon.gather(shard, block, view, engine)
            # Where links alone are counted, in a single iteration, a rough choice will do.
            share = GENEROUS * options.share if moving else options.share
            chosen, values = Live.select(shard, block, view, share, engine)
            if live is not None:
                chosen.carry_over(live)
                values = model.lexicon.gather_live(chosen, shard, block, engine)
            live = chosen
        else:
            values = model.lexicon.gather_live(live, shard, block, engine)
        moves = (Moves.room(block.rows), Moves.room(block.columns)) if moving else None
        scores = model.infer(live, values, shard, block, view, engine, moves, counts.ends)
        live, (values,) = live.narrowed(values, block, options.share, engine)
        beliefs = model.settle(live, values, shard, block, view, engine)
        model.count(counts, live, shard, block, view, moves, beliefs, engine)
        if not options.leave_one_out:
            live.count[:] = 0.0
        lives[k] = live
        counts.log_likelihood += scores.sum(axis=0)
        monitor.worked(block.last - block.first)
    return counts
