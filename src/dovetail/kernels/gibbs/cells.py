"""One piece's translation probabilities as the sampler wants them, a row a word filled up to whole octets; and back."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import leaf
from dovetail.kernels._numba import OCTET, first_of, nothing, store
from dovetail.kernels.gibbs.sweep import GROUP, U, padded
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J


@leaf
def pad(emission, place, J, I):
    """No translation by the positions that only fill the last octet; what is written afterwards stays."""
    for j in range(1, J + 1):
        store(emission, U(place + j * padded(I) - OCTET), nothing())


@leaf
def look_up(line, slots, table, area, emission, written):
    """t(f | e) of one piece to `emission`, and from `area` on t(e | f), straight from the table; rows as `sweep` wants them.

    A sentence is in the cache while it is sampled: half the time of gathering whole blocks first.  The two numbers of a
    slot are read as one of 64 bits, and `written` is the same memory as `emission`, as 32-bit numbers.
    """
    I, J = line[LENGTH_I], line[LENGTH_J]
    down, across = padded(I), padded(J)
    pad(emission, 0, J, I)
    pad(emission, area, I, J)
    cell = U(0)
    for i in range(I):
        at, to = U(i), U(area + i * across)
        for j in range(U(J)):
            both = table[slots[cell + j]]
            written[at] = np.uint32(both)
            written[to + j] = np.uint32(both >> U(32))
            at += U(down)
        cell += U(J)


@leaf
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


@leaf
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


@leaf
def links_of(line, d, room, groups, cell_slots, area, posterior, bits, number, slots, shares):
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
                slots[n] = cell_slots[i * stride + j * step]
                shares[n] = posterior[row + i]
                posterior[row + i] = np.float32(0.0)
                n += U(1)
        row += width
    return np.int64(n)
