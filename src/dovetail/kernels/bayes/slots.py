"""Slots of a piece's cells, as one direction sees them."""

from __future__ import annotations

from dovetail.kernels import leaf
from dovetail.kernels.lexicon.slots import row_of, slot_of
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J, SOURCE, TARGET


@leaf
def link_slot(line, i, j, direction):
    """The slot of the link between generating word i and generated word j."""
    _, source_ids, target_ids = direction.pieces
    if direction.reverse:
        i, j = j, i
    row = row_of(direction.ranks.row_start, source_ids[line[SOURCE] + i])
    return slot_of(row, direction.ranks.rank, line[CELL] + i * line[LENGTH_J] + j, target_ids, line[TARGET] + j)


@leaf
def find_slots(line, direction, slots):
    """The slots of a piece's cells, one row for each generated word."""
    _, source_ids, target_ids = direction.pieces
    row_start, rank = direction.ranks
    I, J = line[LENGTH_I], line[LENGTH_J]
    step = 1 if direction.reverse else I
    for i in range(I):
        row = row_of(row_start, source_ids[line[SOURCE] + i])
        k = i * J if direction.reverse else i
        for j in range(J):
            slots[k] = slot_of(row, rank, line[CELL] + i * J + j, target_ids, line[TARGET] + j)
            k += step
