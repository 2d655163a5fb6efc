"""Live cells of a block: where links may be, and what the last iteration believed of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.bitext.shards import Block
from dovetail.kernels.live import cells as kernels
from dovetail.kernels.live.records import LiveCells, Values
from dovetail.kernels.records import Workspace
from dovetail.pool import Pool


@dataclass(frozen=True)
class Live:
    """The live cells of one block; all others have probability zero."""

    cells: LiveCells

    def __len__(self) -> int:
        return len(self.cells.column)

    def room(self) -> Values:
        return Values(np.empty(len(self), np.float32), np.empty(len(self), np.float32))

    @classmethod
    def select(cls, block: Block, work: Workspace, least: float, slots: int, pool: Pool) -> tuple[Live, Values]:
        """Cells with at least the part `least` of their column's sum in the workspace, or of their row's; and their values.

        `slots` is the size of the lexicon.  Nothing is known of them yet: no counts, messages that say nothing.
        """
        width = np.empty(0, np.int32 if slots < 1 << 31 else np.int64)
        parts = pool.map(kernels.select, block.tasks, block.pieces, block.ranks, work, least, width)
        size = sum(len(values) for _, values, *_ in parts)
        unknown = [(np.full, (size,), np.float32(number)) for number in (0.0, 1.0, 1.0)]
        joined = [(np.concatenate, values) for values in zip(*parts, strict=True)]
        made = pool.map(lambda make, *arguments: make(*arguments), [*joined, *unknown])
        numbers, column, slot, forward, reverse, *known = made
        start = np.concatenate([[0], np.cumsum(numbers, dtype=np.int64)])
        return cls(LiveCells(start, column, slot, *known)), Values(forward, reverse)

    def carry_over(self, old: Live, pool: Pool) -> None:
        """Take over what is known of cells that were live before."""
        both = list(zip(old.cells[3:], self.cells[3:], strict=True))
        pool.map(kernels.carry_over, both, old.cells.start, old.cells.column, self.cells.start, self.cells.column)

    def renumbered(self, number: np.ndarray) -> None:
        """Give slots other numbers."""
        self.cells.slot[:] = number[self.cells.slot]

    def narrowed(
        self, values: Values, block: Block, least: float, pool: Pool, *others: Values
    ) -> tuple[Live, list[Values]]:
        """Without the cells that have lost their part of `values`; these and other values of the cells that are left."""
        kept, numbers = np.empty(len(self), np.bool_), np.empty(block.rows, np.int64)
        pool.map(kernels.narrow, block.tasks, block.lines, self.cells, values, least, kept, numbers)
        start = np.concatenate([[0], np.cumsum(numbers)])
        old = [*self.cells[1:], *values, *(side for kind in others for side in kind)]
        new = [np.empty(start[-1], known.dtype) for known in old]
        runs = [(*run, *both) for both in zip(old, new, strict=True) for run in block.tasks]
        pool.map(kernels.keep, runs, block.lines, self.cells.start, kept, start)
        cells, sides = new[: len(self.cells) - 1], new[len(self.cells) - 1 :]
        return Live(LiveCells(start, *cells)), [Values(*both) for both in zip(sides[::2], sides[1::2], strict=True)]

    def fill(self, values: Values, block: Block, work: Workspace, pool: Pool) -> None:
        """Write values of live cells to the workspace, where all other cells get zero."""
        pool.map(kernels.fill, block.tasks, block.lines, self.cells, values.forward, work.forward)
        pool.map(kernels.fill, block.tasks, block.lines, self.cells, values.reverse, work.reverse)
