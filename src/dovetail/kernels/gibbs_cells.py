"""One piece's translation probabilities as the sampler wants them, a row a word filled up to whole octets; and back."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.cooccurrence import RANK_LIMIT
from dovetail.kernels.gibbs import GROUP, U, padded
from dovetail.kernels.gibbs_octets import OCTET, first_of, nothing, store
from dovetail.kernels.lines import CELL, LENGTH_I, LENGTH_J, SOURCE, TARGET


@kernel
def pad(emission, place, J, I):
    """No translation by the positions that only fill the last octet; what is written afterwards stays."""
    for j in range(1, J + 1):
        store(emission, U(place + j * padded(I) - OCTET), nothing())


@kernel
def look_up(line, source_ids, target_ids, row_start, rank, table, area, emission, written, rows):
    """t(f | e) of one piece to `emission`, and from `area` on t(e | f), straight from the table; rows as `sweep` wants them.

    A sentence is in the cache while it is sampled: half the time of gathering whole blocks first.  The two numbers of a
    slot are read as one of 64 bits, and `written` is the same memory as `emission`, as 32-bit numbers.  `rows` gets the
    first slot of each source word, or -1 minus it where slots go by target word and not by rank.
    """
    I, J = line[LENGTH_I], line[LENGTH_J]
    down, across = padded(I), padded(J)
    pad(emission, 0, J, I)
    pad(emission, area, I, J)
    cell = U(line[CELL])
    for i in range(I):
        word = source_ids[line[SOURCE] + i]
        start = U(row_start[word])
        at, to = U(i), U(area + i * across)
        if row_start[word + 1] - row_start[word] > RANK_LIMIT:
            rows[i] = -1 - row_start[word]
            for j in range(U(J)):
                both = table[start + U(target_ids[U(line[TARGET]) + j])]
                written[at] = np.uint32(both)
                written[to + j] = np.uint32(both >> U(32))
                at += U(down)
        else:
            rows[i] = row_start[word]
            for j in range(U(J)):
                both = table[start + U(rank[cell + j])]
                written[at] = np.uint32(both)
                written[to + j] = np.uint32(both >> U(32))
                at += U(down)
        cell += U(J)


@kernel
def copy_cells(line, forward_cells, reverse_cells, area, emission):
    """The same, from cells that were gathered before."""
    I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
    down, across = padded(I), padded(J)
    pad(emission, 0, J, I)
    pad(emission, area, I, J)
    for i in range(I):
        for j in range(J):
            emission[j * down + i] = forward_cells[cell + i * J + j]
            emission[area + i * across + j] = reverse_cells[cell + i * J + j]


@kernel
def put_back(line, forward_cells, reverse_cells, area, posterior):
    """Posteriors to the cells they belong to; clears `posterior`."""
    I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
    down, across = padded(I), padded(J)
    for i in range(I):
        for j in range(J):
            forward_cells[cell + i * J + j] = posterior[j * down + i]
            reverse_cells[cell + i * J + j] = posterior[area + i * across + j]
    posterior[: J * down] = np.float32(0.0)
    posterior[area : area + I * across] = np.float32(0.0)


@kernel
def links_of(line, d, room, groups, target_ids, rank, rows, area, posterior, bits, number, slots, shares):
    """List the slots and the shares of all links of direction d, behind the first `number`; returns how many there are.

    Clears `posterior` and `bits`.
    """
    I, J = (line[LENGTH_I], line[LENGTH_J]) if d == 0 else (line[LENGTH_J], line[LENGTH_I])
    width = U(padded(I))
    row = U(d * area)
    # Cell (i, j) of this direction is at i * stride + j * step.
    step, stride = (U(1), U(J)) if d == 0 else (U(I), U(1))
    n = U(number)
    for j in range(U(J)):
        for group in range(U((I + GROUP - 1) // GROUP)):
            place = (U(d * room) + j) * U(groups) + group
            high = bits[place]
            bits[place] = U(0)
            while high != U(0):
                i = group * U(GROUP) + first_of(high)
                high &= high - U(1)
                e, f = (i, j) if d == 0 else (j, i)
                if rows[e] >= 0:
                    slots[n] = rows[e] + rank[U(line[CELL]) + i * stride + j * step]
                else:
                    slots[n] = -1 - rows[e] + target_ids[U(line[TARGET]) + f]
                shares[n] = posterior[row + i]
                posterior[row + i] = np.float32(0.0)
                n += U(1)
        row += width
    return np.int64(n)
