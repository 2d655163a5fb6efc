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
from dovetail.models.collapsed_lexicon import CollapsedLexicon, LexiconPriors, compare_spellings
from dovetail.models.evidence import Evidence
from dovetail.models.ibm1 import IBM1
from dovetail.models.joint_hmm import JointCounts, JointHMM, Moves
from dovetail.models.lexicon import Lexicon, Smoothing, Workspace
from dovetail.models.word_jumps import WordJumps
from dovetail.training import em
from dovetail.training.agreement import agree
from dovetail.training.monitor import Monitor

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
    model = _first_counts(cells, lexicon, vocabularies, options, engine, monitor)
    work = Workspace.for_cells(cells)
    monitor.begin(model.name, options.hmm_iterations, len(cells.pieces))
    for _ in range(options.hmm_iterations):
        model, counts = _iterate(model, cells, work, options.jump_strength, engine, monitor)
        if monitor.iterated(counts.log_likelihood).converged:
            break
    return model.with_lexicon(replace(model.lexicon, evidence=None))


def _first_counts(
    cells: Cells,
    lexicon: Lexicon,
    vocabularies: tuple[Vocabulary, Vocabulary],
    options: Any,
    engine: Threads,
    monitor: Monitor,
) -> JointHMM:
    """EM with agreement for IBM Model 1; its last counts, and what it believed of each cell, are where the HMM starts."""
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
    model = JointHMM(collapsed, jumps, None, options.null, power=1.0)
    evidence: dict[int, Evidence] = {}
    wins = np.zeros((spelling_kernels.BINS, 2))
    counted = 0

    def remember(block: Block, view: Workspace, engine: Threads) -> None:
        nonlocal counted
        evidence[block.first] = model.settle(Evidence.none(block), cells, block, view, engine)[0]
        agree(block, view, engine)
        if options.spelling and counted < SPELLING_CELLS:
            counted += block.cells
            _measure_spellings(cells, block, collapsed.spelling, view, wins)

    ibm1 = IBM1(lexicon)
    work = Workspace.for_cells(cells)
    iterations = max(options.ibm1_iterations, 1)  # the HMM cannot start from nothing
    monitor.begin(ibm1.name, iterations, len(cells.pieces))
    for iteration in range(iterations):
        last = iteration == iterations - 1
        expected = em.expect(ibm1, cells, work, engine, monitor, remember if last else agree)
        monitor.iterated(expected.log_likelihood)
        if not last:
            ibm1 = ibm1.reestimate(expected, engine)
    counts = expected.lexicon
    if options.spelling:
        collapsed.calibrate(wins[:, 0] / np.maximum(wins[:, 1], 1.0))
    slots = np.ascontiguousarray(counts.slots[:, 0])
    model.lexicon = collapsed.with_counts(slots, (counts.null_forward, counts.null_reverse))
    model.lexicon.evidence = evidence
    lexicon.table = np.empty((0, 2), np.float32)  # callers still hold the lexicon; its table is not needed any more
    model.fertility, model.power = fertility, options.agreement_power
    return model


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


def _iterate(
    model: JointHMM, cells: Cells, work: Workspace, jump_strength: float, engine: Threads, monitor: Monitor
) -> tuple[JointHMM, JointCounts]:
    counts = model.zero_counts(cells)
    known = model.lexicon.evidence
    assert known is not None
    evidence: dict[int, Evidence] = {}
    for block in cells:
        view = work.view(block)
        moves = Moves.room(block.rows), Moves.room(block.columns)
        model.lexicon.gather(cells, block, view, engine)
        scores = model.infer(cells, block, view, engine, moves, counts.ends)
        found, beliefs = model.settle(known.pop(block.first), cells, block, view, engine)  # each is read once
        model.count(counts, cells, block, view, found, moves, beliefs, engine)
        counts.log_likelihood += scores.sum(axis=0)
        evidence[block.first] = found
        monitor.worked(block.last - block.first)
    return model.reestimate(counts, evidence, jump_strength), counts
