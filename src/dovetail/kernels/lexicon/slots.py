"""The slot of a cell, in one place: slot = row_start[source word] + rank[cell].

Ranks are 16 bits wide.  A word with more partners than that has a dense row, one slot for every target word, in which a cell
is found by its target word's id.
"""

from __future__ import annotations

from dovetail.kernels import leaf
from dovetail.kernels.records import CELL, LENGTH_J, ROW, SOURCE, TARGET

RANK_LIMIT = 65535


@leaf
def row_of(row_start, word):
    """Where a source word's slots begin, and whether its row is dense."""
    start = row_start[word]
    return start, row_start[word + 1] - start > RANK_LIMIT


@leaf
def cells_of(row, row_piece, pieces, row_start):
    """Of a row of a block: `row_of` its source word, its first cell, its first target token, and how many cells it has."""
    line = pieces.lines[row_piece[row]]
    i = row - line[ROW]
    J = line[LENGTH_J]
    return row_of(row_start, pieces.source_ids[line[SOURCE] + i]), line[CELL] + i * J, line[TARGET], J


@leaf
def slot_of(row, rank, cell, target_ids, token):
    """The slot of a cell whose target token is at `token` of the packed ids; `row` is `row_of` its source word."""
    start, dense = row
    return start + (target_ids[token] if dense else rank[cell])
