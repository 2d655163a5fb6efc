"""The slow, obvious twins: enumerate every alignment of a tiny sentence and add up.

An alignment is a tuple with the source position of each target word, NULL (-1) for none.
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np

NULL = -1


def alignments(I, J):
    return list(product([*range(I), NULL], repeat=J))


def ibm1_joint(alignment, emission, null_emission):
    """product over j of t(f_j | e_a_j) / (I + 1); emission (I, J), null_emission (J,)."""
    I = emission.shape[0]
    p = 1.0
    for j, i in enumerate(alignment):
        p *= (null_emission[j] if i == NULL else emission[i, j]) / (I + 1)
    return p


def jump_probability(jump, before, i, I):
    """jump maps a distance to its weight; normalised over the positions that exist."""
    return jump(i - before) / sum(jump(k - before) for k in range(I))


def hmm_joint(alignment, emission, null_emission, jump, start, null):
    """The position-keeping HMM: NULL costs p0 and stays where it is."""
    I = emission.shape[0]
    p, position = 1.0, None
    for j, i in enumerate(alignment):
        if i == NULL:
            p *= null * null_emission[j]
            continue
        if position is None:
            move = start(i) / sum(start(k) for k in range(I))
        else:
            move = jump_probability(jump, position, i, I)
        p *= (1 - null) * move * emission[i, j]
        position = i
    return p


def posteriors(joint, I, J):
    """P(a_j = i) (I, J), P(a_j = NULL) (J,), and the likelihood, for any function of an alignment."""
    links, nulls, total = np.zeros((I, J)), np.zeros(J), 0.0
    for alignment in alignments(I, J):
        p = joint(alignment)
        total += p
        for j, i in enumerate(alignment):
            if i == NULL:
                nulls[j] += p
            else:
                links[i, j] += p
    return links / total, nulls / total, total


def expected_moves(joint, I, J):
    """Expected number of moves i' -> i between consecutive links (I, I), and of first links (I,)."""
    moves, first, total = np.zeros((I, I)), np.zeros(I), 0.0
    for alignment in alignments(I, J):
        p = joint(alignment)
        total += p
        links = [i for i in alignment if i != NULL]
        if links:
            first[links[0]] += p
        for before, i in pairwise(links):
            moves[before, i] += p
    return moves / total, first / total


def best(joint, I, J):
    """The best alignment and its value."""
    return max(((alignment, joint(alignment)) for alignment in alignments(I, J)), key=lambda pair: pair[1])


def co_occurrences(pairs):
    """Every (source word, target word) that share a pair."""
    return {(e, f) for source, target in pairs for e in source for f in target}
