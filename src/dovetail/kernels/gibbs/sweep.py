"""Gibbs sampling of alignments under a fertility model (Zhao and Gildea 2010, section 5, Algorithm 1).

score(a) = product over i of p(count_i | e_i)  times  Poisson(NULL's count; I lambda_0)
           times product over j of p(a_j | last link before j) t(f_j | e_a_j)                            (equation 2)

IBM Model 1 is the case in which all weights of jumps are one.  When word j moves to another source word, only the two
jumps around it, its translation and two counts change: a candidate costs a constant, a sweep O(I J).

Both directions of a sentence pair are sampled in turns, word by word: neither waits for the other's draw, so the
processor works on one while the other's sums are on their way.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import leaf
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
from dovetail.kernels.gibbs.cells import number_row
from dovetail.kernels.gibbs.layout import BEFORE, EXITS, FIRST, GROUP, I_, J_, NULLS, U, padded
from dovetail.kernels.gibbs.random import uniform
from dovetail.kernels.hmm.best import NULL


@leaf
def gain(rates, word, count):
    """p(count + 1 | word) / p(count | word), what one more link is worth to one of the pair's words."""
    return rates.ratios[U(word), U(min(count, rates.ratios.shape[1] - 1))] * rates.tail[U(count)]


@leaf
def recount(d, i, change, sampler):
    """Give source word i of direction d a link more or less."""
    room, pair = sampler.layout.room, sampler.pair
    place = U(d * room + i)
    pair.counts[place] += change
    worth = gain(sampler.rates, place, pair.counts[place])
    place = U(2 * d * room + i)
    pair.gains[place] = worth
    pair.gains[place + U(room)] = worth * sampler.jumps.exits[U(pair.state[EXITS + d] + i)]


@leaf
def take_out(d, j, sampler):
    """Leave word j out of the counts, as its draw wants them."""
    i = sampler.pair.alignment[U(d * sampler.layout.room + j)]
    if i == NULL:
        sampler.pair.state[NULLS + d] -= 1
    else:
        recount(d, i, -1, sampler)


@leaf
def put_in(d, i, sampler):
    """Count a link to i, which is the last one so far."""
    if i == NULL:
        sampler.pair.state[NULLS + d] += 1
    else:
        recount(d, i, 1, sampler)
        sampler.pair.state[BEFORE + d] = i


@leaf
def begin(sampler):
    """Counts of both alignments, and what one more link would gain."""
    room, pair = sampler.layout.room, sampler.pair
    for d in range(2):
        I, J = pair.state[I_ + d], pair.state[J_ + d]
        for i in range(I):
            pair.counts[d * room + i] = 0
        pair.state[NULLS + d] = 0
        for j in range(J):
            i = pair.alignment[d * room + j]
            if i == NULL:
                pair.state[NULLS + d] += 1
            else:
                pair.counts[d * room + i] += 1
        for i in range(I):
            recount(d, i, 0, sampler)


@leaf
def look_ahead(first_word, room, pair):
    """The next link after each word of both alignments, and the last one before `first_word`."""
    state, alignment = pair.state, pair.alignment
    for d in range(2):
        following = NULL
        for j in range(state[J_ + d] - 1, -1, -1):
            token = d * room + j
            pair.after[token] = following
            following = alignment[token] if alignment[token] != NULL else following
        state[BEFORE + d] = NULL
        state[FIRST + d] = NULL
        for j in range(min(first_word, state[J_ + d])):
            state[BEFORE + d] = alignment[d * room + j] if alignment[d * room + j] != NULL else state[BEFORE + d]


@leaf
def last_possible(weight, place, i):
    """The last candidate up to i whose weight is not zero, else NULL."""
    while i >= 0 and not weight[place + i] > np.float32(0.0):
        i -= 1
    return i


