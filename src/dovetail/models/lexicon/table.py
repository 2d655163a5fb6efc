"""The lexicon factor: which target word a source word yields, t(f | e), and which source word a target word, t(e | f)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import Block, Shard, Slots
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.engines import Threads
from dovetail.kernels.lexicon import table as kernels
from dovetail.kernels.lexicon import transfer as transfer_kernels
from dovetail.kernels.records import COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET, Workspace

SLOT_TASK = 1 << 21
UNSEEN = np.float32(1e-6)
BOTH_UNSEEN = np.float32(1e-4)
SAME_SPELLING = np.float32(0.1)


@dataclass(frozen=True)
class WordMap:
    """Word numbers of a new text in a model's vocabularies, -1 where unseen; `twin[e]`: the target word spelled like e."""

    source: np.ndarray
    target: np.ndarray
    twin: np.ndarray
    vocabularies: tuple[Vocabulary, Vocabulary]  # of the new text

    @classmethod
    def between(
        cls, bitext: Bitext, source: Vocabulary, target: Vocabulary, normalise: Callable[[str], str] = str
    ) -> WordMap:
        """From the bitext's vocabularies to a model's, whose words are normalised."""
        return cls(
            bitext.source.vocabulary.numbers_in(source, normalise),
            bitext.target.vocabulary.numbers_in(target, normalise),
            bitext.source.vocabulary.numbers_in(bitext.target.vocabulary),
            (bitext.source.vocabulary, bitext.target.vocabulary),
        )


@dataclass(frozen=True)
class Smoothing:
    """What the M-step does about counts that are too small to trust.

    `additive` is added to every count of a co-occurring pair; with `variational` it is the parameter of a symmetric
    Dirichlet prior, and the entry is exp(digamma(count + a) - digamma(total + a n)) (Johnson 2007), which starves
    rare events.
    """

    additive: float = 0.0
    variational: bool = False


@dataclass
class LexiconCounts:
    """Expected links of each slot (slots, 2), and of NULL with each target and each source word."""

    slots: np.ndarray
    null_forward: np.ndarray
    null_reverse: np.ndarray

    @classmethod
    def zeros(cls, slots: Slots) -> LexiconCounts:
        return cls(np.zeros((len(slots), 2)), np.zeros(slots.n_targets), np.zeros(slots.n_sources))


