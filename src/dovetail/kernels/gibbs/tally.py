"""What an alignment is worth, and what it says of jumps."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.gibbs.layout import EXITS, FIRST, GROUP, I_, J_, U, padded
from dovetail.kernels.gibbs.sweep import gain
from dovetail.kernels.hmm.best import NULL


@leaf
def log_score(d, sampler):
    """The log of the joint of direction d's alignment over p(0 | word) of all words and NULL.

    Of I + 1 empty words an alignment takes a certain one each time: only drawing goes by all of them together.
    Products are taken as long as they fit, and logarithms only then.  The pair's counts are made anew on the way.
    """
    (longest, room, area, _, beside, span), pair, candidates, jumps, rates, _ = sampler
    counts, p1 = pair.counts, jumps.p1
    I, exit_row = pair.state[I_ + d], pair.state[EXITS + d]
    into, scale = d * span + beside, p1 / jumps.first_sum[d]
    null = p1 / np.float32(I + 1.0) if rates.empty_words else p1
    place = d * area
    nulls = 0
    score = 0.0
    product = 1.0
    for i in range(I):
        counts[U(d * room + i)] = 0
    for j in range(pair.state[J_ + d]):
        i = pair.alignment[U(d * room + j)]
        if i == NULL:
            product *= (null * candidates.null_odds[U(d * room + j)]) * rates.null_tail[U(nulls)]
            nulls += 1
        else:
            # A word's first link gains this much, its second that much: the product is p(count) / p(0).
            word = U(d * room + i)
            product *= (candidates.emission[U(place + i)] * jumps.into[U(into + i)]) * scale
            product *= gain(rates, word, counts[word])
            counts[word] += 1
            into, scale = d * span + longest - i, p1 * jumps.exits[U(exit_row + i)]
        place += padded(I)
        if product < 1e-200 or product > 1e200:
            score += math.log(product) if product > 0.0 else -np.inf
            product = 1.0
    return score + math.log(product)


@leaf
def take_as_given(d, sampler):
    """Count direction d's alignment itself, in place of a sample."""
    (longest, room, area, groups, _, _), pair, _, _, _, tally = sampler
    state = pair.state
    state[FIRST + d] = NULL
    before = NULL
    for j in range(state[J_ + d]):
        i = pair.alignment[d * room + j]
        if i == NULL:
            tally.null_posterior[d * room + j] += np.float32(1.0)
            continue
        tally.posterior[d * area + j * padded(state[I_ + d]) + i] += np.float32(1.0)
        tally.bits[(d * room + j) * groups + i // GROUP] |= U(1) << U(i % GROUP)
        if before == NULL:
            state[FIRST + d] = i
        else:
            tally.distances[d * 2 * room + longest + i - before] += 1
            tally.departures[state[EXITS + d] + before] += 1
        before = i


@kernel
def add_moves(layout, exits, tally, moves):
    """Add jumps to `moves` (2, 2, distances + 1), and what every distance was exposed to (see hmm.collect_moves).

    The latter as differences that are still to be summed up: a jump from i' could have had any distance from -i' to
    I - 1 - i', and an interval is two numbers then, however long.
    """
    longest, room = layout.longest, layout.room
    middle = (moves.shape[2] - 1) // 2
    for d in range(2):
        for I in range(1, longest + 1):
            for i in range(I):
                place = (d * (longest + 1) + I) * room + i
                if tally.departures[place] > 0:
                    weight = tally.credit * tally.departures[place] * exits[place]
                    moves[d, 1, middle - i] += weight
                    moves[d, 1, middle - i + I] -= weight
        for k in range(2 * longest + 1):
            moves[d, 0, middle - longest + k] += tally.credit * tally.distances[d * 2 * room + k]
