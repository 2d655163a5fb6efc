"""Gibbs sampling of alignments under a fertility model (Zhao and Gildea 2010, section 5, Algorithm 1).

score(a) = product over i of p(count_i | e_i)  times  Poisson(NULL's count; I lambda_0)
           times product over j of p(a_j | last link before j) t(f_j | e_a_j)                            (equation 2)

IBM Model 1 is the case in which all weights of jumps are one.  When word j moves to another source word, only the two
jumps around it, its translation and two counts change: a candidate costs a constant, a sweep O(I J).

Both directions of a sentence pair are sampled in turns, word by word: neither waits for the other's draw, so the
processor works on one while the other's sums are on their way.  Arrays hold forward's numbers and then reverse's:
entry k of direction d is at d * room + k, where `room` is the longest sentence's `padded` length; candidates are worked
on in octets, and positions that only fill the last one have a translation probability of zero.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels._numba import (
    OCTET,
    at_least,
    chosen,
    last,
    load,
    nothing,
    number_of,
    plus,
    running,
    spread,
    store,
    times,
)
from dovetail.kernels.gibbs.random import uniform
from dovetail.kernels.gibbs.slots import number_row

NULL = -1
U = np.uint64
I_, J_, NULLS, BEFORE, FIRST = range(5)  # of a direction's state: lengths, NULLs, the last link so far, the first one
GROUP = 64  # positions whose bits make one number


@leaf
def padded(I):
    """I, or what it takes to fill the last octet."""
    return (I + OCTET - 1) // OCTET * OCTET


@leaf
def gain(ratios, tail, i, count):
    """p(count + 1 | word i) / p(count | word i), what one more link is worth.

    `ratios` (positions, C) holds the first C of them, `tail` what becomes of them beyond (see `tails`).
    """
    return ratios[U(i), U(min(count, ratios.shape[1] - 1))] * tail[U(count)]


@kernel
def tails(size, width, falling, deficient):
    """By which factor `gain` differs from a word's first `width` ratios, for counts 0 .. size - 1.

    Beyond them, ratios stay the same or, if `falling`, go on as a Poisson's do: mean / (count + 1).  Without the deficiency,
    the (count + 1)! ways to order the links come in (section 3).
    """
    tail = np.ones(size, np.float32)
    for count in range(size):
        if falling and count >= width:
            tail[count] = np.float32(width) / np.float32(count + 1)
        if not deficient:
            tail[count] *= np.float32(count + 1)
    return tail


@leaf
def beside(longest):
    """Where in a direction's weights of jumps something else begins (see `weights_of`)."""
    return 2 * longest + OCTET


@leaf
def span(longest):
    """How long a direction's weights of jumps are."""
    return beside(longest) + padded(longest)


@kernel
def weights_of(longest, jumps, rest):
    """Of each direction the weights of jumps -longest..longest, room for the last octet, and `rest` (or ones)."""
    weights = np.ones(2 * span(longest), np.float32)
    for direction in range(2):
        place = direction * span(longest)
        weights[place : place + 2 * longest + 1] = jumps[direction]
        place += beside(longest)
        weights[place : place + len(rest[direction])] = rest[direction]
    return weights


@leaf
def recount(d, room, counts, i, change, ratios, tail, exits, exit_row, gains):
    """Give source word i of direction d a link more or less; its gain, and a `room` on that times 1 / its jumps' sum."""
    place = U(d * room + i)
    counts[place] += change
    worth = gain(ratios, tail, place, counts[place])
    place = U(2 * d * room + i)
    gains[place] = worth
    gains[place + U(room)] = worth * exits[U(exit_row + i)]


@leaf
def take_out(d, j, state, alignment, room, counts, ratios, tail, exits, exit_row, gains):
    """Leave word j out of the counts, as its draw wants them."""
    i = alignment[U(d * room + j)]
    if i == NULL:
        state[d, NULLS] -= 1
    else:
        recount(d, room, counts, i, -1, ratios, tail, exits, exit_row, gains)


