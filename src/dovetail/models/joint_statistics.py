"""What the flagship's E-step counts: links, exactly, and jumps and fertilities of words, block after block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from dovetail.bitext.sharding import StoredShards, places_of, unite
from dovetail.bitext.shards import Block, Slots
from dovetail.bitext.store import Store, release
from dovetail.kernels.hmm import word_jumps as kernels
from dovetail.kernels.live import cells as live_kernels
from dovetail.kernels.records import TARGET_SIDE, Side, Workspace
from dovetail.models.jumps.word import BINS, POSITIONS
from dovetail.models.lexicon.table import add_with_nulls
from dovetail.models.live import Live
from dovetail.pool import Pool


@dataclass
class LinkCounts:
    """Expected links by slot, and of NULL with each word; exact sums, as `LexiconCounts`.  `used`: slots of live cells."""

    slots: np.ndarray
    null_forward: np.ndarray
    null_reverse: np.ndarray
    used: np.ndarray | None = None  # bool (slots,), where somebody wants to know

    @classmethod
    def zeros(cls, slots: Slots, used: bool = False) -> LinkCounts:
        marks = np.zeros(len(slots), np.bool_) if used else None
        return cls(np.zeros(len(slots)), np.zeros(slots.n_targets), np.zeros(slots.n_sources), marks)

    def add(
        self, live: Live, block: Block, work: Workspace, pool: Pool, beside: Sequence[tuple[Any, ...]] = ()
    ) -> list[Any]:
        """Add the counts of a block's live cells and NULLs; no two tasks share an entry.

        Tasks `beside`, each a function and its arguments, are done by the way; returns what they return.
        """
        tasks = list(beside)
        if self.used is not None:
            tasks.append((live_kernels.mark_used, live.cells.slot, self.used))
        tasks += [(live_kernels.scatter, order, live.cells, self.slots) for order in block.word_tasks]
        return add_with_nulls(tasks, self.null_forward, self.null_reverse, block, work, pool)[: len(beside)]

    def __add__(self, other: LinkCounts) -> LinkCounts:
        used = self.used if other.used is None else other.used if self.used is None else self.used | other.used
        nulls = self.null_forward + other.null_forward, self.null_reverse + other.null_reverse
        return LinkCounts(self.slots + other.slots, *nulls, used)

    def apart(self, corpus: StoredShards, number: int, pool: Pool) -> LinksApart:
        """Those of one of many shards, put aside."""
        corpus.store.put(_counts(number), {"counts": self.slots}, pool)
        return LinksApart(corpus.store, [number], self.null_forward, self.null_reverse)


@dataclass
class LinksApart:
    """The same of several shards, each on the slots that have live cells there, until an M-step wants their sums."""

    store: Store
    shards: list[int]
    null_forward: np.ndarray
    null_reverse: np.ndarray

    def __add__(self, other: LinksApart) -> LinksApart:
        nulls = self.null_forward + other.null_forward, self.null_reverse + other.null_reverse
        return LinksApart(self.store, self.shards + other.shards, *nulls)

    def unite(self, n_targets: int, pool: Pool) -> Slots:
        """All slots that have a live cell in some shard; each shard is told where its own are."""
        return unite([live_slots(number) for number in self.shards], n_targets, self.store, pool)

    def whole(self, slots: Slots, pool: Pool) -> np.ndarray:
        """Sums of the counts of all shards, by slot."""
        total = np.zeros(len(slots))
        parts = []
        for number in self.shards:
            rows, places = (
                self.store.get(live_slots(number))["row_start"],
                self.store.get(places_of(live_slots(number))),
            )
            parts.append((rows, places["places"], self.store.get(_counts(number))["counts"]))

        def run(first: int, last: int) -> None:
            for rows, places, counts in parts:
                own = slice(rows[first], rows[last])
                total[places[own]] += counts[own]
                for values in (rows, places, counts):  # all of them: what the system mapped around the run, too
                    release(values)

        pool.map(run, slots.runs())
        for number in self.shards:
            self.store.remove(_counts(number))
        return total


def live_slots(number: int) -> str:
    """The group of a store that holds those slots of a shard that have live cells."""
    return f"live-{number:05d}"


def _counts(number: int) -> str:
    return f"counts-{number:05d}"


@dataclass
class WordSums:
    """Of a text: jumps (words, 2, bins) and fertilities (words, K + 1) of source and of target words, ends of sentences."""

    jumps: tuple[np.ndarray, np.ndarray]
    ends: np.ndarray  # float64 (directions, start and end, counts and exposure, positions)
    fertility: tuple[np.ndarray, np.ndarray]
    log_likelihood: np.ndarray

    @classmethod
    def zeros(cls, sizes: tuple[int, int], fertilities: int) -> WordSums:
        jumps = np.zeros((sizes[0], 2, BINS)), np.zeros((sizes[1], 2, BINS))
        fertility = np.zeros((sizes[0], fertilities)), np.zeros((sizes[1], fertilities))
        return cls(jumps, no_ends(), fertility, np.zeros(2))

    def add(self, block: BlockSums) -> None:
        """Add a block's."""
        self.ends += block.ends
        self.log_likelihood += block.log_likelihood
        for side, own in enumerate(block.sides):
            own.add_to(self, side)


