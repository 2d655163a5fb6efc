"""What several rooms pass to their kernels: records of arrays, which numba takes as they are.

A kernel is told where a piece lies by one line of seven integers, relative to its block: ROW, COLUMN and CELL count what
comes before the piece in the block's buffers, SOURCE and TARGET point into the packed ids, I and J are its lengths.
Cell (i, j) of a piece is at CELL + i * J + j.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ROW, COLUMN, CELL, SOURCE, TARGET, LENGTH_I, LENGTH_J = range(7)


class Side(NamedTuple):
    """Columns of a line that tell of one side of a piece: where its ids begin, how many, and its place in buffers."""

    start: int
    length: int
    place: int


SOURCE_SIDE = Side(SOURCE, LENGTH_I, ROW)
TARGET_SIDE = Side(TARGET, LENGTH_J, COLUMN)


class Pieces(NamedTuple):
    """The pieces of one block, and the packed ids that their lines point into."""

    lines: np.ndarray  # int64 (pieces, 7)
    source_ids: np.ndarray  # int32 (tokens,)
    target_ids: np.ndarray  # int32 (tokens,)


class Ranks(NamedTuple):
    """Where the lexicon has the cells of one block: slot = row_start[source word] + rank[cell]; see `text.cooccurrence`."""

    row_start: np.ndarray  # int64 (source words + 1,)
    rank: np.ndarray  # uint16 (cells,)


class Nulls(NamedTuple):
    """What NULL yields in the two directions."""

    forward: np.ndarray  # float32 (target words,): t(f | NULL)
    reverse: np.ndarray  # float32 (source words,): t(e | NULL)


class Workspace(NamedTuple):
    """One block's cells and NULLs: translation probabilities, which an E-step turns into posteriors in place."""

    forward: np.ndarray  # float32 (cells,)
    reverse: np.ndarray  # float32 (cells,)
    null_forward: np.ndarray  # float32 (target tokens,)
    null_reverse: np.ndarray  # float32 (source tokens,)

    def copy(self) -> Workspace:
        return Workspace(*(values.copy() for values in self))


class JumpSums(NamedTuple):
    """What an E-step leaves for the jumps, see `hmm.dense.collect_moves`: expected moves, and what each was exposed to."""

    jump: np.ndarray  # float64 (2 directions, 2, distances); empty: nobody counts
    start: np.ndarray  # float64 (2 directions, 2, positions)

    @classmethod
    def zeros(cls, longest: int, counting: bool = True) -> JumpSums:
        """For pieces of up to `longest` tokens on a side; without `counting`, empty arrays."""
        return cls(np.zeros((2, 2, 2 * longest + 1 if counting else 0)), np.zeros((2, 2, longest if counting else 0)))
