"""The pairs that are offered for annotating: their words, the order in which to take them, and what a model suggests."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.alignments.gold import GoldPair
from dovetail.bitext.corpus import Bitext, TextOptions, read_bitext
from dovetail.bitext.normalise import Normaliser
from dovetail.bitext.readers import read_pairs
from dovetail.bitext.text import display_name, read_lines
from dovetail.errors import InputError

if TYPE_CHECKING:
    from dovetail.aligner import Aligner

FAINT = 0.01  # cells below this probability are not shown
DOUBTFUL_AMONG = 200  # open pairs that are looked at for the most doubtful one: some tenths of a second
NUMBER = re.compile(r"[0-9]{1,9}")

Range = tuple[int, int | None]  # first and last pair, counted from 1; None: to the end


@dataclass(frozen=True)
class Suggestion:
    """What a model says of a pair: links to begin with, and the cells that it thinks possible, (i, j, probability)."""

    links: str = ""
    cells: tuple[tuple[int, int, float], ...] = ()


class Sheet:
    """Pairs by number, counted from 1 in the whole text, in the order in which they are offered."""

    def __init__(
        self, bitext: Bitext, numbers: np.ndarray, order: Sequence[int], aligner: Aligner | None = None
    ) -> None:
        self.bitext = bitext
        self.aligner = aligner
        self._numbers = numbers  # of each row of the bitext, rising
        self._order = np.asarray(order, np.int64)  # rows
        self._place = np.empty(len(numbers), np.int64)  # of each row in the order
        self._place[self._order] = np.arange(len(numbers))

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self._find(number) is not None

    def words(self, number: int) -> tuple[list[str], list[str]]:
        return self.bitext.tokens(self._row(number))

    def lengths(self, number: int) -> tuple[int, int]:
        row = self._row(number)
        source, target = self.bitext.source.offsets, self.bitext.target.offsets
        return int(source[row + 1] - source[row]), int(target[row + 1] - target[row])

    def suggestion(self, number: int) -> Suggestion:
        """Nothing without a model, and for a pair without words on one side."""
        source, target = self.words(number)
        if self.aligner is None or not source or not target:
            return Suggestion()
        alignment = self.aligner.align_pair(source, target)
        posteriors = self.aligner.posteriors(source, target)
        cells = {(i, j): float(posteriors[i, j]) for i, j in np.argwhere(posteriors >= FAINT).tolist()}
        cells |= dict(zip(alignment.links, map(float, alignment.probabilities), strict=True))
        links = set(alignment.links)
        return Suggestion(
            str(GoldPair(links, links)), tuple((i, j, round(p, 4)) for (i, j), p in sorted(cells.items()))
        )

    def warm_up(self) -> None:
        """Have compiled, or read what is compiled, so that the first answer comes as fast as the others."""
        if self.aligner is not None:
            pair = ["a"], ["b"]
            self.aligner.align_pair(*pair)
            self.aligner.posteriors(*pair)
            self.aligner.pick(Bitext.from_pairs([pair]), 1)

    def within(self, limits: Range) -> int:
        """How many pairs have a number within these limits."""
        low, high = self._limits(limits)
        return int(np.searchsorted(self._numbers, high, "right") - np.searchsorted(self._numbers, low))

    def beside(self, number: int, step: int, limits: Range) -> int | None:
        """The pair before (-1) or behind (1) this one, in the order offered and within the limits; None at an end."""
        place = self._place[self._row(number)]
        ahead = self._order[place + 1 :] if step > 0 else self._order[:place][::-1]
        found = self._kept(ahead, limits)
        return int(found[0]) if len(found) else None

    def next_open(self, number: int | None, limits: Range, finished: Callable[[int], bool], most: int = 1) -> list[int]:
        """The next pairs that are not finished, this one last of all; from the first one on if there is none."""
        place = -1 if number is None else int(self._place[self._row(number)])
        found = _first(self._kept(self._order[place + 1 :], limits), finished, most)
        return found or _first(self._kept(self._order[: place + 1], limits), finished, most)

    def next_doubtful(self, number: int | None, limits: Range, finished: Callable[[int], bool]) -> int | None:
        """Of the next open pairs the one whose links would teach the model most; without a model the next open one."""
        candidates = self.next_open(number, limits, finished, DOUBTFUL_AMONG if self.aligner else 1)
        if len(candidates) > 1 and number in candidates:
            candidates.remove(number)
        if self.aligner is None or len(candidates) < 2:
            return candidates[0] if candidates else None
        best = self.aligner.pick(Bitext.from_pairs([self.words(one) for one in candidates]), 1)
        return candidates[best[0] if best else 0]

    def _kept(self, rows: np.ndarray, limits: Range) -> np.ndarray:
        """The numbers of some rows, within the limits."""
        low, high = self._limits(limits)
        numbers = self._numbers[rows]
        found: np.ndarray = numbers[(numbers >= low) & (numbers <= high)]
        return found

    def _limits(self, limits: Range) -> tuple[int, int]:
        return limits[0], int(self._numbers[-1]) if limits[1] is None else limits[1]

    def _find(self, number: int) -> int | None:
        if not 1 <= number <= self._numbers[-1]:  # asked first: a number may be too large for an array
            return None
        row = int(np.searchsorted(self._numbers, number))
        return row if self._numbers[row] == number else None

    def _row(self, number: int) -> int:
        row = self._find(number)
        if row is None:
            raise KeyError(number)
        return row


def _first(numbers: np.ndarray, finished: Callable[[int], bool], most: int) -> list[int]:
    found = []
    for number in numbers.tolist():
        if not finished(number):
            found.append(number)
            if len(found) == most:
                break
    return found


def open_sheet(
    source: str | PathLike[str],
    target: str | PathLike[str] | None,
    *,
    numbers: Sequence[int] | None = None,
    limits: Range | None = None,
    aligner: Aligner | None = None,
    by_gain: bool = False,
    **reading: Any,
) -> Sheet:
    """The pairs with these numbers (all), within these limits, in the order of `numbers`, of the text, or by expected gain.

    Text behind the last of them is not read, and of what lies between them nothing is kept.
    """
    if numbers is None and limits is None:
        bitext = read_bitext(source, target, **reading)
        rows = np.arange(1, len(bitext) + 1)
    else:
        bitext, rows = _read_some(source, target, numbers, limits or (1, None), reading)
    if not len(rows):
        raise InputError("no pairs to annotate", path=display_name(source), remedy="Give a text that has some.")
    order = np.arange(len(rows))
    if by_gain and aligner is not None:
        best = aligner.pick(bitext, len(bitext))
        order = np.append(np.array(best, np.int64), np.setdiff1d(order, best))
    elif numbers is not None:
        places = {number: place for place, number in enumerate(numbers)}
        order = np.argsort([places[number] for number in rows.tolist()], kind="stable")
    return Sheet(bitext, rows, order.tolist(), aligner)


def _read_some(
    source: str | PathLike[str],
    target: str | PathLike[str] | None,
    numbers: Sequence[int] | None,
    limits: Range,
    reading: dict[str, Any],
) -> tuple[Bitext, np.ndarray]:
    reading = dict(reading)
    options = TextOptions(reading.pop("tokenizer"), Normaliser(reading.pop("lower"), reading.pop("form")))
    first, last = limits
    asked = None if numbers is None else set(numbers)
    end = min([n for n in (last, max(numbers) if numbers else None) if n is not None], default=None)
    kept, rows, read = [], [], 0
    for read, pair in enumerate(read_pairs(source, target, **reading), 1):
        if read >= first and (asked is None or read in asked):
            kept.append(pair)
            rows.append(read)
        if read == end:
            break
    # A range may end behind the text, as a last share does; a list of numbers may not.
    wanted = first if numbers is None else max((n for n in numbers if first <= n <= (last or n)), default=0)
    if wanted > read:
        raise InputError(
            f"pair {wanted:,} is asked for, but there are {read:,}",
            path=display_name(source),
            remedy="Pairs count from 1. Are the numbers those of this text?",
        )
    if numbers is not None and not rows:
        raise InputError("none of the numbers lies in the range", remedy="Drop --range, or give other numbers.")
    return Bitext.from_pairs(kept, options=options), np.array(rows, np.int64)


def read_numbers(path: str) -> list[int]:
    """Numbers of pairs, counted from 1, one per line, as `dovetail pick` prints them; what follows a tab is left aside."""
    found: dict[int, int] = {}
    for line, text in enumerate(read_lines(path), 1):
        field = text.partition("\t")[0].strip()
        if not field and not text.strip():
            continue
        if NUMBER.fullmatch(field) is None or int(field) == 0:
            raise InputError(
                f"{field[:40]!r} is not the number of a pair",
                path=display_name(path),
                line=line,
                remedy="Give one number per line, counted from 1, as `dovetail pick` prints them.",
            )
        found.setdefault(int(field), line)
    if not found:
        raise InputError("no numbers here", path=display_name(path), remedy="`dovetail pick` prints some.")
    return list(found)
