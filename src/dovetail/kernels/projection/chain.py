"""One direction of one sentence for the projection: posteriors, asked for again and again under other multipliers.

The recursions of kernels.hmm, without counts: those are wanted once, after the last pass, and `count_moves` makes them
from what that pass leaves behind.  `S` counts positions, `T` words; NULLs keep the position.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.hmm.dense import NEGLIGIBLE, add_rows, collect_moves, total_of
from dovetail.kernels.projection import planes


@kernel
def hmm_pass(d, T, S, chains, null, whole):
    """Posteriors of the links, scaled as in kernels.hmm; returns the log-likelihood, and without `whole` nothing else.

    LINKS are overwritten by P(word t is linked to s), NULLS by NULL's posteriors.  POSITION (T + 1, S), what each word
    finds and the last one leaves, ONWARD (T, S), emission times beta, and START_MASS stay behind for `count_moves`.
    """
    cells, words, tables = chains.cells[d], chains.words[d], chains.tables[d]
    table, transposed = tables[planes.TABLE, : S * S].reshape(S, S), tables[planes.TRANSPOSED, : S * S].reshape(S, S)
    first, nulls, start_mass = words[planes.FIRST], words[planes.NULLS], words[planes.START_MASS]
    beta, weight = words[planes.BETA], words[planes.WEIGHT]
    p0 = np.float32(null)
    p1 = np.float32(1.0 - null)
    log_likelihood = 0.0
    product = 1.0
    mass = np.float32(1.0)
    for s in range(S):
        cells[planes.POSITION, s] = np.float32(0.0)
        beta[s] = np.float32(1.0)
    for t in range(T):
        at = t * S
        emission, onward = cells[planes.LINKS, at : at + S], cells[planes.ONWARD, at : at + S]
        before, after = cells[planes.POSITION, at : at + S], cells[planes.POSITION, at + S : at + 2 * S]
        for s in range(S):
            weight[s] = mass * first[s]
        start_mass[t] = mass
        if t > 0:
            add_rows(before, table, weight)
        for s in range(S):
            weight[s] *= p1 * emission[s]
        skip = p0 * nulls[t]
        total = skip + total_of(weight[:S])
        scale = np.float32(1.0) / total
        skip *= scale
        for s in range(S):
            after[s] = weight[s] * scale + skip * before[s]
        scale *= p1
        for s in range(S):
            onward[s] = emission[s] * scale
        nulls[t] = skip
        mass *= skip
        product *= total
        if product < 1e-200 or product > 1e200:  # one logarithm for many words
            log_likelihood += math.log(product)
            product = 1.0
    log_likelihood += math.log(product)
    if not whole:
        return log_likelihood
    for t in range(T - 1, -1, -1):
        at = t * S
        links, onward = cells[planes.LINKS, at : at + S], cells[planes.ONWARD, at : at + S]
        before, after = cells[planes.POSITION, at : at + S], cells[planes.POSITION, at + S : at + 2 * S]
        skip = nulls[t]
        for s in range(S):
            links[s] = max(np.float32(0.0), after[s] - skip * before[s]) * beta[s]
        nulls[t] = max(np.float32(0.0), np.float32(1.0) - total_of(links))
        for s in range(S):
            onward[s] *= beta[s]
        if t > 0:
            for s in range(S):
                beta[s] *= skip
            add_rows(onward, transposed, beta)
    return log_likelihood


@leaf
def words_pass(d, T, S, chains, link, null):
    """Posteriors, in place, where each word chooses on its own, a link having the weight `link` and NULL `null`.

    That is IBM Model 1 (both 1), and the HMM while all its jumps weigh the same ((1 - p0) / S and p0): O(T S).
    Returns the log-likelihood.
    """
    nulls = chains.words[d, planes.NULLS]
    a, b = np.float32(link), np.float32(null)
    log_likelihood = 0.0
    product = 1.0
    for t in range(T):
        links = chains.cells[d, planes.LINKS, t * S : (t + 1) * S]
        total = b * nulls[t] + a * total_of(links)
        scale = np.float32(1.0) / total
        nulls[t] *= b * scale
        scale *= a
        for s in range(S):
            links[s] *= scale
        product *= total
        if product < 1e-200 or product > 1e200:
            log_likelihood += math.log(product)
            product = 1.0
    return log_likelihood + math.log(product)


@leaf
def count_moves(d, T, S, chains, mass, jump_counts, start_counts):
    """Add `mass` times the expected moves of the last `hmm_pass` to the counts of kernels.hmm.collect_moves."""
    cells, words, tables = chains.cells[d], chains.words[d], chains.tables[d]
    table, moves = tables[planes.TABLE, : S * S].reshape(S, S), tables[planes.MOVES, : S * S].reshape(S, S)
    first, start_mass = words[planes.FIRST], words[planes.START_MASS]
    leaving, first_moves = words[planes.LEAVING], words[planes.FIRST_MOVES, :S]
    part = np.float32(mass)
    for s in range(S):
        first_moves[s] = np.float32(0.0)
        for after in range(S):
            moves[s, after] = np.float32(0.0)
    for t in range(T):
        onward = cells[planes.ONWARD, t * S : (t + 1) * S]
        for s in range(S):
            first_moves[s] += part * start_mass[t] * first[s] * onward[s]
        for before in range(S):
            here = part * cells[planes.POSITION, t * S + before]
            if here > NEGLIGIBLE:
                for s in range(S):
                    moves[before, s] += here * onward[s]
    for before in range(S):
        total = np.float32(0.0)
        for s in range(S):
            total += moves[before, s] * table[before, s]
        leaving[before] = total
    collect_moves(moves, leaving, table, words[planes.EXITS], first_moves, jump_counts, start_counts)
