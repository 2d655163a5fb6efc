"""Forward-backward over all cells of a piece, eight states at a time: how a trained model aligns.

The equations of kernels.live.chain, but nothing is counted and no cell is left out beforehand: eight cells that lie side by
side cost as much as one that has to be found on a list.  What is listed is where the last link may have been.  The two
directions take turns, step by step: neither waits for what the other one needs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dovetail.kernels import leaf
from dovetail.kernels._numba import (
    at_least,
    chosen,
    first_of,
    load,
    nothing,
    plus,
    running,
    spread,
    store,
    times,
)
from dovetail.kernels._numba import last as last_of
from dovetail.kernels.hmm.dense import total_of
from dovetail.kernels.live.chain import forgotten_below

OCTET = 8
GROUP = 4  # places on the lists are worked on in fours, those that are missing filled up by one that weighs nothing
WORD = 64  # bits
NO_MASS = np.float32(1e-30)  # less than this of no link so far is none
TINY = 1e-200  # the likelihood's logarithm is taken when the product falls under this, not word by word


class Chain(NamedTuple):
    """One direction of a piece: T words in turn pick one of S states; rows have whole octets, `width_of(S)` places.

    State `width_of(S)` is nobody's: it fills groups.
    """

    emission: np.ndarray  # float32 (T, width) and more: zeros behind the states
    alpha: np.ndarray  # float32 (T, width) and more
    table: (
        np.ndarray
    )  # float32 (S, width): weights of jumps from each state to each other, for sentences beyond `REACH`
    place: np.ndarray  # int64 (S + 1,): where a state's row of jumps begins
    exits: np.ndarray  # float32 (S + 1,): (1 - p0) / the sum of its row, 0 for nobody
    position: np.ndarray  # float32 (width + 8,): probability of having been there last
    beta: np.ndarray  # float32 (width + 8,): zeros for states that are on no list
    begin: (
        np.ndarray
    )  # int64 (T + 2,): word t's list, of where the last link may be after it, is begin[t + 1]:begin[t + 2]
    state: np.ndarray  # int64 (entries,)
    row: np.ndarray  # int64 (entries,): its place
    value: np.ndarray  # float32 (entries,): position times exit; in the end posteriors
    weight: np.ndarray  # float32 (width + 8,)
    scale: np.ndarray  # float32 (T,)
    null: np.ndarray  # float32 (T,): emissions of NULL
    skip: np.ndarray  # float32 (T,): what NULL leaves of a position
    linked: np.ndarray  # float32 (T,): posteriors of all links together


@leaf
def width_of(S):
    """States in whole octets."""
    return (S + OCTET - 1) // OCTET * OCTET


@leaf
def own_bits(S):
    """Which of the last octet's places are states."""
    return np.uint8(255) >> np.uint8(width_of(S) - S)


@leaf
def lay_out_jumps(words, first_word, S, weights, bins, p1, chain):
    """Where each state's row of jumps is, among those of all words or in the chain's own table, and what divides it."""
    width, reach = width_of(S), weights.reach
    table = weights.wide if reach >= S else chain.table
    if reach >= S:
        for s in range(S):
            chain.place[s] = (2 * np.int64(words[first_word + s]) + 1) * reach - s
    else:
        middle = len(bins) // 2
        for s in range(S):
            own = weights.weights[words[first_word + s]]
            place = s * width
            chain.place[s] = place
            store(chain.table, np.uint64(place + width - OCTET), nothing())
            for to in range(S):
                chain.table[place + to] = own[bins[middle - s + to]]
    for s in range(S):
        place = chain.place[s]
        sums = nothing()
        for k in range(0, width - OCTET, OCTET):
            sums = plus(sums, load(table, np.uint64(place + k)))
        sums = plus(sums, chosen(load(table, np.uint64(place + width - OCTET)), own_bits(S)))
        chain.exits[s] = p1 / last_of(running(sums))
    # Whoever jumps to nobody's state finds the place behind a row: a number, whatever it is, for it counts nothing.
    chain.table[S * width] = np.float32(0.0)
    chain.place[width] = chain.place[0]
    chain.exits[width] = np.float32(0.0)


