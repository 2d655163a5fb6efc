"""What the kernels of this room hand each other.  J target words; R = I + 1 rows: NULL, then the I source words.

A *cell* is a pair (target position j, row r).  NULL keeps the position, so NULL at j is one cell for each position p that
it may be taken from (p = 0: before the first link).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Problem(NamedTuple):
    """The potentials of one sentence pair, as `lay_out` gives them."""

    emission: np.ndarray  # float64 (J, R)
    transition: np.ndarray  # float64 (R, I): from each position, 0 being the start, to each source word
    jump: np.ndarray  # float64 (R, I): the transitions, with `runs` without those of a row to itself
    jump_to: np.ndarray  # float64 (I, R): the same transposed
    log_null: float  # entering NULL
    fertility: np.ndarray  # float64 (R, J + 1)
    first: int  # rows below it have no fertility: 1 if NULL is not counted, else 0
    runs: bool  # whether links that begin a run are told from those that go on with one, see `runs`


class Node(NamedTuple):
    """A part of the alignments: those of live cells, with counts in a range.  And what the rows are paid there."""

    low: np.ndarray  # int32 (R,): least count of each row
    high: np.ndarray  # int32 (R,): highest
    live_link: np.ndarray  # uint8 (J, R): whether j may be linked to r; never to row 0
    live_null: np.ndarray  # uint8 (J, R): whether NULL at j may keep position r
    price: np.ndarray  # float64 (2, J, R): the multipliers: what r gets for j where a run begins, and where one goes on


class Incumbent(NamedTuple):
    """The best alignment known."""

    path: np.ndarray  # int32 (J,): the row of each target word
    score: float
    tolerance: float  # relative: what is better by less is not looked for, see `aim_above`


class Lists(NamedTuple):
    """The live cells of a node, column by column and row by row.  Entry 0 of each list is its length."""

    links: np.ndarray  # int32 (J, R + 1): the rows that each column may be linked to
    nulls: np.ndarray  # int32 (J, R + 1): the positions that NULL may keep there
    active: np.ndarray  # int32 (J + 1, R + 1): the positions that can be reached before each column
    cells: np.ndarray  # int32 (R, J + 1): the live columns of each row
    bond: np.ndarray  # uint8 (R, J + 1): with runs, how each of them hangs on the one before it, see `runs`


class Chain(NamedTuple):
    """What the rows leave to the chain."""

    score: np.ndarray  # float64 (J, R): emissions of NULLs and of links that jump
    stay: np.ndarray  # float64 (J, R): emission and transition of a link to the same row again; -inf without runs
    jump: np.ndarray  # float64 (R, I)
    jump_to: np.ndarray  # float64 (I, R)
    log_null: float


class Trellis(NamedTuple):
    """Best scores of the chain's prefixes and suffixes, see `forward` and `backward`."""

    enter: np.ndarray  # float64 (J, R)
    delta: np.ndarray  # float64 (J + 1, R)
    beta: np.ndarray  # float64 (J + 1, R)


class Rows(NamedTuple):
    """What each row would choose for itself."""

    value: np.ndarray  # float64 (R,): its best score
    picks: (
        np.ndarray
    )  # uint8 (R, J + 1): which of its cells that takes: 1, or 2 for those that go on with a run; else 0
    moving: np.ndarray  # uint8 (R,): whether its prices have changed since
    table: np.ndarray  # float64 (numbers,): room for the table of any one row, with runs


class Margins(NamedTuple):
    """What the rows lose by what may happen in a column: 0 or less, -inf where it can't happen."""

    take: np.ndarray  # float64 (1, or 2 with runs; J, R): the row takes the column
    leave: np.ndarray  # float64 (J, R): it does not
    keep: np.ndarray  # float64 (J, R): NULL takes it and keeps the row's position, with runs
    sums: np.ndarray  # float64 (J + 2,): of the last row, the best sum of prices by count
    later: np.ndarray  # float64 (2, J + 2): scratch


class Ahead(NamedTuple):
    """What a search may still choose, and what chain and rows can get by it at best."""

    options: np.ndarray  # int32 (J, R + 1): each column's live rows, NULL first; entry 0 counts
    beta: np.ndarray  # float64 (J + 1, R): the chain's best suffixes
    suffix: np.ndarray  # float64 (numbers,): the rows' tables, see `suffix_runs`
    offset: np.ndarray  # int64 (R + 1,): where each begins


class Counted(NamedTuple):
    """Whose counts a search has to remember, and how far it has come in each row."""

    slot: np.ndarray  # int32 (R,): a place for the count of each row with free columns, -1 for the others
    factor: np.ndarray  # uint64 (slots + 1,): make a hash key of a state; the last is the position's
    left: np.ndarray  # int32 (R,): free columns from here on
    passed: np.ndarray  # int32 (R,): cells so far


class States(NamedTuple):
    """Beginnings of alignments: one set before a column, one after it, by turns."""

    position: np.ndarray  # int32 (2, width)
    value: np.ndarray  # float64 (2, width): score so far plus what the rows can still get
    key: np.ndarray  # uint64 (2, width): the same for equal states
    counts: np.ndarray  # int16 (2, width, slots): cells taken by the rows of `Counted.slot`


class Children(NamedTuple):
    """States one column on, before the equal and the hopeless are taken out."""

    parent: np.ndarray  # int32 (children,)
    choice: np.ndarray  # int32 (children,): the row of the column; -1 for those taken out
    value: np.ndarray  # float64 (children,)
    bound: np.ndarray  # float64 (children,): value plus the chain's best suffix
    key: np.ndarray  # uint64 (children,)
