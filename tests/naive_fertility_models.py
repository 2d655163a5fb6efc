"""Fertility models, the slow way: the joint of one alignment straight from the formulas of Zhao and Gildea (2010)."""

from __future__ import annotations

import math

import naive


def poisson(count, mean):
    return mean**count * math.exp(-mean) / math.factorial(count)


def binned(count, bins):
    """bins[c] for 0 .. C - 2 links; the last one is shared by C - 1, C, ... in halves."""
    most = len(bins) - 1
    return bins[count] if count < most else bins[most] * 0.5 ** (count - most + 1)


def counts_of(alignment, I):
    return [sum(a == i for a in alignment) for i in range(I)], sum(a == naive.NULL for a in alignment)


def fertility_joint(alignment, I, fertility, null_mean):
    """product over i of p(count_i | e_i), times Poisson(NULL's; I lambda_0), unless that is None.

    `fertility(i, count)` is p(count | e_i).
    """
    counts, nulls = counts_of(alignment, I)
    p = 1.0 if null_mean is None else poisson(nulls, I * null_mean)
    for i, count in enumerate(counts):
        p *= fertility(i, count)
    return p


def ibm1_joint(
    alignment, emission, null_emission, fertility, null_mean, deficient=True, empty_words=False, apart=False
):
    """Equation 1 with one NULL, or with I + 1, each `apart` or all alignments added up that differ in them alone; or,
    without the deficiency, product of counts! / J! in place of 1 / (I + 1)^J."""
    I = emission.shape[0]
    p = fertility_joint(alignment, I, fertility, null_mean)
    for j, i in enumerate(alignment):
        p *= null_emission[j] if i == naive.NULL else emission[i, j]
    if deficient:
        positions = 2 * I + 1 if empty_words else I + 1
        nulls = counts_of(alignment, I)[1]
        return p * ((I + 1) ** nulls if empty_words and not apart else 1) / positions ** len(alignment)
    counts, nulls = counts_of(alignment, I)
    for count in (*counts, nulls):
        p *= math.factorial(count)
    return p / math.factorial(len(alignment))


def hmm_joint(alignment, emission, null_emission, jump, start, null, fertility, null_mean):
    """Equation 2."""
    return naive.hmm_joint(alignment, emission, null_emission, jump, start, null) * fertility_joint(
        alignment, emission.shape[0], fertility, null_mean
    )