@leaf
def forward(t, S, chain, table, ends, first, p0, least, mass, top):
    """One word's step; `mass` is the probability that no word has been linked yet (with Z for the word's likelihood):

    alpha[t, s] = emission[t, s] ((1 - p0) mass first[s] + sum over s' of position[s'] exits[s'] jump[s', s]) / Z
    position[s] = alpha[t, s] + p0 null[t] / Z position[s], or 0 if less than `least`

    Returns the word's likelihood, `mass` after it, and where the list of positions ends now.
    """
    emission, alpha, place, exits, position = chain.emission, chain.alpha, chain.place, chain.exits, chain.position
    begin, state, row, value = chain.begin, chain.state, chain.row, chain.value
    width = width_of(S)
    cell = t * width
    low, high = begin[t], begin[t + 1]
    sums = nothing()
    of_mass = spread((np.float32(1.0) - p0) * mass)
    for k in range(0, width, OCTET):
        joint = times(of_mass, load(ends, np.uint64(first + k)))
        for a in range(low, high, GROUP):
            two = plus(jumped(table, row, value, a, k), jumped(table, row, value, a + 1, k))
            more = plus(jumped(table, row, value, a + 2, k), jumped(table, row, value, a + 3, k))
            joint = plus(joint, plus(two, more))
        joint = times(joint, load(emission, np.uint64(cell + k)))
        store(alpha, np.uint64(cell + k), joint)
        sums = plus(sums, joint)
    skip = p0 * chain.null[t]
    total = skip + last_of(running(sums))
    scale = np.float32(1.0) / total
    skip *= scale
    of_scale, of_skip, of_least = spread(scale), spread(skip), spread(least)
    for begin_word in range(0, width, WORD):
        bits = np.uint64(0)
        for k in range(begin_word, min(begin_word + WORD, width), OCTET):
            now = times(of_scale, load(alpha, np.uint64(cell + k)))
            store(alpha, np.uint64(cell + k), now)
            now = plus(now, times(of_skip, load(position, np.uint64(k))))
            kept = at_least(now, of_least)
            store(position, np.uint64(k), chosen(now, kept))
            bits |= np.uint64(kept) << np.uint64(k - begin_word)
        while bits:
            for a in range(top, top + GROUP):
                s = np.int64(first_of(bits)) + begin_word if bits else width
                bits &= bits - np.uint64(1)
                state[a] = s
                row[a] = place[s]
                value[a] = position[s] * exits[s]
            top += GROUP
    begin[t + 2] = top
    chain.scale[t] = scale
    chain.skip[t] = skip
    mass *= skip
    return total, mass if mass > NO_MASS else np.float32(0.0), top


@leaf
def jumped(table, row, value, a, k):
    """What comes from one of the places where the last link may have been, to eight states."""
    return times(spread(value[a]), load(table, np.uint64(row[a] + k)))


@leaf
def turn(T, S, chain, ends, last, mass):
    """What the way back begins with."""
    state, beta = chain.state, chain.beta
    low, high = chain.begin[T], chain.begin[T + 1]
    # A sentence of nothing but NULLs ends nowhere: the mean stands for it.
    end = mass * total_of(ends[last : last + S]) / np.float32(S)
    for a in range(low, high):
        end += chain.position[state[a]] * ends[last + state[a]]
    scale = np.float32(1.0) / end
    for a in range(low, high):
        beta[state[a]] = ends[last + state[a]] * scale
    beta[width_of(S)] = np.float32(0.0)


