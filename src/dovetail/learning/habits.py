"""Counting what annotators did with each word, and with each pair of words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.decoding.habits import Habits, WordHabits
from dovetail.decoding.learned import MEAN
from dovetail.kernels.learned.features import FEATURES, HABITS, OBSERVED
from dovetail.kernels.learned.habits import recall_words
from dovetail.kernels.learned.records import HABITS_OF_WORDS
from dovetail.learning.lesson import Lesson

# Chosen by the development sets, see benchmarks/learning.py.
USUAL = 3.0  # occurrences of a word that what is usual weighs as much as
DOUBTED = 2.0  # occurrences of a pair of words that the model's own belief weighs as much as
OFTEN = 10  # oftener than this is all one
OF_PAIRS = len(FEATURES) - 2  # where the columns of pairs begin

assert len(HABITS) == 2 * len(HABITS_OF_WORDS) + 4 + 2


@dataclass(frozen=True)
class Sums:
    """How often each of some things occurred, and sums of what is known of each occurrence."""

    number: np.ndarray  # float64 (things,)
    total: np.ndarray  # float64 (things, values)

    @classmethod
    def of(cls, thing: np.ndarray, values: np.ndarray, things: int) -> Sums:
        """`thing` of each occurrence, -1 for none, and its `values` (occurrences, values)."""
        counted = thing >= 0
        thing, values = thing[counted], values[counted]
        columns = [np.bincount(thing, column, minlength=things) for column in values.T]
        return cls(np.bincount(thing, minlength=things).astype(np.float64), np.stack(columns, axis=1))

    def at(self, thing: np.ndarray) -> Sums:
        """Of each occurrence's thing; nothing for -1."""
        none = thing < 0
        return Sums(np.where(none, 0.0, self.number[thing]), np.where(none[:, None], 0.0, self.total[thing]))

    def without(self, other: Sums) -> Sums:
        return Sums(self.number - other.number, self.total - other.total)

    def means(self, usual: np.ndarray | float, weight: float) -> np.ndarray:
        """Drawn towards `usual`, float32."""
        found: np.ndarray = (self.total + weight * usual) / (self.number + weight)[:, None]
        return found.astype(np.float32)


class Memory:
    """What the gold pairs of a lesson say of words and pairs of words, to be told of these pairs or of others."""

    def __init__(self, lesson: Lesson) -> None:
        self._lesson = lesson
        self._words = [Sums.of(side.number, side.habits, len(side.known)) for side in lesson.words]
        self._usual = [side.habits.mean(axis=0) for side in lesson.words]
        self._met, place = np.unique(_pairs_of_words(lesson), return_inverse=True)
        self._pairs = Sums.of(place, _surplus(lesson), len(self._met))

    def tell(self, lesson: Lesson, own: bool = False) -> None:
        """Write the habits of the lesson's candidates to its facts.

        `own`: the lesson is the one that was counted, and of each pair only what all others say is told.
        """
        tables = []
        for side, sums, usual in zip(lesson.words, self._words, self._usual, strict=True):
            found = sums.at(side.number)
            if own:
                found = found.without(_of_own_group(side.number, side.habits, lesson.group[side.pair]))
            tables.append(found.means(usual, USUAL))
        tokens = (np.arange(len(table), dtype=np.int32) for table in tables)
        pieces = lesson.lines, *tokens  # every token is a word of its own
        recall_words(0, len(lesson), pieces, *tables, lesson.numbers, lesson.cells, len(OBSERVED), lesson.facts)
        pair = _pairs_of_words(lesson)
        at = np.minimum(np.searchsorted(self._met, pair), len(self._met) - 1)
        at = np.where((pair >= 0) & (self._met[at] == pair), at, -1)
        sums = self._pairs.at(at)
        if own:
            sums = sums.without(_of_own_group(at, _surplus(lesson), lesson.group[lesson.pair]))
        lesson.facts[OF_PAIRS : len(FEATURES)] = _of_pairs(sums).T

    def habits(self) -> Habits:
        """All that is known, to be kept."""
        sides = []
        for side, sums, usual in zip(self._lesson.words, self._words, self._usual, strict=True):
            sides.append(WordHabits(side.known, sums.means(usual, USUAL), usual.astype(np.float32)))
        known = self._met >= 0
        row, column = np.divmod(self._met[known], len(sides[1].words))
        offsets = np.searchsorted(row, np.arange(len(sides[0].words) + 1))
        return Habits(
            sides[0], sides[1], offsets.astype(np.int64), column.astype(np.int32), _of_pairs(self._pairs)[known]
        )


def _of_pairs(sums: Sums) -> np.ndarray:
    """How much oftener than the model thinks, and how often met, float32 (pairs, 2)."""
    met = np.minimum(sums.number, OFTEN).astype(np.float32)
    return np.stack([sums.means(0.0, DOUBTED)[:, 0], met], axis=1)


def _pairs_of_words(lesson: Lesson) -> np.ndarray:
    """A number for the pair of words of each candidate, -1 if the model does not know one of them."""
    source, target = (side.number[token] for side, token in zip(lesson.words, lesson.tokens, strict=True))
    return np.where((source < 0) | (target < 0), -1, source * len(lesson.words[1].known) + target)


def _surplus(lesson: Lesson) -> np.ndarray:
    """By how much each candidate is more of a link than the model thinks, (candidates, 1); 0 if it was left open."""
    found = np.where(lesson.settled, lesson.sure - lesson.facts[MEAN].astype(np.float64), 0.0)
    return found[:, None]


def _of_own_group(thing: np.ndarray, values: np.ndarray, group: np.ndarray) -> Sums:
    """Sums over the occurrences of each occurrence's thing in its own group of pairs."""
    both, place = np.unique(np.stack([group, thing]), axis=1, return_inverse=True)
    place = np.where(thing < 0, -1, place.ravel())
    return Sums.of(place, values, both.shape[1]).at(place)
