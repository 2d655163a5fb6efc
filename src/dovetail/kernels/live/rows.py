"""The same as kernels.live.chain by rows of numbers instead of lists: better while most cells are alive."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.hmm.dense import Moves, Room, Transitions, forward_backward, total_of


@kernel
def jump_table(words, first_word, S, weights, bins, exits, table, transposed):
    """table[s', s] = probability of a jump from s' to s, by the word at s'; exits[s'] = 1 / the sum of its weights."""
    middle = len(bins) // 2
    for before in range(S):
        word = words[first_word + before]
        for s in range(S):
            table[before, s] = weights[word, bins[middle + s - before]] * exits[before]
    for s in range(S):
        for before in range(S):
            transposed[s, before] = table[before, s]


@leaf
def rows(sentence, chances, null, space, start_mass, beta, weight, expected, counting):
    """One direction of one sentence; see `chain`.  `space` has room for three S by S, two T by S."""
    T, S, begin, state, emission, nulls = sentence
    words, first_word, weights, exits, first, last, bins = chances
    moves, leaving, first_moves, final = expected
    square = S * S
    table = space[:square].reshape(S, S)
    transposed = space[square : 2 * square].reshape(S, S)
    pairs = space[2 * square : 3 * square].reshape(S, S)
    cells = space[3 * square : 3 * square + T * S].reshape(T, S)
    position = space[3 * square + T * S : 3 * square + 2 * T * S].reshape(T, S)
    jump_table(words, first_word, S, weights, bins, exits, table, transposed)
    for t in range(T):
        for s in range(S):
            cells[t, s] = np.float32(0.0)
        for m in range(begin[t], begin[t + 1]):
            cells[t, state[m]] = emission[m]
    moving, room = Transitions(table, transposed, first[:S], last[:S]), Room(position, start_mass, beta, weight)
    expected_moves = Moves(pairs, leaving[:S], first_moves[:S])
    log_likelihood = forward_backward(cells, nulls, null, moving, room, expected_moves, counting)
    for t in range(T):
        for m in range(begin[t], begin[t + 1]):
            emission[m] = cells[t, state[m]]
    if counting:
        middle = len(bins) // 2
        for before in range(S):
            for b in range(moves.shape[1]):
                moves[before, b] = np.float32(0.0)
            for s in range(S):
                moves[before, bins[middle + s - before]] += pairs[before, s] * table[before, s]
        for s in range(S):
            final[s] = position[T - 1, s]
    else:
        end = start_mass[T - 1] * total_of(last[:S]) / np.float32(S)
        for s in range(S):
            end += position[T - 1, s] * last[s]
        log_likelihood -= math.log(end)
    return log_likelihood
