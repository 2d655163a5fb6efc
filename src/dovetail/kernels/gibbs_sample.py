"""Sampling whole shards of pieces: probabilities in, estimated posteriors or the sampled links out."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.gibbs import (
    NULL,
    U,
    beside,
    gain,
    padded,
    side_by_side,
    start_counts,
    sweep,
    tails,
    word_by_word,
)
from dovetail.kernels.gibbs_cells import copy_cells, look_up, slot_of
from dovetail.kernels.hmm import running_sums
from dovetail.kernels.lines import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET
from dovetail.kernels.random import stream


@kernel
def tally(
    alignment,
    I,
    longest,
    emission,
    null_emission,
    p0,
    p1,
    into_weights,
    exits,
    ratios,
    tail,
    null_mean,
    null_tail,
    counts,
    counted,
    distances,
    departures,
):
    """The log of the joint of a sample over p(0 | word) of all words and NULL, and its first link.

    If `counted` is 1, `distances` count its jumps by distance, `departures` by where they started; it may be 0.  Products
    are taken as long as they fit, and logarithms only then.
    """
    width = padded(I)
    into, scale = beside(longest), p1
    first = NULL
    before = NULL
    nulls = 0
    score = 0.0
    product = 1.0
    for j in range(len(alignment)):
        i = alignment[j]
        if i == NULL:
            product *= (p0 * null_emission[j]) * (null_mean * null_tail[nulls])
            nulls += 1
        else:
            product *= (emission[U(j * width + i)] * into_weights[U(into + i)]) * scale
            into, scale = longest - i, p1 * exits[i]
            if before == NULL:
                first = i
            else:
                distances[U(longest + i - before)] += counted
            before = i
        if product < 1e-200:
            score += math.log(product) if product > 0.0 else -np.inf
            product = 1.0
    for i in range(I):
        departures[i] += counted * counts[i]
        for count in range(counts[i]):
            product *= gain(ratios, tail, i, count)
        if product < 1e-200 or product > 1e200:
            score += math.log(product) if product > 0.0 else -np.inf
            product = 1.0
    if before != NULL:
        departures[before] -= counted
    return first, score + math.log(product)


@kernel
def take_as_given(alignment, width, posterior, touched, null_posterior):
    """The alignment itself as posteriors; returns the number of links, whose places go to `touched`."""
    used = 0
    for j in range(len(alignment)):
        if alignment[j] == NULL:
            null_posterior[j] = np.float32(1.0)
        else:
            touched[used] = j * width + alignment[j]
            posterior[touched[used]] = np.float32(1.0)
            used += 1
    return used


@kernel
def expose(departures, exits, I, longest, share, differences):
    """What every distance was exposed to (see hmm.collect_moves), as differences that are still to be summed up.

    A jump from i' could have had any distance from -i' to I - 1 - i': an interval is two numbers then, however long.
    """
    for i in range(I):
        weight = share * departures[i] * exits[i]
        differences[longest - i] += weight
        differences[longest - i + I] -= weight


@kernel
def doubled(values):
    """The same values with room for as many again."""
    longer = np.empty(2 * len(values) + 1, values.dtype)
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
    `starts` gets the best alignment seen, and its log-score goes to `scores` (pieces, 2); else the samples' mean does.
    Piece p draws from the streams (seed, first_sweep..., streams[p]); jumps are renormalised if `normalised`;
    `likely` is what `credit` takes.
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
    room = 1 if gathered else tokens * (1 if samples < 2 else 2)
    slots = (np.empty(room, np.int64), np.empty(room, np.int64))
    shares = (np.empty(room, np.float32), np.empty(room, np.float32))
    numbers = np.zeros(2, np.int64)
    emissions = (np.empty(area, np.float32), np.empty(area, np.float32))
    posterior = np.zeros(area, np.float32)
    touched = np.empty(area, np.uint32)  # in 32 bits, since they are divided
    rows = np.empty(longest, np.int64)
    null_space = np.empty(longest, np.float32)
    exits = np.ones(longest + 1, np.float32)
    gains = np.zeros(2 * padded(longest), np.float32)
    count_space = np.empty(longest, np.int64)
    departures = np.empty(longest, np.int64)
    weight = np.empty(padded(longest), np.float32)
    octets = np.empty(padded(longest) // 8 + 1, np.float32)
    after = np.empty(longest, np.int64)
    current = np.empty(longest, np.int64)
    begin = np.empty(longest, np.int64)
    best = np.empty(longest, np.int64)
    middle = len(jumps[0]) // 2
    low, high = middle - longest, middle + longest + 1
    none = np.ones(0, np.float32)
    into_weights = (
        side_by_side(longest, jumps[0][low:high], none),
        side_by_side(longest, jumps[1][low:high], none),
    )
    out_weights = (
        side_by_side(longest, jumps[0][low:high][::-1].copy(), none),
        side_by_side(longest, jumps[1][low:high][::-1].copy(), none),
    )
    jump_sums = (running_sums(jumps[0][low:high]), running_sums(jumps[1][low:high]))
    distances = np.zeros((2, 2 * longest + 1), np.int64)
    width = ratios[0].shape[1]
    ratio_space = np.empty(longest * width, np.float32)
    tail = tails(longest + 1, width, falling, deficient)
    null_tail = tails(longest + 1, 0, True, True)
    for count in range(longest + 1):
        null_tail[count] = np.float32(1.0) / np.float32(count + 1) if deficient else np.float32(1.0)
    p0 = np.float32(p0)
    p1 = np.float32(p1)
    likely = np.float32(likely)
    share = np.float32(1.0 / max(1, samples * restarts))
    for piece in range(first_piece, last_piece):
        line = lines[piece]
        if gathered:
            copy_cells(line, cells[0], cells[1], emissions[0], emissions[1])
        else:
            look_up(line, source_ids, target_ids, row_start, rank, table, emissions[0], emissions[1], rows)
        for direction in range(2):
            emission = emissions[direction]
            if direction == 0:
                I, J = line[LENGTH_I], line[LENGTH_J]
                words = source_ids[line[SOURCE] : line[SOURCE] + I]
                emitted = target_ids[line[TARGET] : line[TARGET] + J]
                row, column = line[ROW], line[COLUMN]
            else:
                I, J = line[LENGTH_J], line[LENGTH_I]
                words = target_ids[line[TARGET] : line[TARGET] + I]
                emitted = source_ids[line[SOURCE] : line[SOURCE] + J]
                row, column = line[COLUMN], line[ROW]
            # An element of a pair is fetched once: in a loop, that would cost more than what is done with it.
            into, out, sums = into_weights[direction], out_weights[direction], jump_sums[direction]
            own_ratios, zero, null_table = ratios[direction], zeros[direction], null_tables[direction]
            first_weights, start, histogram = first_links[direction], starts[direction], histograms[direction]
            rates = ratio_space[: I * width].reshape(I, width)
            null_emission = null_space[:J]
            null_posterior = null_posteriors[direction][column : column + J]
            counts = count_space[:I]
            alignment = current[:J]
            across = padded(I)
            none_at_all = 0.0
            for i in range(I):
                none_at_all += zero[words[i]]
                for c in range(width):
                    rates[i, c] = own_ratios[words[i], c]
                departures[i] = 0
            for j in range(J):
                null_emission[j] = null_table[emitted[j]]
                null_posterior[j] = np.float32(0.0)
            total = np.float32(1.0)
            if normalised:
                for i in range(I):
                    exits[i] = np.float32(1.0) / np.float32(sums[longest - i + I] - sums[longest - i])
                total = np.float32(0.0)
                for i in range(I):
                    total += first_weights[i]
                total = np.float32(1.0) / total
            for i in range(I):
                into[beside(longest) + i] = first_weights[i] * total
            if given:
                for j in range(J):
                    begin[j] = start[column + j]
            else:
                word_by_word(emission, I, null_emission, begin)
            mean = np.float32(null_means[direction] * I)
            none_at_all -= null_means[direction] * I
            if not deficient:
                none_at_all -= math.lgamma(J + 1.0)
            elif not normalised:
                none_at_all -= J * math.log(I + 1.0)  # IBM Model 1: all positions alike
            top = -np.inf if keep_best else 0.0
            used = 0
            drawn = 0
            for _ in range(restarts):
                for j in range(J):
                    alignment[j] = begin[j]
                nulls = start_counts(alignment, I, exits, rates, tail, counts, gains)
                for n in range(max(1, burn_in + samples)):
                    if samples > 0:
                        nulls, used = sweep(
                            0,
                            J,
                            alignment,
                            nulls,
                            I,
                            longest,
                            emission,
                            null_emission,
                            p0,
                            p1,
                            into,
                            out,
                            exits,
                            rates,
                            tail,
                            mean,
                            null_tail,
                            counts,
                            gains,
                            weight,
                            octets,
                            after,
                            stream(seed * 2 + direction, first_sweep + drawn, streams[piece]),
                            likely,
                            share if n >= burn_in else np.float32(0.0),
                            posterior,
                            touched,
                            used,
                            null_posterior,
                        )
                        drawn += 1
                    else:
                        used = take_as_given(alignment, across, posterior, touched, null_posterior)
                    counted = n >= burn_in or samples == 0
                    if not counted and not keep_best:
                        continue
                    first, score = tally(
                        alignment,
                        I,
                        longest,
                        emission,
                        null_emission,
                        p0,
                        p1,
                        into,
                        exits,
                        rates,
                        tail,
                        mean,
                        null_tail,
                        counts,
                        np.int64(counted),
                        distances[direction],
                        departures,
                    )
                    if keep_best and score > top:
                        top = score
                        for j in range(J):
                            best[j] = alignment[j]
                    elif not keep_best:
                        top += share * score
                    if counted and moves.size > 0 and first != NULL:
                        firsts[direction, 0, first] += share
                        firsts[direction, 1, 0] += share * total
                        firsts[direction, 1, I] -= share * total
                    if counted and histogram.size > 0:
                        most = histogram.shape[1] - 1
                        for i in range(I):
                            histogram[row + i, min(counts[i], most)] += share
            if keep_best:
                for j in range(J):
                    start[column + j] = best[j]
            scores[piece, direction] = top + none_at_all
            if moves.size > 0:
                expose(departures, exits, I, middle, share, moves[direction, 1])
            if gathered:
                step, stride = (1, J) if direction == 0 else (I, 1)  # of the cell (i, j) of this direction
                own_cells = cells[direction]
                for j in range(J):
                    for i in range(I):
                        own_cells[line[CELL] + j * step + i * stride] = posterior[j * across + i]
                for n in range(used):
                    posterior[touched[n]] = np.float32(0.0)
            else:
                number = numbers[direction]
                own_slots, own_shares = slots[direction], shares[direction]
                while number + used > len(own_slots):
                    own_slots, own_shares = doubled(own_slots), doubled(own_shares)
                    if direction == 0:
                        slots, shares = (own_slots, slots[1]), (own_shares, shares[1])
                    else:
                        slots, shares = (slots[0], own_slots), (shares[0], own_shares)
                for n in range(used):
                    k = touched[n]
                    j = k // np.uint32(across)
                    own_slots[U(number + n)] = slot_of(
                        line, direction, rows, rank, target_ids, np.int64(k) - np.int64(j) * across, np.int64(j)
                    )
                    own_shares[U(number + n)] = posterior[k]
                    posterior[k] = np.float32(0.0)
                numbers[direction] += used
    if moves.size > 0:
        for direction in range(2):
            for d in range(2 * longest + 1):
                moves[direction, 0, middle - longest + d] += share * distances[direction, d]
    return numbers, slots[0], shares[0], slots[1], shares[1]