@leaf
def draw_link(d, j, sampler):
    """Draw the link of word j of direction d, given all others; returns it, NULL's weight and the sum of all weights.

    Equation 7: for a word between the linked positions `before` and `following`, with the counts of all other words,
    weight[i] = s(i - before) p(following | i) t(f_j | e_i) gain_i, for NULL null_odds[j] s(following - before) gain_NULL,
    in units of what all candidates have in common (1 - p0, and 1 / the sum of jumps from `before`).
    First one of eight lanes is drawn, then one of the octets' candidates in it.
    """
    (longest, room, area, _, beside, span), pair, candidates, jumps, rates, _ = sampler
    emission, weight, sums, gains = candidates.emission, candidates.weight, candidates.sums, pair.gains
    I = pair.state[I_ + d]
    row = U(d * area + j * padded(I))
    u = np.float32(uniform(pair.keys[d], j))
    token = U(d * room + j)
    octets = U(padded(I) // OCTET)
    before, following = pair.state[BEFORE + d], pair.after[token]
    null = candidates.null_odds[token] * rates.null_tail[U(pair.state[NULLS + d])]
    into = out = d * span + beside  # for first and last links
    own = 2 * d * room
    if before != NULL:
        into = d * span + longest - before
    if following != NULL:
        out = d * span + longest - following
        own += room
        null *= jumps.into[U(into + following)]
    else:
        place = U(pair.state[EXITS + d] + before)
        null *= np.float32(1.0) / jumps.exits[place] if before != NULL else jumps.first_sum[d]

    lanes = nothing()
    base = U(d * room)
    for b in range(octets):
        k = b * U(OCTET)
        w = times(
            times(load(emission, row + k), load(jumps.into, U(into) + k)),
            times(load(jumps.out, U(out) + k), load(gains, U(own) + k)),
        )
        store(weight, base + k, w)
        lanes = plus(lanes, w)
    lanes = running(lanes)
    total = null + last(lanes)
    target = u * total - null
    i = pair.alignment[token]
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
            i = last_possible(weight, base, I - 1)
    pair.alignment[token] = i
    return i, null, total


@leaf
def count_draw(d, j, i, null, total, sampler):
    """Count a link i that was drawn by weights of sum `total`, before it is the last one so far.

    Jumps go to `distances` and `departures`, links to `posterior`, with a bit in `bits` for every link that was.  A
    candidate whose probability (times the credit of a sample) reaches its limit is credited with that, another one with
    the whole credit if it was drawn.  Both are right in expectation; the probabilities that a draw was made with say
    more than the draw (Rao and Blackwell), and with one sample that decides whether a rare word's first draw becomes
    its only translation.
    """
    (longest, room, area, groups, _, _), pair, candidates, _, _, tally = sampler
    weight, posterior, bits, limits, credit = candidates.weight, tally.posterior, tally.bits, tally.limits, tally.credit
    I, before = pair.state[I_ + d], pair.state[BEFORE + d]
    row = U(d * area + j * padded(I))
    token, base = U(d * room + j), U(d * room)
    octets = U(padded(I) // OCTET)
    soft = tally.soft[token]
    scale = credit / total if total > np.float32(0.0) else np.float32(0.0)  # nothing was possible: it stayed
    limit = U((2 * d + 1) * room) if soft else U(2 * d * room)
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
        tally.null_posterior[token] += odds if odds >= tally.limit and soft else credit
        return
    tally.null_posterior[token] += odds if odds >= tally.limit and soft else np.float32(0.0)
    k = U(i)
    if weight[base + k] * scale < limits[limit + k]:
        posterior[row + k] += credit
        bits[token * U(groups) + k // U(GROUP)] |= U(1) << (k % U(GROUP))
    if before == NULL:
        pair.state[FIRST + d] = i
    else:
        tally.distances[U(d * 2 * room + longest + i - before)] += 1
        tally.departures[U(pair.state[EXITS + d] + before)] += 1


@leaf
def sweep(first_word, last_word, counted, sampler, rows, ahead):
    """Draw the links of words first_word..last_word - 1 of both directions, from left to right, each given all others.

    Draws go to the sampler's tally if they are `counted`.  On the way the slots of another piece are looked up, a few of
    its `rows` with every draw: memory is slow, but it works while something else is calculated.
    """
    state = sampler.pair.state
    look_ahead(first_word, sampler.layout.room, sampler.pair)
    for d in range(2):
        if first_word < state[J_ + d]:
            take_out(d, np.int64(first_word), sampler)
    numbered = np.int64(0)
    for j in range(first_word, last_word):
        while numbered * (last_word - first_word) < (j + 1 - first_word) * rows:
            number_row(numbered, ahead)
            numbered += 1
        for d in range(2):
            if j >= state[J_ + d]:
                continue
            i, null, total = draw_link(d, j, sampler)
            if counted:
                count_draw(d, j, i, null, total, sampler)
            put_in(d, i, sampler)
            # At once, and not in its turn: gains are loaded by octets, which would wait for a number written just before.
            if j + 1 < min(last_word, state[J_ + d]):
                take_out(d, j + 1, sampler)
