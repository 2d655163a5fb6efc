"""Sampling whole shards of pieces: probabilities in, estimated posteriors or the sampled links out."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.gibbs import (
    FIRST,
    GROUP,
    I_,
    J_,
    NULL,
    U,
    begin,
    padded,
    sweep,
    tails,
    weights_of,
    word_by_word,
)
from dovetail.kernels.gibbs_cells import copy_cells, links_of, look_up, put_back
from dovetail.kernels.gibbs_octets import OCTET
from dovetail.kernels.gibbs_tally import expose, log_score, take_as_given
from dovetail.kernels.hmm import running_sums
from dovetail.kernels.lines import COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET
from dovetail.kernels.random import stream


@kernel
def with_room(values, size):
    """The same values, with room for `size`."""
    if size <= len(values):
        return values
    longer = np.empty(2 * size, values.dtype)
    longer[: len(values)] = values
    return longer


@kernel
def sample(
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
    p1,
    jumps,
    first_links,
    normalised,
    ratios,
    falling,
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
    likely,
    soft_words,
    moves,
    firsts,
    histograms,
    scores,
):
    """Sample the alignments of pieces first_piece..last_piece - 1 in both directions; pairs are (forward's, reverse's).

    Translation probabilities come from the lexicon (`row_start`, `rank`, `table`), or if `gathered` from `cells`, which
    then become the samples' mean: estimated posteriors.  `null_posteriors` become NULL's.  Each of `restarts` chains begins
    at `starts` if `given` (a position a generated word, NULL -1), else at IBM Model 1's best alignment, makes `burn_in`
    sweeps that do not count and `samples` that do; with no samples at all the start itself is counted.  With `keep_best`,
    `starts` gets the best alignment seen, and its log-score goes to `scores` (pieces, 2); else the last one's does.
    Unless `gathered`, scores leave out `zeros`, the logs of p(0 | word).
    Piece p draws from the streams (seed, first_sweep..., streams[p]); jumps are renormalised if `normalised`;
    links of words that are `soft_words`, on either side, are credited with their probability if that is `likely` or more.
    `moves` (2, 2, distances + 1), `firsts` (2, 2, positions + 1) and `histograms` (tokens, C: how often each had
    0, 1 ... C - 1 or more links) are added to unless empty; of moves and firsts, row 0 counts them and row 1 is what they
    were exposed to, as differences still to be summed up.

    Returns the sampled links: how many of either direction, then forward's and reverse's slots and posteriors.
    """
    longest = 0
    area = 0
    tokens = 0
    for piece in range(first_piece, last_piece):
        I, J = lines[piece, LENGTH_I], lines[piece, LENGTH_J]
        longest = max(longest, I, J)
        area = max(area, padded(I) * J, I * padded(J))
        tokens += max(I, J)
    room = padded(longest) + OCTET  # so that distances fit in two of them
    slots = np.empty(0 if gathered else tokens * 2, np.int64), np.empty(0 if gathered else tokens * 2, np.int64)
    shares = np.empty(len(slots[0]), np.float32), np.empty(len(slots[1]), np.float32)
    numbers = np.zeros(2, np.int64)
    emission = np.empty(2 * area, np.float32)
    written = emission.view(np.uint32)
    posterior = np.zeros(2 * area, np.float32)
    groups = (longest + GROUP - 1) // GROUP
    bits = np.zeros(2 * room * groups, np.uint64)
    soft = np.zeros(2 * room, np.bool_)
    limits = np.full(4 * room, np.float32(np.inf), np.float32)
    rows = np.empty(longest, np.int64)
    state = np.empty((2, 5), np.int64)
    null_odds = np.empty(2 * room, np.float32)
    null_posterior = np.empty(2 * room, np.float32)
    gains = np.zeros(4 * room, np.float32)
    counts = np.empty(2 * room, np.int64)
    departures = np.zeros(2 * room, np.int64)
    distances = np.zeros(4 * room, np.int64)
    weight = np.empty(2 * room, np.float32)
    sums = np.zeros(4 * OCTET, np.float32)
    after = np.empty(2 * room, np.int64)
    alignment = np.empty(2 * room, np.int64)
    begins = np.empty(2 * room, np.int64)
    best = np.empty(2 * room, np.int64)
    middle = len(jumps[0]) // 2
    low, high = middle - longest, middle + longest + 1
    none = np.ones(0, np.float32)
    near = jumps[0][low:high], jumps[1][low:high]
    into_weights = weights_of(longest, near, (first_links[0][:longest], first_links[1][:longest]))
    out_weights = weights_of(longest, (near[0][::-1].copy(), near[1][::-1].copy()), (none, none))
    jump_sums = running_sums(near[0]), running_sums(near[1])
    all_first_sums = running_sums(first_links[0][:longest]), running_sums(first_links[1][:longest])
    # Sums of jumps are worked out once for each length, when the first sentence has it.
    exits = np.empty(2 * (longest + 1) * room, np.float32) if normalised else np.ones(room, np.float32)
    known = np.zeros(2 * (longest + 1), np.bool_)
    exit_rows = np.zeros(2, np.int64)
    first_sums = np.ones(2, np.float32)
    keys = np.empty(2, np.uint64)
    width = ratios[0].shape[1]
    rates = np.empty((2 * room, width), np.float32)
    tail = tails(longest + 1, width, falling, deficient)
    null_tail = np.ones(longest + 1, np.float32)
    if deficient:
        for count in range(longest + 1):
            null_tail[count] = np.float32(1.0) / np.float32(count + 1)
    p1 = np.float32(max(p1, 1e-30))  # so that p0 / p1 is a number
    share = np.float32(1.0 / max(1, samples * restarts))
    limit = np.float32(likely) * share
    for d in range(2):
        limits[(2 * d + 1) * room : (2 * d + 2) * room] = limit
    tops = np.empty(2)
    none_at_all = np.empty(2)
    for piece in range(first_piece, last_piece):
        line = lines[piece]
        if gathered:
            copy_cells(line, cells[0], cells[1], area, emission)
        else:
            look_up(line, source_ids, target_ids, row_start, rank, table, area, emission, written, rows)
        for d in range(2):
            if d == 0:
                I, J = line[LENGTH_I], line[LENGTH_J]
                words = source_ids[line[SOURCE] : line[SOURCE] + I]
                emitted = target_ids[line[TARGET] : line[TARGET] + J]
                column = line[COLUMN]
            else:
                I, J = line[LENGTH_J], line[LENGTH_I]
                words = target_ids[line[TARGET] : line[TARGET] + I]
                emitted = source_ids[line[SOURCE] : line[SOURCE] + J]
                column = line[ROW]
            state[d, I_], state[d, J_] = I, J
            # An element of a pair is fetched once: in a loop, that would cost more than what is done with it.
            own_ratios, zero, null_table, start = ratios[d], zeros[d], null_tables[d], starts[d]
            own_soft, other_soft = soft_words[d], soft_words[1 - d]
            mean = null_means[d] * I
            odds = np.float32(p0 / p1 * mean)
            score = -mean
            for i in range(I):
                word = U(words[i])
                if gathered:
                    score += zero[word]
                limits[2 * d * room + i] = limit if own_soft[word] else np.float32(np.inf)
                for c in range(width):
                    rates[d * room + i, c] = own_ratios[word, U(c)]
            if not deficient:
                score -= math.lgamma(J + 1.0)
            elif not normalised:
                score -= J * math.log(I + 1.0)  # IBM Model 1: all positions alike
            none_at_all[d] = score
            for j in range(J):
                null_odds[d * room + j] = odds * null_table[U(emitted[j])]
                null_posterior[d * room + j] = np.float32(0.0)
                soft[d * room + j] = other_soft[U(emitted[j])]
            if normalised:
                exit_rows[d] = (d * (longest + 1) + I) * room
                first_sums[d] = all_first_sums[d][I]
                if not known[d * (longest + 1) + I]:
                    known[d * (longest + 1) + I] = True
                    own_sums = jump_sums[d]
                    for i in range(I):
                        exits[exit_rows[d] + i] = 1.0 / (own_sums[longest - i + I] - own_sums[longest - i])
            if given:
                for j in range(J):
                    begins[d * room + j] = start[column + j]
            else:
                word_by_word(d, state, room, area, emission, null_table[emitted], begins)
            tops[d] = -np.inf
        drawn = 0
        for _ in range(restarts):
            for d in range(2):
                for j in range(state[d, J_]):
                    alignment[d * room + j] = begins[d * room + j]
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
                    )
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
            J, column = state[d, J_], line[COLUMN] if d == 0 else line[ROW]
            scores[piece, d] = tops[d] + none_at_all[d]
            start, own_nulls = starts[d], null_posteriors[d]
            if keep_best:
                for j in range(J):
                    start[column + j] = best[d * room + j]
            for j in range(J):
                own_nulls[column + j] = null_posterior[d * room + j]
            if moves.size > 0:
                expose(d, state[d, I_], room, departures, exits, exit_rows[d], middle, share, moves[d, 1])
            if not gathered:
                most = numbers[d] + state[d, I_] * J
                own_slots, own_shares = with_room(slots[d], most), with_room(shares[d], most)
                slots = (own_slots, slots[1]) if d == 0 else (slots[0], own_slots)
                shares = (own_shares, shares[1]) if d == 0 else (shares[0], own_shares)
                numbers[d] = links_of(
                    line,
                    d,
                    room,
                    groups,
                    target_ids,
                    rank,
                    rows,
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
    if moves.size > 0:
        for d in range(2):
            for k in range(2 * longest + 1):
                moves[d, 0, middle - longest + k] += share * distances[d * 2 * room + k]
    return numbers, slots[0], shares[0], slots[1], shares[1]