@dataclass
class Lexicon:
    """Translation probabilities of both directions on co-occurring pairs: `table[slot]` = t(f | e), t(e | f)."""

    slots: Slots
    table: np.ndarray  # float32 (slots, 2)
    null_forward: np.ndarray  # float32 (target words,): t(f | NULL)
    null_reverse: np.ndarray  # float32 (source words,): t(e | NULL)
    smoothing: Smoothing = field(default_factory=Smoothing)

    @classmethod
    def uniform(cls, slots: Slots, smoothing: Smoothing | None = None) -> Lexicon:
        """Uniform over the pairs that co-occur: where EM for IBM Model 1 starts (its likelihood has one peak)."""
        lengths = np.diff(slots.row_start)
        partners = np.bincount(slots.target, minlength=slots.n_targets)
        table = np.empty((len(slots), 2), np.float32)
        table[:, 0] = np.repeat(1.0 / np.maximum(lengths, 1), lengths)
        table[:, 1] = (1.0 / np.maximum(partners, 1))[slots.target]
        return cls(
            slots,
            table,
            np.full(slots.n_targets, 1.0 / max(slots.n_targets, 1), np.float32),
            np.full(slots.n_sources, 1.0 / max(slots.n_sources, 1), np.float32),
            smoothing or Smoothing(),
        )

    def compact(self) -> Lexicon:
        """The same lexicon with rows sorted by target word and without entries at the floor, which reads nothing else.

        This is what is saved, and what new text is looked up in.
        """
        kept = np.flatnonzero((self.table > kernels.FLOOR).any(axis=1))
        rows = np.repeat(np.arange(self.slots.n_sources), np.diff(self.slots.row_start))[kept]
        kept = kept[np.argsort(rows * np.int64(self.slots.n_targets) + self.slots.target[kept], kind="stable")]
        row_start = np.zeros(self.slots.n_sources + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=self.slots.n_sources), out=row_start[1:])
        slots = Slots(row_start, self.slots.target[kept], self.slots.n_targets)
        return Lexicon(slots, self.table[kept], self.null_forward, self.null_reverse, self.smoothing)

    def transfer(self, slots: Slots, words: WordMap, engine: Threads) -> Lexicon:
        """This (compact) lexicon's entries for the slots of another text, with guesses for words it never saw.

        An unseen word goes anywhere with the same small probability, so that its neighbours decide; rather with
        another unseen word, and best with one spelled like it.
        """
        table = np.empty((len(slots), 2), np.float32)
        engine.map(
            lambda first, last: transfer_kernels.look_up(
                first,
                last,
                slots.row_start,
                slots.target,
                words.source,
                words.target,
                words.twin,
                self.slots.row_start,
                self.slots.target,
                self.table,
                kernels.FLOOR,
                UNSEEN,
                BOTH_UNSEEN,
                SAME_SPELLING,
                table,
            ),
            slot_runs(slots.row_start),
        )
        nulls = [np.empty(size, np.float32) for size in (slots.n_targets, slots.n_sources)]
        transfer_kernels.look_up_null(words.target, self.null_forward, UNSEEN, nulls[0])
        transfer_kernels.look_up_null(words.source, self.null_reverse, UNSEEN, nulls[1])
        return Lexicon(slots, table, nulls[0], nulls[1], self.smoothing)

    def probabilities(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """t(f | e) and t(e | f) by slot (slots, 2), and NULL's: for other models to start from."""
        return self.table, self.null_forward, self.null_reverse

    def arrays(self) -> dict[str, np.ndarray]:
        """Parameters by name, for saving."""
        return {
            "lexicon.row_start": self.slots.row_start,
            "lexicon.target": self.slots.target,
            "lexicon.table": self.table,
            "lexicon.null_forward": self.null_forward,
            "lexicon.null_reverse": self.null_reverse,
        }

    def settings(self) -> dict[str, Any]:
        """What is no array, for saving."""
        return asdict(self.smoothing)

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, np.ndarray], source: Vocabulary, target: Vocabulary, settings: dict[str, Any]
    ) -> Lexicon:
        """The saved lexicon, or ValueError for one whose numbers would lead a kernel outside its arrays."""
        slots = saved_slots(arrays, source, target)
        table, null_forward, null_reverse = (
            arrays[f"lexicon.{name}"] for name in ("table", "null_forward", "null_reverse")
        )
        check_shapes(
            (table, np.float32, (len(slots), 2)),
            (null_forward, np.float32, (len(target),)),
            (null_reverse, np.float32, (len(source),)),
        )
        return cls(slots, table, null_forward, null_reverse, Smoothing(**settings))

    def primed_by(self, other: Any, words: WordMap, engine: Threads) -> Lexicon:
        """Start from a trained (compact) lexicon: its entries for words it knows, these uniform ones for the rest."""
        moved, null_forward, null_reverse = other.transfer(self.slots, words, engine).probabilities()
        rows = np.repeat(words.source >= 0, np.diff(self.slots.row_start))
        known = rows & (words.target[self.slots.target] >= 0)
        # A little of the uniform entry keeps pairs alive that the old text never showed together.
        table = np.where(known[:, None], 0.9 * moved + 0.1 * self.table, self.table).astype(np.float32)
        null_forward = np.where(words.target >= 0, null_forward, self.null_forward)
        null_reverse = np.where(words.source >= 0, null_reverse, self.null_reverse)
        return Lexicon(self.slots, table, null_forward, null_reverse, self.smoothing)

    def primed_by_dictionary(self, entries: list[tuple[int, int, float]]) -> Lexicon:
        """Raise the entries of (source word, target word, probability) triples that co-occur to that probability."""
        for e, f, probability in entries:
            low, high = self.slots.row_start[e], self.slots.row_start[e + 1]
            slots = low + np.flatnonzero(self.slots.target[low:high] == f)
            self.table[slots] = np.maximum(self.table[slots], np.float32(probability))
        return self

    def gather(self, shard: Shard, block: Block, work: Workspace, engine: Threads) -> None:
        """Fill the workspace with the probabilities of the block's cells."""
        gather_table(self.slots, self.table, shard, block, work, engine)

    def scatter(self, shard: Shard, block: Block, work: Workspace, counts: LexiconCounts, engine: Threads) -> None:
        """Add the block's posteriors to the counts of their word types.  No two tasks share an entry."""

        def task(order: np.ndarray | None, direction: int) -> None:
            if order is not None:
                kernels.scatter(
                    order,
                    block.row_piece,
                    block.lines,
                    shard.source_ids,
                    shard.target_ids,
                    self.slots.row_start,
                    block.rank,
                    work.forward,
                    work.reverse,
                    counts.slots,
                )
            elif direction == 0:
                kernels.scatter_null(
                    block.lines,
                    TARGET,
                    LENGTH_J,
                    COLUMN,
                    shard.target_ids,
                    work.null_forward,
                    counts.null_forward,
                )
            else:
                kernels.scatter_null(
                    block.lines,
                    SOURCE,
                    LENGTH_I,
                    ROW,
                    shard.source_ids,
                    work.null_reverse,
                    counts.null_reverse,
                )

        engine.map(task, [(order, 0) for order in block.word_tasks] + [(None, 0), (None, 1)])

    def reestimate(self, counts: LexiconCounts, engine: Threads) -> Lexicon:
        """M-step, in place (the table of a large corpus should not exist twice):

        t(f | e) = c(f, e) / sum over f' of c(f', e), with what `smoothing` adds; likewise in the other direction.
        """
        slots, s = self.slots, self.smoothing
        totals = np.zeros(slots.n_targets)
        sizes = np.zeros(slots.n_targets, np.int64)
        rows = slot_runs(slots.row_start)
        engine.map(
            lambda first, last: kernels.normalise_rows(
                first, last, slots.row_start, counts.slots, s.additive, s.variational, self.table
            ),
            rows,
        )
        kernels.column_totals(slots.target, counts.slots, totals, sizes)
        engine.map(
            lambda first, last: kernels.normalise_columns(
                first, last, slots.target, totals, sizes, counts.slots, s.additive, s.variational, self.table
            ),
            [(first, min(first + SLOT_TASK, len(slots))) for first in range(0, len(slots), SLOT_TASK)],
        )
        kernels.normalise_null(counts.null_forward, s.additive, s.variational, self.null_forward)
        kernels.normalise_null(counts.null_reverse, s.additive, s.variational, self.null_reverse)
        return self


