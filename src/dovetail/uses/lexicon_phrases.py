"""Entries of several words: phrase pairs, how often they and their sides stand in the text, and where."""

from __future__ import annotations

from array import array
from os import PathLike
from typing import NamedTuple

import numpy as np

from dovetail.uses.aligned import Aligned
from dovetail.uses.phrase_table import phrase_table

FEW = 16  # translations of a phrase that are tried one by one


class Units:
    """Phrases of one side by number, and where they stand, linked or not."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.occurrences = self.pairs = np.empty(0, np.int64)

    def number(self, phrase: str) -> int:
        return self.numbers.setdefault(phrase, len(self.numbers))

    def begin(self) -> None:
        self.occurrences, self.pairs = np.zeros((2, len(self.numbers)), np.int64)

    def within(self, words: list[str], longest: int) -> set[int]:
        """The phrases of a sentence, which are counted."""
        numbers = self.numbers
        found = []
        for size in range(1, longest + 1):
            for first in range(len(words) - size + 1):
                if (number := numbers.get(" ".join(words[first : first + size]))) is not None:
                    found.append(number)
        np.add.at(self.occurrences, found, 1)
        here = set(found)
        self.pairs[list(here)] += 1
        return here


class PhraseEntries(NamedTuple):
    """Pairs of phrases: what a lexicon tells of each, and the sentence pairs that hold its source, and its target."""

    sources: list[str]
    targets: list[str]
    columns: dict[str, np.ndarray]
    source_pairs: np.ndarray
    target_pairs: np.ndarray
    examples: list[tuple[int, ...]]


def phrase_entries(
    aligned: Aligned, longest: int, least: int, examples: int, memory: int, folder: str | PathLike[str] | None
) -> PhraseEntries:
    """Pairs of phrases, at least one of them of more words than one, that come at least so often.

    Only numbers are kept of each, and every phrase once: there may be millions.
    """
    sides = Units(), Units()
    rows = array("d")
    for phrase in phrase_table(aligned, longest, spell=str, memory=memory, folder=folder):
        if phrase.count >= least and (" " in phrase.source or " " in phrase.target):
            units = sides[0].number(phrase.source), sides[1].number(phrase.target)
            rows.extend((*units, phrase.direct, phrase.inverse, phrase.count, phrase.expected, phrase.pairs))
    table = np.array(rows, np.float64).reshape(-1, 7)
    del rows
    source, target = (table[:, side].astype(np.int64) for side in range(2))
    best = _places(aligned, sides, source, target, longest, examples)
    spelled = [list(side.numbers) for side in sides]
    return PhraseEntries(
        [spelled[0][n] for n in source.tolist()],
        [spelled[1][n] for n in target.tolist()],
        {
            "p_target": table[:, 2],
            "p_source": table[:, 3],
            "count": table[:, 4].astype(np.int64),
            "expected": table[:, 5],
            "source_count": sides[0].occurrences[source],
            "target_count": sides[1].occurrences[target],
            "pairs": table[:, 6].astype(np.int64),
        },
        sides[0].pairs[source],
        sides[1].pairs[target],
        [tuple(number for number in row if number) for row in best.tolist()],
    )


def _places(
    aligned: Aligned, sides: tuple[Units, Units], source: np.ndarray, target: np.ndarray, longest: int, most: int
) -> np.ndarray:
    """Counts phrases where they stand.  Gives the first pairs that hold both sides of an entry, (entries, most), else 0."""
    best = np.zeros((len(source), most), np.int64)
    filled = np.zeros(len(source), np.int64)
    for side in sides:
        side.begin()
    starts = np.searchsorted(source, np.arange(len(sides[0].numbers) + 1))  # entries come by source phrase
    # Of a phrase with few translations all are tried; of another, those that are there.
    many = np.flatnonzero(np.repeat(np.diff(starts) > FEW, np.diff(starts)))
    of_many = dict(zip(zip(source[many].tolist(), target[many].tolist(), strict=True), many.tolist(), strict=True))
    number = 0
    for bitext in aligned.bitexts():
        for n in range(len(bitext)):
            number += 1
            here, there = (
                unit.within(
                    [side.vocabulary[word] for word in side.ids[slice(*side.offsets[n : n + 2])].tolist()], longest
                )
                for unit, side in zip(sides, (bitext.source, bitext.target), strict=True)
            )
            for unit in here if most else ():
                first, last = starts[unit], starts[unit + 1]
                if last - first > FEW:
                    found = [of_many[unit, other] for other in there if (unit, other) in of_many]
                else:
                    found = [entry for entry in range(first, last) if target[entry] in there]
                for entry in found:
                    if filled[entry] < most:
                        best[entry, filled[entry]] = number
                        filled[entry] += 1
    return best
