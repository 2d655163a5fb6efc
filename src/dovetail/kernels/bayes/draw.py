"""One link drawn given its neighbours: what the sampler of training and the one of new text have in common."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.bayes.records import Draws, Reach
from dovetail.kernels.gibbs.random import draw
from dovetail.kernels.hmm.best import NULL

STAYS = -2  # what `draw` says where nothing is possible


@kernel
def draws_of(longest, moves, link, moving, quarters):
    """Room for pieces of up to `longest` words; a link has the weight `link`, next to NULL's."""
    reach = Reach(moves, moves.jump[::-1].copy(), moves.last[::-1].copy(), link)
    scale, numbers = np.empty(longest, np.float32), np.empty((2, longest), np.int64)
    weight, sums = np.empty(longest + 7, np.float32), np.empty(longest // 8 + 1, np.float32)
    return Draws(reach, moving, quarters, scale, numbers[0], numbers[1], weight, sums)


@leaf
def look_around(alignment, I, draws):
    """Links of every generating word, and the next one after every generated word."""
    following = NULL
    draws.links[:I] = 0
    for j in range(len(alignment) - 1, -1, -1):
        draws.after[j] = following
        if alignment[j] != NULL:
            following = np.int64(alignment[j])
            draws.links[following] += 1


@kernel
def fill(row, alpha, scale, weight):
    """Equation 7 for all source words.  A function of its own: here numba's loop is one of vectors."""
    for i in range(len(row)):
        weight[i] = (row[i] + alpha) * scale[i]


@kernel
def fill_moves(row, alpha, scale, into, out, factor, weight):
    """The same times the jumps to the word and from it."""
    for i in range(len(row)):
        weight[i] = ((row[i] + alpha) * scale[i]) * (into[i] * out[i] * factor)


@leaf
def weigh_moves(row, alpha, null, before, following, draws):
    """Weights of all positions between the links `before` and `following`; returns NULL's, `null` times its jump."""
    moves, backwards, ends, link = draws.reach
    I, middle = len(row), len(moves.jump) // 2
    into, out = middle - before, middle - following
    arriving = moves.first if before == NULL else moves.jump[into : into + I]
    leaving = ends[len(ends) - I :] if following == NULL else backwards[out : out + I]
    fill_moves(row, alpha, draws.scale, arriving, leaving, link, draws.weight)
    if following != NULL:
        null *= arriving[following]
    elif before != NULL:
        null *= moves.last[I - 1 - before]
    return null


@kernel
def temper(weight, n, quarters):
    """weight ** (quarters / 4), for 2, 3 or 8 quarters: square roots go in vectors, powers do not."""
    if quarters == 2:
        for i in range(n):
            weight[i] = np.sqrt(weight[i])
    elif quarters == 8:
        for i in range(n):
            weight[i] *= weight[i]
    else:
        for i in range(n):
            root = np.sqrt(weight[i])
            weight[i] = root * np.sqrt(root)


@leaf
def draw_link(row, alpha, null, before, following, u, draws):
    """Draw by weights (row + alpha) scale, and of the moves if there are any; `null` is NULL's weight by itself.

    Returns the position (NULL, or STAYS where nothing is possible), NULL's weight and the sum of all.
    """
    I, weight = len(row), draws.weight
    if draws.moving:
        null = weigh_moves(row, alpha, null, before, following, draws)
    else:
        fill(row, alpha, draws.scale, weight)
    if draws.quarters != 4:
        weight[I] = null
        temper(weight, I + 1, draws.quarters)
        null = weight[I]
    position, total = draw(weight, I, null, u, draws.sums)
    return position, null, total


@leaf
def credit(weight, n, factor, sums, start, step):
    """Add candidates' weights times `factor` to sums[start], sums[start + step] ..."""
    for i in range(n):
        sums[start + i * step] += weight[i] * factor