def check_shapes(*wanted: tuple[np.ndarray, Any, tuple[int, ...]]) -> None:
    """ValueError unless every array has the type and shape it should have."""
    for values, kind, shape in wanted:
        if values.dtype != kind or values.shape != shape:
            raise ValueError("the arrays of the model do not fit together")


def saved_slots(arrays: dict[str, np.ndarray], source: Vocabulary, target: Vocabulary) -> Slots:
    """The slots of a saved lexicon, checked: rows in order, words within the vocabularies."""
    row_start, partners = arrays["lexicon.row_start"], arrays["lexicon.target"]
    check_shapes((row_start, np.int64, (len(source) + 1,)), (partners, np.int32, (len(partners),)))
    check_rows(row_start, partners, len(target))
    return Slots(row_start, partners, len(target))


def check_rows(starts: np.ndarray, partners: np.ndarray, limit: int) -> None:
    """ValueError unless `starts` cut `partners` into rows in order, and all partners are below the limit."""
    sound = (
        (starts[0], starts[-1]) == (0, len(partners))
        and (np.diff(starts) >= 0).all()
        and ((partners >= 0) & (partners < limit)).all()
    )
    if not sound:
        raise ValueError("the rows of the model do not fit together")


def gather_table(slots: Slots, table: np.ndarray, shard: Shard, block: Block, work: Workspace, engine: Threads) -> None:
    """Fill the workspace with entries of a table of both directions' probabilities (slots, 2)."""
    engine.map(
        lambda order: kernels.gather(
            order,
            block.row_piece,
            block.lines,
            shard.source_ids,
            shard.target_ids,
            slots.row_start,
            block.rank,
            table,
            work.forward,
            work.reverse,
        ),
        [(order,) for order in block.word_tasks],
    )


def slot_runs(row_start: np.ndarray) -> list[tuple[int, int]]:
    """Runs of source words with about `SLOT_TASK` slots each."""
    edges = np.searchsorted(row_start, np.arange(0, row_start[-1] + SLOT_TASK, SLOT_TASK))
    edges = np.unique(np.minimum(edges, len(row_start) - 1))
    edges[-1] = len(row_start) - 1
    return [(int(low), int(high)) for low, high in pairwise(edges)]