@leaf
def backward(t, S, chain, table):
    """One word's step of the way back: posteriors alpha[t, s] beta[t, s] of the places on its list, and then

    beta[t - 1, s'] = exits[s'] (sum over s of jump[s', s] emission[t, s] beta[t, s]) / Z + p0 null[t] / Z beta[t, s']
    """
    emission, alpha, exits, betas = chain.emission, chain.alpha, chain.exits, chain.beta
    begin, state, row, value, weight = chain.begin, chain.state, chain.row, chain.value, chain.weight
    zero = np.float32(0.0)
    cell = t * width_of(S)
    before, low, high = begin[t], begin[t + 1], begin[t + 2]
    scale, skip = chain.scale[t], chain.skip[t]
    linked = zero
    for a in range(low, high):
        s = state[a]
        beta = betas[s]
        posterior = alpha[cell + s] * beta
        weight[a - low] = emission[cell + s] * scale * beta
        linked += posterior
        value[a] = posterior
    chain.linked[t] = linked
    if high > low:  # of the first four, which mostly are all, nothing is asked twice
        s0, s1, s2, s3 = state[low], state[low + 1], state[low + 2], state[low + 3]
        w0, w1, w2, w3 = weight[0], weight[1], weight[2], weight[3]
        for b in range(before, low):
            jumps = row[b]
            beta = (table[jumps + s0] * w0 + table[jumps + s1] * w1) + (table[jumps + s2] * w2 + table[jumps + s3] * w3)
            for a in range(low + GROUP, high):
                beta += table[jumps + state[a]] * weight[a - low]
            value[b] = beta * exits[state[b]] + skip * betas[state[b]]
    else:
        for b in range(before, low):
            value[b] = skip * betas[state[b]]
    for a in range(low, high):
        betas[state[a]] = zero
    for b in range(before, low):
        betas[state[b]] = value[b]


@leaf
def both_chains(I, J, chains, jumps, ends, places, log_likelihood):
    """Posteriors of both directions: of the places on each word's list.

    `places` (2 directions, first and last links): where their chances are among `ends`.
    """
    one, two = chains
    begin(J, I, one)
    begin(I, J, two)
    table_one = jumps.forward.wide if jumps.forward.reach >= I else one.table
    table_two = jumps.reverse.wide if jumps.reverse.reach >= J else two.table
    p0 = np.float32(jumps.null)
    least_one, least_two = forgotten_below(I, jumps.negligible), forgotten_below(J, jumps.negligible)
    mass_one = mass_two = np.float32(1.0)
    top_one = top_two = 0
    product_one = product_two = 1.0
    log_likelihood[0] = log_likelihood[1] = 0.0
    for t in range(max(I, J)):
        if t < J:
            total, mass_one, top_one = forward(
                t, I, one, table_one, ends, places[0, 0], p0, least_one, mass_one, top_one
            )
            product_one = counted(product_one * total, log_likelihood, 0)
        if t < I:
            total, mass_two, top_two = forward(
                t, J, two, table_two, ends, places[1, 0], p0, least_two, mass_two, top_two
            )
            product_two = counted(product_two * total, log_likelihood, 1)
    log_likelihood[0] += math.log(product_one)
    log_likelihood[1] += math.log(product_two)
    turn(J, I, one, ends, places[0, 1], mass_one)
    turn(I, J, two, ends, places[1, 1], mass_two)
    for t in range(max(I, J) - 1, -1, -1):
        if t < J:
            backward(t, I, one, table_one)
        if t < I:
            backward(t, J, two, table_two)


@leaf
def begin(T, S, chain):
    """Nobody has been anywhere, and nobody's cells behind the last word's are empty."""
    width = width_of(S)
    for k in range(0, width + OCTET, OCTET):
        store(chain.position, np.uint64(k), nothing())
    chain.begin[0] = chain.begin[1] = 0
    chain.alpha[T * width] = chain.emission[T * width] = np.float32(0.0)


@leaf
def counted(product, log_likelihood, direction):
    """The likelihood of the words so far, or 1 where its logarithm has been taken."""
    if product < TINY:
        log_likelihood[direction] += math.log(product)
        return 1.0
    return product
