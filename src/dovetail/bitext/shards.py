"""Where every cell of every pair finds its lexicon entry: slots for word types, ranks for tokens, blocks for the work.

A *cell* is a (source token, target token) pair of one piece, a *slot* a pair of word types that co-occur.  Slots lie in
rows, one row per source word; a cell keeps only its rank within the row (two bytes), so that a corpus of a million pairs
fits in little more than a gigabyte:  slot = row_start[source word] + rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.store import Store, release
from dovetail.bitext.windows import Windows, cut
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J, Pieces, Ranks, Workspace
from dovetail.kernels.text import cooccurrence as kernels
from dovetail.pool import Pool

BLOCK_CELLS = 1 << 22  # posteriors of one block: 32 MB for the two directions
UNRANKED_CELLS = 1 << 21  # the same of a text without slots, parts of which are worked on side by side
SLOT_TASK = 1 << 21  # slots of one task, at most,
LEAST_SLOTS = 1 << 14  # and at least: fewer are done before another thread has begun
AT_ONCE = 256  # pieces of a text in mapped files whose tokens are looked up together
TASKS = 16  # parts that a block is divided into, for any number of threads
# Where words are divided: the last parts are small, so that no thread waits long for another.
TAPERED = np.cumsum(np.repeat([4, 2, 1], [8, 4, 4]))[:-1] / 44


@dataclass(frozen=True)
class Slots:
    """Pairs of word types that co-occur: word e's slots are row_start[e]:row_start[e + 1], with target words `target`."""

    row_start: np.ndarray  # int64 (source words + 1,)
    target: np.ndarray  # int32 (slots,)
    n_targets: int

    def __len__(self) -> int:
        return len(self.target)

    @property
    def n_sources(self) -> int:
        return len(self.row_start) - 1

    @property
    def source(self) -> np.ndarray:
        """The source word of each slot."""
        return np.repeat(np.arange(self.n_sources), np.diff(self.row_start))

    def kept(self, values: np.ndarray, least: float, store: Store | None = None) -> tuple[Slots, np.ndarray]:
        """Only the slots with a value (of (slots,) or (slots, 2)) above `least`, rows sorted by target word; their values.

        Both go to a store, if there is one, run by run.
        """
        growing = store or Store()
        targets, kept = growing.growing(), growing.growing()
        targets.append(self.target[:0])
        kept.append(values[:0])
        lengths = np.zeros(self.n_sources, np.int64)
        for first, last in self.runs():  # so that what sorting takes does not grow with the slots
            low, high = self.row_start[first], self.row_start[last]
            used = values[low:high] > least
            own = low + np.flatnonzero(used.any(axis=1) if used.ndim > 1 else used)
            lengths[first:last] = np.diff(np.searchsorted(own, self.row_start[first : last + 1]))
            rows = np.repeat(np.arange(last - first), lengths[first:last])
            own = own[np.argsort(rows * np.int64(self.n_targets) + self.target[own], kind="stable")]
            targets.append(self.target[own])
            kept.append(values[own])
            release(self.target[low:high])
            release(values[low:high])
        return Slots(cumulative(lengths), targets.whole(), self.n_targets), kept.whole()

    def runs(self) -> list[tuple[int, int]]:
        """Runs of source words, see `slot_runs`."""
        return slot_runs(self.row_start)

    def none(self) -> Slots:
        """No slots at all, in place of these."""
        return Slots(np.zeros(1, np.int64), np.empty(0, np.int32), self.n_targets)

    def rows(self, first: int, last: int) -> Slots:
        """Only those of source words first..last - 1, for the same vocabularies."""
        low, high = self.row_start[first], self.row_start[last]
        return Slots(np.clip(self.row_start, low, high) - low, self.target[low:high], self.n_targets)


