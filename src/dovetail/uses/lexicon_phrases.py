"""Entries of several words: phrase pairs, how often they and their sides stand in the text, and where."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from os import PathLike
from typing import NamedTuple

import numpy as np

from dovetail.uses.aligned import Aligned
from dovetail.uses.columns import Numbers, Spellings
from dovetail.uses.phrase_table import phrase_table

FEW = 512  # translations of a phrase that are all gone through; of more, those that are there are looked up


class Units:
    """Phrases of one side by number, and where they stand, linked or not."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.occurrences = self.pairs = array("q")  # which Python counts up faster than numpy's

    def number(self, phrase: str) -> int:
        return self.numbers.setdefault(phrase, len(self.numbers))

    def begin(self) -> None:
        self.occurrences, self.pairs = (array("q", bytes(8 * len(self.numbers))) for _ in range(2))

    def within(self, words: list[str], longest: int) -> set[int]:
        """The phrases of a sentence, which are counted."""
        numbers, occurrences, pairs = self.numbers, self.occurrences, self.pairs
        here = set()
        for size in range(1, longest + 1):
            for first in range(len(words) - size + 1):
                if (number := numbers.get(" ".join(words[first : first + size]))) is not None:
                    occurrences[number] += 1
                    here.add(number)
        for number in here:
            pairs[number] += 1
        return here


class PhraseEntries(NamedTuple):
    """Pairs of phrases: what a lexicon tells of each, and the sentence pairs that hold its source, and its target."""

    sources: Spellings
    targets: Spellings
    columns: dict[str, np.ndarray]
    source_pairs: np.ndarray
    target_pairs: np.ndarray
    examples: Numbers


def phrase_entries(
    aligned: Aligned, longest: int, least: int, examples: int, memory: int, folder: str | PathLike[str] | None
) -> PhraseEntries:
    """Pairs of phrases, at least one of them of more words than one, that come at least so often.

    Only numbers are kept of each, and every phrase once: there may be millions.
    """
    sides = Units(), Units()
    units = array("i"), array("i")
    shares, counts = array("d"), array("q")  # of each, the numbers that stand together below
    for phrase in phrase_table(aligned, longest, least=least, spell=str, memory=memory, folder=folder):
        if " " in phrase.source or " " in phrase.target:
            for side, unit, text in zip(sides, units, (phrase.source, phrase.target), strict=True):
                unit.append(side.number(text))
            shares.extend((phrase.direct, phrase.inverse, phrase.expected))
            counts.extend((phrase.count, phrase.pairs))
    source, target = (np.array(unit, np.int32) for unit in units)
    order = np.lexsort((target, source))  # they come by source phrase: only its translations change places
    source, target = source[order], target[order]
    direct, inverse, expected = np.array(shares).reshape(-1, 3)[order].T
    count, pairs = np.array(counts).reshape(-1, 2)[order].T
    del shares, counts, units, order
    best = _places(aligned, sides, source, target, longest, examples)
    source_times, source_pairs, target_times, target_pairs = (
        np.frombuffer(values, np.int64) if len(values) else np.empty(0, np.int64)
        for side in sides
        for values in (side.occurrences, side.pairs)
    )
    columns = {
        "p_target": direct,
        "p_source": inverse,
        "count": count,
        "expected": expected,
        "source_count": source_times[source],
        "target_count": target_times[target],
        "pairs": pairs,
    }
    sources, targets = (
        Spellings(list(side.numbers), numbers) for side, numbers in zip(sides, (source, target), strict=True)
    )
    return PhraseEntries(sources, targets, columns, source_pairs[source], target_pairs[target], Numbers(best))


def _places(
    aligned: Aligned, sides: tuple[Units, Units], source: np.ndarray, target: np.ndarray, longest: int, most: int
) -> np.ndarray:
    """Counts phrases where they stand.  Gives the first pairs that hold both sides of an entry, (entries, most), else 0.

    Entries come by source phrase, those of one by target phrase.
    """
    best = np.zeros((len(source), most), np.int32)
    filled = array("i", bytes(4 * len(source)))
    starts = array("q", np.searchsorted(source, np.arange(len(sides[0].numbers) + 1)).tobytes())
    targets = array("i", target.tobytes())  # for Python, which is faster at one number of an array of its own
    for side in sides:
        side.begin()
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
                for other in there.intersection(targets[first:last]) if last - first <= FEW else there:
                    entry = bisect_left(targets, other, first, last)
                    if entry < last and targets[entry] == other and filled[entry] < most:
                        best[entry, filled[entry]] = number
                        filled[entry] += 1
    return best
