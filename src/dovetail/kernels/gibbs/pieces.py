"""Sampling pieces one after another: what `gibbs_sample.sample` has made room for."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import leaf
from dovetail.kernels.gibbs.cells import copy_cells, links_of, look_up, put_back
from dovetail.kernels.gibbs.random import stream
from dovetail.kernels.gibbs.slots import number_row
from dovetail.kernels.gibbs.sweep import FIRST, I_, J_, NULL, U, begin, sweep, word_by_word
from dovetail.kernels.gibbs.tally import log_score, take_as_given
from dovetail.kernels.records import COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET


@leaf
def sample_pieces(
    first_piece,
    last_piece,
    lines,
    source_ids,
    target_ids,
    row_start,
    rank,
    table,
    gathered,
    cells,
    null_tables,
    null_posteriors,
    p0,
    normalised,
    ratios,
    zeros,
    null_means,
    deficient,
    starts,
    given,
    keep_best,
    streams,
    seed,
    first_sweep,
    restarts,
    burn_in,
    samples,
    soft_words,
    moves,
    firsts,
    histograms,
    scores,
    slots,
    shares,
    scratch,
):
    """Sample pieces first_piece..last_piece - 1, or up to the first one whose links might not fit: returns which is next.

    Arguments are those of `sample`, then where links go, and `scratch`: what sentences share, and room for one of them.
    While one is sampled the next one's slots are looked up, so that its probabilities are in the cache when they are wanted.
    """
    (
        area,
        longest,
        room,
        groups,
        share,
        limit,
        width,
        p1,
        emission,
        written,
        posterior,
        bits,
        soft,
        limits,
        here,
        coming,
        state,
        null_odds,
        null_posterior,
        gains,
        counts,
        departures,
        distances,
        weight,
        sums,
        after,
        alignment,
        begins,
        best,
        into_weights,
        out_weights,
        jump_sums,
        all_first_sums,
        exits,
        known,
        exit_rows,
        first_sums,
        keys,
        rates,
        tail,
        null_tail,
        tops,
        none_at_all,
        numbers,
    ) = scratch
    numbered = False
    for piece in range(first_piece, last_piece):
        line = lines[piece]
        if not gathered and max(numbers[0], numbers[1]) + line[LENGTH_I] * line[LENGTH_J] > len(slots[0]):
            return piece
        if gathered:
            copy_cells(line, cells[0], cells[1], area, emission)
        else:
            here, coming = coming, here
            if not numbered:
                for i in range(line[LENGTH_I]):
                    number_row(line, i, source_ids, target_ids, row_start, rank, table, here)
            look_up(line, here, table, area, emission, written)
        following = lines[min(piece + 1, last_piece - 1)]
        meanwhile = 0 if gathered or samples == 0 or piece == last_piece - 1 else following[LENGTH_I]
        numbered = meanwhile > 0
        state[0, I_] = state[1, J_] = line[LENGTH_I]
        state[0, J_] = state[1, I_] = line[LENGTH_J]
        for d in range(2):
            I, J = state[d, I_], state[d, J_]
            words, first_word = (source_ids, line[SOURCE]) if d == 0 else (target_ids, line[TARGET])
            # What words of this side bring along: to this direction as its source, to the other one as what it generates.
            # An element of a pair is fetched once: in a loop, that would cost more than what is done with it.
            own_ratios, zero, null_table, own_soft = ratios[d], zeros[d], null_tables[1 - d], soft_words[d]
            odds = np.float32(p0 / p1 * (null_means[1 - d] * J))
            score = -(null_means[d] * I)
            own, generated = U(d * room), U((1 - d) * room)
            for i in range(U(I)):
                word = U(words[U(first_word) + i])
                if gathered:
                    score += zero[word]
                soft[generated + i] = own_soft[word]
                limits[own + own + i] = limit if own_soft[word] else np.float32(np.inf)
                null_odds[generated + i] = odds * null_table[word]
                null_posterior[generated + i] = np.float32(0.0)
                for c in range(U(width)):
                    rates[own + i, c] = own_ratios[word, c]
            if not deficient:
                score -= math.lgamma(J + 1.0)
            elif not normalised:
                score -= J * math.log(I + 1.0)  # IBM Model 1: all positions alike
            none_at_all[d] = score
            if normalised:
                exit_rows[d] = (d * (longest + 1) + I) * room
                first_sums[d] = all_first_sums[d][I]
                if not known[d * (longest + 1) + I]:
                    known[d * (longest + 1) + I] = True
                    own_sums = jump_sums[d]
                    for i in range(I):
                        exits[exit_rows[d] + i] = 1.0 / (own_sums[longest - i + I] - own_sums[longest - i])
            if given:
                start, column = starts[d], U(line[COLUMN] if d == 0 else line[ROW])
                for j in range(U(J)):
                    begins[own + j] = start[column + j]
            elif d == 0:
                word_by_word(d, state, room, area, emission, null_tables[0], target_ids, line[TARGET], begins)
            else:
                word_by_word(d, state, room, area, emission, null_tables[1], source_ids, line[SOURCE], begins)
            tops[d] = -np.inf
        drawn = 0
        for _ in range(restarts):
            for d in range(2):
                for j in range(U(state[d, J_])):
                    alignment[U(d * room) + j] = begins[U(d * room) + j]
            begin(state, alignment, room, exits, exit_rows, rates, tail, counts, gains)
            for n in range(max(1, burn_in + samples)):
                counted = n >= burn_in or samples == 0
                credited = share if counted else np.float32(0.0)
                if samples > 0:
                    for d in range(2):
                        keys[d] = stream(seed * 2 + d, first_sweep + drawn, streams[piece])
                    sweep(
                        0,
                        max(state[0, J_], state[1, J_]),
                        state,
                        alignment,
                        room,
                        groups,
                        longest,
                        area,
                        emission,
                        null_odds,
                        into_weights,
                        out_weights,
                        first_sums,
                        exits,
                        exit_rows,
                        rates,
                        tail,
                        null_tail,
                        counts,
                        gains,
                        weight,
                        sums,
                        after,
                        keys,
                        soft,
                        limits,
                        limit,
                        credited,
                        posterior,
                        bits,
                        null_posterior,
                        distances,
                        departures,
                        meanwhile,
                        following,
                        source_ids,
                        target_ids,
                        row_start,
                        rank,
                        table,
                        coming,
                    )
                    meanwhile = 0
                    drawn += 1
                for d in range(2):
                    if samples == 0:
                        state[d, FIRST] = NULL
                        take_as_given(
                            d,
                            state,
                            alignment,
                            room,
                            groups,
                            longest,
                            area,
                            exit_rows[d],
                            posterior,
                            bits,
                            null_posterior,
                            distances,
                            departures,
                        )
                    I, first, histogram = state[d, I_], state[d, FIRST], histograms[d]
                    if counted and moves.size > 0 and first != NULL:
                        firsts[d, 0, first] += share
                        firsts[d, 1, 0] += share / first_sums[d]
                        firsts[d, 1, I] -= share / first_sums[d]
                    if counted and histogram.size > 0:
                        row = line[ROW] if d == 0 else line[COLUMN]
                        most = histogram.shape[1] - 1
                        for i in range(I):
                            histogram[row + i, min(counts[d * room + i], most)] += share
                    if keep_best or drawn == restarts * (burn_in + samples):
                        score = log_score(
                            d,
                            state,
                            alignment,
                            room,
                            longest,
                            area,
                            emission,
                            null_odds,
                            p1,
                            into_weights,
                            first_sums[d],
                            exits,
                            exit_rows[d],
                            rates,
                            tail,
                            null_tail,
                            counts,
                        )
                        if not keep_best:
                            tops[d] = score
                        elif score >= tops[d]:
                            tops[d] = score
                            for j in range(state[d, J_]):
                                best[d * room + j] = alignment[d * room + j]
        for d in range(2):
            J, column = state[d, J_], U(line[COLUMN] if d == 0 else line[ROW])
            scores[piece, d] = tops[d] + none_at_all[d]
            start, own_nulls = starts[d], null_posteriors[d]
            if keep_best:
                for j in range(U(J)):
                    start[column + j] = best[U(d * room) + j]
            for j in range(U(J)):
                own_nulls[column + j] = null_posterior[U(d * room) + j]
            if not gathered:
                own_slots, own_shares = slots[d], shares[d]
                numbers[d] = links_of(
                    line,
                    d,
                    room,
                    groups,
                    here,
                    area,
                    posterior,
                    bits,
                    numbers[d],
                    own_slots,
                    own_shares,
                )
        if gathered:
            put_back(line, cells[0], cells[1], area, posterior)
            bits[:] = U(0)
    return last_piece
