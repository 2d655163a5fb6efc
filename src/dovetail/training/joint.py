"""The flagship's training: IBM Model 1 by agreement, then both HMMs at once over a collapsed lexicon."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dovetail.bitext.cells import Block, Cells
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.engines import Threads
from dovetail.kernels import spelling as spelling_kernels
from dovetail.models.categorical_fertility import CategoricalFertility
from dovetail.models.collapsed_lexicon import CollapsedCounts, CollapsedLexicon, LexiconPriors, compare_spellings
from dovetail.models.ibm1 import IBM1
from dovetail.models.joint_hmm import GENEROUS, JointCounts, JointHMM, Moves
from dovetail.models.lexicon import Lexicon, Smoothing, Workspace
from dovetail.models.live import Live
from dovetail.models.word_jumps import WordJumps
from dovetail.training import em
from dovetail.training.agreement import agree
from dovetail.training.monitor import Monitor

LARGE = (30_000_000, 200_000_000)  # cells; about 70,000 and 450,000 pairs of 20 words
SPELLING_CELLS = 1 << 24  # cells on which the worth of a spelling is measured


def train_joint(
    cells: Cells,
    lexicon: Lexicon,
    vocabularies: tuple[Vocabulary, Vocabulary],
    options: Any,
    engine: Threads,
    monitor: Monitor,
) -> JointHMM:
    """IBM Model 1, then the joint HMM.

    What single cells contributed is forgotten at the end, so that any text, the training text included, is aligned in
    the same way: whole or in chunks, now or with the saved model.
    """
    options = _adapted(options, cells)
    model, lives = _first_counts(cells, lexicon, vocabularies, options, engine, monitor)
    work = Workspace.for_cells(cells)
    monitor.begin(model.name, options.hmm_iterations, len(cells.pieces))
    whole, used = _narrow(model, lives)
    for iteration in range(options.hmm_iterations):
        # Too early a choice costs accuracy; for one or two iterations a second one is not worth its time.
        if iteration == 1 and options.hmm_iterations > 2:
            model.lexicon = model.lexicon.widened(whole, used)
            _choose_anew(model, lives, cells, work, options.share, engine)
            whole, used = _narrow(model, lives)
        counts = _expect(model, lives, cells, work, options, engine, monitor)
        model = model.reestimate(counts, options.jump_strength)
        if monitor.iterated(counts.log_likelihood).converged:
            break
    model.lexicon = model.lexicon.widened(whole, used)
    return model


def _adapted(options: Any, cells: Cells) -> Any:
    """With fewer iterations for large texts: the more text, the sooner the lexicon is as good as it gets."""
    if not options.adapt_iterations:
        return options
    total = sum(block.cells for block in cells)
    fewer = sum(total > limit for limit in LARGE)
    hmm, ibm1 = options.hmm_iterations, options.ibm1_iterations
    return replace(
        options,
        hmm_iterations=max(min(hmm, 2), hmm - fewer),
        ibm1_iterations=max(min(ibm1, 2), ibm1 - fewer // 2),
    )


def _narrow(model: JointHMM, lives: list[Live]) -> tuple[CollapsedLexicon, np.ndarray]:
    """Leave slots without a live cell out of the model's lexicon; returns the whole one, and which slots are left.

    Nine in ten are hopeless, and every M-step would go through them.
    """
    whole = model.lexicon
    used = np.zeros(len(whole.slots), np.bool_)
    for live in lives:
        used[live.slot] = True
    number = np.cumsum(used) - 1
    for k, live in enumerate(lives):
        lives[k] = replace(live, slot=number[live.slot].astype(live.slot.dtype))
    model.lexicon = whole.restricted(used)
    return whole, used


def _choose_anew(
    model: JointHMM, lives: list[Live], cells: Cells, work: Workspace, share: float, engine: Threads
) -> None:
    """Choose live cells by emissions: IBM Model 1 did it first, and an HMM's lexicon knows better."""
    for k, block in enumerate(cells):
        view = work.view(block)
        model.lexicon.gather(cells, block, view, engine)
        live, _ = Live.select(cells, block, view, GENEROUS * share, engine)
        live.carry_over(lives[k])
        lives[k] = live


