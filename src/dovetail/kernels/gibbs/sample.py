"""Sampling whole blocks of pieces: probabilities in, estimated posteriors or the sampled links out."""

from __future__ import annotations

import numpy as np

from dovetail.kernels.gibbs.pieces import sample_pieces
from dovetail.kernels.gibbs.prepare import layout_of, links_of, run_of, sampler_of, with_room
from dovetail.kernels.gibbs.records import Links, Problem, Tallies
from dovetail.kernels.gibbs.tally import add_moves
from dovetail.kernels.records import LENGTH_I, LENGTH_J


def sample(first: int, last: int, problem: Problem, tallies: Tallies) -> Links:
    """Sample the alignments of pieces first..last - 1 in both directions; returns the sampled links.

    Translation probabilities come from the lexicon or, if they are gathered, from the workspace, whose cells then become
    the samples' mean: estimated posteriors.  Its NULLs become NULL's in any case.  Chains and their sweeps are as the
    schedule says; with no samples at all the start itself is counted.  The log-score of the best alignment seen, if that
    is kept, else the last one's goes to the tallies; unless gathered, scores leave out the logs of p(0 | word).
    """
    model, lines = problem.model, problem.pieces.lines
    layout, cells, tokens = layout_of(first, last, lines)
    credit = np.float32(1.0 / max(1, problem.schedule.samples * problem.schedule.restarts))
    sampler = sampler_of(layout, model.jumps, model.fertility, credit, tallies.likely)
    gathered = model.translations.gathered
    run, links = run_of(layout, 0 if gathered else cells), links_of(0 if gathered else 4 * tokens)
    while first < last:
        first = sample_pieces(first, last, problem, tallies, sampler, run, links)
        if first < last:
            links = with_room(
                links, 2 * int(links.numbers.max()) + int(lines[first, LENGTH_I] * lines[first, LENGTH_J])
            )
    if tallies.moves.size > 0:
        add_moves(layout, sampler.jumps.exits, sampler.tally, tallies.moves)
    return links
