"""Where the lexicon has the cells of a piece."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import leaf
from dovetail.kernels._numba import fetch
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J, SOURCE, TARGET
from dovetail.kernels.text.cooccurrence import RANK_LIMIT

U = np.uint64


@leaf
def number_row(line, i, source_ids, target_ids, row_start, rank, table, slots):
    """The lexicon's slots of source word i's cells to `slots`, laid out as cells are; the table's entries are fetched."""
    J = U(line[LENGTH_J])
    if i + 1 < line[LENGTH_I]:
        fetch(row_start, U(source_ids[line[SOURCE] + i + 1]))
    word = source_ids[line[SOURCE] + i]
    start = U(row_start[word])
    place = U(i) * J
    if row_start[word + 1] - row_start[word] > RANK_LIMIT:
        for j in range(J):
            slot = start + U(target_ids[U(line[TARGET]) + j])
            slots[place + j] = slot
            fetch(table, slot)
    else:
        cell = U(line[CELL]) + place
        for j in range(J):
            slot = start + U(rank[cell + j])
            slots[place + j] = slot
            fetch(table, slot)
