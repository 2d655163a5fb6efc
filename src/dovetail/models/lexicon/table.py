"""The lexicon as probabilities: which target word a source word yields, t(f | e), and the other way round, t(e | f)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from dovetail.bitext.sharding import StoredShards
from dovetail.bitext.shards import SLOT_TASK, Block, Shard, Slots
from dovetail.bitext.store import FROM_A_FILE, Store, map_of, release
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.kernels.lexicon import table as kernels
from dovetail.kernels.lexicon import transfer as transfer_kernels
from dovetail.kernels.records import SOURCE_SIDE, TARGET_SIDE, Nulls, Workspace
from dovetail.models.checks import TINY, Array, checked_arrays, saved_slots
from dovetail.models.lexicon.lexicon import Lexicon, Prior, all_pseudo_counts
from dovetail.models.lexicon.words import WordMap, picked
from dovetail.options import Options, option
from dovetail.pool import Pool

UNSEEN = np.float32(1e-6)
BOTH_UNSEEN = np.float32(1e-4)
SAME_SPELLING = np.float32(0.1)


@dataclass(frozen=True)
class Smoothing(Options):
    """What the M-step does about counts that are too small to trust.

    With `variational`, `additive` is the parameter of a symmetric Dirichlet prior, and the entry is
    exp(digamma(count + a) - digamma(total + a n)) (Johnson 2007), which starves rare events.
    """

    additive: float = option(
        0.0, at_least=0.0, at_most=1e6, help="added to every count of a pair of words that co-occur"
    )
    variational: bool = option(False, help="whether that is a Dirichlet prior, by variational Bayes")


@dataclass
class LexiconCounts:
    """Expected links of each slot (slots, 2), and of NULL with each target and each source word.

    Posteriors are rounded to a grid of 2^-23, so that sums are exact: they come out the same in any order and grouping.
    """

    slots: np.ndarray
    null_forward: np.ndarray
    null_reverse: np.ndarray

    @classmethod
    def zeros(cls, slots: Slots) -> LexiconCounts:
        return cls(np.zeros((len(slots), 2)), np.zeros(slots.n_targets), np.zeros(slots.n_sources))

    def add(self, block: Block, work: Workspace, pool: Pool) -> None:
        """Add a block's posteriors.  No two tasks share an entry."""
        given = block.row_piece, block.pieces, block.ranks, work, self.slots
        tasks = [(kernels.scatter, order, *given) for order in block.word_tasks]
        add_with_nulls(tasks, self.null_forward, self.null_reverse, block, work, pool)

    def __add__(self, other: LexiconCounts) -> LexiconCounts:
        return LexiconCounts(
            self.slots + other.slots, self.null_forward + other.null_forward, self.null_reverse + other.null_reverse
        )

    def whole(self, slots: Slots, pool: Pool) -> LexiconCounts:
        return self

    def apart(self, corpus: StoredShards, number: int, pool: Pool) -> CountsApart:
        """Those of one of many shards, put aside."""
        corpus.store.put(_counts(number), {"counts": self.slots}, pool)
        return CountsApart(corpus, [number], self.null_forward, self.null_reverse)


@dataclass
class CountsApart:
    """The same of several shards: each has counts of its own slots in the store, until an M-step wants their sums."""

    corpus: StoredShards
    shards: list[int]
    null_forward: np.ndarray
    null_reverse: np.ndarray

    def __add__(self, other: CountsApart) -> CountsApart:
        nulls = self.null_forward + other.null_forward, self.null_reverse + other.null_reverse
        return CountsApart(self.corpus, self.shards + other.shards, *nulls)

    def whole(self, slots: Slots, pool: Pool) -> LexiconCounts:
        """Their sums, one run of source words after another, so that little of them is in memory at a time."""
        store = self.corpus.store
        total = store.table("counts", (len(slots), 2), np.float64)
        parts = [(*self.corpus.rows(number), store.get(_counts(number))["counts"]) for number in self.shards]

        def run(first: int, last: int) -> None:
            for row_start, places, counts in parts:
                own = slice(row_start[first], row_start[last])
                kernels.put(places[own], counts[own], total)
                for values in (row_start, places, counts):  # all of them: what the system mapped around the run, too
                    release(values)
            release(total[slots.row_start[first] : slots.row_start[last]])

        pool.map(run, slots.runs())
        for number in self.shards:
            store.remove(_counts(number))
        return LexiconCounts(total, self.null_forward, self.null_reverse)