@dataclass(frozen=True)
class Block:
    """Consecutive pieces that are worked on together: their cells fit in a workspace.

    `first`:`last` are its pieces, `pieces` and `ranks` what kernels are told of them.  A *row* is a source token and
    `row_piece` its piece.  `order` lists the rows by source word; `word_tasks` cuts that list between words and `tasks` cuts
    the pieces, both into parts of about equal work, which are the same for any number of threads.
    """

    first: int
    last: int
    pieces: Pieces
    ranks: Ranks
    row_piece: np.ndarray  # int32 (rows,)
    order: np.ndarray  # int32 (rows,)
    word_tasks: list[np.ndarray]
    tasks: list[tuple[int, int]]
    columns: int
    longest: int  # tokens of the longest side of any piece of the shard: the size of the kernels' scratch space

    @property
    def lines(self) -> np.ndarray:
        return self.pieces.lines

    @property
    def rank(self) -> np.ndarray:
        return self.ranks.rank

    @property
    def rows(self) -> int:
        return len(self.order)

    @property
    def cells(self) -> int:
        line = self.lines[-1]
        return int(line[CELL] + line[LENGTH_I] * line[LENGTH_J])

    def view(self, work: Workspace) -> Workspace:
        """The part of a shard's workspace that this block needs."""
        sizes = self.cells, self.cells, self.columns, self.rows
        return Workspace(*(values[:size] for values, size in zip(work, sizes, strict=True)))


@dataclass(frozen=True)
class Place:
    """Where a shard stands among others: its number and first piece, which slots of the whole text its own are, and the
    store that all of them put things aside in."""

    number: int
    first: int
    slots: np.ndarray  # int32 or int64 (slots of the shard,)
    store: Store


@dataclass(frozen=True)
class Shard:
    """A packed bitext laid out for the kernels: its windows, its slots, and blocks of pieces.

    One that is a part of a text has a `place` there; its words have the same numbers as in the whole text.
    """

    source_ids: np.ndarray
    target_ids: np.ndarray
    pieces: Windows
    slots: Slots
    blocks: list[Block]
    place: Place | None = None

    @property
    def first(self) -> int:
        """The number of its first piece in the whole text."""
        return 0 if self.place is None else self.place.first

    @property
    def longest(self) -> int:
        """Tokens of the longest side of any piece."""
        return self.blocks[0].longest if self.blocks else 0

    @property
    def total(self) -> int:
        """How many cells there are."""
        return sum(block.cells for block in self.blocks)

    def workspace(self) -> Workspace:
        """Room for the largest block; `Block.view` cuts it to size."""
        cells, columns, rows = (
            max((getattr(block, name) for block in self), default=0) for name in ("cells", "columns", "rows")
        )
        return Workspace(*(np.empty(size, np.float32) for size in (cells, cells, columns, rows)))

    def token_counts(self) -> tuple[np.ndarray, np.ndarray]:
        """How many tokens of all pieces each source and each target word has."""
        pieces, slots = self.pieces, self.slots
        source = self.source_ids[token_places(pieces.source_start, pieces.source_length)]
        target = self.target_ids[token_places(pieces.target_start, pieces.target_length)]
        return np.bincount(source, minlength=slots.n_sources), np.bincount(target, minlength=slots.n_targets)

    def picked(self, pieces: np.ndarray, pool: Pool) -> Shard:
        """Some of the pieces (by number) laid out by themselves, for the same vocabularies."""
        sizes = self.slots.n_sources, self.slots.n_targets
        return lay_out_pieces(self.source_ids, self.target_ids, self.pieces, pieces, *sizes, pool)

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)


def shard_of(bitext: Bitext, pool: Pool, *, ranked: bool = True) -> Shard:
    """A bitext, laid out; `ranked` as of `lay_out`."""
    source, target = bitext.source, bitext.target
    sizes = len(source.vocabulary), len(target.vocabulary)
    block_cells = BLOCK_CELLS if ranked else UNRANKED_CELLS
    return lay_out(source.ids, source.offsets, target.ids, target.offsets, *sizes, pool, block_cells, ranked=ranked)


