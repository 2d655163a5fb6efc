"""What an alignment is worth, and what it says of jumps."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import leaf
from dovetail.kernels.gibbs.sweep import FIRST, GROUP, I_, J_, NULL, U, beside, gain, padded, span


@leaf
def log_score(
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
    first_sum,
    exits,
    exit_row,
    ratios,
    tail,
    null_tail,
    counts,
):
    """The log of the joint of direction d's alignment over p(0 | word) of all words and NULL.

    Products are taken as long as they fit, and logarithms only then.  `counts` are made anew on the way.
    """
    I = state[d, I_]
    into, scale = d * span(longest) + beside(longest), p1 / first_sum
    place = d * area
    nulls = 0
    score = 0.0
    product = 1.0
    for i in range(I):
        counts[U(d * room + i)] = 0
    for j in range(state[d, J_]):
        i = alignment[U(d * room + j)]
        if i == NULL:
            product *= (p1 * null_odds[U(d * room + j)]) * null_tail[U(nulls)]
            nulls += 1
        else:
            # A word's first link gains this much, its second that much: the product is p(count) / p(0).
            word = U(d * room + i)
            product *= (emission[U(place + i)] * into_weights[U(into + i)]) * scale
            product *= gain(ratios, tail, word, counts[word])
            counts[word] += 1
            into, scale = d * span(longest) + longest - i, p1 * exits[U(exit_row + i)]
        place += padded(I)
        if product < 1e-200 or product > 1e200:
            score += math.log(product) if product > 0.0 else -np.inf
            product = 1.0
    return score + math.log(product)


@leaf
def take_as_given(
    d, state, alignment, room, groups, longest, area, exit_row, posterior, bits, null_posterior, distances, departures
):
    """Count direction d's alignment itself, in place of a sample."""
    before = NULL
    for j in range(state[d, J_]):
        i = alignment[d * room + j]
        if i == NULL:
            null_posterior[d * room + j] += np.float32(1.0)
            continue
        place = d * area + j * padded(state[d, I_]) + i
        posterior[place] += np.float32(1.0)
        bits[(d * room + j) * groups + i // GROUP] |= U(1) << U(i % GROUP)
        if before == NULL:
            state[d, FIRST] = i
        else:
            distances[d * 2 * room + longest + i - before] += 1
            departures[exit_row + before] += 1
        before = i


@leaf
def expose(d, longest, room, departures, exits, middle, share, differences):
    """What every distance was exposed to (see hmm.collect_moves), as differences that are still to be summed up.

    A jump from i' could have had any distance from -i' to I - 1 - i': an interval is two numbers then, however long.
    `departures` are laid out as `exits`, by length of sentence.
    """
    for I in range(1, longest + 1):
        for i in range(I):
            place = (d * (longest + 1) + I) * room + i
            if departures[place] > 0:
                weight = share * departures[place] * exits[place]
                differences[middle - i] += weight
                differences[middle - i + I] -= weight
