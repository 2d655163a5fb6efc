"""Live cells of a block: where links may be, and what the last iteration believed of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.engines import Threads
from dovetail.kernels.live import cells as kernels
from dovetail.kernels.records import Workspace


@dataclass(frozen=True)
class Live:
    """Cells worth a thought, by row: those of row r are `start[r]:start[r + 1]`.  All others have probability zero.

    `count` is what a cell contributed to the lexicon in the last iteration, the messages are what its two words'
    fertilities told it.
    """

    start: np.ndarray  # int64 (rows + 1,)
    column: np.ndarray  # uint16: j within the piece
    slot: np.ndarray  # int32, or int64 for a lexicon that needs it
    count: np.ndarray  # float32
    forward_message: np.ndarray  # float32
    reverse_message: np.ndarray  # float32

    def __len__(self) -> int:
        return len(self.column)

    @classmethod
    def select(
        cls, shard: Shard, block: Block, work: Workspace, share: float, engine: Threads
    ) -> tuple[Live, LiveValues]:
        """Cells with at least `share` of their column's sum in the workspace, or of their row's; and their values there.

        Nothing is known of them yet: no counts, messages that say nothing.
        """
        width = np.empty(0, np.int32 if len(shard.slots) < 1 << 31 else np.int64)
        parts = engine.map(
            lambda first, last: kernels.select(
                first,
                last,
                block.lines,
                shard.source_ids,
                shard.target_ids,
                shard.slots.row_start,
                block.rank,
                work.forward,
                work.reverse,
                share,
                width,
            ),
            block.tasks,
        )
        numbers, column, slot, forward, reverse = (np.concatenate(values) for values in zip(*parts, strict=True))
        start = np.zeros(block.rows + 1, np.int64)
        np.cumsum(numbers, out=start[1:])
        ones = np.ones(len(column), np.float32)
        live = cls(start, column, slot, np.zeros(len(column), np.float32), ones, ones.copy())
        return live, LiveValues(forward, reverse)

    def carry_over(self, old: Live) -> None:
        """Take over what is known of cells that were live before."""
        for name in ("count", "forward_message", "reverse_message"):
            kernels.carry_over(old.start, old.column, getattr(old, name), self.start, self.column, getattr(self, name))

    def narrowed(
        self, values: LiveValues, block: Block, share: float, engine: Threads, *others: LiveValues
    ) -> tuple[Live, list[LiveValues]]:
        """Without the cells that have lost their share of `values`; these and other values of the cells that are left."""
        kept, numbers = np.empty(len(self), np.bool_), np.empty(block.rows, np.int64)
        engine.map(
            lambda first, last: kernels.narrow(
                first, last, block.lines, self.start, self.column, values.forward, values.reverse, share, kept, numbers
            ),
            block.tasks,
        )
        start = np.zeros_like(self.start)
        np.cumsum(numbers, out=start[1:])

        def compact(old: np.ndarray) -> np.ndarray:
            new = np.empty(start[-1], old.dtype)
            kernels.keep(kept, old, new)
            return new

        known = self.column, self.slot, self.count, self.forward_message, self.reverse_message
        pairs = [side for kind in (values, *others) for side in (kind.forward, kind.reverse)]
        left = engine.map(compact, [(array,) for array in (*known, *pairs)])
        live, rest = Live(start, *left[: len(known)]), left[len(known) :]
        return live, [LiveValues(*rest[k : k + 2]) for k in range(0, len(rest), 2)]

    def fill(self, values: LiveValues, block: Block, work: Workspace, engine: Threads) -> None:
        """Write values of live cells to the workspace, where all other cells get zero."""

        def task(first: int, last: int) -> None:
            kernels.fill(first, last, block.lines, self.start, self.column, values.forward, work.forward)
            kernels.fill(first, last, block.lines, self.start, self.column, values.reverse, work.reverse)

        engine.map(task, block.tasks)


@dataclass(frozen=True)
class LiveValues:
    """One number a live cell and direction: emissions, which an E-step turns into posteriors."""

    forward: np.ndarray  # float32
    reverse: np.ndarray

    @classmethod
    def room(cls, live: Live) -> LiveValues:
        return cls(np.empty(len(live), np.float32), np.empty(len(live), np.float32))
