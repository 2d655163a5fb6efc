"""What a training goes over: one shard, or of a text too large for that several, which wait in a store until asked for.

Shards are cut between blocks, which are the same for any size of shards, and each has its own slots.  The slots of the whole
text are those that one large shard would have, in the same order.  So what is learned does not depend on the shards.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import (
    TASKS,
    Block,
    Place,
    Shard,
    Slots,
    block_runs,
    cumulative,
    lay_out_pieces,
    longest_side,
    shard_of,
    slot_runs,
)
from dovetail.bitext.store import Store, put_aside, release
from dovetail.bitext.windows import Windows, cut
from dovetail.kernels.lexicon.slots import RANK_LIMIT
from dovetail.kernels.records import Pieces, Ranks
from dovetail.kernels.text import cooccurrence as kernels
from dovetail.pool import Pool

WHOLE_CELLS = 1 << 26  # a text of so many, some 100,000 pairs, is still one shard
CUT_AT_ONCE = 1 << 16  # pairs of a text that are cut into pieces together
SHARD_CELLS = 1 << 25  # of a larger one's shards: smaller ones take less memory, and have more slots in all


class Corpus(Sequence[Shard]):
    """The shards of a text; `pieces`, `slots` and `total` (cells) are those of the whole text."""

    pieces: Windows
    total: int
    store: Store  # in memory, of a text that is

    @property
    @abstractmethod
    def slots(self) -> Slots: ...

    @property
    @abstractmethod
    def only(self) -> Shard | None:
        """The shard of a text that is a single one, in memory; None if there are many, in a store."""

    @abstractmethod
    def picked(self, pieces: np.ndarray, pool: Pool) -> Shard:
        """Some of the pieces (by number) laid out by themselves, for the same vocabularies."""

    @abstractmethod
    def table(self, name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray | None:
        """Room for a large array where the shards are; None: take it from memory."""

    @abstractmethod
    def of(self, bitext: Bitext, pool: Pool) -> Corpus:
        """Less of the same text, for the same vocabularies, cut as this is; one that fits in a shard is in memory."""


class OneShard(Corpus):
    """A text in memory."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.pieces, self.total, self.store = shard.pieces, shard.total, Store()

    @property
    def slots(self) -> Slots:
        return self.shard.slots

    @property
    def only(self) -> Shard:
        return self.shard

    def picked(self, pieces: np.ndarray, pool: Pool) -> Shard:
        return self.shard.picked(pieces, pool)

    def table(self, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        return None

    def of(self, bitext: Bitext, pool: Pool) -> OneShard:
        return OneShard(shard_of(bitext, pool))

    def __len__(self) -> int:
        return 1

    @overload
    def __getitem__(self, number: int) -> Shard: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Shard]: ...
    def __getitem__(self, number: int | slice) -> Shard | Sequence[Shard]:
        return (self.shard,)[number]


