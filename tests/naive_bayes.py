"""The collapsed posterior of a tiny corpus, by enumeration of all its alignments: the slow twin of the Bayesian samplers."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product
from math import exp, lgamma, log

import numpy as np

from dovetail.models.jumps.word import EDGES

NULL = -1


def dirichlet_multinomial(counts, prior):
    """log of the probability of draws with these counts, their parameters integrated out under Dirichlet(prior)."""
    total, mass = sum(counts), sum(prior)
    value = lgamma(mass) - lgamma(total + mass)
    return value + sum(lgamma(n + a) - lgamma(a) for n, a in zip(counts, prior, strict=True))


def log_lexicon(corpus, alignments, alpha, size):
    """Mermer and Saraçlar 2011, equation 6: every word's translations integrated out, NULL a word like others."""
    counts: dict[str | None, Counter[str]] = {}
    for (given, made), alignment in zip(corpus, alignments, strict=True):
        for word, i in zip(made, alignment, strict=True):
            counts.setdefault(None if i == NULL else given[i], Counter())[word] += 1
    return sum(  # words that a row never yields have Gamma(0 + alpha) / Gamma(alpha) = 1
        lgamma(alpha * size)
        - lgamma(sum(found.values()) + alpha * size)
        + sum(lgamma(n + alpha) - lgamma(alpha) for n in found.values())
        for found in counts.values()
    )


def bin_of(distance):
    """Number of the jump's bin and how many distances it holds."""
    place = max(k for k, edge in enumerate(EDGES) if edge <= abs(distance))
    width = 30 if place + 1 == len(EDGES) else EDGES[place + 1] - EDGES[place]
    return (place if distance >= 0 else -place), width


def log_moves(corpus, alignments, null, prior):
    """NULLs by p0, jumps and both ends by bins whose shares are integrated out, evenly within a bin."""
    value = 0.0
    tables = [Counter(), Counter(), Counter()]
    for (given, _), alignment in zip(corpus, alignments, strict=True):
        links = [i for i in alignment if i != NULL]
        value += len(links) * log(1 - null) + (len(alignment) - len(links)) * log(null)
        moves = [(0, after - before) for before, after in pairwise(links)]
        if links:
            moves += [(1, links[0]), (2, len(given) - 1 - links[-1])]
        for kind, distance in moves:
            bin_number, width = bin_of(distance)
            tables[kind][bin_number] += 1
            value -= log(width)
    for table, bins in zip(tables, (2 * len(EDGES) - 1, len(EDGES), len(EDGES)), strict=True):
        counts = [*table.values()] + [0] * (bins - len(table))
        value += dirichlet_multinomial(counts, [prior] * bins)
    return value


def log_fertility(corpus, alignments, prior, tail):
    """Each word's numbers of links integrated out; beyond the largest that is told apart each is worth `tail`."""
    largest = len(prior) - 1
    tokens: dict[str, list[int]] = {}
    value = 0.0
    for (given, _), alignment in zip(corpus, alignments, strict=True):
        for i, word in enumerate(given):
            count = sum(a == i for a in alignment)
            tokens.setdefault(word, [0] * (largest + 1))[min(count, largest)] += 1
            if count >= largest:
                value += log(1 - tail) + (count - largest) * log(tail)
    return value + sum(dirichlet_multinomial(counts, prior) for counts in tokens.values())


def marginals(corpus, log_probability):
    """P(a_j = i) of every sentence (I + 1, J), row 0 for NULL, under a log-probability of all alignments together."""
    ways = [list(product(range(-1, len(given)), repeat=len(made))) for given, made in corpus]
    scored = [(alignments, log_probability(alignments)) for alignments in product(*ways)]
    best = max(score for _, score in scored)
    total = 0.0
    result = [np.zeros((len(given) + 1, len(made))) for given, made in corpus]
    for alignments, score in scored:
        weight = exp(score - best)
        total += weight
        for matrix, alignment in zip(result, alignments, strict=True):
            for j, i in enumerate(alignment):
                matrix[i + 1, j] += weight
    return [matrix / total for matrix in result]