def lay_out(
    source_ids: np.ndarray,
    source_offsets: np.ndarray,
    target_ids: np.ndarray,
    target_offsets: np.ndarray,
    n_sources: int,
    n_targets: int,
    pool: Pool,
    block_cells: int | None = None,
    longest: int = 0,
    *,
    ranked: bool = True,
) -> Shard:
    """Cut a packed bitext into pieces, give every co-occurring pair of types a slot and every cell its rank.

    Linear in the number of cells: rows are counting-sorted by source word, and each word numbers its partners.  `longest` is
    that of a larger text, if this is a part of one.  A text that is not `ranked` has no slots: for a lexicon that looks
    cells up by their words.
    """
    pieces = cut(source_offsets, target_offsets)
    piece_row = cumulative(pieces.source_length)
    piece_column = cumulative(pieces.target_length)
    piece_cell = cumulative(pieces.source_length.astype(np.int64) * pieces.target_length)
    row_piece = np.repeat(np.arange(len(pieces), dtype=np.int32), pieces.source_length)
    words = source_ids[token_places(pieces.source_start, pieces.source_length)]
    targets = pieces.target_start, pieces.target_length, target_ids
    if ranked:
        order, word_starts = kernels.sort_by_word(words, n_sources)
        tokens = kernels.Tokens(order, word_starts, row_piece, piece_row, piece_cell, *targets)
        slots, rank = _ranked(tokens, n_targets, pool)
    else:
        slots, rank = Slots(np.zeros(n_sources + 1, np.int64), np.empty(0, np.int32), n_targets), np.empty(0, np.uint16)

    longest = max(longest, longest_side(pieces))
    blocks = []
    of_pieces = pieces.source_start, pieces.target_start, pieces.source_length, pieces.target_length
    for first, last in block_runs(piece_cell, block_cells):
        rows, cells = slice(piece_row[first], piece_row[last]), slice(piece_cell[first], piece_cell[last])
        before = [place[first:last] - place[first] for place in (piece_row, piece_column, piece_cell)]
        lines = np.stack([*before, *(values[first:last] for values in of_pieces)], axis=1).astype(np.int64)
        block_pieces, ranks = Pieces(lines, source_ids, target_ids), Ranks(slots.row_start, rank[cells])
        columns = int(piece_column[last] - piece_column[first])
        of_rows = row_piece[rows] - np.int32(first), words[rows]
        blocks.append(_block((first, last), block_pieces, ranks, *of_rows, columns, longest))
    return Shard(source_ids, target_ids, pieces, slots, blocks)