class SideSums(NamedTuple):
    """Of a block's source words, or of its target words."""

    words: np.ndarray  # int64: ascending
    jumps: np.ndarray  # float64 (words, 2, bins)
    fertility: np.ndarray  # float64 (words, K + 1)

    def add_to(self, sums: WordSums, side: int) -> None:
        """Add these to a text's of that side."""
        kernels.add_rows(self.words, self.jumps.reshape(len(self.words), -1), sums.jumps[side].reshape(-1, 2 * BINS))
        kernels.add_rows(self.words, self.fertility, sums.fertility[side])


class BlockSums(NamedTuple):
    """The same of a block; `sides`: source words and target words, or none where only links are counted."""

    sides: tuple[SideSums, ...]
    ends: np.ndarray
    log_likelihood: np.ndarray


def no_ends() -> np.ndarray:
    """No ends of sentences yet: directions, start and end, counts and exposure, positions."""
    return np.zeros((2, 2, 2, POSITIONS))


@dataclass
class JointStatistics:
    """Links, whose sums are exact, and sums over words, to which blocks are added in the order of the text.

    So they are the same however blocks are shared out among shards.  Of one of many shards, `blocks` wait for that.
    """

    lexicon: LinkCounts | LinksApart
    blocks: list[BlockSums] = field(default_factory=list)
    sums: WordSums | None = None  # of the blocks before those

    def __add__(self, other: JointStatistics) -> JointStatistics:
        both = self.lexicon + other.lexicon  # type: ignore[operator]
        return JointStatistics(both, other.blocks, self.added())

    def added(self) -> WordSums:
        """All blocks, added up."""
        fertilities = (own.fertility.shape[1] for block in self.blocks for own in block.sides)
        sums = self.sums or self.begun(max(fertilities, default=1))
        while self.blocks:
            sums.add(self.blocks.pop(0))
        return sums

    def begun(self, fertilities: int) -> WordSums:
        """Where blocks are added up, nothing yet."""
        links = self.lexicon
        self.sums = WordSums.zeros((len(links.null_reverse), len(links.null_forward)), fertilities)
        return self.sums

    @property
    def log_likelihood(self) -> np.ndarray:
        return self.added().log_likelihood

    def apart(self, corpus: StoredShards, number: int, pool: Pool) -> JointStatistics:
        """Those of one of many shards, with its links put aside."""
        return replace(self, lexicon=self.lexicon.apart(corpus, number, pool))  # type: ignore[union-attr]


class OwnWords(NamedTuple):
    """Words of one side of a block, and its tokens by their numbers among these."""

    words: np.ndarray  # int64: ascending
    lines: np.ndarray  # the block's, for these ids
    ids: np.ndarray  # int32 (tokens,)


def own_words(block: Block, side: Side) -> OwnWords:
    """Number the words of a block's tokens."""
    lines, ids = block.lines.copy(), (block.pieces.source_ids, block.pieces.target_ids)[side is TARGET_SIDE]
    first = lines[:, side.start].min(initial=len(ids))
    last = (lines[:, side.start] + lines[:, side.length]).max(initial=first)
    lines[:, side.start] -= first
    tokens = ids[first:last]
    number = np.zeros(tokens.max(initial=-1) + 1, np.int32)
    number[tokens] = 1
    words = np.flatnonzero(number)
    number[words] = np.arange(len(words))
    return OwnWords(words, lines, number[tokens])
