"""Sampling pieces one after another: what `sample.sample` has made room for."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.gibbs.cells import copy_cells, list_links, look_up, number_row, put_back
from dovetail.kernels.gibbs.layout import EXITS, FIRST, I_, J_, U, padded
from dovetail.kernels.gibbs.random import stream
from dovetail.kernels.gibbs.records import Ahead
from dovetail.kernels.gibbs.sweep import begin, sweep
from dovetail.kernels.gibbs.tally import log_score, take_as_given
from dovetail.kernels.hmm.best import NULL, best_partner
from dovetail.kernels.records import COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET


@leaf
def sum_jumps(d, I, layout, state, jumps):
    """Sums of jumps and of first links in a sentence of I words; worked out once for each length."""
    longest = layout.longest
    length = d * (longest + 1) + I
    state[EXITS + d] = length * layout.room
    jumps.first_sum[d] = jumps.first_sums[d][I]
    if not jumps.known[length]:
        jumps.known[length] = True
        sums = jumps.sums[d]
        for i in range(I):
            jumps.exits[length * layout.room + i] = 1.0 / (sums[longest - i + I] - sums[longest - i])


@leaf
def prepare_words(d, ids, start, model, tallies, sampler):
    """What words of one side bring along, to direction d as its source, to the other one as what it generates.

    Returns the log-score of no link and no NULL in direction d.
    """
    layout, pair, candidates, jumps, rates, tally = sampler
    (_, nulls, gathered), (_, _, p0, _, normalised), fertility = model
    all_ratios, zeros, null_means, _, deficient, null_counts, empty_words = fertility
    I, J = pair.state[I_ + d], pair.state[J_ + d]
    # An element of a pair is fetched once: in a loop, that would cost more than what is done with it.
    ratios, zero, null_table, soft_words = all_ratios[d], zeros[d], nulls[1 - d], tallies.soft_words[d]
    odds = np.float32(p0 / jumps.p1 * (null_means[1 - d] * J))
    if not null_counts:
        odds = np.float32(p0 / jumps.p1)
    if empty_words:
        odds *= np.float32(J + 1.0)
    score = -(null_means[d] * I) if null_counts else 0.0
    own, generated = U(d * layout.room), U((1 - d) * layout.room)
    for i in range(U(I)):
        word = U(ids[U(start) + i])
        if gathered:
            score += zero[word]
        tally.soft[generated + i] = soft_words[word]
        tally.limits[own + own + i] = tally.limit if soft_words[word] else np.float32(np.inf)
        candidates.null_odds[generated + i] = odds * null_table[word]
        tally.null_posterior[generated + i] = np.float32(0.0)
        for c in range(U(ratios.shape[1])):
            rates.ratios[own + i, c] = ratios[word, c]
    if not deficient:
        score -= math.lgamma(J + 1.0)
    elif not normalised:
        score -= J * math.log((2.0 * I if empty_words else I) + 1.0)  # IBM Model 1: all positions alike
    return score


@leaf
def word_by_word(d, ids, start, null_table, sampler, begins):
    """IBM Model 1's best alignment of direction d: each word by itself, NULL where no source word is better."""
    layout, state = sampler.layout, sampler.pair.state
    I = state[I_ + d]
    for j in range(state[J_ + d]):
        row = d * layout.area + j * padded(I)
        null = null_table[ids[start + j]]
        begins[d * layout.room + j] = best_partner(sampler.candidates.emission, row, 1, I, null)


@leaf
def prepare(line, pieces, model, ends, tallies, sampler, run):
    """A piece's lengths, words and the alignments that its chains begin with."""
    state, room = sampler.pair.state, sampler.layout.room
    state[I_] = state[J_ + 1] = line[LENGTH_I]
    state[J_] = state[I_ + 1] = line[LENGTH_J]
    sides = (pieces.source_ids, line[SOURCE]), (pieces.target_ids, line[TARGET])
    for d in range(2):
        ids, start = sides[d]
        run.none_at_all[d] = prepare_words(d, ids, start, model, tallies, sampler)
        run.tops[d] = -np.inf
        if model.jumps.normalised:
            sum_jumps(d, state[I_ + d], sampler.layout, state, sampler.jumps)
        if ends.given:
            alignment, column = ends.alignments[d], U(line[COLUMN] if d == 0 else line[ROW])
            for j in range(U(state[J_ + d])):
                run.begins[U(d * room) + j] = alignment[column + j]
        else:
            ids, start = sides[1 - d]
            word_by_word(d, ids, start, model.translations.nulls[d], sampler, run.begins)


