"""A text that stays in its files: it is read part by part, as often as needed, and never all in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from dovetail.bitext.corpus import Bitext, TextOptions, read_bitext
from dovetail.bitext.joining import Joining, joined, picked
from dovetail.bitext.normalise import Normaliser
from dovetail.bitext.readers import Pair, read_pairs
from dovetail.bitext.sharding import cells_of, piece_cells
from dovetail.bitext.store import Folder, Store
from dovetail.bitext.stream import LinesInStep, lines_in_step, stream_parts
from dovetail.bitext.tokenize import tokenizer_pair
from dovetail.bitext.windows import cut
from dovetail.kernels.text.lines import every_line
from dovetail.pool import Pool

HELD_AT_ONCE = 1 << 13  # pairs that are cut into words together


def pair_cells(bitext: Bitext) -> np.ndarray:
    """Cells of each pair, int64: of its windows, if it is a long one."""
    return np.concatenate([_pair_cells(part) for part in bitext.runs()])


def _pair_cells(bitext: Bitext) -> np.ndarray:
    pieces = cut(bitext.source.offsets, bitext.target.offsets)
    return np.bincount(pieces.pair, piece_cells(pieces), len(bitext)).astype(np.int64)


class Aside(NamedTuple):
    """Where the numbers of a text go that has more than `cells` cells, in place of memory."""

    cells: int
    folder: str | PathLike[str]

    def store(self, cells: int) -> Store:
        """For a text of so many."""
        return Folder(self.folder) if cells > self.cells else Store()


class Held(NamedTuple):
    """Every `step`-th pair of a text from its first on, where the text has `pairs` of them and about `cells` cells."""

    bitext: Bitext
    step: int
    pairs: int
    cells: int

    @classmethod
    def of(cls, bitext: Bitext) -> Held:
        """All of a text."""
        return cls(bitext, 1, len(bitext), cells_of(bitext))


def hold(bitext: Bitext, most: int) -> Held:
    """Every n-th pair, n the least power of two that keeps the cells that are held within `most`."""
    cells, step = pair_cells(bitext), 1
    while cells[::step].sum() > most and step < len(bitext):
        step *= 2
    if step == 1:
        return Held(bitext, 1, len(bitext), int(cells.sum()))
    numbers = np.arange(0, len(bitext), step)
    return Held(picked(bitext, numbers), step, len(bitext), int(cells[::step].sum()) * step)


@dataclass(frozen=True)
class TextSource:
    """Files of a bitext, named and read as `read_bitext` does; `reading` are its options.

    What can be read but once, standard input or another pipe, must be put in a file first.
    """

    source: str | PathLike[str]
    target: str | PathLike[str] | None = None
    reading: dict[str, Any] = field(default_factory=dict)

    def read(self, keep_text: bool = True) -> Bitext:
        """All of it."""
        return read_bitext(self.source, self.target, keep_text=keep_text, **self.reading)

    def parts(self, first: int = 0, keep_text: bool = True) -> Iterator[Bitext]:
        """All pairs from number `first` on, part by part."""
        return (made() for made in self.uncut(first, keep_text))

    def uncut(self, first: int = 0, keep_text: bool = True) -> Iterator[Callable[[], Bitext]]:
        """The same before it is cut into words: what is given for a part makes it, in the thread that wants it."""
        reading = {name: value for name, value in self.reading.items() if name not in ("lower", "form", "tokenizer")}
        return stream_parts(self.source, self.target, self.options, keep_text=keep_text, skip=first, **reading)

    def part(self, first: int, last: int) -> Bitext:
        """Pairs first..last - 1, or as many of them as there are."""
        found: list[Bitext] = []
        wanted = last - first
        for part in self.parts(first, keep_text=False):
            found.append(part.part(0, min(wanted, len(part))))
            wanted -= len(found[-1])
            if not wanted:
                break
        return joined(found) if found else Bitext.from_pairs([], options=self.options)

    @property
    def options(self) -> TextOptions:
        reading = self.reading
        return TextOptions(
            reading.get("tokenizer", "whitespace"), Normaliser(reading.get("lower", False), reading.get("form"))
        )

    def held(
        self, most: int | None, keep_text: bool = False, pool: Pool | None = None, aside: Aside | None = None
    ) -> Held:
        """What `hold` makes of the text (all of it without `most`), without ever having more in memory.

        Only what is held is cut into words, by the pool's threads while this text is read on.  All of a text that is too
        large for memory goes `aside`, without its lines.
        """
        if most is not None:
            holding = _Holding(self.options, most, keep_text)
        elif aside is not None:
            holding = _All(self.options, keep_text, aside)
        else:
            return Held.of(self.read(keep_text))
        pool = pool or Pool(1)
        for part in pool.stream(holding.cut, holding.uncut(self._blocks(), pool)):
            holding.add(*part, pool)
        return holding.held(pool)

    def _blocks(self) -> Iterator[_Lines | _Pairs]:
        reading = {name: value for name, value in self.reading.items() if name not in ("lower", "form", "tokenizer")}
        lines = reading.get("format") in (None, "lines") and reading.get("columns") is None
        if self.target is not None and lines and self.options.tokenizer == "whitespace":
            errors = reading.get("encoding_errors", "strict")
            yield from map(_Lines, lines_in_step(self.source, self.target, errors))
            return
        pairs = read_pairs(self.source, self.target, **reading)
        while block := list(islice(pairs, HELD_AT_ONCE)):
            yield _Pairs(block)


class _Uncut(NamedTuple):
    """Every `step`-th pair from number `first` on, in consecutive blocks."""

    first: int
    step: int
    blocks: list[_Lines | _Pairs]


class _Whole(NamedTuple):
    """All pairs from number `first` on, in consecutive blocks, of which every `step`-th is wanted."""

    first: int
    step: int
    blocks: list[_Lines | _Pairs]

    def chosen(self) -> _Uncut:
        number, chosen = self.first, []
        for block in self.blocks:
            chosen.append(block.every(-number % self.step, self.step))
            number += len(block)
        return _Uncut(self.first + -self.first % self.step, self.step, [block for block in chosen if len(block)])


class _Holding:
    """Every `step`-th pair of what has come so far, cut into words some thousands at a time.

    Pairs may be chosen by a smaller step than that of today, since others are being cut: they are thinned when they come.
    The step ends at the same number whenever it grows, since what is held only grows, too.
    """

    def __init__(self, options: TextOptions, most: int, keep_text: bool) -> None:
        tokenizer_pair(options.tokenizer)
        self._options, self._most, self._keep_text = options, most, keep_text
        self._step, self._pairs, self._cells = 1, 0, 0
        self._parts: list[Bitext] = []

    def uncut(self, blocks: Iterable[_Lines | _Pairs], pool: Pool) -> Iterator[_Uncut]:
        """What is to be held of the blocks of a text, which the pool's threads choose from while it is read on."""
        waiting = _Uncut(0, self._step, [])
        for chosen in pool.stream(_Whole.chosen, self._wholes(blocks)):
            if not waiting.blocks:
                waiting = chosen
            elif chosen.step == waiting.step and sum(map(len, waiting.blocks)) < HELD_AT_ONCE:
                waiting.blocks.extend(chosen.blocks)
            else:
                yield waiting
                waiting = chosen
        yield waiting

    def _wholes(self, blocks: Iterable[_Lines | _Pairs]) -> Iterator[_Whole]:
        waiting: list[_Lines | _Pairs] = []
        first = 0
        for block in blocks:
            waiting.append(block)
            self._pairs += len(block)
            if self._pairs - first >= HELD_AT_ONCE:
                yield _Whole(first, self._step, waiting)
                waiting, first = [], self._pairs
        yield _Whole(first, self._step, waiting)

    def cut(self, uncut: _Uncut) -> tuple[int, int, Bitext]:
        """The pairs' words, with the first one's number and the step between them."""
        blocks = uncut.blocks or [_Pairs([])]
        return uncut.first, uncut.step, type(blocks[0]).bitext(blocks, self._options, self._keep_text)

    def add(self, first: int, step: int, part: Bitext, pool: Pool) -> None:
        """What comes next, in order."""
        if step < self._step:
            part = picked(part, np.arange(-first % self._step // step, len(part), self._step // step), pool)
        self._parts.append(part)
        self._cells += int(pair_cells(part).sum())
        while self._cells > self._most and self._step < self._pairs:
            thinned = joined(self._parts, pool)
            self._parts = [picked(thinned, np.arange(0, len(thinned), 2), pool)]
            self._step *= 2
            self._cells = int(pair_cells(self._parts[0]).sum())

    def held(self, pool: Pool) -> Held:
        """What is left at the end of the text."""
        return Held(joined(self._parts, pool), self._step, self._pairs, self._cells * self._step)


class _All(_Holding):
    """All of what has come so far: in memory, until it is too much, and then aside."""

    def __init__(self, options: TextOptions, keep_text: bool, aside: Aside) -> None:
        super().__init__(options, 0, keep_text)
        self._aside = aside
        self._joining: Joining | None = None

    def add(self, first: int, step: int, part: Bitext, pool: Pool) -> None:
        self._cells += int(pair_cells(part).sum())
        self._parts.append(part)
        if self._joining is None and self._cells > self._aside.cells:
            self._joining, self._keep_text = Joining(self._aside.store(self._cells), pool), False
        while self._joining is not None and self._parts:
            self._joining.add(self._parts.pop(0))

    def held(self, pool: Pool) -> Held:
        bitext = joined(self._parts, pool) if self._joining is None else self._joining.joined()
        return Held(bitext, 1, self._pairs, self._cells)


class _Lines:
    """Consecutive pairs as whole lines of two files."""

    def __init__(self, lines: LinesInStep) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def every(self, first: int, step: int) -> _Lines:
        if (first, step) == (0, 1):
            return self
        source, target = (_every(lines, first, step) for _, lines in self._lines.sides)
        return _Lines(LinesInStep(source, target, len(range(first, len(self), step))))

    @staticmethod
    def bitext(blocks: list[Any], options: TextOptions, keep_text: bool) -> Bitext:
        sides = chain.from_iterable(block._lines.sides for block in blocks)
        return Bitext.from_lines(sides, options=options, keep_text=keep_text)


def _every(lines: bytes, first: int, step: int) -> bytes:
    """Every so many-th line, from one of them on."""
    chosen = np.empty(len(lines), np.uint8)
    return chosen[: every_line(np.frombuffer(lines, np.uint8), first, step, chosen)].tobytes()


class _Pairs:
    """Consecutive pairs as strings."""

    def __init__(self, pairs: list[Pair]) -> None:
        self._pairs = pairs

    def __len__(self) -> int:
        return len(self._pairs)

    def every(self, first: int, step: int) -> _Pairs:
        return _Pairs(self._pairs[first::step])

    @staticmethod
    def bitext(blocks: list[Any], options: TextOptions, keep_text: bool) -> Bitext:
        pairs = chain.from_iterable(block._pairs for block in blocks)
        return Bitext.from_pairs(pairs, options=options, keep_text=keep_text)