def _counts(number: int) -> str:
    return f"counts-{number:05d}"


def add_with_nulls(
    tasks: Sequence[tuple[Any, ...]],
    forward: np.ndarray,
    reverse: np.ndarray,
    block: Block,
    work: Workspace,
    pool: Pool,
) -> list[Any]:
    """What tasks, each a kernel and its arguments, return; beside them NULL's posteriors are added to its counts."""
    lines, source_ids, target_ids = block.pieces
    nulls = [
        (kernels.scatter_null, lines, TARGET_SIDE, target_ids, work.null_forward, forward),
        (kernels.scatter_null, lines, SOURCE_SIDE, source_ids, work.null_reverse, reverse),
    ]
    return pool.map(lambda kernel, *arguments: kernel(*arguments), [*tasks, *nulls])[: len(tasks)]


@dataclass
class TableLexicon(Lexicon):
    """Translation probabilities of both directions on co-occurring pairs: `table[slot]` = t(f | e), t(e | f).

    What `priors` count of a pair is added to its expected links in every M-step.
    """

    SAVED: ClassVar = {
        "table": Array(np.float32, ("slots", 2), least=float(kernels.FLOOR), most=1.0 + 1e-4),
        "null_forward": Array(np.float32, ("target",), least=TINY, most=1.0 + 1e-4),
        "null_reverse": Array(np.float32, ("source",), least=TINY, most=1.0 + 1e-4),
    }

    slots: Slots
    table: np.ndarray  # float32 (slots, 2)
    nulls: Nulls
    smoothing: Smoothing = field(default_factory=Smoothing)
    pseudo_counts: np.ndarray | None = None  # float32 (slots,): of all priors together

    @classmethod
    def uniform(
        cls, slots: Slots, smoothing: Smoothing | None = None, table: np.ndarray | None = None, pool: Pool | None = None
    ) -> TableLexicon:
        """Uniform over the pairs that co-occur: where EM for IBM Model 1 starts (its likelihood has one peak).

        `table` is where its entries are to be written, float32 (slots, 2), if that is not simply in memory.
        """
        pool, lengths = pool or Pool(1), np.diff(slots.row_start)
        entries = np.empty((len(slots), 2), np.float32) if table is None else table

        def partners(first: int, last: int) -> np.ndarray:
            found = np.bincount(slots.target[first:last], minlength=slots.n_targets)
            release(slots.target[first:last])
            return found

        def fill(first: int, last: int) -> None:
            own = slice(slots.row_start[first], slots.row_start[last])
            entries[own, 0] = np.repeat(forward[first:last], lengths[first:last])
            entries[own, 1] = reverse[slots.target[own]]
            release(entries[own])
            release(slots.target[own])

        sizes = sum(pool.map(partners, slot_parts(len(slots))), np.zeros(slots.n_targets, np.int64))
        forward, reverse = 1.0 / np.maximum(lengths, 1), 1.0 / np.maximum(sizes, 1)
        pool.map(fill, slots.runs())
        nulls = (np.full(size, 1.0 / max(size, 1), np.float32) for size in (slots.n_targets, slots.n_sources))
        return cls(slots, entries, Nulls(*nulls), smoothing or Smoothing())

    def compact(self, store: Store | None = None) -> TableLexicon:
        """Without entries at the floor, which a missing one is read as."""
        return TableLexicon(*self.slots.kept(self.table, float(kernels.FLOOR), store), self.nulls, self.smoothing)

    def on(self, shard: Shard, pool: Pool) -> TableLexicon:
        """For the slots of one of many shards."""
        if shard.place is None:
            return self
        return replace(self, slots=shard.slots, table=taken_on(shard, self.table, pool), pseudo_counts=None)

    def transfer(self, slots: Slots, words: WordMap, pool: Pool, table: np.ndarray | None = None) -> TableLexicon:
        """This (compact) lexicon's entries for the slots of another text, with guesses for words it never saw.

        An unseen word goes anywhere with the same small probability, so that its neighbours decide; rather with
        another unseen word, and best with one spelled like it.  `table` as of `uniform`.
        """
        table = np.empty((len(slots), 2), np.float32) if table is None else table
        new = transfer_kernels.NewRows(slots.row_start, slots.target, words.source, words.target, words.twin)
        old = transfer_kernels.OldRows(self.slots.row_start, self.slots.target, self.table, self.slots.n_targets)
        at_once = FROM_A_FILE if map_of(self.table) is not None else max(slots.n_sources, 1)
        guesses = transfer_kernels.Guesses(kernels.FLOOR, UNSEEN, BOTH_UNSEEN, SAME_SPELLING)

        def rows(first: int, last: int) -> None:
            for begin in range(first, last, at_once):
                transfer_kernels.look_up(begin, min(begin + at_once, last), new, old, guesses, table)
                release(self.slots.target)  # other words have other rows
                release(self.table)
            own = slice(slots.row_start[first], slots.row_start[last])
            release(slots.target[own])
            release(table[own])

        pool.map(rows, slots.runs())
        nulls = Nulls(
            picked(self.nulls.forward, words.target, float(UNSEEN)),
            picked(self.nulls.reverse, words.source, float(UNSEEN)),
        )
        return TableLexicon(slots, table, nulls, self.smoothing)

    def probabilities(self, pool: Pool) -> np.ndarray:
        return self.table

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "lexicon.row_start": self.slots.row_start,
            "lexicon.target": self.slots.target,
            "lexicon.table": self.table,
            "lexicon.null_forward": self.nulls.forward,
            "lexicon.null_reverse": self.nulls.reverse,
        }

    def settings(self) -> dict[str, Any]:
        return asdict(self.smoothing)

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, np.ndarray], source: Vocabulary, target: Vocabulary, settings: dict[str, Any]
    ) -> TableLexicon:
        slots, sizes = saved_slots(arrays, source, target)
        table, null_forward, null_reverse = checked_arrays(arrays, "lexicon.", cls.SAVED, sizes)
        return cls(slots, table, Nulls(null_forward, null_reverse), Smoothing(**settings))

    def primed_by(self, other: Lexicon, words: WordMap, pool: Pool) -> TableLexicon:
        """Start from a trained (compact) lexicon: its entries for words it knows, these uniform ones for the rest."""
        moved = other.transfer(self.slots, words, pool)
        rows = np.repeat(words.source >= 0, np.diff(self.slots.row_start))
        known = rows & (words.target[self.slots.target] >= 0)
        # A little of the uniform entry keeps pairs alive that the old text never showed together.
        primed = 0.9 * moved.entries(pool) + 0.1 * self.table
        nulls = Nulls(
            np.where(words.target >= 0, moved.nulls.forward, self.nulls.forward),
            np.where(words.source >= 0, moved.nulls.reverse, self.nulls.reverse),
        )
        return replace(self, table=np.where(known[:, None], primed, self.table).astype(np.float32), nulls=nulls)

    def with_priors(self, priors: Sequence[Prior], vocabularies: tuple[Vocabulary, Vocabulary]) -> TableLexicon:
        """Lean on these priors from the next M-step on."""
        counts = all_pseudo_counts(priors, self.slots, vocabularies)
        return replace(self, pseudo_counts=counts) if len(counts) else self

    def reestimate(self, counts: LexiconCounts | CountsApart, pool: Pool) -> TableLexicon:
        """M-step, in place (the table of a large corpus should not exist twice):

        t(f | e) = c(f, e) / sum over f' of c(f', e), with what `smoothing` adds; likewise in the other direction.
        """
        slots, how = self.slots, (self.smoothing.additive, self.smoothing.variational)
        counts = counts.whole(slots, pool)
        totals = np.zeros(slots.n_targets)
        sizes = np.zeros(slots.n_targets, np.int64)

        def rows(first: int, last: int) -> None:
            own = slice(slots.row_start[first], slots.row_start[last])
            if self.pseudo_counts is not None:
                counts.slots[own] += self.pseudo_counts[own, None]
            kernels.normalise_rows(first, last, slots.row_start, counts.slots, *how, self.table)
            release(counts.slots[own])
            release(self.table[own])

        def columns(first: int, last: int) -> None:
            kernels.normalise_columns(first, last, slots.target, totals, sizes, counts.slots, *how, self.table)
            for values in (slots.target, counts.slots, self.table):
                release(values[first:last])

        pool.map(rows, slots.runs())
        for first, last in slot_parts(len(slots)):
            kernels.column_totals(slots.target[first:last], counts.slots[first:last], totals, sizes)
            release(slots.target[first:last])
            release(counts.slots[first:last])
        pool.map(columns, slot_parts(len(slots)))
        kernels.normalise_null(counts.null_forward, *how, self.nulls.forward)
        kernels.normalise_null(counts.null_reverse, *how, self.nulls.reverse)
        return self

    def copy(self) -> TableLexicon:
        """One that the next M-step does not write over."""
        return replace(self, table=self.table.copy(), nulls=Nulls(self.nulls.forward.copy(), self.nulls.reverse.copy()))


