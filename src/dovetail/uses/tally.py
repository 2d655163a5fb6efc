"""How often words are linked: sums over a text that comes part by part, which do not depend on where parts end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.bitext.corpus import Side
from dovetail.uses.aligned import Aligned, Part

ONE = 1 << 30  # a probability is counted in so many parts: sums of integers are exact, in any order
PENDING = 1 << 20  # keys that wait at least, before they are added to those before
TARGET_BITS = 32
LOW = (1 << TARGET_BITS) - 1


class Numbering:
    """Numbers of words over all parts of one side of a text, in order of first appearance."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}

    def ids(self, side: Side) -> np.ndarray:
        """The side's words by these numbers, int64 (tokens,)."""
        numbers = (self.words.setdefault(word, len(self.words)) for word in side.vocabulary)
        return np.fromiter(numbers, np.int64, len(side.vocabulary))[side.ids]

    def __len__(self) -> int:
        return len(self.words)


class Sums:
    """Integer sums by key, int64; memory grows with the keys that differ."""

    def __init__(self, columns: int) -> None:
        self._keys = np.empty(0, np.int64)
        self._sums = np.empty((0, columns), np.int64)
        self._pending: list[tuple[np.ndarray, np.ndarray]] = []
        self._size = 0

    def add(self, keys: np.ndarray, values: np.ndarray) -> None:
        """`keys` (N,) in any order, `values` (N, columns)."""
        self._pending.append(sum_by_key(keys, values))
        self._size += len(self._pending[-1][0])
        if self._size > max(PENDING, len(self._keys)):
            self._settle()

    def _settle(self) -> None:
        parts = [(self._keys, self._sums), *self._pending]
        self._keys, self._sums = sum_by_key(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        self._pending, self._size = [], 0

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """Keys in ascending order, and their sums."""
        self._settle()
        return self._keys, self._sums


def sum_by_key(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each key once, in ascending order, with the sums of its rows."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else np.empty(0, np.int64)
    return keys[starts], np.add.reduceat(values[order], starts, axis=0) if len(starts) else values[:0]


@dataclass(frozen=True)
class SideCounts:
    """One side's words: their number in the text, the pairs that have them, and how much of them has no link.

    `free` counts occurrences without any link, `free_weight` what their links' probabilities leave over, in parts of ONE.
    """

    words: list[str]
    occurrences: np.ndarray
    pairs: np.ndarray
    free: np.ndarray
    free_weight: np.ndarray


@dataclass(frozen=True)
class LinkCounts:
    """Every pair of words that is ever linked: (source, target) numbers, sorted, with what was counted.

    `links` are links, `weight` the sum of their probabilities in parts of ONE, `pairs` the sentence pairs that have one.
    """

    source: np.ndarray
    target: np.ndarray
    links: np.ndarray
    weight: np.ndarray
    pairs: np.ndarray
    sentence_pairs: int
    sources: SideCounts
    targets: SideCounts

    @property
    def keys(self) -> np.ndarray:
        return pair_keys(self.source, self.target)

    def totals(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums of a value per link over each source word, and over each target word."""
        sums = []
        for numbers, side in ((self.source, self.sources), (self.target, self.targets)):
            total = np.zeros(len(side.words), np.int64)
            np.add.at(total, numbers, values)
            sums.append(total)
        return sums[0], sums[1]


def pair_keys(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    return (source.astype(np.int64) << TARGET_BITS) | target


def link_weights(alignments: Alignments) -> np.ndarray:
    """The probability of each link in parts of ONE, int64; one that is not known counts in full."""
    return np.rint(np.nan_to_num(alignments.probability.astype(np.float64), nan=1.0) * ONE).astype(np.int64)


class LinkTally:
    """Adds up the links of parts; `result` when all have been added."""

    def __init__(self) -> None:
        self.source, self.target = Numbering(), Numbering()
        self._links = Sums(3)
        self._sides = Sums(4), Sums(4)
        self._pairs = 0

    def add(self, part: Part) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the part's source and target words, which others may want too."""
        alignments, bitext = part.alignments, part.bitext
        ids = self.source.ids(bitext.source), self.target.ids(bitext.target)
        pair = np.repeat(np.arange(len(alignments)), np.diff(alignments.offsets))
        weight = link_weights(alignments)
        places = (
            bitext.source.offsets[pair] + alignments.source,
            bitext.target.offsets[pair] + alignments.target,
        )
        keys = pair_keys(ids[0][places[0]], ids[1][places[1]])
        ones = np.ones(len(keys), np.int64)
        self._links.add(keys, np.column_stack([ones, weight, first_of_pair(keys, pair)]))
        for side, words, place, sums in zip((bitext.source, bitext.target), ids, places, self._sides, strict=True):
            taken = np.zeros(len(words), np.int64)
            np.add.at(taken, place, weight)
            linked = np.zeros(len(words), bool)
            linked[place] = True
            of_pair = np.repeat(np.arange(len(bitext)), side.lengths)
            sums.add(
                words,
                np.column_stack(
                    [
                        np.ones(len(words), np.int64),
                        first_of_pair(words, of_pair),
                        ~linked,
                        np.maximum(ONE - taken, 0),
                    ]
                ),
            )
        self._pairs += len(bitext)
        return ids

    def result(self) -> LinkCounts:
        keys, sums = self._links.result()
        sides = []
        for numbering, counted in zip((self.source, self.target), self._sides, strict=True):
            _, columns = counted.result()  # every number has been counted, so the keys are 0, 1, 2 ...
            sides.append(SideCounts(list(numbering.words), *columns.T))
        links, weight, pairs = sums.T
        return LinkCounts(keys >> TARGET_BITS, keys & LOW, links, weight, pairs, self._pairs, sides[0], sides[1])


def count_links(aligned: Aligned) -> LinkCounts:
    tally = LinkTally()
    for part in aligned.parts():
        tally.add(part)
    return tally.result()


def first_of_pair(keys: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """1 where a key stands for the first time in its sentence pair, else 0; `pair` ascends."""
    order = np.argsort(keys, kind="stable")
    keys, pair = keys[order], pair[order]
    first = np.ones(len(keys), np.int64)
    first[1:] = (keys[1:] != keys[:-1]) | (pair[1:] != pair[:-1])
    result = np.empty(len(keys), np.int64)
    result[order] = first
    return result
