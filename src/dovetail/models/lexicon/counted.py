"""The flagship's lexicon: counts instead of probabilities, each cell's own count taken out, priors from the words' forms.

t(f | e) = (n(e, f) - q + alpha B(e, f) + sum over stem levels of A (n(se, sf) - q) / (n(se) - q + 1) p(f | sf))
           / (n(e) - q + alpha sum of B + sum of A)

where q is what this very cell contributed in the last iteration, B grows with likeness of spelling, and se, sf are stems.
What further priors count of a pair is added to alpha B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from dovetail.bitext.shards import Block, Slots
from dovetail.bitext.spelling import letters
from dovetail.bitext.store import Store, release
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.kernels.lexicon import counted as kernels
from dovetail.kernels.lexicon import lookup
from dovetail.kernels.lexicon import spelling as spelling_kernels
from dovetail.kernels.lexicon.stems import LEVELS
from dovetail.kernels.lexicon.transfer import NewRows, OldRows, look_up_counts
from dovetail.kernels.live import cells as live_kernels
from dovetail.kernels.live.records import Values
from dovetail.kernels.records import Nulls, Workspace
from dovetail.models.checks import TINY, Array, Unsound, check_totals, checked_arrays, saved_slots
from dovetail.models.lexicon.lexicon import Lexicon, Prior, all_pseudo_counts, described_priors, saved_priors
from dovetail.models.lexicon.spelling import SpellingPrior, add_by_word, compare_spellings, spelled, sums_by_word
from dovetail.models.lexicon.stems import FormPriors, StemLevel
from dovetail.models.lexicon.table import slot_parts
from dovetail.models.lexicon.words import WordMap, picked
from dovetail.models.live import Live
from dovetail.pool import Pool


@dataclass
class CountedLexicon(Lexicon):
    """Counts of both directions at once: agreement makes them the same.

    `totals` are counts of links by source and by target word, `prior_weights` what spellings and further priors add to
    alpha times the number of words; `levels` are those of stems that are used.
    """

    SAVED: ClassVar = {
        "counts": Array(np.float64, ("slots",)),
        "source_total": Array(np.float64, ("source",)),
        "target_total": Array(np.float64, ("target",)),
        "source_spelled": Array(np.float64, ("source",)),
        "target_spelled": Array(np.float64, ("target",)),
        "prior": Array(np.float32, (spelling_kernels.BINS,)),
        "null_forward": Array(np.float32, ("target",), least=TINY, most=1.0),
        "null_reverse": Array(np.float32, ("source",), least=TINY, most=1.0),
    }

    slots: Slots
    counts: np.ndarray  # float64 (slots,)
    totals: tuple[np.ndarray, np.ndarray]  # float64 (source words,), (target words,)
    nulls: Nulls
    vocabularies: tuple[Vocabulary, Vocabulary]
    sizes: tuple[int, int]  # words of the text that was trained on
    levels: list[StemLevel]
    spelling: SpellingPrior
    prior_weights: tuple[np.ndarray, np.ndarray]  # float64 (source words,), (target words,)
    priors: tuple[Prior, ...] = ()
    pseudo_counts: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32))  # (slots,), or no priors
    words: WordMap | None = None  # of a lexicon that was transferred: where its words were in the old one
    known: lookup.Known | None = None  # of one that was transferred without slots: what cells are looked up in

    def __post_init__(self) -> None:
        self._found: np.ndarray | None = None
        self._scoring: kernels.Entries | None = None

    @classmethod
    def empty(
        cls, slots: Slots, vocabularies: tuple[Vocabulary, Vocabulary], priors: FormPriors, pool: Pool | None = None
    ) -> CountedLexicon:
        """Nothing counted yet; spellings are compared if there is a pool to do it, but worth nothing."""
        sizes = slots.n_sources, slots.n_targets
        bins = compare_spellings(slots, *vocabularies, pool) if pool is not None else np.zeros(len(slots), np.uint8)
        return cls(
            slots,
            np.zeros(len(slots)),
            (np.zeros(sizes[0]), np.zeros(sizes[1])),
            Nulls(np.zeros(sizes[1], np.float32), np.zeros(sizes[0], np.float32)),
            vocabularies,
            sizes,
            _stem_levels(slots, vocabularies, _used(priors.stems), pool),
            SpellingPrior.flat(priors.alpha, bins),
            (np.zeros(sizes[0]), np.zeros(sizes[1])),
        )

    @property
    def alpha(self) -> float:
        return self.spelling.alpha

    def calibrated(self, wins: np.ndarray) -> CountedLexicon:
        """With spellings that are worth what they won."""
        return self._with_prior(self.spelling.calibrated(wins))

    def with_priors(self, priors: Sequence[Prior]) -> CountedLexicon:
        """Lean on these priors, too."""
        counts = all_pseudo_counts(priors, self.slots, self.vocabularies)
        return replace(self, priors=tuple(priors), pseudo_counts=counts)._with_prior(self.spelling) if priors else self

    def _with_prior(self, spelling: SpellingPrior) -> CountedLexicon:
        source, target = spelling.weights(self.slots)
        if len(self.pseudo_counts):
            more = sums_by_word(self.pseudo_counts, self.slots)
            source, target = source + more[0], target + more[1]
        return replace(self, spelling=spelling, prior_weights=(source, target))

    def with_counts(self, counts: np.ndarray, nulls: tuple[np.ndarray, np.ndarray], pool: Pool) -> CountedLexicon:
        """The M-step: other counts, of links and of NULL's."""
        sums = [(sums_by_word, counts, self.slots)]
        levels = [(StemLevel.recount, level, counts) for level in self.levels]
        totals, *_ = pool.map(lambda function, *arguments: function(*arguments), [*sums, *levels])
        tables = Nulls(*(_null_table(null) for null in nulls))
        return replace(self, counts=counts, totals=totals, nulls=tables)

    @property
    def _used(self) -> list[tuple[int, float]]:
        return [(level.number, level.weight) for level in self.levels]

    @property
    def _weights(self) -> np.ndarray:
        return np.array([level.weight for level in self.levels], np.float32)

    @cached_property
    def tables(self) -> kernels.WordTables:
        """What kernels read of words."""
        width = kernels.FIRST_LEVEL + kernels.WIDTH * len(self.levels)
        made = [np.zeros((len(total), width), np.float32) for total in self.totals]  # whatever slots there are
        for side, table in enumerate(made):
            table[:, kernels.TOTAL] = self.totals[side]
            table[:, kernels.PRIOR] = np.float32(self.alpha) * self.sizes[1 - side] + self.prior_weights[side]
            for number, level in enumerate(self.levels):
                at = kernels.FIRST_LEVEL + kernels.WIDTH * number
                table[:, at + kernels.STEM] = level.totals[side][level.stems[side].numbers]
                table[:, at + kernels.SHARE] = level.shares[side]
                table[:, at + kernels.BACKOFF] = np.float32(level.weight) / (
                    table[:, at + kernels.STEM] + np.float32(1)
                )
            whole = table[:, kernels.TOTAL] + table[:, kernels.PRIOR] + sum(self._weights, np.float32(0))
            table[:, kernels.SCALE] = np.float32(1) / whole
        return kernels.WordTables(*made)

    def with_tables_of(self, other: CountedLexicon) -> CountedLexicon:
        """The same, with tables that another lexicon has made, which knows as much of words."""
        self.__dict__["tables"] = other.tables
        return self

    def scoring(self, pool: Pool) -> kernels.Entries:
        """What scoring a live cell reads."""
        if self._scoring is None:
            support = np.empty((len(self.slots), 2 + len(self.levels)), np.float32)
            runs, row_start = self.slots.runs(), self.slots.row_start
            spelling = self.spelling.bins, self.spelling.counts
            pool.map(kernels.fill_support, runs, row_start, self.counts, *spelling, support)
            if len(self.pseudo_counts):
                support[:, 1] += self.pseudo_counts
            for number, level in enumerate(self.levels):
                pool.map(kernels.fill_level, runs, row_start, level.group, level.counts, 2 + number, support)
            self._scoring = kernels.Entries(support, *self.tables, self._weights)
        return self._scoring

    def probabilities(self, pool: Pool) -> np.ndarray:
        if self._found is None:
            found = np.empty((len(self.slots), 2), np.float32)
            row_start, target = self.slots.row_start, self.slots.target
            runs = self.slots.runs()
            spelling = self.spelling.bins, self.spelling.counts
            pool.map(kernels.begin_emissions, runs, row_start, self.counts, *spelling, found)
            if len(self.pseudo_counts):
                found += self.pseudo_counts[:, None]
            for number, level in enumerate(self.levels):
                level.add_to(found, number, self.slots, self.tables, pool)
            pool.map(kernels.scale_emissions, runs, row_start, target, *self.tables, found)
            self._found = found
        return self._found

    def entries(self, pool: Pool) -> np.ndarray:
        """Without stems: other models learn what they say themselves."""
        prior = self.spelling.counts[self.spelling.bins] if len(self.spelling.bins) else np.float32(self.alpha)
        table = np.empty((len(self.slots), 2), np.float32)
        for side, words in enumerate((self.slots.source, self.slots.target)):
            weight = self.totals[side] + self.prior_weights[side] + self.alpha * self.sizes[1 - side]
            table[:, side] = (self.counts + prior) / weight[words]
        return table

    def gather_live(self, live: Live, block: Block, pool: Pool) -> Values:
        """Emissions of live cells, each one's own count taken out, messages multiplied in."""
        rows, values = [(order,) for order in block.word_tasks], live.room()
        pool.map(live_kernels.gather, rows, block.row_piece, block.pieces, live.cells, self.scoring(pool), values)
        return values

    def gather(self, block: Block, work: Workspace, pool: Pool) -> None:
        if self.known is None:
            super().gather(block, work, pool)
            return
        rows, (known, *others) = [(order,) for order in block.word_tasks], self._looking_up
        pool.map(lookup.gather, rows, block.row_piece, block.pieces, known, *others, work)

    @cached_property
    def _looking_up(self) -> tuple[Any, ...]:
        """What the kernel that looks cells up is told."""
        assert self.words is not None
        places = []
        for side, numbers in enumerate((self.words.source, self.words.target)):
            before = len(self.words.known[side])
            columns = [np.where(numbers >= 0, numbers, before)]
            for level in self.levels:
                columns.append(level.stems[side].numbers + before + 1)
                before += len(level.stems[side])
            places.append(np.stack(columns, axis=1).astype(np.int32))
        told = lookup.Words(places[0], places[1], *self.tables)
        return self.known, told, *spelled(*self.vocabularies), self.spelling.counts, self.spelling.like

    @cached_property
    def _all_rows(self) -> lookup.Known:
        """Of a compact lexicon: its rows, and those of all stem levels, in one table, a row for unseen ones behind each."""
        starts = [np.zeros(1, np.int64)]
        partners: list[np.ndarray] = []
        counts: list[np.ndarray] = []
        pairs = targets = 0
        kinds = [(self.slots, self.counts), *((level.groups, level.counts) for level in self.levels)]
        for slots, of_pairs in kinds:
            starts += [slots.row_start[1:] + pairs, slots.row_start[-1:] + pairs]
            partners.append(slots.target + np.int32(targets))
            counts.append(of_pairs.astype(np.float32))
            pairs, targets = pairs + len(of_pairs), targets + slots.n_targets + 1
        return lookup.Known(np.concatenate(starts), np.concatenate(partners), np.concatenate(counts), targets)

    def restricted(self, places: np.ndarray, pool: Pool) -> CountedLexicon:
        """For some of the slots, before an M-step: where all others count nothing, it need not look at them."""
        rows = np.searchsorted(places, self.slots.row_start)
        return self.taken(Slots(rows, self.slots.target[places], self.slots.n_targets), places, pool)

    def widened(self, whole: CountedLexicon, used: np.ndarray, pool: Pool) -> CountedLexicon:
        """Undo `restricted`: these counts, and nothing for the slots that were left out."""
        counts, parts = np.empty(len(whole.slots)), slot_parts(len(whole.slots))
        before = np.cumsum([0, *(np.count_nonzero(used[first:last]) for first, last in parts)])

        def part(number: int) -> None:
            own = slice(*parts[number])
            counts[own] = 0.0
            counts[own][used[own]] = self.counts[before[number] : before[number + 1]]

        pool.map(part, [(number,) for number in range(len(parts))])
        # whose stem levels share their counts with this one's
        return replace(whole, counts=counts, totals=self.totals, nulls=self.nulls)

    def moved(self, slots: Slots, learning: bool, pool: Pool) -> CountedLexicon:
        """The same counts among the slots of more text with the same vocabularies.

        One that is not to go on `learning` takes less time and memory.
        """
        more = self.compact().looked_up(slots, pool)
        more = more._with_prior(more.spelling)
        if learning:
            more.levels = _stem_levels(slots, self.vocabularies, self._used, pool)
            pool.map(StemLevel.recount, [(level,) for level in more.levels], more.counts)
        return more

    def looked_up(self, slots: Slots, pool: Pool) -> CountedLexicon:
        """This (compact) lexicon's counts for other slots of the same vocabularies; what it knows of words stays."""
        counts = np.empty(len(slots))
        same = [np.arange(size, dtype=np.int32) for size in (slots.n_sources, slots.n_targets)]
        new = NewRows(slots.row_start, slots.target, same[0], same[1], same[0])
        look_up_counts(new, OldRows(self.slots.row_start, self.slots.target, self.counts, self.slots.n_targets), counts)
        return replace(
            self,
            slots=slots,
            counts=counts,
            spelling=self.spelling.for_slots(slots, self.vocabularies, pool),
            pseudo_counts=all_pseudo_counts(self.priors, slots, self.vocabularies),
        )

    def weighed(self, slots: Slots, pool: Pool) -> CountedLexicon:
        """This (compact) lexicon with the prior weights that all these slots have: `moved`, without moving."""
        source, target = np.zeros(slots.n_sources), np.zeros(slots.n_targets)
        more = np.zeros(slots.n_sources), np.zeros(slots.n_targets)
        for first, last in slots.runs():
            rows = slots.rows(first, last)
            self.spelling.for_slots(rows, self.vocabularies, pool).add_weights(rows, source, target)
            if self.priors:
                add_by_word(all_pseudo_counts(self.priors, rows, self.vocabularies), rows, *more)
            release(rows.target)
        return replace(self, prior_weights=(source + more[0], target + more[1]))

    def learning(self, slots: Slots, pool: Pool) -> CountedLexicon:
        """For these slots, before they are counted; what it knows of words stays."""
        return replace(
            self,
            slots=slots,
            spelling=self.spelling.for_slots(slots, self.vocabularies, pool),
            pseudo_counts=all_pseudo_counts(self.priors, slots, self.vocabularies),
            levels=_stem_levels(slots, self.vocabularies, self._used, pool),
        )

    def taken(self, slots: Slots, places: np.ndarray, pool: Pool) -> CountedLexicon:
        """For some slots, which are at `places` of its own."""
        groups = [(level.group,) for level in self.levels]
        pseudo = [(self.pseudo_counts,)] if len(self.pseudo_counts) else []
        counts, bins, *found = pool.map(np.take, [(self.counts,), (self.spelling.bins,), *pseudo, *groups], places)
        levels = zip(self.levels, found[len(pseudo) :], strict=True)
        return replace(
            self,
            slots=slots,
            counts=counts,
            spelling=replace(self.spelling, bins=bins),
            pseudo_counts=found[0] if pseudo else self.pseudo_counts,
            levels=[replace(level, group=group) for level, group in levels],
        )

    def compact(self, store: Store | None = None) -> CountedLexicon:
        """Pairs with a count only."""
        slots, counts = self.slots.kept(self.counts, 0.0, store)
        return replace(
            self,
            slots=slots,
            counts=counts,
            levels=[level.compact() for level in self.levels],
            spelling=replace(self.spelling, bins=np.empty(0, np.uint8)),
            pseudo_counts=np.empty(0, np.float32),
        )

    def transfer(self, slots: Slots, words: WordMap, pool: Pool) -> CountedLexicon:
        """Its counts; forms of words speak for unseen ones."""
        counts = np.empty(len(slots))
        new = NewRows(slots.row_start, slots.target, words.source, words.target, words.twin)
        look_up_counts(new, OldRows(self.slots.row_start, self.slots.target, self.counts, self.slots.n_targets), counts)
        numbers = words.source, words.target
        return replace(
            self,
            slots=slots,
            counts=counts,
            totals=(picked(self.totals[0], numbers[0]), picked(self.totals[1], numbers[1])),
            prior_weights=(picked(self.prior_weights[0], numbers[0]), picked(self.prior_weights[1], numbers[1])),
            vocabularies=words.vocabularies,
            levels=[level.transfer(words) for level in self.levels],
            spelling=self.spelling.for_slots(slots, words.vocabularies, pool),
            pseudo_counts=all_pseudo_counts(self.priors, slots, words.vocabularies),
            nulls=Nulls(
                picked(self.nulls.forward, words.target, self.nulls.forward.min(initial=1.0)),
                picked(self.nulls.reverse, words.source, self.nulls.reverse.min(initial=1.0)),
            ),
            words=words,
        )

    def for_words(self, words: WordMap, pool: Pool) -> CountedLexicon | None:
        if self.priors:  # they judge slots
            return None
        sizes = len(words.source), len(words.target)
        none = Slots(np.zeros(sizes[0] + 1, np.int64), np.empty(0, np.int32), sizes[1])
        return replace(self.transfer(none, words, pool), known=self._all_rows)

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {
            "lexicon.row_start": self.slots.row_start,
            "lexicon.target": self.slots.target,
            "lexicon.counts": self.counts,
            "lexicon.source_total": self.totals[0],
            "lexicon.target_total": self.totals[1],
            "lexicon.source_spelled": self.prior_weights[0],
            "lexicon.target_spelled": self.prior_weights[1],
            "lexicon.prior": self.spelling.counts,
            "lexicon.null_forward": self.nulls.forward,
            "lexicon.null_reverse": self.nulls.reverse,
        }
        for level in self.levels:
            arrays |= {f"lexicon.stems{level.number}.{name}": values for name, values in level.arrays().items()}
        return arrays

    def settings(self) -> dict[str, Any]:
        weights = {level.number: level.weight for level in self.levels}
        about = {"alpha": self.alpha, "stems": [weights.get(number, 0.0) for number in range(LEVELS)]}
        return {**about, "priors": described_priors(self.priors)} if self.priors else about

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, np.ndarray], source: Vocabulary, target: Vocabulary, settings: dict[str, Any]
    ) -> CountedLexicon:
        (slots, sizes), vocabularies = saved_slots(arrays, source, target), (source, target)
        counts, source_total, target_total, source_spelled, target_spelled, prior, null_forward, null_reverse = (
            checked_arrays(arrays, "lexicon.", cls.SAVED, sizes)
        )
        check_totals("lexicon.counts", slots, (counts, counts), (source_total, target_total))
        stem_weights = FormPriors(settings["alpha"], *settings["stems"]).stems
        levels = [
            StemLevel.from_arrays(arrays, f"lexicon.stems{number}.", vocabularies, number, weight)
            for number, weight in _used(stem_weights)
        ]
        for level in levels:
            if not np.isclose(level.counts.sum(), counts.sum(), rtol=1e-4, atol=1e-3):
                raise Unsound("stems count other links than words do")
        return cls(
            slots,
            counts,
            (source_total, target_total),
            Nulls(null_forward, null_reverse),
            vocabularies,
            (len(source), len(target)),
            levels,
            SpellingPrior(settings["alpha"], prior, np.empty(0, np.uint8)),
            (source_spelled, target_spelled),
            saved_priors(settings.get("priors", ())),
        )


def _used(weights: Sequence[float]) -> list[tuple[int, float]]:
    """The stem levels that count, and how much."""
    return [(level, weight) for level, weight in enumerate(weights) if weight > 0]


def _stem_levels(
    slots: Slots, vocabularies: tuple[Vocabulary, Vocabulary], used: Sequence[tuple[int, float]], pool: Pool | None
) -> list[StemLevel]:
    for vocabulary in vocabularies:
        letters(vocabulary)  # which all levels ask for
    level_of = partial(StemLevel.of, slots, vocabularies)
    return pool.map(level_of, used) if pool is not None else [level_of(*level) for level in used]


def _null_table(counts: np.ndarray) -> np.ndarray:
    return ((counts + 1e-3) / max((counts + 1e-3).sum(), 1e-3)).astype(np.float32)
