"""Stems as a back-off: counts of pairs of stems, shared by all word pairs that have them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from dovetail.bitext.shards import Slots, slot_runs
from dovetail.bitext.spelling import Stems, letters_beside, stem_keys, stems
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.kernels.lexicon import counted as counted_kernels
from dovetail.kernels.lexicon import stems as kernels
from dovetail.kernels.text.cooccurrence import sort_by_word
from dovetail.models.checks import Array, check_rows, check_totals, checked_arrays
from dovetail.models.lexicon.words import WordMap
from dovetail.options import Options, option
from dovetail.pool import Pool


@dataclass(frozen=True)
class FormPriors(Options):
    """How much the forms of words count."""

    alpha: float = option(1e-4, at_least=1e-9, at_most=1e6, help="prior count of any pair of words")
    head_stems: float = option(
        3.0, at_least=0.0, at_most=1e6, help="counts that a word takes from its stem of four first letters"
    )
    tail_stems: float = option(
        1.5, at_least=0.0, at_most=1e6, help="counts that a word takes from its stem of four last letters"
    )
    short_stems: float = option(
        1.0, at_least=0.0, at_most=1e6, help="counts that a word takes from its stem of three first letters"
    )
    middle_stems: float = option(
        1.0, at_least=0.0, at_most=1e6, help="counts that a word takes from its third to sixth letter"
    )
    spelling: bool = option(True, help="whether likeness of spelling counts, as far as it is right in this text")

    @property
    def stems(self) -> tuple[float, ...]:
        """Weights of the stem levels in the order of kernels.lexicon.stems."""
        return self.head_stems, self.tail_stems, self.short_stems, self.middle_stems


@dataclass
class StemLevel:
    """One level of stems for a text: level `number` of kernels.lexicon.stems, which lends words so many counts, `weight`.

    Pairs of stems that co-occur are `groups`, slots whose words are stems, with `counts`; `group[slot]` is a word pair's,
    needed for learning only: a compact level has none.  The totals are counts of links by stem, the shares p(word | its
    stem) for each word, by source and by target side.
    """

    SAVED: ClassVar = {
        "starts": Array(np.int64, ("starts",)),
        "partners": Array(np.int32, ("groups",)),
        "counts": Array(np.float64, ("groups",)),
        "source_total": Array(np.float64, ("source",)),
        "target_total": Array(np.float64, ("target",)),
    }

    number: int
    weight: float
    stems: tuple[Stems, Stems]
    groups: Slots
    group: np.ndarray  # int32 (slots,)
    counts: np.ndarray  # float64 (groups,)
    totals: tuple[np.ndarray, np.ndarray]  # float64 (source stems,), (target stems,)
    shares: tuple[np.ndarray, np.ndarray]  # float64 (source words,), (target words,)

    @classmethod
    def of(cls, slots: Slots, vocabularies: tuple[Vocabulary, Vocabulary], number: int, weight: float) -> StemLevel:
        """Groups of a text's slots, nothing counted yet; shares by how often its words occur."""
        source, target = (stems(vocabulary, number) for vocabulary in vocabularies)
        words_by_stem, stem_starts = sort_by_word(source.numbers, len(source))
        group = np.empty(len(slots), np.int32)
        partners, starts = kernels.group_slots(
            words_by_stem, stem_starts, slots.row_start, slots.target, target.numbers, len(target), group
        )
        groups = Slots(starts, partners, len(target))
        totals, shares = (np.zeros(len(source)), np.zeros(len(target))), _all_shares(number, vocabularies)
        return cls(number, weight, (source, target), groups, group, np.zeros(len(partners)), totals, shares)

    def add_to(
        self, emissions: np.ndarray, number: int, slots: Slots, entries: counted_kernels.WordTables, pool: Pool
    ) -> None:
        """Add what stems count to the emissions of all slots; `number` is this level's among the tables'."""
        source, target = self.stems
        words_by_stem, stem_starts = sort_by_word(source.numbers, len(source))
        slots_before = np.concatenate([[0], np.cumsum(np.diff(slots.row_start)[words_by_stem])])
        counted = counted_kernels.StemCounts(
            self.groups.row_start, self.groups.target, self.counts, target.numbers, len(target)
        )
        words = words_by_stem, stem_starts, counted, slots.row_start, slots.target
        pool.map(counted_kernels.add_stems, slot_runs(slots_before[stem_starts]), *words, number, entries, emissions)

    def recount(self, counts: np.ndarray) -> None:
        """Add up the slots' counts by group and by stem."""
        self.counts[:] = 0.0
        kernels.add_up(self.group, counts, self.counts)
        for total in self.totals:
            total[:] = 0.0
        counted_kernels.add_by_word(self.groups.row_start, self.groups.target, self.counts, *self.totals)

    def compact(self) -> StemLevel:
        """Groups with a count only, sorted by target stem within a source stem; the groups of slots are dropped."""
        groups, counts = self.groups.kept(self.counts, 0.0)
        return replace(self, groups=groups, group=np.empty(0, np.int32), counts=counts)

    def arrays(self) -> dict[str, np.ndarray]:
        """What cannot be found again from the vocabularies, for saving."""
        values = self.groups.row_start, self.groups.target, self.counts, *self.totals
        return dict(zip(self.SAVED, values, strict=True))

    @classmethod
    def from_arrays(
        cls,
        arrays: dict[str, np.ndarray],
        prefix: str,
        vocabularies: tuple[Vocabulary, Vocabulary],
        number: int,
        weight: float,
    ) -> StemLevel:
        """The saved (compact) level, or ValueError for one whose arrays do not fit together."""
        source, target = (stems(vocabulary, number) for vocabulary in vocabularies)
        sizes = {"starts": len(source) + 1, "source": len(source), "target": len(target)}
        wanted = {**cls.SAVED, "partners": cls.SAVED["partners"]._replace(most=len(target) - 1)}
        starts, partners, counts, *totals = checked_arrays(arrays, prefix, wanted, sizes)
        check_rows(f"{prefix}starts and {prefix}partners", starts, partners)
        groups, none = Slots(starts, partners, len(target)), np.empty(0, np.int32)
        both, shares = (totals[0], totals[1]), _all_shares(number, vocabularies)
        check_totals(f"{prefix}counts", groups, (counts, counts), both)
        return cls(number, weight, (source, target), groups, none, counts, both, shares)

    @cached_property
    def _open(self) -> tuple[Slots, list[np.ndarray], list[np.ndarray]]:
        """Groups, keys and totals with one more stem, without counts, on either side: for all that it never saw."""
        starts = self.groups.row_start
        groups = Slots(np.append(starts, starts[-1]), self.groups.target, self.groups.n_targets + 1)
        keys = [np.append(ours.keys, np.uint64(0)) for ours in self.stems]
        return groups, keys, [np.append(total, 0.0) for total in self.totals]

    def transfer(self, words: WordMap) -> StemLevel:
        """This (compact) level for the words of another text; stems it never saw become one more, without counts."""
        found, shares = [], []
        groups, all_keys, totals = self._open
        for side, (ours, before, after) in enumerate(zip(self.stems, words.known, words.vocabularies, strict=True)):
            same = words.spelled_same[side]
            keys = stem_keys(letters_beside(after, before, same), self.number)
            known = before.derived(f"known stems {self.number}", partial(_known, ours))
            numbers, share = np.empty(len(same), np.int32), np.empty(len(same))
            kernels.find_stems(same, keys, known, numbers, share)
            found.append(Stems(numbers, all_keys[side]))
            shares.append(share)
        return replace(
            self,
            stems=(found[0], found[1]),
            groups=groups,
            totals=(totals[0], totals[1]),
            shares=(shares[0], shares[1]),
        )


def _all_shares(level: int, vocabularies: tuple[Vocabulary, Vocabulary]) -> tuple[np.ndarray, np.ndarray]:
    """p(word | its stem) of both sides' words, by how often they occur."""
    source, target = ((stems(vocabulary, level), vocabulary) for vocabulary in vocabularies)
    return (
        _shares(source[0].numbers, source[1].counts, _token_counts(*source)),
        _shares(target[0].numbers, target[1].counts, _token_counts(*target)),
    )


def _known(of: Stems, vocabulary: Vocabulary) -> kernels.Known:
    order = np.argsort(of.keys)
    return kernels.Known(of.numbers, vocabulary.counts, of.keys[order], order, _token_counts(of, vocabulary))


def _token_counts(of: Stems, vocabulary: Vocabulary) -> np.ndarray:
    """How often each stem occurs; a word never seen counts as half a time."""
    return np.bincount(of.numbers, np.maximum(vocabulary.counts, 0.5), len(of))


def _shares(numbers: np.ndarray, counts: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """p(word | its stem)."""
    seen = np.maximum(counts, 0.5)
    return seen / np.maximum(tokens[numbers], seen)