@leaf
def last_possible(weight, place, i):
    """The last candidate up to i whose weight is not zero, else NULL."""
    while i >= 0 and not weight[place + i] > np.float32(0.0):
        i -= 1
    return i


@leaf
def begin(state, alignment, room, exits, exit_rows, ratios, tail, counts, gains):
    """Counts of both alignments, and what one more link would gain."""
    for d in range(2):
        I, J = state[d, I_], state[d, J_]
        for i in range(I):
            counts[d * room + i] = 0
        state[d, NULLS] = 0
        for j in range(J):
            i = alignment[d * room + j]
            if i == NULL:
                state[d, NULLS] += 1
            else:
                counts[d * room + i] += 1
        for i in range(I):
            recount(d, room, counts, i, 0, ratios, tail, exits, exit_rows[d], gains)


@leaf
def look_ahead(first_word, state, alignment, room, after):
    """The next link after each word of both alignments, and the last one before `first_word`."""
    for d in range(2):
        following = NULL
        for j in range(state[d, J_] - 1, -1, -1):
            token = d * room + j
            after[token] = following
            following = alignment[token] if alignment[token] != NULL else following
        state[d, BEFORE] = NULL
        state[d, FIRST] = NULL
        for j in range(min(first_word, state[d, J_])):
            state[d, BEFORE] = alignment[d * room + j] if alignment[d * room + j] != NULL else state[d, BEFORE]