def _ranked(tokens: kernels.Tokens, n_targets: int, pool: Pool) -> tuple[Slots, np.ndarray]:
    """Slots of the pairs of types that co-occur, and the rank of every cell."""
    cells_of_word = np.diff(cumulative(tokens.target_length[tokens.row_piece[tokens.order]])[tokens.word_starts])
    bound = np.minimum(cells_of_word, n_targets)
    bound[cells_of_word > kernels.RANK_LIMIT] = n_targets
    rank = np.empty(tokens.piece_cell[-1], np.uint16)

    def rank_words(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        return kernels.rank_cells(first, last, tokens, n_targets, int(bound[first:last].sum()), rank)

    cuts = _equal_shares(cells_of_word + bound // 4, max(TASKS, int(bound.sum() >> 24)))
    found = pool.map(rank_words, cuts)
    lengths = np.concatenate([lengths for _, lengths in found]) if found else np.zeros(len(cells_of_word))
    target = np.concatenate([partners for partners, _ in found]) if found else np.empty(0, np.int32)
    return Slots(cumulative(lengths), target, n_targets), rank


def lay_out_pieces(
    source_ids: np.ndarray,
    target_ids: np.ndarray,
    pieces: Windows,
    chosen: np.ndarray,
    n_sources: int,
    n_targets: int,
    pool: Pool,
    block_cells: int | None = None,
    longest: int = 0,
) -> Shard:
    """Some pieces (by number) of a packed bitext laid out by themselves, for the same vocabularies."""
    lengths = [_picked(values, chosen) for values in (pieces.source_length, pieces.target_length)]
    sides = (
        _tokens(source_ids, _picked(pieces.source_start, chosen), lengths[0]),
        cumulative(lengths[0]),
        _tokens(target_ids, _picked(pieces.target_start, chosen), lengths[1]),
        cumulative(lengths[1]),
    )
    return lay_out(*sides, n_sources, n_targets, pool, block_cells, longest)


def _picked(values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    found = values[chosen]
    release(values)
    return found


def _tokens(ids: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """The tokens of pieces, in order; of ids in a mapped file little is in memory at a time."""
    if len(start) and (start[1:] == start[:-1] + length[:-1]).all():  # as they stand in the text
        together = ids[start[0] : start[-1] + length[-1]]
        found = together.copy()
        release(together)
        return found
    found, done = np.empty(int(length.sum()), ids.dtype), 0
    for first in range(0, len(start), AT_ONCE):
        run = slice(first, first + AT_ONCE)
        tokens = ids[token_places(start[run], length[run])]
        found[done : done + len(tokens)] = tokens
        done += len(tokens)
        release(ids)
    return found


def longest_side(pieces: Windows) -> int:
    """Tokens of the longest side of any piece."""
    return int(max(pieces.source_length.max(initial=0), pieces.target_length.max(initial=0)))


def token_places(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Places in the packed ids of the tokens of pieces, in order."""
    before = cumulative(length)
    return np.repeat(start - before[:-1], length) + np.arange(before[-1])


def slot_runs(row_start: np.ndarray) -> list[tuple[int, int]]:
    """Runs of rows with about SLOT_TASK entries each; of fewer entries TASKS runs, so that all threads have work."""
    size = min(max(int(row_start[-1]) // TASKS, LEAST_SLOTS), SLOT_TASK)
    edges = np.searchsorted(row_start, np.arange(0, row_start[-1] + size, size))
    edges = np.unique(np.minimum(edges, len(row_start) - 1))
    edges[-1] = len(row_start) - 1
    return [(int(low), int(high)) for low, high in pairwise(edges)]


def cumulative(lengths: np.ndarray) -> np.ndarray:
    total = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=total[1:])
    return total


def block_runs(piece_cell: np.ndarray, block_cells: int | None = None) -> list[tuple[int, int]]:
    """Runs of pieces with at most `block_cells` cells (BLOCK_CELLS unless told), or one larger piece alone."""
    block_cells = BLOCK_CELLS if block_cells is None else block_cells
    runs = []
    first, pieces = 0, len(piece_cell) - 1
    while first < pieces:
        last = int(np.searchsorted(piece_cell, piece_cell[first] + block_cells, side="right")) - 1
        last = min(max(last, first + 1), pieces)
        runs.append((first, last))
        first = last
    return runs


def _block(
    run: tuple[int, int],
    pieces: Pieces,
    ranks: Ranks,
    row_piece: np.ndarray,
    words: np.ndarray,
    columns: int,
    longest: int,
) -> Block:
    order, starts = kernels.sort_by_word(words, int(words.max(initial=-1)) + 1)
    I, J = pieces.lines[:, LENGTH_I], pieces.lines[:, LENGTH_J]
    cells_before = cumulative(J[row_piece[order]])
    shares = _cut(np.diff(cells_before[starts]), TAPERED)
    cost = I * J * (I + J + 16)  # both directions of an HMM, and what every cell costs anyway
    word_tasks = [order[starts[low] : starts[high]] for low, high in shares]
    return Block(*run, pieces, ranks, row_piece, order, word_tasks, _equal_shares(cost, TASKS), columns, longest)


def _equal_shares(cost: np.ndarray, shares: int) -> list[tuple[int, int]]:
    """Cut 0..len(cost) into at most `shares` runs of about equal cost, none empty."""
    return _cut(cost, np.arange(1, shares) / shares)


def _cut(cost: np.ndarray, parts: np.ndarray) -> list[tuple[int, int]]:
    """Cut 0..len(cost) where these parts of all cost have been met, into runs of which none is empty."""
    if not len(cost):
        return []
    total = np.cumsum(cost, dtype=np.float64)
    cuts = np.searchsorted(total, total[-1] * parts, side="left") + 1
    edges = np.unique(np.concatenate([[0], np.minimum(cuts, len(cost)), [len(cost)]]))
    return [(int(low), int(high)) for low, high in pairwise(edges)]
