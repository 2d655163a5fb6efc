"""Sampling whole shards of pieces: probabilities in, estimated posteriors or the sampled links out."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.cooccurrence import RANK_LIMIT
from dovetail.kernels.gibbs import NULL, log_score, start_counts, sweep, word_by_word
from dovetail.kernels.hmm import running_sums
from dovetail.kernels.lines import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET
from dovetail.kernels.random import stream


@kernel
def tally(alignment, share, stride, step, counts, posterior, touched, used, null_posterior):
    """Add one sample with weight `share` to the posteriors, cell (i, j) being at i * stride + j * step.

    `touched` lists the cells that are not zero, of which there were `used`; returns how many there are now.
    """
    for j in range(len(alignment)):
        i = alignment[j]
        if i == NULL:
            null_posterior[j] += share
            continue
        k = i * stride + j * step
        if posterior[k] == np.float32(0.0):
            touched[used] = k
            used += 1
        posterior[k] += share
    return used


@kernel
def tally_moves(alignment, share, exits, moves, firsts):
    """Add one sample's jumps to `moves` (2, distances + 1), its first link to `firsts` (2, positions + 1).

    Row 0 counts them; row 1 says, as differences still to be summed up, what every distance was exposed to (see
    hmm.collect_moves): an interval is two numbers then, however long.
    """
    I = len(exits) - 1
    middle = moves.shape[1] // 2 - 1  # of distances, of which there is an odd number, and one place more
    before = NULL
    for j in range(len(alignment)):
        i = alignment[j]
        if i == NULL:
            continue
        if before == NULL:
            firsts[0, i] += share
            firsts[1, 0] += share * exits[I]
            firsts[1, I] -= share * exits[I]
        else:
            moves[0, middle + i - before] += share
            moves[1, middle - before] += share * exits[before]
            moves[1, middle - before + I] -= share * exits[before]
        before = i


@kernel
def look_up(line, source_ids, target_ids, row_start, rank, table, forward, reverse):
    """t(f | e) of one piece to `forward` (J, I) and t(e | f) to `reverse` (I, J), straight from the table.

    A sentence is in the cache while it is sampled: half the time of gathering whole blocks first.
    """
    J = line[LENGTH_J]
    for i in range(line[LENGTH_I]):
        word = source_ids[line[SOURCE] + i]
        start = row_start[word]
        dense = row_start[word + 1] - start > RANK_LIMIT
        cell = line[CELL] + i * J
        row = reverse[i]
        if dense:
            for j in range(J):
                slot = start + target_ids[line[TARGET] + j]
                forward[j, i] = table[slot, 0]
                row[j] = table[slot, 1]
        else:
            for j in range(J):
                slot = start + rank[cell + j]
                forward[j, i] = table[slot, 0]
                row[j] = table[slot, 1]


@kernel
def copy_cells(line, forward_cells, reverse_cells, forward, reverse):
    """The same, from cells that were gathered before."""
    I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
    for i in range(I):
        row = reverse[i]
        for j in range(J):
            forward[j, i] = forward_cells[cell + i * J + j]
            row[j] = reverse_cells[cell + i * J + j]


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
    `starts` gets the best alignment seen, and its log-score goes to `scores` (pieces, 2); else the last one's does.  Piece p
    draws from the streams (seed, first_sweep..., streams[p]); jumps are renormalised in the sentence if `normalised`.
    `moves` (2, 2, distances + 1), `firsts` (2, 2, positions + 1) and `histograms` (tokens, C: how often each had
    0, 1 ... C - 1 or more links) are added to unless empty.

    Returns the sampled links: how many of either direction, then forward's and reverse's slots and posteriors.
    """
    longest = 0
    area = 0
    tokens = 0
    for piece in range(first_piece, last_piece):
        longest = max(longest, lines[piece, LENGTH_I], lines[piece, LENGTH_J])
        area = max(area, lines[piece, LENGTH_I] * lines[piece, LENGTH_J])
        tokens += max(lines[piece, LENGTH_I], lines[piece, LENGTH_J])
    room = 1 if gathered else tokens * (1 if samples < 2 else 2)
    slots = (np.empty(room, np.int64), np.empty(room, np.int64))
    shares = (np.empty(room, np.float32), np.empty(room, np.float32))
    numbers = np.zeros(2, np.int64)
    forward_space = np.empty(area, np.float32)
    reverse_space = np.empty(area, np.float32)
    posterior = np.zeros(area, np.float32)
    touched = np.empty(area, np.int32)
    null_space = np.empty(longest, np.float32)
    first_space = np.empty(longest, np.float32)
    exit_space = np.ones(longest + 1, np.float32)
    gain_space = np.empty(longest, np.float32)
    onward_space = np.empty(longest, np.float32)
    count_space = np.empty(longest, np.int64)
    weight = np.empty(longest + 7, np.float32)
    octets = np.empty(longest // 8 + 1, np.float32)
    after = np.empty(longest, np.int64)
    current = np.empty(longest, np.int64)
    begin = np.empty(longest, np.int64)
    best = np.empty(longest, np.int64)
    backward_jumps = (jumps[0][::-1].copy(), jumps[1][::-1].copy())
    jump_sums = (running_sums(jumps[0]), running_sums(jumps[1]))
    middle = len(jumps[0]) // 2
    p0 = np.float32(p0)
    p1 = np.float32(p1)
    share = np.float32(1.0 / max(1, samples * restarts))
    for piece in range(first_piece, last_piece):
        line = lines[piece]
        size = line[LENGTH_I] * line[LENGTH_J]
        emissions = (
            forward_space[:size].reshape(line[LENGTH_J], line[LENGTH_I]),
            reverse_space[:size].reshape(line[LENGTH_I], line[LENGTH_J]),
        )
        if gathered:
            copy_cells(line, cells[0], cells[1], emissions[0], emissions[1])
        else:
            look_up(line, source_ids, target_ids, row_start, rank, table, emissions[0], emissions[1])
        for direction in range(2):
            emission = emissions[direction]
            J, I = emission.shape
            if direction == 0:
                words = source_ids[line[SOURCE] : line[SOURCE] + I]
                emitted = target_ids[line[TARGET] : line[TARGET] + J]
                row, column = line[ROW], line[COLUMN]
                stride, step = J, 1
            else:
                words = target_ids[line[TARGET] : line[TARGET] + I]
                emitted = source_ids[line[SOURCE] : line[SOURCE] + J]
                row, column = line[COLUMN], line[ROW]
                stride, step = 1, I
            jump, backwards, sums = jumps[direction], backward_jumps[direction], jump_sums[direction]
            rates, zero = ratios[direction], zeros[direction]
            null_emission = null_space[:J]
            null_posterior = null_posteriors[direction][column : column + J]
            first = first_space[:I]
            exits = exit_space[: I + 1]
            counts, gains, onward = count_space[:I], gain_space[:I], onward_space[:I]
            alignment = current[:J]
            for j in range(J):
                null_emission[j] = null_tables[direction][emitted[j]]
                null_posterior[j] = np.float32(0.0)
            if normalised:
                for i in range(I):
                    exits[i] = np.float32(1.0 / (sums[middle - i + I] - sums[middle - i]))
                total = 0.0
                for i in range(I):
                    total += first_links[direction][i]
                exits[I] = np.float32(1.0 / total)
            for i in range(I):
                first[i] = first_links[direction][i] * exits[I]
            if given:
                for j in range(J):
                    begin[j] = starts[direction][column + j]
            else:
                word_by_word(emission, null_emission, begin)
            mean = null_means[direction] * I
            top = -np.inf
            used = 0
            drawn = 0
            for _ in range(restarts):
                for j in range(J):
                    alignment[j] = begin[j]
                nulls = start_counts(alignment, words, exits, rates, falling, deficient, counts, gains, onward)
                for n in range(max(1, burn_in + samples)):
                    if samples > 0:
                        nulls = sweep(
                            0,
                            J,
                            alignment,
                            nulls,
                            emission,
                            null_emission,
                            p0,
                            p1,
                            jump,
                            backwards,
                            exits,
                            first,
                            words,
                            rates,
                            falling,
                            mean,
                            deficient,
                            counts,
                            gains,
                            onward,
                            weight,
                            octets,
                            after,
                            stream(seed * 2 + direction, first_sweep + drawn, streams[piece]),
                        )
                        drawn += 1
                    if n >= burn_in or samples == 0:
                        used = tally(alignment, share, stride, step, counts, posterior, touched, used, null_posterior)
                        if moves.size > 0:
                            tally_moves(alignment, share, exits, moves[direction], firsts[direction])
                        if histograms[direction].size > 0:
                            histogram = histograms[direction]
                            most = histogram.shape[1] - 1
                            for i in range(I):
                                histogram[row + i, min(counts[i], most)] += share
                    if keep_best or n >= burn_in + samples - 1:
                        score = log_score(
                            alignment,
                            emission,
                            null_emission,
                            p0,
                            p1,
                            jump,
                            exits,
                            first,
                            words,
                            rates,
                            falling,
                            zero,
                            mean,
                            deficient,
                        )
                        if score > top or not keep_best:
                            top = score
                            for j in range(J):
                                best[j] = alignment[j]
            if keep_best:
                for j in range(J):
                    starts[direction][column + j] = best[j]
            if not normalised and deficient:
                top -= J * math.log(I + 1.0)  # IBM Model 1: all positions alike
            scores[piece, direction] = top
            place = line[CELL]
            if gathered:
                own_cells = cells[direction]
                for k in range(size):
                    own_cells[place + k] = posterior[k]
                for k in range(used):
                    posterior[touched[k]] = np.float32(0.0)
            else:
                number = numbers[direction]
                own_slots, own_shares = slots[direction], shares[direction]
                while number + used > len(own_slots):
                    own_slots, own_shares = doubled(own_slots), doubled(own_shares)
                    if direction == 0:
                        slots, shares = (own_slots, slots[1]), (own_shares, shares[1])
                    else:
                        slots, shares = (slots[0], own_slots), (shares[0], own_shares)
                width = line[LENGTH_J]
                for n in range(used):
                    k = touched[n]
                    i = k // width
                    word = source_ids[line[SOURCE] + i]
                    start = row_start[word]
                    if row_start[word + 1] - start > RANK_LIMIT:
                        own_slots[number + n] = start + target_ids[line[TARGET] + k - i * width]
                    else:
                        own_slots[number + n] = start + rank[place + k]
                    own_shares[number + n] = posterior[k]
                    posterior[k] = np.float32(0.0)
                numbers[direction] += used
    return numbers, slots[0], shares[0], slots[1], shares[1]
