"""One piece's translation probabilities as the sampler wants them, one row per word filled up to whole octets; and back."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import leaf
from dovetail.kernels._numba import OCTET, fetch, first_of, nothing, store
from dovetail.kernels.gibbs.layout import GROUP, U, padded
from dovetail.kernels.lexicon.slots import row_of, slot_of
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J, SOURCE, TARGET


@leaf
def number_row(i, ahead):
    """The lexicon's slots of source word i's cells, laid out as cells are; the table's entries are fetched."""
    line, slots, table = ahead.line, ahead.slots, ahead.table
    _, source_ids, target_ids = ahead.pieces
    row_start, rank = ahead.ranks
    J = U(line[LENGTH_J])
    word = line[SOURCE] + i
    if i + 1 < line[LENGTH_I]:
        fetch(row_start, U(source_ids[word + 1]))
    row = row_of(row_start, source_ids[word])
    place = U(i) * J
    for j in range(J):
        slot = U(slot_of(row, rank, U(line[CELL]) + place + j, target_ids, U(line[TARGET]) + j))
        slots[place + j] = slot
        fetch(table, slot)


@leaf
def pad(emission, place, J, I):
    """No translation by the positions that only fill the last octet; what is written afterwards stays."""
    for j in range(1, J + 1):
        store(emission, U(place + j * padded(I) - OCTET), nothing())


@leaf
def look_up(line, slots, table, area, candidates):
    """t(f | e) of one piece, and from `area` on t(e | f), straight from the table; rows as `sweep` wants them.

    A sentence is in the cache while it is sampled: half the time of gathering whole blocks first.  The two numbers of a
    slot are read as one of 64 bits.
    """
    I, J = line[LENGTH_I], line[LENGTH_J]
    down, across = padded(I), padded(J)
    pad(candidates.emission, 0, J, I)
    pad(candidates.emission, area, I, J)
    written = candidates.written
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
def copy_cells(line, work, area, emission):
    """The same, from cells that were gathered before."""
    I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
    down, across = padded(I), padded(J)
    pad(emission, 0, J, I)
    pad(emission, area, I, J)
    for i in range(I):
        for j in range(J):
            emission[j * down + i] = work.forward[cell + i * J + j]
            emission[area + i * across + j] = work.reverse[cell + i * J + j]


@leaf
def put_back(line, work, area, tally):
    """Posteriors to the cells they belong to; clears them where they were."""
    I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
    down, across = padded(I), padded(J)
    posterior = tally.posterior
    for i in range(I):
        for j in range(J):
            work.forward[cell + i * J + j] = posterior[j * down + i]
            work.reverse[cell + i * J + j] = posterior[area + i * across + j]
    posterior[: J * down] = np.float32(0.0)
    posterior[area : area + I * across] = np.float32(0.0)
    tally.bits[:] = U(0)


@leaf
def list_links(line, d, cell_slots, layout, tally, links):
    """Add the slots and the posteriors of all links of direction d to the list; clears the posteriors and their bits."""
    I, J = (line[LENGTH_I], line[LENGTH_J]) if d == 0 else (line[LENGTH_J], line[LENGTH_I])
    posterior, bits = tally.posterior, tally.bits
    slots, posteriors = links.slots[d], links.posteriors[d]
    width = U(padded(I))
    row = U(d * layout.area)
    # Cell (i, j) of this direction is at i * stride + j * step.
    step, stride = (U(1), U(J)) if d == 0 else (U(I), U(1))
    n = U(links.numbers[d])
    for j in range(U(J)):
        for group in range(U((I + GROUP - 1) // GROUP)):
            place = (U(d * layout.room) + j) * U(layout.groups) + group
            high = bits[place]
            bits[place] = U(0)
            while high != U(0):
                i = group * U(GROUP) + first_of(high)
                high &= high - U(1)
                slots[n] = cell_slots[i * stride + j * step]
                posteriors[n] = posterior[row + i]
                posterior[row + i] = np.float32(0.0)
                n += U(1)
        row += width
    links.numbers[d] = n
