"""Gibbs sampling of alignments under a fertility model (Zhao and Gildea 2010, section 5, Algorithm 1).

score(a) = product over i of p(count_i | e_i)  times  Poisson(NULL's count; I lambda_0)
           times product over j of p(a_j | last link before j) t(f_j | e_a_j)                            (equation 2)

IBM Model 1 is the case in which all weights of jumps are one.  When word j moves to another source word, only the two
jumps around it, its translation and two counts change: a candidate costs a constant, a sweep O(I J).

Candidates are worked on in octets, so that every loop over them is of whole vectors: positions are padded to `padded(I)`,
with a translation probability of zero.  Offsets are unsigned, which spares numba a look at their sign for every number.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.random import uniform

NULL = -1
OCTET = 8
U = np.uint64


@kernel
def padded(I):
    """I, or what it takes to fill the last octet."""
    return (I + OCTET - 1) // OCTET * OCTET


@kernel
def gain(ratios, tail, i, count):
    """p(count + 1 | word i) / p(count | word i), what one more link is worth.

    `ratios` (positions, C) holds the first C of them, `tail` what becomes of them beyond (see `tails`).
    """
    return ratios[i, min(count, ratios.shape[1] - 1)] * tail[count]


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


@kernel
def side_by_side(longest, jump, rest):
    """Weights of jumps, room for seven more, and `rest` at `beside(longest)`: one array, told apart by an offset."""
    weights = np.ones(beside(longest) + longest + OCTET, np.float32)
    weights[: len(jump)] = jump
    weights[beside(longest) : beside(longest) + len(rest)] = rest
    return weights


@kernel
def beside(longest):
    return 2 * longest + OCTET


@kernel
def weigh(emission, row, into_weights, into, out_weights, out, gains, own, scale, k):
    return (emission[row + k] * into_weights[into + k]) * (out_weights[out + k] * gains[own + k]) * scale


@kernel
def fill(emission, row, into_weights, into, out_weights, out, gains, own, scale, octets, null, weight, sums):
    """Weights of all candidates; sums[b] is what comes before octet b, NULL included.  Returns the total.

    Each factor is an array and an offset in it.
    """
    total = null
    for b in range(octets):
        k = b * U(8)
        w0 = weigh(emission, row, into_weights, into, out_weights, out, gains, own, scale, k)
        w1 = weigh(emission, row, into_weights, into, out_weights, out, gains, own, scale, k + U(1))
        w2 = weigh(emission, row, into_weights, into, out_weights, out, gains, own, scale, k + U(2))
        w3 = weigh(emission, row, into_weights, into, out_weights, out, gains, own, scale, k + U(3))
        w4 = weigh(emission, row, into_weights, into, out_weights, out, gains, own, scale, k + U(4))
        w5 = weigh(emission, row, into_weights, into, out_weights, out, gains, own, scale, k + U(5))
        w6 = weigh(emission, row, into_weights, into, out_weights, out, gains, own, scale, k + U(6))
        w7 = weigh(emission, row, into_weights, into, out_weights, out, gains, own, scale, k + U(7))
        weight[k], weight[k + U(1)], weight[k + U(2)], weight[k + U(3)] = w0, w1, w2, w3
        weight[k + U(4)], weight[k + U(5)], weight[k + U(6)], weight[k + U(7)] = w4, w5, w6, w7
        sums[b] = total
        total += ((w0 + w1) + (w2 + w3)) + ((w4 + w5) + (w6 + w7))
    sums[octets] = total
    return total


@kernel
def pick(weight, I, octets, sums, target):
    """The candidate in whose share of the sums `target` falls.

    First an octet, then one of it, both without a branch that depends on the draw: a wrong guess of the processor costs
    more than the sums.
    """
    b = U(0)
    for k in range(U(1), octets):
        b += U(sums[k] <= target)
    target -= sums[b]
    k = b * U(8)
    w0, w2, w4, w6 = weight[k], weight[k + U(2)], weight[k + U(4)], weight[k + U(6)]
    two = w0 + weight[k + U(1)]
    four = two + (w2 + weight[k + U(3)])
    six = four + (w4 + weight[k + U(5)])
    k += U(w0 <= target) + U(two <= target) + U(two + w2 <= target) + U(four <= target)
    k += U(four + w4 <= target) + U(six <= target) + U(six + w6 <= target)
    i = np.int64(k)
    if i < I and weight[i] > np.float32(0.0):
        return i
    i = min(i, I - 1)  # rounding went past the end: the last candidate before it that is possible
    while i >= 0 and not weight[i] > np.float32(0.0):  # NULL is -1
        i -= 1
    return i


@kernel
def credit(weight, sums, octets, drawn, likely, share, row, posterior, touched, used):
    """Add what a draw says of the links of word j, whose row of `posterior` begins at `row`.

    A candidate whose probability is at least `likely` is credited with that, another one with 1 if it was drawn.  Both are
    right in expectation; the probabilities that a draw was made with say more than the draw (Rao and Blackwell), and with
    one sample that decides whether a rare word's first draw becomes its only translation.  `touched` lists the places that
    are not zero, of which there were `used`; returns how many there are now.
    """
    total = sums[octets]
    scale = share / total
    floor = likely * total if total > np.float32(0.0) else np.float32(1.0)  # nothing was possible: it stayed
    for b in range(octets if likely <= np.float32(1.0) else U(0)):
        if sums[b + U(1)] - sums[b] < floor * np.float32(0.99):  # rounding may have taken some of the sum
            continue
        for k in range(b * U(8), b * U(8) + U(8)):
            if weight[k] >= floor:
                if posterior[row + k] == np.float32(0.0):
                    touched[used] = row + k
                    used += 1
                posterior[row + k] += scale * weight[k]
    if drawn != NULL and weight[drawn] < floor:
        place = row + U(drawn)
        if posterior[place] == np.float32(0.0):
            touched[used] = place
            used += 1
        posterior[place] += share
    return used


@kernel
def null_credit(null, total, drawn, likely, share):
    """The same for NULL."""
    if total > np.float32(0.0) and null >= likely * total:
        return share * (null / total)
    return share if drawn == NULL else np.float32(0.0)


@kernel
def start_counts(alignment, I, exits, ratios, tail, counts, gains):
    """Counts of each source word, and what one more link would gain; a padded I on, that times 1 / the jumps' sum.

    Returns the number of NULLs.
    """
    for i in range(I):
        counts[i] = 0
    nulls = 0
    for j in range(len(alignment)):
        if alignment[j] == NULL:
            nulls += 1
        else:
            counts[alignment[j]] += 1
    width = padded(I)
    for i in range(I):
        gains[i] = gain(ratios, tail, i, counts[i])
        gains[width + i] = gains[i] * exits[i]
    return nulls


@kernel
def sweep(
    first_word,
    last_word,
    alignment,
    nulls,
    I,
    longest,
    emission,
    null_emission,
    p0,
    p1,
    into_weights,
    out_weights,
    exits,
    ratios,
    tail,
    null_mean,
    null_tail,
    counts,
    gains,
    weight,
    sums,
    after,
    key,
    likely,
    share,
    posterior,
    touched,
    used,
    null_posterior,
):
    """Draw the links of words first_word..last_word - 1, from left to right, each given all others (equation 7).

    For word j between the linked positions `before` and `after`, with the counts of all other words:
    weight[i] = p1 p(i | before) p(after | i) t(f_j | e_i) gain_i, and for NULL p0 p(after | before) t(f_j | NULL) gain_NULL;
    the last word's are left in `weight`, NULL's in sums[0].  `emission` has a row of `padded(I)` a word; `into_weights` are
    jumps by distance and first links, `out_weights` jumps by distance turned round and ones (see `side_by_side`).  Unless
    `share` is zero, each draw is credited to `posterior`, laid out as `emission`, and to `null_posterior` (see `credit`).
    Returns the numbers of NULLs and of places touched.
    """
    width = padded(I)
    octets = U(width // OCTET)
    following = NULL
    for j in range(len(alignment) - 1, -1, -1):
        after[j] = following
        if alignment[j] != NULL:
            following = alignment[j]
    before = NULL
    for j in range(first_word):
        if alignment[j] != NULL:
            before = alignment[j]
    for j in range(first_word, last_word):
        i = alignment[j]
        if i == NULL:
            nulls -= 1
        else:
            counts[i] -= 1
            worth = gain(ratios, tail, i, counts[i])
            gains[i] = worth
            gains[width + i] = worth * exits[i]
        null = p0 * null_emission[j] * (null_mean * null_tail[nulls])
        into, scale = beside(longest), p1  # for a first link
        if before != NULL:
            into, scale = longest - before, p1 * exits[before]
        out, own = beside(longest), 0  # for a last link
        if after[j] != NULL:
            out, own = longest - after[j], width
            null *= into_weights[into + after[j]]
            if before != NULL:
                null *= exits[before]
        total = fill(
            emission,
            U(j * width),
            into_weights,
            U(into),
            out_weights,
            U(out),
            gains,
            U(own),
            scale,
            octets,
            null,
            weight,
            sums,
        )
        target = np.float32(uniform(key, j)) * total
        if target < null:
            i = NULL
        elif total > np.float32(0.0):  # else it stays where it was
            i = pick(weight, I, octets, sums, target)
        alignment[j] = i
        if share > np.float32(0.0):
            used = credit(weight, sums, octets, i, likely, share, U(j * width), posterior, touched, used)
            null_posterior[j] += null_credit(null, total, i, likely, share)
        if i == NULL:
            nulls += 1
        else:
            counts[i] += 1
            worth = gain(ratios, tail, i, counts[i])
            gains[i] = worth
            gains[width + i] = worth * exits[i]
            before = i
    return nulls, used


@kernel
def word_by_word(emission, I, null_emission, alignment):
    """IBM Model 1's best alignment: each word by itself, NULL where no source word is better."""
    width = padded(I)
    for j in range(len(null_emission)):
        best = NULL
        value = null_emission[j]
        for i in range(I):
            if emission[j * width + i] > value:
                value = emission[j * width + i]
                best = i
        alignment[j] = best