class StoredShards(Sequence[Shard]):
    """Shards of a large text that are in a store: all that an E-step over one of them needs, in any process."""

    def __init__(self, store: Store, number: int, n_targets: int, longest: int) -> None:
        self.store, self.number, self.n_targets, self.longest = store, number, n_targets, longest

    def rows(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Of a shard: where its rows of slots begin, and where its slots are among those of the whole text."""
        name = _name(number)
        return self.store.get(name)["row_start"], self.store.get(places_of(name))["places"]

    def __len__(self) -> int:
        return self.number

    @overload
    def __getitem__(self, number: int) -> Shard: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Shard]: ...
    def __getitem__(self, number: int | slice) -> Shard | Sequence[Shard]:
        if isinstance(number, slice):
            return [self[k] for k in range(len(self))[number]]
        number = range(len(self))[number]
        arrays = self.store.get(_name(number))
        place = Place(number, int(arrays["run"][0]), self.store.get(places_of(_name(number)))["places"], self.store)
        return unpacked(arrays, place, self.n_targets, self.longest)


class ManyShards(StoredShards, Corpus):
    """The shards of a large text.  They are laid out when somebody first asks for one, or for the slots."""

    def __init__(
        self,
        bitext: Bitext,
        pool: Pool,
        store: Store,
        shard_cells: int = SHARD_CELLS,
        block_cells: int | None = None,
    ) -> None:
        self.bitext = bitext
        self.pieces, piece_cell, longest = _cut_in(store, bitext)
        self.total = int(piece_cell[-1])
        self._runs = shard_runs(piece_cell, shard_cells, block_cells)
        self._pool, self._shard_cells, self._block_cells = pool, shard_cells, block_cells
        super().__init__(store, len(self._runs), len(bitext.target.vocabulary), longest)
        self._release()

    @cached_property
    def slots(self) -> Slots:
        """Lay out the shards that are not in the store yet, then give all slots numbers in the whole text."""
        self._lay_out()
        return unite([_name(number) for number in range(self.number)], self.n_targets, self.store, self._pool)

    def _lay_out(self) -> None:
        waiting, self._runs = self._runs, []
        while (name := _name(len(self._runs))) in self.store:
            first, last = self.store.get(name)["run"].tolist()
            self._runs.append((first, last))
        done = self._runs[-1][1] if self._runs else 0  # in the midst of one that was halved when it was laid out
        waiting = [(max(first, done), last) for first, last in waiting if last > done]
        for runs in self._pool.side_by_side(lambda run: self._put(*run), waiting):
            for first, last in runs:
                self.store.rename(_begun(first), _name(len(self._runs)))
                self._runs.append((first, last))
        self.number = len(self._runs)

    def _put(self, first: int, last: int) -> list[tuple[int, int]]:
        """Lay out a run of pieces, by name of its first one; as several shards if one would have too long rows."""
        shard = self._laid_out(np.arange(first, last), self._pool, self._block_cells, self.longest)
        # A row that is too long for ranks has a slot for every word of the text, and the text may be large.
        if len(shard.blocks) > 1 and np.diff(shard.slots.row_start).max(initial=0) > RANK_LIMIT:
            middle = first + shard.blocks[len(shard.blocks) // 2].first
            return self._put(first, middle) + self._put(middle, last)
        self.store.put(_begun(first), {**packed(shard), "run": np.array([first, last])}, self._pool)
        return [(first, last)]

    def __len__(self) -> int:
        _ = self.slots
        return self.number

    @property
    def only(self) -> None:
        return None

    def table(self, name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return self.store.table(name, shape, dtype)

    def of(self, bitext: Bitext, pool: Pool) -> Corpus:
        if cells_of(bitext) <= self._shard_cells:
            return OneShard(shard_of(bitext, pool))
        return ManyShards(bitext, pool, self.store.within("part"), self._shard_cells, self._block_cells)

    def picked(self, pieces: np.ndarray, pool: Pool) -> Shard:
        return self._laid_out(pieces, pool)

    def _laid_out(self, pieces: np.ndarray, pool: Pool, block_cells: int | None = None, longest: int = 0) -> Shard:
        source, target = self.bitext.source, self.bitext.target
        sizes = len(source.vocabulary), len(target.vocabulary)
        return lay_out_pieces(source.ids, target.ids, self.pieces, pieces, *sizes, pool, block_cells, longest)

    @overload
    def __getitem__(self, number: int) -> Shard: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Shard]: ...
    def __getitem__(self, number: int | slice) -> Shard | Sequence[Shard]:
        self.stored()
        return super().__getitem__(number)

    def stored(self) -> StoredShards:
        """The shards alone, laid out, as other processes take them."""
        _ = self.slots
        return StoredShards(self.store, self.number, self.n_targets, self.longest)

    def _release(self) -> None:
        self.bitext.release()
        for field in fields(Windows):
            release(getattr(self.pieces, field.name))

    def in_place(self, number: int) -> Shard:
        """The pieces of a shard as they stand in the text, with its ids and numbers of pairs; without slots and blocks."""
        self._release()  # what was read of the one before
        ids, none = (self.bitext.source.ids, self.bitext.target.ids), self.slots.none()
        return Shard(*ids, self.pieces.part(*self._runs[number]), none, [])

    def pieces_of(self, number: int) -> int:
        """How many pieces a shard has."""
        first, last = self._runs[number]
        return last - first


def cells_of(bitext: Bitext) -> int:
    """How many cells a text has, before it is laid out."""
    return sum(int(piece_cells(cut(part.source.offsets, part.target.offsets)).sum()) for part in bitext.runs())


def piece_cells(pieces: Windows) -> np.ndarray:
    """Cells of each piece, int64."""
    return pieces.source_length.astype(np.int64) * pieces.target_length


def _cut_in(store: Store, bitext: Bitext) -> tuple[Windows, np.ndarray, int]:
    """The pieces of a text and the cells before each (and all), in the store; tokens of the longest side of any."""
    growing, before = [store.growing() for _ in fields(Windows)], store.growing()
    before.append(np.zeros(1, np.int64))
    cells = longest = 0
    for first in range(0, max(len(bitext), 1), CUT_AT_ONCE):
        run = slice(first, first + CUT_AT_ONCE + 1)
        pieces = cut(bitext.source.offsets[run], bitext.target.offsets[run])
        pieces.pair[:] += first
        for own, field in zip(growing, fields(Windows), strict=True):
            own.append(getattr(pieces, field.name))
        before.append(cumulative(piece_cells(pieces))[1:] + cells)
        cells, longest = cells + int(piece_cells(pieces).sum()), max(longest, longest_side(pieces))
    bitext.release()
    return Windows(*(own.whole() for own in growing)), before.whole(), longest


def shard_runs(piece_cell: np.ndarray, shard_cells: int, block_cells: int | None) -> list[tuple[int, int]]:
    """Runs of pieces: as many whole blocks as have at most `shard_cells` cells, or one larger block alone."""
    edges = np.array([0, *(last for _, last in block_runs(piece_cell, block_cells))])
    return [(int(edges[low]), int(edges[high])) for low, high in block_runs(piece_cell[edges], shard_cells)]


def unite(names: Sequence[str], n_targets: int, store: Store, pool: Pool) -> Slots:
    """The slots of all groups of a store that hold `row_start` and `target`; each is told where its own are, `places_of` it.

    In every row, partners stand as they first appear from group to group: as if all had been laid out together.
    """
    groups = [store.get(name) for name in names]
    row_starts = [group["row_start"] for group in groups]
    total = np.zeros_like(row_starts[0])
    for own in row_starts:
        total += own
        release(own)
    targets = [group["target"] for group in groups]
    ranks = [store.table(f"{name}.ranks", own.shape, np.int32) for name, own in zip(names, targets, strict=True)]

    def run(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        parts, starts, partners = [], [], []
        for row_start, target in zip(row_starts, targets, strict=True):
            parts.append(slice(int(row_start[first]), int(row_start[last])))
            starts.append(row_start[first : last + 1] - row_start[first])
            partners.append(target[parts[-1]].copy())
            release(row_start)  # all of it: what the system mapped around the part, too
            release(target)
        begins = cumulative(np.array([len(own) for own in partners]))
        together = np.concatenate(partners)
        del partners  # which are as large
        found = np.empty(len(together), np.int32)
        rows = kernels.unite(np.stack(starts) + begins[:-1, None], together, n_targets, found)
        for rank, part, (begin, end) in zip(ranks, parts, pairwise(begins), strict=True):
            rank[part] = found[begin:end]
            release(rank)
        return rows

    # No more slots than there are in all groups; what is not written takes no room.
    target, lengths, done = store.table("target", (int(total[-1]),), np.int32), [], 0
    runs, at_once = slot_runs(total), 2 * pool.threads
    for begin in range(0, len(runs), at_once):
        found = pool.map(run, runs[begin : begin + at_once])
        edges = done + cumulative(np.array([len(partners) for partners, _ in found]))
        parts = zip(pairwise(edges), found, strict=True)
        pool.map(put_aside, [(own, target[low:high]) for (low, high), (own, _) in parts])
        lengths += [own for _, own in found]
        done = int(edges[-1])
    row_start, target = cumulative(np.concatenate(lengths)), target[:done]
    width = np.int32 if row_start[-1] < 1 << 31 else np.int64
    for name, starts, own in zip(names, row_starts, ranks, strict=True):
        with store.room(places_of(name), {"places": (own.shape, width)}) as group:
            pool.map(_place, slot_runs(starts), row_start, starts, own, group["places"])
        release(starts)
    return Slots(row_start, target, n_targets)


def _place(
    first: int, last: int, row_start: np.ndarray, starts: np.ndarray, ranks: np.ndarray, places: np.ndarray
) -> None:
    """Of words first..last - 1, where a group's slots are among all: behind each row's start in all, by rank."""
    own = slice(int(starts[first]), int(starts[last]))
    places[own] = np.repeat(row_start[first:last].astype(places.dtype), np.diff(starts[first : last + 1]))
    places[own] += ranks[own]
    release(ranks[own])
    release(places[own])


def places_of(name: str) -> str:
    """The group that holds where the slots of a group are among those of all."""
    return f"{name}.places"


def packed(shard: Shard) -> dict[str, np.ndarray]:
    """A shard as arrays, for a store."""
    blocks = shard.blocks
    numbers = [(block.first, block.last, block.columns, block.rows, block.cells) for block in blocks]
    arrays = {
        "source_ids": shard.source_ids,
        "target_ids": shard.target_ids,
        "row_start": shard.slots.row_start,
        "target": shard.slots.target,
        "blocks": np.array(numbers, np.int64).reshape(-1, 5),
        "word_edges": _edges([[len(task) for task in block.word_tasks] for block in blocks]),
        "task_edges": _edges([[last - first for first, last in block.tasks] for block in blocks]),
        "lines": _joined([block.lines for block in blocks], np.empty((0, 7), np.int64)),
        "rank": _joined([block.rank for block in blocks], np.empty(0, np.uint16)),
        "row_piece": _joined([block.row_piece for block in blocks], np.empty(0, np.int32)),
        "order": _joined([block.order for block in blocks], np.empty(0, np.int32)),
    }
    return arrays | {f"pieces.{field.name}": getattr(shard.pieces, field.name) for field in fields(Windows)}


def unpacked(arrays: dict[str, np.ndarray], place: Place | None, n_targets: int, longest: int) -> Shard:
    """The shard of `packed` arrays, which are not copied."""
    source_ids, target_ids, row_start = arrays["source_ids"], arrays["target_ids"], arrays["row_start"]
    pieces = Windows(*(arrays[f"pieces.{field.name}"] for field in fields(Windows)))
    blocks, row, cell = [], 0, 0
    of_blocks = zip(arrays["blocks"].tolist(), arrays["word_edges"], arrays["task_edges"], strict=True)
    for (first, last, columns, rows, cells), word_edges, task_edges in of_blocks:
        order = arrays["order"][row : row + rows]
        blocks.append(
            Block(
                first,
                last,
                Pieces(arrays["lines"][first:last], source_ids, target_ids),
                Ranks(row_start, arrays["rank"][cell : cell + cells]),
                arrays["row_piece"][row : row + rows],
                order,
                [order[low:high] for low, high in _runs(word_edges)],
                _runs(task_edges),
                columns,
                longest,
            )
        )
        row, cell = row + rows, cell + cells
    return Shard(source_ids, target_ids, pieces, Slots(row_start, arrays["target"], n_targets), blocks, place)


def _name(number: int) -> str:
    return f"shard-{number:05d}"


def _begun(first: int) -> str:
    """What a shard is called before it is known how many there are before it: by its first piece."""
    return f"shard-from-{first}"


def _joined(parts: list[np.ndarray], none: np.ndarray) -> np.ndarray:
    return np.concatenate(parts) if parts else none


def _edges(lengths: list[list[int]]) -> np.ndarray:
    """int64 (blocks, TASKS + 1): where runs of these lengths begin and end; the last edge again where there are fewer."""
    edges = np.zeros((len(lengths), TASKS + 1), np.int64)
    for row, own in zip(edges, lengths, strict=True):
        row[1 : len(own) + 1] = np.cumsum(own)
        row[len(own) + 1 :] = row[len(own)]
    return edges


def _runs(edges: np.ndarray) -> list[tuple[int, int]]:
    return [(low, high) for low, high in pairwise(edges.tolist()) if high > low]
