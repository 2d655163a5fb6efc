"""The flagship's lexicon: counts instead of probabilities, each cell's own count taken out, priors from the words' forms.

t(f | e) = (n(e, f) - q + alpha B(e, f) + sum over stem levels of A (n(se, sf) - q) / (n(se) - q + 1) p(f | sf))
           / (n(e) - q + alpha sum of B + sum of A)

where q is what this very cell contributed in the last iteration, B grows with likeness of spelling, and se, sf are stems.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dovetail.bitext.shards import Block, Shard, Slots
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.engines import Threads
from dovetail.kernels.lexicon import collapsed as kernels
from dovetail.kernels.lexicon import spelling as spelling_kernels
from dovetail.kernels.lexicon import table as lexicon_kernels
from dovetail.kernels.lexicon import transfer as transfer_kernels
from dovetail.kernels.live import cells as live_kernels
from dovetail.kernels.records import COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET, Workspace
from dovetail.models.lexicon.spelling import compare_spellings
from dovetail.models.lexicon.stems import StemLevel
from dovetail.models.lexicon.table import WordMap, check_shapes, saved_slots, slot_runs
from dovetail.models.lexicon.words import WordTables
from dovetail.models.live import Live, LiveValues


@dataclass(frozen=True)
class LexiconPriors:
    """How much the forms of words count: `alpha` for any pair, `stems` the weights A of the stem levels, 0 for none."""

    alpha: float = 1e-4
    stems: tuple[float, ...] = (3.0, 1.5, 1.0, 1.0)

    @property
    def levels(self) -> list[int]:
        """The levels that are used."""
        return [level for level, weight in enumerate(self.stems) if weight > 0]

    @property
    def weights(self) -> np.ndarray:
        """Their weights, in order."""
        return np.array([self.stems[level] for level in self.levels], np.float32)


@dataclass
class CollapsedLexicon:
    """Counts of both directions at once: agreement makes them the same.

    `totals` are counts of links by source and by target word; `spelling` is each slot's bin, `prior` each bin's prior
    count and `spelled` what each word's spelling adds to its prior weight.  `words` says, for a lexicon that was
    transferred, where its words were in the old one.
    """

    slots: Slots
    counts: np.ndarray  # float64 (slots,)
    totals: tuple[np.ndarray, np.ndarray]  # float64 (source words,), (target words,)
    spelled: tuple[np.ndarray, np.ndarray]  # float64 (source words,), (target words,)
    vocabularies: tuple[Vocabulary, Vocabulary]
    sizes: tuple[int, int]  # words of the text that was trained on
    priors: LexiconPriors
    levels: list[StemLevel]
    spelling: np.ndarray  # uint8 (slots,)
    prior: np.ndarray  # float32 (spelling bins,)
    null_forward: np.ndarray  # float32 (target words,)
    null_reverse: np.ndarray  # float32 (source words,)
    words: WordMap | None = None
    _emissions: np.ndarray | None = field(default=None, init=False)

    @classmethod
    def of(cls, slots: Slots, vocabularies: tuple[Vocabulary, Vocabulary], priors: LexiconPriors) -> CollapsedLexicon:
        """Nothing counted yet, and spellings not yet compared."""
        return cls(
            slots,
            np.zeros(len(slots)),
            (np.zeros(slots.n_sources), np.zeros(slots.n_targets)),
            (np.zeros(slots.n_sources), np.zeros(slots.n_targets)),
            vocabularies,
            (slots.n_sources, slots.n_targets),
            priors,
            [StemLevel.of(slots, *vocabularies, level) for level in priors.levels],
            np.zeros(len(slots), np.uint8),
            np.full(spelling_kernels.BINS, priors.alpha, np.float32),
            np.zeros(slots.n_targets, np.float32),
            np.zeros(slots.n_sources, np.float32),
        )

    def calibrate(self, shares: np.ndarray) -> None:
        """Prior counts alpha B with B = 1 + (0.5 / alpha) r ** 3, r the share of cells that a spelling bin wins.

        The cube switches the prior off where spelling says little; linear in r it did harm.
        """
        alpha = self.priors.alpha
        self._take_prior((alpha * (1.0 + 0.5 / alpha * shares**3)).astype(np.float32))

    def _take_prior(self, prior: np.ndarray) -> None:
        """Prior counts by spelling bin, and what they add up to for each word."""
        self.prior = prior
        self.spelled = sums_by_word((prior - np.float32(self.priors.alpha))[self.spelling], self.slots)

    def with_counts(self, counts: np.ndarray, nulls: tuple[np.ndarray, np.ndarray]) -> CollapsedLexicon:
        """The M-step: other counts, of links and of NULL's."""
        for level in self.levels:
            level.recount(counts)
        totals = sums_by_word(counts, self.slots)
        null_forward, null_reverse = (_null_table(null) for null in nulls)
        return replace(self, counts=counts, totals=totals, null_forward=null_forward, null_reverse=null_reverse)

    @cached_property
    def tables(self) -> WordTables:
        return WordTables.of(self)

    @cached_property
    def support(self) -> np.ndarray:
        """float32 (slots, 2 + levels): counts of the pair, of its spelling, and of its stems, for live cells."""
        support = np.empty((len(self.slots), 2 + len(self.levels)), np.float32)
        kernels.fill_support(self.counts, self.spelling, self.prior, support)
        for number, level in enumerate(self.levels):
            kernels.fill_level(level.group, level.counts, 2 + number, support)
        return support

    def emissions(self, engine: Threads) -> np.ndarray:
        """float32 (slots, 2): t(f | e) and t(e | f) for a cell that has put nothing into the counts."""
        if self._emissions is None:
            found = np.empty((len(self.slots), 2), np.float32)
            row_start, target, words = self.slots.row_start, self.slots.target, self.tables
            runs = slot_runs(row_start)
            begun = row_start, self.counts, self.spelling, self.prior, found
            engine.map(lambda first, last: kernels.begin_emissions(first, last, *begun), runs)
            for number, level in enumerate(self.levels):
                level.add_to(found, number, self.slots, words, engine)
            scaled = row_start, target, words.sources, words.targets, found
            engine.map(lambda first, last: kernels.scale_emissions(first, last, *scaled), runs)
            self._emissions = found
        return self._emissions

    def restricted(self, used: np.ndarray) -> CollapsedLexicon:
        """For the slots that `used` marks, before an M-step: where all others count nothing, it need not look at them."""
        before = np.zeros(len(used) + 1, np.int64)
        np.cumsum(used, out=before[1:])
        return replace(
            self,
            slots=Slots(before[self.slots.row_start], self.slots.target[used], self.slots.n_targets),
            counts=self.counts[used],
            spelling=self.spelling[used],
            levels=[level.restricted(used) for level in self.levels],
        )

    def widened(self, whole: CollapsedLexicon, used: np.ndarray) -> CollapsedLexicon:
        """Undo `restricted`: these counts, and nothing for the slots that were left out."""
        counts = np.zeros(len(whole.slots))
        counts[used] = self.counts
        return replace(
            whole,  # whose stem levels share their counts with this one's
            counts=counts,
            totals=self.totals,
            null_forward=self.null_forward,
            null_reverse=self.null_reverse,
        )

    def moved(self, slots: Slots, learning: bool, engine: Threads) -> CollapsedLexicon:
        """The same counts among the slots of more text with the same vocabularies.

        One that is not to go on `learning` takes less time and memory.
        """
        own = self.compact()
        more = replace(
            self,
            slots=slots,
            counts=np.empty(len(slots)),
            spelling=compare_spellings(slots, *self.vocabularies, engine),
            levels=own.levels,
        )
        more._take_prior(self.prior)
        same = np.arange(slots.n_sources, dtype=np.int32), np.arange(slots.n_targets, dtype=np.int32)
        transfer_kernels.look_up_counts(
            slots.row_start, slots.target, *same, own.slots.row_start, own.slots.target, own.counts, more.counts
        )
        if learning:
            more.levels = [StemLevel.of(slots, *self.vocabularies, level) for level in self.priors.levels]
            for level in more.levels:
                level.recount(more.counts)
        return more

    def compact(self) -> CollapsedLexicon:
        """Pairs with a count only, rows sorted by target word: what is saved, and what new text is looked up in."""
        kept = np.flatnonzero(self.counts > 0)
        rows = np.repeat(np.arange(self.slots.n_sources), np.diff(self.slots.row_start))[kept]
        kept = kept[np.argsort(rows * np.int64(self.slots.n_targets) + self.slots.target[kept], kind="stable")]
        row_start = np.zeros(self.slots.n_sources + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=self.slots.n_sources), out=row_start[1:])
        return replace(
            self,
            slots=Slots(row_start, self.slots.target[kept], self.slots.n_targets),
            counts=self.counts[kept],
            levels=[level.compact() for level in self.levels],
            spelling=np.empty(0, np.uint8),
        )

    def transfer(self, slots: Slots, words: WordMap, engine: Threads) -> CollapsedLexicon:
        """This (compact) lexicon's counts for the slots of another text; forms of words speak for unseen ones."""
        counts = np.empty(len(slots))
        transfer_kernels.look_up_counts(
            slots.row_start,
            slots.target,
            words.source,
            words.target,
            self.slots.row_start,
            self.slots.target,
            self.counts,
            counts,
        )
        return replace(
            self,
            slots=slots,
            counts=counts,
            totals=(_picked(self.totals[0], words.source), _picked(self.totals[1], words.target)),
            spelled=(_picked(self.spelled[0], words.source), _picked(self.spelled[1], words.target)),
            vocabularies=words.vocabularies,
            levels=[
                level.transfer(number, self.vocabularies, words.vocabularies)
                for number, level in zip(self.priors.levels, self.levels, strict=True)
            ],
            spelling=compare_spellings(slots, *words.vocabularies, engine),
            null_forward=_picked(self.null_forward, words.target, self.null_forward.min(initial=1.0)),
            null_reverse=_picked(self.null_reverse, words.source, self.null_reverse.min(initial=1.0)),
            words=words,
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """Parameters of a compact lexicon by name, for saving."""
        arrays = {
            "lexicon.row_start": self.slots.row_start,
            "lexicon.target": self.slots.target,
            "lexicon.counts": self.counts,
            "lexicon.source_total": self.totals[0],
            "lexicon.target_total": self.totals[1],
            "lexicon.source_spelled": self.spelled[0],
            "lexicon.target_spelled": self.spelled[1],
            "lexicon.prior": self.prior,
            "lexicon.null_forward": self.null_forward,
            "lexicon.null_reverse": self.null_reverse,
        }
        for number, level in zip(self.priors.levels, self.levels, strict=True):
            arrays |= {f"lexicon.stems{number}.{name}": values for name, values in level.arrays().items()}
        return arrays

    def settings(self) -> dict[str, Any]:
        """What is no array, for saving."""
        return {"alpha": self.priors.alpha, "stems": list(self.priors.stems)}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, np.ndarray], source: Vocabulary, target: Vocabulary, settings: dict[str, Any]
    ) -> CollapsedLexicon:
        """The saved (compact) lexicon, or ValueError for one whose arrays do not fit together."""
        priors = LexiconPriors(settings["alpha"], tuple(settings["stems"]))
        slots = saved_slots(arrays, source, target)
        totals, spelled = (
            (arrays[f"lexicon.source_{name}"], arrays[f"lexicon.target_{name}"]) for name in ("total", "spelled")
        )
        counts, prior, null_forward, null_reverse = (
            arrays[f"lexicon.{name}"] for name in ("counts", "prior", "null_forward", "null_reverse")
        )
        check_shapes(
            (counts, np.float64, (len(slots),)),
            *((values[0], np.float64, (len(source),)) for values in (totals, spelled)),
            *((values[1], np.float64, (len(target),)) for values in (totals, spelled)),
            (prior, np.float32, (spelling_kernels.BINS,)),
            (null_forward, np.float32, (len(target),)),
            (null_reverse, np.float32, (len(source),)),
        )
        levels = [
            StemLevel.from_arrays(
                {name: arrays[f"lexicon.stems{number}.{name}"] for name in StemLevel.SAVED}, source, target, number
            )
            for number in priors.levels
        ]
        return cls(
            slots,
            counts,
            totals,
            spelled,
            (source, target),
            (len(source), len(target)),
            priors,
            levels,
            np.empty(0, np.uint8),
            prior,
            null_forward,
            null_reverse,
        )

    def probabilities(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """t(f | e) and t(e | f) by slot (slots, 2), and NULL's, without stems: for other models to start from."""
        owner = np.repeat(np.arange(self.slots.n_sources), np.diff(self.slots.row_start))
        prior = self.prior[self.spelling] if len(self.spelling) else np.float32(self.priors.alpha)
        table = np.empty((len(self.slots), 2), np.float32)
        for side, words in enumerate((owner, self.slots.target)):
            weight = self.totals[side] + self.spelled[side] + self.priors.alpha * self.sizes[1 - side]
            table[:, side] = (self.counts + prior) / weight[words]
        return table, self.null_forward, self.null_reverse

    def gather(self, shard: Shard, block: Block, work: Workspace, engine: Threads) -> None:
        """Fill the workspace with emissions of all cells, as of text that has put nothing into the counts."""
        emissions = self.emissions(engine)
        engine.map(
            lambda order: lexicon_kernels.gather(
                order,
                block.row_piece,
                block.lines,
                shard.source_ids,
                shard.target_ids,
                self.slots.row_start,
                block.rank,
                emissions,
                work.forward,
                work.reverse,
            ),
            [(order,) for order in block.word_tasks],
        )

    def gather_live(self, live: Live, shard: Shard, block: Block, engine: Threads) -> LiveValues:
        """Emissions of live cells, each one's own count taken out, messages multiplied in."""
        tables, support, weights = self.tables, self.support, self.priors.weights
        values = LiveValues.room(live)
        engine.map(
            lambda order: live_kernels.gather(
                order,
                block.row_piece,
                block.lines,
                shard.source_ids,
                shard.target_ids,
                live.start,
                live.column,
                live.slot,
                live.count,
                live.forward_message,
                live.reverse_message,
                support,
                tables.sources,
                tables.targets,
                weights,
                values.forward,
                values.reverse,
            ),
            [(order,) for order in block.word_tasks],
        )
        return values


def sums_by_word(values: np.ndarray, slots: Slots) -> tuple[np.ndarray, np.ndarray]:
    """Values of slots added up by source word and by target word."""
    sums = np.zeros(slots.n_sources), np.zeros(slots.n_targets)
    kernels.add_by_word(slots.row_start, slots.target, values, *sums)
    return sums


def _null_table(counts: np.ndarray) -> np.ndarray:
    return ((counts + 1e-3) / max((counts + 1e-3).sum(), 1e-3)).astype(np.float32)


def _picked(values: np.ndarray, numbers: np.ndarray, missing: float = 0.0) -> np.ndarray:
    """values[numbers], `missing` where a number is -1."""
    if not len(values):
        return np.full(len(numbers), missing, values.dtype)
    return np.where(numbers >= 0, values[numbers], values.dtype.type(missing))


@dataclass
class CollapsedCounts:
    """Expected links by slot, and of NULL with each word."""

    slots: np.ndarray
    null_forward: np.ndarray
    null_reverse: np.ndarray

    @classmethod
    def zeros(cls, slots: Slots) -> CollapsedCounts:
        return cls(np.zeros(len(slots)), np.zeros(slots.n_targets), np.zeros(slots.n_sources))

    def add(self, live: Live, shard: Shard, block: Block, work: Workspace, engine: Threads) -> None:
        """Add the counts of a block's live cells and NULLs; no two tasks share an entry."""

        def task(order: np.ndarray | None, direction: int) -> None:
            if order is not None:
                live_kernels.scatter(order, live.start, live.slot, live.count, self.slots)
            elif direction == 0:
                lexicon_kernels.scatter_null(
                    block.lines, TARGET, LENGTH_J, COLUMN, shard.target_ids, work.null_forward, self.null_forward
                )
            else:
                lexicon_kernels.scatter_null(
                    block.lines, SOURCE, LENGTH_I, ROW, shard.source_ids, work.null_reverse, self.null_reverse
                )

        engine.map(task, [(order, 0) for order in block.word_tasks] + [(None, 0), (None, 1)])
