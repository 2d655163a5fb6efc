"""How often each link of a text was in a sample: of the cells of blocks while chains run, then pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from dovetail.bitext.shards import Block, cumulative
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET
from dovetail.models.hmm import DIRECTIONS


class Cells(NamedTuple):
    """Cells of a block that were links in some samples, and in how many each; those of a tally rise."""

    cell: np.ndarray  # int32
    times: np.ndarray  # int32

    @classmethod
    def none(cls) -> Cells:
        return cls(np.zeros(0, np.int32), np.zeros(0, np.int32))

    @classmethod
    def linked(cls, block: Block, direction: int, alignment: np.ndarray) -> Cells:
        """The links of one sample; a token has one link at most, so that no cell comes twice."""
        I, J, first = block.lines[:, LENGTH_I], block.lines[:, LENGTH_J], block.lines[:, CELL]
        token = np.flatnonzero(alignment >= 0)
        partner = alignment[token].astype(np.int64)
        piece = np.repeat(np.arange(len(I)), J if direction == 0 else I)[token]
        if direction == 0:  # first + i J + j, tokens being counted through the block
            cell = (first - block.lines[:, COLUMN])[piece] + partner * J[piece] + token
        else:
            cell = (first - block.lines[:, ROW] * J)[piece] + token * J[piece] + partner
        return cls(cell.astype(np.int32), np.ones(len(cell), np.int32))

    def plus(self, other: Cells, block: Block) -> Cells:
        """A tally of both."""
        times = np.zeros(block.cells, np.int32)
        times[self.cell] = self.times
        times[other.cell] += other.times
        cell = np.flatnonzero(times).astype(np.int32)
        return Cells(cell, times[cell])

    def edges(self, block: Block) -> np.ndarray:
        """Where the entries of each piece of the block begin, and all of them end."""
        return np.searchsorted(self.cell, np.append(block.lines[:, CELL], block.cells))


Tallied = tuple[Block, tuple[Cells, Cells]]  # both directions of a block


@dataclass(frozen=True)
class Samples:
    """How often each link was in a sample, pair by pair: pairs of the same words are one, whose samples are added up.

    `keys` of pairs rise; entries of pair n are begin[d][n]:begin[d][n + 1] of `cell` (i J + j) and `count` of direction d.
    """

    keys: np.ndarray  # uint64 (pairs,)
    samples: np.ndarray  # int64 (pairs,)
    begin: tuple[np.ndarray, np.ndarray]  # int64 (pairs + 1,)
    cell: tuple[np.ndarray, np.ndarray]  # int32
    count: tuple[np.ndarray, np.ndarray]  # int32

    @classmethod
    def of(cls, tallied: Callable[[], Iterator[Tallied]], number: int) -> Samples:
        """Of a text that `number` samples were drawn of.  Its blocks are gone over more than once, one after another."""
        keys = np.array([key for block, _ in tallied() for key in keys_of(block, None)], np.uint64)
        found, pair, pieces = np.unique(keys, return_inverse=True, return_counts=True)
        forward, reverse = (_by_pair(tallied, direction, pair, pieces) for direction in range(2))
        begin, cell, count = zip(forward, reverse, strict=True)
        return cls(found, number * pieces.astype(np.int64), begin, cell, count)

    def frequencies(self, key: int, I: int, J: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Both directions' shares of samples (I, J), or None of a pair that was not sampled."""
        n = int(np.searchsorted(self.keys, np.uint64(key)))
        if n == len(self.keys) or self.keys[n] != key:
            return None
        tables = []
        for begin, cell, count in zip(self.begin, self.cell, self.count, strict=True):
            table, own = np.zeros(I * J, np.float32), slice(begin[n], begin[n + 1])
            table[cell[own]] = count[own] / self.samples[n]
            tables.append(table.reshape(I, J))
        return tables[0], tables[1]

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {"samples.keys": self.keys, "samples.number": self.samples}
        for d, name in enumerate(DIRECTIONS):
            parts = {"begin": self.begin[d], "cell": self.cell[d], "count": self.count[d]}
            arrays |= {f"samples.{name}.{part}": values for part, values in parts.items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Samples:
        parts = ((arrays[f"samples.{name}.{part}"] for name in DIRECTIONS) for part in ("begin", "cell", "count"))
        return cls(arrays["samples.keys"], arrays["samples.number"], *((one, other) for one, other in parts))


def _by_pair(
    tallied: Callable[[], Iterator[Tallied]], direction: int, pair: np.ndarray, pieces: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`begin`, `cell` and `count` of a direction; `pair` is that of each piece, `pieces` are how many each pair has."""
    own = [np.diff(tally[direction].edges(block)) for block, tally in tallied()]
    sizes = np.concatenate([np.zeros(0, np.int64), *own])
    order = np.argsort(pair, kind="stable")
    place = np.empty(len(pair), np.int64)  # where the entries of each piece will begin
    place[order] = cumulative(sizes[order])[:-1]
    cell, count = (np.empty(int(sizes.sum()), np.int32) for _ in range(2))
    first = 0
    for block, tally in tallied():
        entries, edges = tally[direction], tally[direction].edges(block)
        last = first + len(block.lines)
        to = np.repeat(place[first:last] - edges[:-1], np.diff(edges)) + np.arange(edges[-1])
        cell[to] = entries.cell - np.repeat(block.lines[:, CELL], np.diff(edges))
        count[to] = entries.times
        first = last
    lengths = np.bincount(pair, sizes, len(pieces)).astype(np.int64)
    begin, kept = cumulative(lengths), np.ones(len(cell), np.bool_)
    for n in np.flatnonzero(pieces > 1):  # whose cells rise once for each piece
        low, high = begin[n], begin[n + 1]
        found, which = np.unique(cell[low:high], return_inverse=True)
        middle = low + len(found)
        cell[low:middle], count[low:middle] = found, np.bincount(which, count[low:high])
        kept[middle:high] = False
        lengths[n] = len(found)
    return cumulative(lengths), cell[kept], count[kept]


def keys_of(block: Block, words: tuple[np.ndarray, np.ndarray] | None) -> Iterator[int]:
    """A number for each piece that tells its words; `words` are their numbers in the text that was trained on."""
    for line in block.lines:
        ids = [
            block.pieces.source_ids[line[SOURCE] : line[SOURCE] + line[LENGTH_I]],
            block.pieces.target_ids[line[TARGET] : line[TARGET] + line[LENGTH_J]],
        ]
        if words is not None:
            ids = [numbers[own] for numbers, own in zip(words, ids, strict=True)]
        told = np.concatenate([[line[LENGTH_I]], *ids]).astype("<i8").tobytes()
        yield int.from_bytes(blake2b(told, digest_size=8).digest(), "little")