@leaf
def sweep(
    first_word,
    last_word,
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
    ratios,
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
    null_limit,
    share,
    posterior,
    bits,
    null_posterior,
    distances,
    departures,
    meanwhile,
    line,
    source_ids,
    target_ids,
    row_start,
    rank,
    table,
    slots,
):
    """Draw the links of words first_word..last_word - 1 of both directions, from left to right, each given all others.

    Equation 7: for a word between the linked positions `before` and `following`, with the counts of all other words,
    weight[i] = s(i - before) p(following | i) t(f_j | e_i) gain_i, for NULL null_odds[j] s(following - before) gain_NULL,
    in units of what all candidates have in common (1 - p0, and 1 / the sum of jumps from `before`);
    null_odds[j] = p0 / (1 - p0) I lambda_0 t(f_j | NULL).  `into_weights` hold s by distance and for first links,
    `out_weights` the same turned round and ones (see `weights_of`); `exits` are 1 / the sums of jumps from each position.
    First one of eight lanes is drawn, then one of the octets' candidates in it.

    Unless `share` is zero, the draws are counted: jumps in `distances` and `departures`, links in `posterior`, which is
    laid out as `emission`, with a bit in `bits` for every link that was.  A candidate whose probability (times share)
    reaches its limit is credited with that, another one with `share` if it was drawn.  Both are right in expectation; the
    probabilities that a draw was made with say more than the draw (Rao and Blackwell), and with one sample that decides
    whether a rare word's first draw becomes its only translation.  `limits` are two for each position: one for
    words j that are `soft`, and one for others.

    On the way `slots` get those of another piece, `line`, a few of its `meanwhile` source words with every draw: memory is
    slow, but it works while something else is calculated.
    """
    look_ahead(first_word, state, alignment, room, after)
    for d in range(2):
        if first_word < state[d, J_]:
            take_out(d, first_word, state, alignment, room, counts, ratios, tail, exits, exit_rows[d], gains)
    numbered = 0
    for j in range(first_word, last_word):
        while numbered * (last_word - first_word) < (j + 1 - first_word) * meanwhile:
            number_row(line, numbered, source_ids, target_ids, row_start, rank, table, slots)
            numbered += 1
        for d in range(2):
            if j >= state[d, J_]:
                continue
            exit_row = exit_rows[d]
            first_sum = first_sums[d]
            row = U(d * area + j * padded(state[d, I_]))
            u = np.float32(uniform(keys[d], j))
            token = U(d * room + j)
            octets = U(padded(state[d, I_]) // OCTET)
            before, following = state[d, BEFORE], after[token]
            null = null_odds[token] * null_tail[U(state[d, NULLS])]
            into = out = d * span(longest) + beside(longest)  # for first and last links
            own = 2 * d * room
            if before != NULL:
                into = d * span(longest) + longest - before
            if following != NULL:
                out = d * span(longest) + longest - following
                own += room
                null *= into_weights[U(into + following)]
            else:
                null *= np.float32(1.0) / exits[U(exit_row + before)] if before != NULL else first_sum

            lanes = nothing()
            base = U(d * room)
            for b in range(octets):
                k = b * U(OCTET)
                w = times(
                    times(load(emission, row + k), load(into_weights, U(into) + k)),
                    times(load(out_weights, U(out) + k), load(gains, U(own) + k)),
                )
                store(weight, base + k, w)
                lanes = plus(lanes, w)
            lanes = running(lanes)
            total = null + last(lanes)
            target = u * total - null
            i = alignment[token]
            if target < np.float32(0.0):
                i = NULL
            elif total > np.float32(0.0):  # else it stays where it was
                # No branch that depends on the draw: a wrong guess of the processor costs more than the sums.
                store(sums, U(d * 2 * OCTET + 1), lanes)
                lane = number_of(at_least(spread(target), lanes))
                target -= sums[U(d * 2 * OCTET) + lane]
                k = lane
                before_target = np.float32(0.0)
                for b in range(octets - U(1)):
                    before_target += weight[base + b * U(OCTET) + lane]
                    k += U(OCTET) * U(before_target <= target)
                i = np.int64(k)
                if lane == U(OCTET) or not weight[base + k] > np.float32(0.0):  # rounding went past the end
                    i = last_possible(weight, base, state[d, I_] - 1)
            alignment[token] = i

            if share > np.float32(0.0):
                scale = share / total if total > np.float32(0.0) else np.float32(0.0)  # nothing was possible: it stayed
                limit = U((2 * d + 1) * room) if soft[token] else U(2 * d * room)
                high = U(0)
                place = token * U(groups)
                for b in range(octets):
                    k = b * U(OCTET)
                    w = times(load(weight, base + k), spread(scale))
                    likely = at_least(w, load(limits, limit + k))
                    high |= U(likely) << (k % U(GROUP))
                    store(posterior, row + k, plus(load(posterior, row + k), chosen(w, likely)))
                    if k % U(GROUP) == U(GROUP - OCTET) or b == octets - U(1):
                        bits[place] |= high
                        place += U(1)
                        high = U(0)
                odds = null * scale
                if i == NULL:
                    null_posterior[token] += odds if odds >= null_limit and soft[token] else share
                else:
                    null_posterior[token] += odds if odds >= null_limit and soft[token] else np.float32(0.0)
                    k = U(i)
                    if weight[base + k] * scale < limits[limit + k]:
                        posterior[row + k] += share
                        bits[token * U(groups) + k // U(GROUP)] |= U(1) << (k % U(GROUP))
                    if before == NULL:
                        state[d, FIRST] = i
                    else:
                        distances[U(d * 2 * room + longest + i - before)] += 1
                        departures[U(exit_row + before)] += 1
            if i == NULL:
                state[d, NULLS] += 1
            else:
                recount(d, room, counts, i, 1, ratios, tail, exits, exit_row, gains)
                state[d, BEFORE] = i
            # At once, and not in its turn: gains are loaded by octets, which would wait for a number written just before.
            if j + 1 < min(last_word, state[d, J_]):
                take_out(d, j + 1, state, alignment, room, counts, ratios, tail, exits, exit_row, gains)


@leaf
def word_by_word(d, state, room, area, emission, null_table, words, first_word, alignment):
    """IBM Model 1's best alignment of direction d: each word by itself, NULL where no source word is better."""
    I = state[d, I_]
    width = padded(I)
    for j in range(state[d, J_]):
        best = NULL
        value = null_table[words[first_word + j]]
        for i in range(I):
            if emission[d * area + j * width + i] > value:
                value = emission[d * area + j * width + i]
                best = i
        alignment[d * room + j] = best
