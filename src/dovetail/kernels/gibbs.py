"""Gibbs sampling of alignments under a fertility model (Zhao and Gildea 2010, section 5, Algorithm 1).

score(a) = product over i of p(count_i | e_i)  times  Poisson(NULL's count; I lambda_0)
           times product over j of p(a_j | last link before j) t(f_j | e_a_j)                            (equation 2)

IBM Model 1 is the case in which all weights of jumps are one.  When word j moves to another source word, only the two
jumps around it, its translation and two counts change: a candidate costs a constant, a sweep O(I J).
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.random import uniform

NULL = -1


@kernel
def gain(ratios, falling, deficient, word, count):
    """p(count + 1 | word) / p(count | word), what one more link of the word is worth.

    `ratios` (words, C) holds the first C of them.  After that they stay the same or, if `falling`, go on as a Poisson's do:
    mean / (count + 1).  Without the deficiency, the (count + 1)! ways to order the links come in (section 3).
    """
    width = ratios.shape[1]
    if count < width:
        value = ratios[word, count]
    else:
        value = ratios[word, width - 1]
        if falling:
            value *= np.float32(width) / np.float32(count + 1)
    if not deficient:
        value *= np.float32(count + 1)
    return value


@kernel
def null_gain(mean, deficient, count):
    """The same for all NULL links together, Poisson with mean I lambda_0."""
    return np.float32(mean / (count + 1)) if deficient else np.float32(mean)


@kernel
def draw(weight, n, null, u, sums):
    """Draw in proportion to `null` (the answer is -1) and weight[0], ... weight[n - 1]; -2 where nothing is possible.

    First an octet of candidates, then one of them, both without a branch that depends on the draw: a wrong guess of the
    processor costs more than the sums.  `weight` has room for seven more, `sums` for a number an octet.
    """
    octets = (n + 7) // 8
    for k in range(n, 8 * octets):
        weight[k] = np.float32(0.0)
    total = null
    for b in range(octets):
        k = 8 * b
        sums[b] = total
        total += ((weight[k] + weight[k + 1]) + (weight[k + 2] + weight[k + 3])) + (
            (weight[k + 4] + weight[k + 5]) + (weight[k + 6] + weight[k + 7])
        )
    target = np.float32(u) * total
    if target < null:
        return NULL
    if not total > np.float32(0.0):
        return -2
    b = 0
    for k in range(1, octets):
        b += np.int64(sums[k] <= target)
    target -= sums[b]
    i = 8 * b
    before = np.float32(0.0)
    for k in range(8 * b, 8 * b + 8):
        before += weight[k]
        i += np.int64(before <= target)
    if i < n and weight[i] > np.float32(0.0):
        return i
    i = min(i, n - 1)  # rounding went past the end: the last candidate before it that is possible
    while i >= 0 and not weight[i] > np.float32(0.0):
        i -= 1
    return i


@kernel
def fill(row, into, out, gains, scale, weight):
    """weight = the product of the four, times `scale`.  A function of its own: here numba's loop is one of vectors."""
    for i in range(len(gains)):
        weight[i] = (row[i] * into[i]) * (out[i] * gains[i]) * scale


@kernel
def fill_last(row, into, gains, scale, weight):
    """The same where no link follows."""
    for i in range(len(gains)):
        weight[i] = (row[i] * into[i]) * (gains[i] * scale)


@kernel
def start_counts(alignment, words, exits, ratios, falling, deficient, counts, gains, onward):
    """Counts of each source word, what one more link would gain, and the same times 1 / the jumps' sum from there.

    Returns the number of NULLs.
    """
    I = len(words)
    for i in range(I):
        counts[i] = 0
    nulls = 0
    for j in range(len(alignment)):
        if alignment[j] == NULL:
            nulls += 1
        else:
            counts[alignment[j]] += 1
    for i in range(I):
        gains[i] = gain(ratios, falling, deficient, words[i], counts[i])
        onward[i] = gains[i] * exits[i]
    return nulls


@kernel
def sweep(
    first_word,
    last_word,
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
    ratios,
    falling,
    null_mean,
    deficient,
    counts,
    gains,
    onward,
    weight,
    sums,
    after,
    key,
):
    """Draw the links of words first_word..last_word - 1, from left to right, each given all others (equation 7).

    For word j between the linked positions `before` and `after`, with the counts of all other words:
    weight[i] = p1 p(i | before) p(after | i) t(f_j | e_i) gain_i, and for NULL p0 p(after | before) t(f_j | NULL) gain_NULL;
    the last word's are left in `weight`, NULL's in sums[0].  Returns the number of NULLs.  All in one function: to hand this
    many arrays to another one for every word would take longer than the drawing.
    """
    J, I = emission.shape
    middle = len(jump) // 2
    following = NULL
    for j in range(J - 1, -1, -1):
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
            gains[i] = gain(ratios, falling, deficient, words[i], counts[i])
            onward[i] = gains[i] * exits[i]
        null = p0 * null_emission[j] * null_gain(null_mean, deficient, nulls)
        next_link = after[j]
        out = middle - next_link
        if before < 0:
            if next_link < 0:
                fill_last(emission[j], first, gains, p1, weight)
            else:
                fill(emission[j], first, backwards[out : out + I], onward, p1, weight)
                null *= first[next_link]
        else:
            into = middle - before
            scale = p1 * exits[before]
            if next_link < 0:
                fill_last(emission[j], jump[into : into + I], gains, scale, weight)
            else:
                fill(emission[j], jump[into : into + I], backwards[out : out + I], onward, scale, weight)
                null *= jump[into + next_link] * exits[before]
        drawn = draw(weight, I, null, uniform(key, j), sums)
        if drawn != -2:  # else it stays where it was
            i = drawn
        alignment[j] = i
        if i == NULL:
            nulls += 1
        else:
            counts[i] += 1
            gains[i] = gain(ratios, falling, deficient, words[i], counts[i])
            onward[i] = gains[i] * exits[i]
            before = i
    return nulls


@kernel
def log_score(
    alignment, emission, null_emission, p0, p1, jump, exits, first, words, ratios, falling, zero, null_mean, deficient
):
    """log of the joint; products are taken as long as they fit and logarithms only then.

    log p(0 | word) is `zero[word]`, and each further link brings its gain.  NULL: exp(-mean) and its gains.
    """
    J, I = emission.shape
    middle = len(jump) // 2
    counts = np.zeros(I, np.int64)
    nulls = 0
    before = NULL
    score = -null_mean
    for i in range(I):
        score += zero[words[i]]
    if not deficient:
        score -= math.lgamma(J + 1.0)
    product = 1.0
    for j in range(J):
        i = alignment[j]
        if i == NULL:
            product *= np.float64(p0) * null_emission[j] * null_gain(null_mean, deficient, nulls)
            nulls += 1
        else:
            product *= np.float64(p1) * emission[j, i] * gain(ratios, falling, deficient, words[i], counts[i])
            product *= first[i] if before == NULL else np.float64(jump[middle + i - before]) * exits[before]
            counts[i] += 1
            before = i
        if product < 1e-200:
            score += math.log(product) if product > 0.0 else -np.inf
            product = 1.0
    return score + math.log(product)


@kernel
def word_by_word(emission, null_emission, alignment):
    """IBM Model 1's best alignment: each word by itself, NULL where no source word is better."""
    J, I = emission.shape
    for j in range(J):
        best = NULL
        value = null_emission[j]
        for i in range(I):
            if emission[j, i] > value:
                value = emission[j, i]
                best = i
        alignment[j] = best