def _first_counts(
    cells: Cells,
    lexicon: Lexicon,
    vocabularies: tuple[Vocabulary, Vocabulary],
    options: Any,
    engine: Threads,
    monitor: Monitor,
) -> tuple[JointHMM, list[Live]]:
    """EM with agreement for IBM Model 1; its last counts, and its live cells, are where the HMM starts."""
    lexicon.smoothing = Smoothing(additive=1e-5)
    collapsed = CollapsedLexicon.of(
        cells.slots, vocabularies, LexiconPriors(options.alpha, (options.head_stems, options.tail_stems))
    )
    collapsed.spelling = compare_spellings(cells.slots, *vocabularies, engine)
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
    work = Workspace.for_cells(cells)
    iterations = max(options.ibm1_iterations, 1)  # the HMM cannot start from nothing
    monitor.begin(ibm1.name, iterations, len(cells.pieces))
    for _ in range(iterations - 1):
        expected = em.expect(ibm1, cells, work, engine, monitor, agree)
        monitor.iterated(expected.log_likelihood)
        ibm1 = ibm1.reestimate(expected, engine)

    counts = CollapsedCounts.zeros(cells.slots)
    lives: list[Live] = []
    wins = np.zeros((spelling_kernels.BINS, 2))
    measured = 0
    log_likelihood = np.zeros(2)
    for block in cells:
        view = work.view(block)
        ibm1.lexicon.gather(cells, block, view, engine)
        log_likelihood += ibm1.posteriors(cells, block, view, engine)[0].sum(axis=0)
        live, values = Live.select(cells, block, view, options.share, engine)
        model.settle(live, values, cells, block, view, engine, keep=0.0)
        counts.add(live, cells, block, view, engine)
        if not options.leave_one_out:
            live.count[:] = 0.0
        lives.append(live)
        if options.spelling and measured < SPELLING_CELLS:
            measured += block.cells
            agree(block, view, engine)
            _measure_spellings(cells, block, collapsed.spelling, view, wins)
        monitor.worked(block.last - block.first)
    monitor.iterated(log_likelihood)
    if options.spelling:
        collapsed.calibrate(wins[:, 0] / np.maximum(wins[:, 1], 1.0))
    model.lexicon = collapsed.with_counts(counts.slots, (counts.null_forward, counts.null_reverse))
    lexicon.table = np.empty((0, 2), np.float32)  # callers still hold the lexicon; its table is not needed any more
    model.fertility, model.power = fertility, options.agreement_power
    return model, lives


def _measure_spellings(cells: Cells, block: Block, bins: np.ndarray, view: Workspace, wins: np.ndarray) -> None:
    spelling_kernels.bin_shares(
        block.order,
        block.row_piece,
        block.lines,
        cells.source_ids,
        cells.target_ids,
        cells.slots.row_start,
        block.rank,
        view.forward,
        bins,
        wins,
    )


def _expect(
    model: JointHMM,
    lives: list[Live],
    cells: Cells,
    work: Workspace,
    options: Any,
    engine: Threads,
    monitor: Monitor,
) -> JointCounts:
    """E-step; what it believed of each live cell stays with the cell, and cells that lost their share are dropped."""
    counts = model.zero_counts(cells)
    for k, block in enumerate(cells):
        view = work.view(block)
        moves = Moves.room(block.rows), Moves.room(block.columns)
        values = model.lexicon.gather_live(lives[k], cells, block, engine)
        scores = model.infer(lives[k], values, cells, block, view, engine, moves, counts.ends)
        live, values = lives[k].narrowed(values, block, options.share, engine)
        beliefs = model.settle(live, values, cells, block, view, engine)
        model.count(counts, live, cells, block, view, moves, beliefs, engine)
        if not options.leave_one_out:
            live.count[:] = 0.0
        lives[k] = live
        counts.log_likelihood += scores.sum(axis=0)
        monitor.worked(block.last - block.first)
    return counts
