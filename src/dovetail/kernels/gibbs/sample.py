"""Sampling whole shards of pieces: probabilities in, estimated posteriors or the sampled links out."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels._numba import OCTET
from dovetail.kernels.gibbs.pieces import sample_pieces
from dovetail.kernels.gibbs.sweep import GROUP, padded, tails, weights_of
from dovetail.kernels.gibbs.tally import expose
from dovetail.kernels.hmm.dense import running_sums
from dovetail.kernels.records import LENGTH_I, LENGTH_J


@kernel
def with_room(values, size):
    """The same values, with room for `size`."""
    if size <= len(values):
        return values
    longer = np.empty(size, values.dtype)
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
    most_cells = 0
    for piece in range(first_piece, last_piece):
        I, J = lines[piece, LENGTH_I], lines[piece, LENGTH_J]
        longest = max(longest, I, J)
        area = max(area, padded(I) * J, I * padded(J))
        tokens += max(I, J)
        most_cells = max(most_cells, I * J)
    room = padded(longest) + OCTET  # so that distances fit in two of them
    slots = np.empty(0 if gathered else tokens * 4, np.int64), np.empty(0 if gathered else tokens * 4, np.int64)
    shares = np.empty(len(slots[0]), np.float32), np.empty(len(slots[1]), np.float32)
    numbers = np.zeros(2, np.int64)
    emission = np.empty(2 * area, np.float32)
    written = emission.view(np.uint32)
    posterior = np.zeros(2 * area, np.float32)
    groups = (longest + GROUP - 1) // GROUP
    bits = np.zeros(2 * room * groups, np.uint64)
    soft = np.zeros(2 * room, np.bool_)
    limits = np.full(4 * room, np.float32(np.inf), np.float32)
    here = np.empty(0 if gathered else most_cells, np.uint64)
    coming = np.empty(0 if gathered else most_cells, np.uint64)
    state = np.empty((2, 5), np.int64)
    null_odds = np.empty(2 * room, np.float32)
    null_posterior = np.empty(2 * room, np.float32)
    gains = np.zeros(4 * room, np.float32)
    counts = np.empty(2 * room, np.int64)
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
    departures = np.zeros(len(exits), np.int64)
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
    scratch = (
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
    )
    piece = first_piece
    while piece < last_piece:
        piece = sample_pieces(
            piece,
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
        )
        if piece < last_piece:
            most = 2 * max(numbers[0], numbers[1]) + lines[piece, LENGTH_I] * lines[piece, LENGTH_J]
            slots = with_room(slots[0], most), with_room(slots[1], most)
            shares = with_room(shares[0], most), with_room(shares[1], most)
    if moves.size > 0:
        for d in range(2):
            expose(d, longest, room, departures, exits, middle, share, moves[d, 1])
            for k in range(2 * longest + 1):
                moves[d, 0, middle - longest + k] += share * distances[d * 2 * room + k]
    return numbers, slots[0], shares[0], slots[1], shares[1]
