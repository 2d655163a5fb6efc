"""Stems as a back-off: counts of pairs of stems, shared by all word pairs that have them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dovetail.bitext.cells import Slots
from dovetail.bitext.spelling import Stems, stems
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.kernels import stems as kernels
from dovetail.kernels import transfer as transfer_kernels
from dovetail.kernels.collapsed import add_by_word
from dovetail.kernels.cooccurrence import sort_by_word
from dovetail.models.lexicon import check_rows, check_shapes


@dataclass
class StemLevel:
    """One level of stems for a text.

    Pairs of stems that co-occur are groups: those of source stem s are `starts[s]:starts[s + 1]`, with target stems
    `partners` and `counts`; `group[slot]` is a word pair's.  The totals are counts of links by stem, the shares
    p(word | its stem) for each word.
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

    def recount(self, counts: np.ndarray) -> None:
        """Add up the slots' counts by group and by stem."""
        self.counts[:] = 0.0
        kernels.add_up(self.group, counts, self.counts)
        self.source_total[:], self.target_total[:] = 0.0, 0.0
        add_by_word(self.starts, self.partners, self.counts, self.source_total, self.target_total)

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

    def transfer(
        self, level: int, slots: Slots, old: tuple[Vocabulary, Vocabulary], new: tuple[Vocabulary, Vocabulary]
    ) -> StemLevel:
        """This (compact) level's counts for the words and slots of another text."""
        moved = StemLevel.of(slots, *new, level)
        numbers = moved.source.numbers_in(self.source), moved.target.numbers_in(self.target)
        transfer_kernels.look_up_counts(
            moved.starts, moved.partners, *numbers, self.starts, self.partners, self.counts, moved.counts
        )
        moved.source_total = _picked(self.source_total, numbers[0])
        moved.target_total = _picked(self.target_total, numbers[1])
        for side, number in enumerate(numbers):
            ours, theirs = (self.source, moved.source) if side == 0 else (self.target, moved.target)
            tokens = _picked(_token_counts(ours, old[side]), number)
            counts = _picked(old[side].counts, new[side].numbers_in(old[side]))
            share = _shares(theirs.numbers, counts, tokens)
            if side == 0:
                moved.source_share = share
            else:
                moved.target_share = share
        return moved


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
