"""Stems as a back-off: counts of pairs of stems, shared by all word pairs that have them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dovetail.bitext.shards import Slots
from dovetail.bitext.spelling import Stems, stems
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.engines import Threads
from dovetail.kernels.lexicon import collapsed as collapsed_kernels
from dovetail.kernels.lexicon import stems as kernels
from dovetail.kernels.text.cooccurrence import sort_by_word
from dovetail.models.lexicon.table import check_rows, check_shapes, slot_runs
from dovetail.models.lexicon.words import WordTables


@dataclass
class StemLevel:
    """One level of stems for a text.

    Pairs of stems that co-occur are groups: those of source stem s are `starts[s]:starts[s + 1]`, with target stems
    `partners` and `counts`; `group[slot]` is a word pair's, needed for learning only: a compact level has none.  The totals
    are counts of links by stem, the shares p(word | its stem) for each word.
    """

    SAVED: ClassVar = ("starts", "partners", "counts", "source_total", "target_total")

    source: Stems
    target: Stems
    starts: np.ndarray  # int64 (source stems + 1,)
    partners: np.ndarray  # int32 (groups,)
    group: np.ndarray  # int32 (slots,)
    counts: np.ndarray  # float64 (groups,)
    source_total: np.ndarray  # float64 (source stems,)
    target_total: np.ndarray  # float64 (target stems,)
    source_share: np.ndarray  # float64 (source words,)
    target_share: np.ndarray  # float64 (target words,)

    @classmethod
    def of(cls, slots: Slots, source: Vocabulary, target: Vocabulary, level: int) -> StemLevel:
        """Groups of a text's slots, nothing counted yet; shares by how often its words occur."""
        of_source, of_target = stems(source, level), stems(target, level)
        words_by_stem, stem_starts = sort_by_word(of_source.numbers, len(of_source))
        group = np.empty(len(slots), np.int32)
        partners, starts = kernels.group_slots(
            words_by_stem, stem_starts, slots.row_start, slots.target, of_target.numbers, len(of_target), group
        )
        return cls(
            of_source,
            of_target,
            starts,
            partners,
            group,
            np.zeros(len(partners)),
            np.zeros(len(of_source)),
            np.zeros(len(of_target)),
            _shares(of_source.numbers, source.counts, _token_counts(of_source, source)),
            _shares(of_target.numbers, target.counts, _token_counts(of_target, target)),
        )

    def add_to(self, emissions: np.ndarray, number: int, slots: Slots, words: WordTables, engine: Threads) -> None:
        """Add what stems count to the emissions of all slots; `number` is this level's among the tables'."""
        words_by_stem, stem_starts = sort_by_word(self.source.numbers, len(self.source))
        slots_before = np.zeros(len(words_by_stem) + 1, np.int64)
        np.cumsum(np.diff(slots.row_start)[words_by_stem], out=slots_before[1:])
        engine.map(
            lambda first, last: collapsed_kernels.add_stems(
                first,
                last,
                words_by_stem,
                stem_starts,
                self.starts,
                self.partners,
                self.counts,
                slots.row_start,
                slots.target,
                self.target.numbers,
                len(self.target),
                number,
                words.sources,
                words.targets,
                emissions,
            ),
            slot_runs(slots_before[stem_starts]),
        )

    def recount(self, counts: np.ndarray) -> None:
        """Add up the slots' counts by group and by stem."""
        self.counts[:] = 0.0
        kernels.add_up(self.group, counts, self.counts)
        self.source_total[:], self.target_total[:] = 0.0, 0.0
        collapsed_kernels.add_by_word(self.starts, self.partners, self.counts, self.source_total, self.target_total)

    def restricted(self, used: np.ndarray) -> StemLevel:
        """For some of the slots; the groups and their counts are the same arrays."""
        return replace(self, group=self.group[used])

    def compact(self) -> StemLevel:
        """Groups with a count only, sorted by target stem within a source stem; the groups of slots are dropped."""
        kept = np.flatnonzero(self.counts > 0)
        owner = np.repeat(np.arange(len(self.source)), np.diff(self.starts))[kept]
        kept = kept[np.argsort(owner * np.int64(len(self.target)) + self.partners[kept], kind="stable")]
        starts = np.zeros(len(self.source) + 1, np.int64)
        np.cumsum(np.bincount(owner, minlength=len(self.source)), out=starts[1:])
        return StemLevel(
            self.source,
            self.target,
            starts,
            self.partners[kept],
            np.empty(0, np.int32),
            self.counts[kept],
            self.source_total,
            self.target_total,
            self.source_share,
            self.target_share,
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """What cannot be found again from the vocabularies, for saving."""
        return {name: getattr(self, name) for name in self.SAVED}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, np.ndarray], source: Vocabulary, target: Vocabulary, level: int
    ) -> StemLevel:
        """The saved (compact) level, or ValueError for one whose arrays do not fit together."""
        of_source, of_target = stems(source, level), stems(target, level)
        starts, partners, counts, source_total, target_total = (arrays[name] for name in cls.SAVED)
        check_shapes(
            (starts, np.int64, (len(of_source) + 1,)),
            (partners, np.int32, (len(partners),)),
            (counts, np.float64, (len(partners),)),
            (source_total, np.float64, (len(of_source),)),
            (target_total, np.float64, (len(of_target),)),
        )
        check_rows(starts, partners, len(of_target))
        return cls(
            of_source,
            of_target,
            starts,
            partners,
            np.empty(0, np.int32),
            counts,
            source_total,
            target_total,
            _shares(of_source.numbers, source.counts, _token_counts(of_source, source)),
            _shares(of_target.numbers, target.counts, _token_counts(of_target, target)),
        )

    def transfer(self, level: int, old: tuple[Vocabulary, Vocabulary], new: tuple[Vocabulary, Vocabulary]) -> StemLevel:
        """This (compact) level for the words of another text; stems it never saw become one more, without counts."""
        sides = []
        for ours, total, before, after in (
            (self.source, self.source_total, old[0], new[0]),
            (self.target, self.target_total, old[1], new[1]),
        ):
            known = _known(stems(after, level), ours)
            counts = _picked(before.counts, after.numbers_in(before))
            share = _shares(known.numbers, counts, np.append(_token_counts(ours, before), 0.0))
            sides.append((known, np.append(total, 0.0), share))
        (source, source_total, source_share), (target, target_total, target_share) = sides
        return replace(
            self,
            source=source,
            target=target,
            starts=np.append(self.starts, self.starts[-1]),
            source_total=source_total,
            target_total=target_total,
            source_share=source_share,
            target_share=target_share,
        )


def _known(new: Stems, old: Stems) -> Stems:
    """The new words' stems by their old numbers; those that have none are the last."""
    numbers = new.numbers_in(old)
    numbers[numbers < 0] = len(old)
    return Stems(numbers[new.numbers], np.append(old.keys, np.uint64(0)))


def _picked(values: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """values[numbers], zero where a number is -1."""
    if not len(values):
        return np.zeros(len(numbers))
    return np.where(numbers >= 0, values[numbers], 0.0)


def _token_counts(of: Stems, vocabulary: Vocabulary) -> np.ndarray:
    """How often each stem occurs; a word never seen counts as half a time."""
    return np.bincount(of.numbers, np.maximum(vocabulary.counts, 0.5), len(of))


def _shares(numbers: np.ndarray, counts: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """p(word | its stem)."""
    seen = np.maximum(counts, 0.5)
    return seen / np.maximum(tokens[numbers], seen)