@leaf
def count_words(d, line, sampler, tallies):
    """Count direction d's first link, and how many links each of its words has."""
    layout, pair, _, jumps, _, tally = sampler
    I, first, credit = pair.state[I_ + d], pair.state[FIRST + d], tally.credit
    if tallies.moves.size > 0 and first != NULL:
        tallies.firsts[d, 0, first] += credit
        tallies.firsts[d, 1, 0] += credit / jumps.first_sum[d]
        tallies.firsts[d, 1, I] -= credit / jumps.first_sum[d]
    histogram = tallies.histograms[d]
    if histogram.size > 0:
        row = line[ROW] if d == 0 else line[COLUMN]
        most = histogram.shape[1] - 1
        for i in range(I):
            histogram[row + i, min(pair.counts[d * layout.room + i], most)] += credit


@leaf
def run_chains(line, number, schedule, keep_best, tallies, sampler, run, rows, ahead):
    """All sweeps of one piece, whose random numbers are those of stream `number`; the first looks up `rows` ahead."""
    room, pair = sampler.layout.room, sampler.pair
    state, alignment = pair.state, pair.alignment
    seed, first_sweep, _, restarts, burn_in, samples = schedule
    drawn = 0
    for _ in range(restarts):
        for d in range(2):
            for j in range(U(state[J_ + d])):
                alignment[U(d * room) + j] = run.begins[U(d * room) + j]
        begin(sampler)
        for n in range(max(1, burn_in + samples)):
            counted = n >= burn_in or samples == 0
            if samples > 0:
                for d in range(2):
                    pair.keys[d] = stream(seed * 2 + d, first_sweep + drawn, number)
                sweep(0, max(state[J_], state[J_ + 1]), counted, sampler, rows if drawn == 0 else 0, ahead)
                drawn += 1
            for d in range(2):
                if samples == 0:
                    take_as_given(d, sampler)
                if counted:
                    count_words(d, line, sampler, tallies)
                if keep_best or drawn == restarts * (burn_in + samples):
                    score = log_score(d, sampler)
                    if not keep_best:
                        run.tops[d] = score
                    elif score >= run.tops[d]:
                        run.tops[d] = score
                        for j in range(state[J_ + d]):
                            run.best[d * room + j] = alignment[d * room + j]


@leaf
def sample_piece(piece, first_piece, last_piece, problem, tallies, sampler, run, links):
    """Sample one piece, and meanwhile look up the slots of the next one."""
    pieces, ranks, model, work, schedule, ends = problem
    layout, pair, tally, candidates = sampler.layout, sampler.pair, sampler.tally, sampler.candidates
    lines, (table, _, gathered) = pieces.lines, model.translations
    line, following = lines[piece], lines[min(piece + 1, last_piece - 1)]
    here, coming = run.slots[piece % 2], run.slots[(piece + 1) % 2]
    if gathered:
        copy_cells(line, work, layout.area, candidates.emission)
    else:
        for i in range(0 if piece > first_piece and schedule.samples > 0 else line[LENGTH_I]):
            number_row(i, Ahead(line, here, pieces, ranks, table))
        look_up(line, here, table, layout.area, candidates)
    rows = 0 if gathered or piece == last_piece - 1 else following[LENGTH_I]
    prepare(line, pieces, model, ends, tallies, sampler, run)
    ahead = Ahead(following, coming, pieces, ranks, table)
    run_chains(line, schedule.streams[piece], schedule, ends.keep_best, tallies, sampler, run, rows, ahead)
    null_posteriors = work.null_forward, work.null_reverse
    for d in range(2):
        column, alignment, nulls = U(line[COLUMN] if d == 0 else line[ROW]), ends.alignments[d], null_posteriors[d]
        tallies.scores[piece, d] = run.tops[d] + run.none_at_all[d]
        for j in range(U(pair.state[J_ + d])):
            if ends.keep_best:
                alignment[column + j] = run.best[U(d * layout.room) + j]
            nulls[column + j] = tally.null_posterior[U(d * layout.room) + j]
        if not gathered:
            list_links(line, d, here, layout, tally, links)
    if gathered:
        put_back(line, work, layout.area, tally)


@kernel
def sample_pieces(first_piece, last_piece, problem, tallies, sampler, run, links):
    """Sample pieces first_piece..last_piece - 1, or up to the first one whose links might not fit: returns which is next.

    While one is sampled the next one's slots are looked up, so that its probabilities are in the cache when they are wanted.
    """
    lines, gathered = problem.pieces.lines, problem.model.translations.gathered
    numbers, room = links.numbers, len(links.slots[0])
    for piece in range(first_piece, last_piece):
        cells = lines[piece, LENGTH_I] * lines[piece, LENGTH_J]
        if not gathered and max(numbers[0], numbers[1]) + cells > room:
            return piece
        sample_piece(piece, first_piece, last_piece, problem, tallies, sampler, run, links)
    return last_piece
