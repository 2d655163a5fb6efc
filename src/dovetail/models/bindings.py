"""Constraints for the kernels: what they ask of one laid-out bitext, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.kernels.projection.records import Constraints, Listed


def listed(
    pieces: int,
    bound_piece: np.ndarray,
    bound: np.ndarray,
    piece: np.ndarray,
    direction: np.ndarray,
    cell: np.ndarray,
    constraint: np.ndarray,
    weight: np.ndarray,
) -> Listed:
    """Listed constraints from constraints and entries in order of pieces; `bound_piece` and `piece` say whose each is."""
    return Listed(
        _begins(bound_piece, pieces),
        bound.astype(np.float64),
        _begins(piece, pieces),
        direction.astype(np.uint8),
        cell.astype(np.int32),
        constraint.astype(np.int32),
        weight.astype(np.float32),
    )


def joined(lists: Sequence[Listed], pieces: int) -> Listed:
    """All the constraints of several lists, piece by piece."""
    if len(lists) == 1:
        return lists[0]
    if not lists:
        return listed(pieces, *(np.zeros(0, np.int64),) * 7)
    numbers = np.array([np.diff(one.begin) for one in lists])
    earlier = np.cumsum(numbers, axis=0) - numbers  # constraints that the lists before have for a piece
    moved = [one.constraint + before[_owners(one.entry_begin)] for one, before in zip(lists, earlier, strict=True)]
    bound_piece = np.concatenate([_owners(one.begin) for one in lists])
    piece = np.concatenate([_owners(one.entry_begin) for one in lists])
    bounds, entries = np.argsort(bound_piece, kind="stable"), np.argsort(piece, kind="stable")
    return listed(
        pieces,
        bound_piece[bounds],
        np.concatenate([one.bound for one in lists])[bounds],
        piece[entries],
        np.concatenate([one.direction for one in lists])[entries],
        np.concatenate([one.cell for one in lists])[entries],
        np.concatenate(moved)[entries],
        np.concatenate([one.weight for one in lists])[entries],
    )


def _begins(owner: np.ndarray, pieces: int) -> np.ndarray:
    begin = np.zeros(pieces + 1, np.int64)
    np.cumsum(np.bincount(owner.astype(np.int64), minlength=pieces), out=begin[1:])
    return begin


def _owners(begin: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(begin) - 1), np.diff(begin))


@dataclass
class Binding:
    """What constraints ask of one laid-out bitext.

    `rows` bounds the expected links of each source token in the forward direction, `columns` those of each target token
    in the reverse direction (inf: no bound; None: none at all), in order of pieces; `symmetric`: both directions equal.
    """

    rows: np.ndarray | None = None
    columns: np.ndarray | None = None
    symmetric: bool = False
    lists: list[Listed] = field(default_factory=list)


@dataclass
class Bound:
    """All constraints of a model on one laid-out bitext, as the kernels take them."""

    shard: Shard
    rows: np.ndarray
    columns: np.ndarray
    symmetric: bool
    coupled: bool
    listed: Listed

    @classmethod
    def of(cls, bindings: Sequence[Binding], shard: Shard) -> Bound:
        none = np.zeros(0, np.float32)
        rows = [b.rows for b in bindings if b.rows is not None]
        columns = [b.columns for b in bindings if b.columns is not None]
        listed = joined([one for b in bindings for one in b.lists], len(shard.pieces))
        symmetric = any(b.symmetric for b in bindings)
        return cls(
            shard,
            np.minimum.reduce(rows) if rows else none,
            np.minimum.reduce(columns) if columns else none,
            symmetric,
            symmetric or _crosses(listed),
            listed,
        )

    def part(self, block: Block) -> Constraints:
        """What is asked of the pieces of one block."""
        lengths = self.shard.pieces.source_length, self.shard.pieces.target_length
        row, column = (int(length[: block.first].sum()) for length in lengths)
        whole = self.listed
        begin, entry_begin = (b[block.first : block.last + 1] for b in (whole.begin, whole.entry_begin))
        own, entries = slice(begin[0], begin[-1]), slice(entry_begin[0], entry_begin[-1])
        return Constraints(
            self.rows[row : row + block.rows],
            self.columns[column : column + block.columns],
            Listed(
                begin - begin[0],
                whole.bound[own],
                entry_begin - entry_begin[0],
                whole.direction[entries],
                whole.cell[entries],
                whole.constraint[entries],
                whole.weight[entries],
            ),
            self.symmetric,
            self.coupled,
        )


def _crosses(listed: Listed) -> bool:
    """Whether some constraint speaks of both directions."""
    if not len(listed.cell):
        return False
    number = listed.constraint + listed.begin[_owners(listed.entry_begin)]
    forward = np.bincount(number[listed.direction == 0], minlength=len(listed.bound)) > 0
    reverse = np.bincount(number[listed.direction == 1], minlength=len(listed.bound)) > 0
    return bool((forward & reverse).any())