def taken_on(shard: Shard, table: np.ndarray, pool: Pool) -> np.ndarray:
    """The entries of a table of the whole text's slots, float32 (slots, 2), for the slots of one of many shards."""
    assert shard.place is not None
    taken, places = np.empty((len(shard.slots), 2), np.float32), shard.place.slots

    def part(first: int, last: int) -> None:
        kernels.take(first, last, places, table, taken)
        release(table[places[first:last].min() : places[first:last].max() + 1])

    runs = [(shard.slots.row_start[first], shard.slots.row_start[last]) for first, last in shard.slots.runs()]
    pool.map(part, [(int(first), int(last)) for first, last in runs if first < last])
    return taken


def link_totals(counts: np.ndarray, slots: Slots) -> tuple[np.ndarray, np.ndarray]:
    """Links of each source word forward, of each target word in reverse, by the counts of their slots (slots, 2)."""
    forward, reverse = np.zeros(slots.n_sources), np.zeros(slots.n_targets)
    for first, last in slots.runs():
        own = slice(slots.row_start[first], slots.row_start[last])
        before = np.concatenate([[0.0], np.cumsum(counts[own, 0])])
        forward[first:last] = np.diff(before[slots.row_start[first : last + 1] - slots.row_start[first]])
        reverse += np.bincount(slots.target[own], counts[own, 1], slots.n_targets)
        release(counts[own])
        release(slots.target[own])
    return forward, reverse


def marked(marks: np.ndarray, pool: Pool) -> np.ndarray:
    """Places of what is marked, in order."""

    def places(first: int, last: int) -> np.ndarray:
        return first + np.flatnonzero(marks[first:last])

    return np.concatenate([np.empty(0, np.int64), *pool.map(places, slot_parts(len(marks)))])


def slot_parts(slots: int) -> list[tuple[int, int]]:
    """Runs of about SLOT_TASK slots."""
    return [(first, min(first + SLOT_TASK, slots)) for first in range(0, slots, SLOT_TASK)]
