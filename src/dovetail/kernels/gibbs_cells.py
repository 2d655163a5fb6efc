"""One piece's translation probabilities as the sampler wants them: a row a word, filled up to whole octets."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.cooccurrence import RANK_LIMIT
from dovetail.kernels.gibbs import U, padded
from dovetail.kernels.lines import CELL, LENGTH_I, LENGTH_J, SOURCE, TARGET


@kernel
def look_up(line, source_ids, target_ids, row_start, rank, table, forward, reverse, rows):
    """t(f | e) of one piece to `forward`, t(e | f) to `reverse`, straight from the table; rows as `sweep` wants them.

    A sentence is in the cache while it is sampled: half the time of gathering whole blocks first.  `rows` gets the first
    slot of each source word, or -1 minus it where slots go by target word and not by rank.
    """
    I, J = line[LENGTH_I], line[LENGTH_J]
    down, across = padded(I), padded(J)
    cell = U(line[CELL])
    for i in range(I):
        word = source_ids[line[SOURCE] + i]
        start = U(row_start[word])
        at, to = U(i), U(i * across)
        if row_start[word + 1] - row_start[word] > RANK_LIMIT:
            rows[i] = -1 - row_start[word]
            for j in range(U(J)):
                slot = (start + U(target_ids[U(line[TARGET]) + j])) * U(2)
                forward[at] = table[slot]
                reverse[to + j] = table[slot + U(1)]
                at += U(down)
        else:
            rows[i] = row_start[word]
            for j in range(U(J)):
                slot = (start + U(rank[cell + j])) * U(2)
                forward[at] = table[slot]
                reverse[to + j] = table[slot + U(1)]
                at += U(down)
        cell += U(J)
    pad(forward, J, I)
    pad(reverse, I, J)


@kernel
def copy_cells(line, forward_cells, reverse_cells, forward, reverse):
    """The same, from cells that were gathered before."""
    I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
    down, across = padded(I), padded(J)
    for i in range(I):
        for j in range(J):
            forward[j * down + i] = forward_cells[cell + i * J + j]
            reverse[i * across + j] = reverse_cells[cell + i * J + j]
    pad(forward, J, I)
    pad(reverse, I, J)


@kernel
def pad(emission, J, I):
    """No translation by the positions that only fill the last octet."""
    width = padded(I)
    for j in range(J):
        for i in range(I, width):
            emission[j * width + i] = np.float32(0.0)


@kernel
def slot_of(line, direction, rows, rank, target_ids, i, j):
    """The slot of word j's link to i, from what `look_up` left in `rows`."""
    e, f = (i, j) if direction == 0 else (j, i)
    if rows[e] >= 0:
        return rows[e] + rank[U(line[CELL] + e * line[LENGTH_J] + f)]
    return -1 - rows[e] + target_ids[U(line[TARGET] + f)]
