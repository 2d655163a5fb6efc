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
    entries: np.ndarray,
    weight: np.ndarray,
) -> Listed:
    """Listed constraints from constraints and entries in order of pieces; `bound_piece` and `piece` say whose each is."""
    begin = np.stack([_begins(bound_piece, pieces), _begins(piece, pieces)])
    return Listed(begin, bound.astype(np.float64), entries.astype(np.int32), weight.astype(np.float32))


def joined(lists: Sequence[Listed], pieces: int) -> Listed:
    """All the constraints of several lists, piece by piece."""
    if len(lists) == 1:
        return lists[0]
    if not lists:
        none = np.zeros(0, np.int64)
        return listed(pieces, none, none, none, none.reshape(0, 3), none)
    numbers = np.array([np.diff(one.begin[0]) for one in lists])
    earlier = np.cumsum(numbers, axis=0) - numbers  # constraints that the lists before have for a piece
    moved = []
    for one, before in zip(lists, earlier, strict=True):
        direction, cell, constraint = one.entries.T
        moved.append(np.stack([direction, cell, constraint + before[_owners(one.begin[1])]], axis=1))
    bound_piece, piece = (np.concatenate([_owners(one.begin[k]) for one in lists]) for k in range(2))
    bounds, entries = np.argsort(bound_piece, kind="stable"), np.argsort(piece, kind="stable")
    return listed(
        pieces,
        bound_piece[bounds],
        np.concatenate([one.bound for one in lists])[bounds],
        piece[entries],
        np.concatenate(moved)[entries],
        np.concatenate([one.weight for one in lists])[entries],
    )


def _begins(owner: np.ndarray, pieces: int) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.bincount(owner.astype(np.int64), minlength=pieces))])


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
    """All constraints of a model on one laid-out bitext, as the kernels take them; `lengths` are those of its pieces."""

    lengths: tuple[np.ndarray, np.ndarray]
    rows: np.ndarray
    columns: np.ndarray
    symmetric: bool
    coupled: bool
    listed: Listed

    @classmethod
    def of(cls, bindings: Sequence[Binding], shard: Shard) -> Bound:
        sides = ([b.rows for b in bindings], [b.columns for b in bindings])
        asked = [[bounds for bounds in side if bounds is not None] for side in sides]
        rows, columns = (np.minimum.reduce(bounds) if bounds else np.zeros(0, np.float32) for bounds in asked)
        listed = joined([one for b in bindings for one in b.lists], len(shard.pieces))
        symmetric = any(b.symmetric for b in bindings)
        lengths = shard.pieces.source_length, shard.pieces.target_length
        return cls(lengths, rows, columns, symmetric, symmetric or _crosses(listed), listed)

    def part(self, block: Block) -> Constraints:
        """What is asked of the pieces of one block."""
        row, column = (int(length[: block.first].sum()) for length in self.lengths)
        begin = self.listed.begin[:, block.first : block.last + 1]
        own, entries = (slice(*begin[k, [0, -1]]) for k in range(2))
        return Constraints(
            self.rows[row : row + block.rows],
            self.columns[column : column + block.columns],
            Listed(
                begin - begin[:, :1], self.listed.bound[own], self.listed.entries[entries], self.listed.weight[entries]
            ),
            self.symmetric,
            self.coupled,
        )


def _crosses(listed: Listed) -> bool:
    """Whether some constraint speaks of both directions."""
    direction, _, constraint = listed.entries.T
    number = constraint + listed.begin[0, _owners(listed.begin[1])]
    forward, reverse = (np.bincount(number[direction == d], minlength=len(listed.bound)) > 0 for d in range(2))
    return bool((forward & reverse).any())
