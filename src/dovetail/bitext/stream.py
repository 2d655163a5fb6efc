"""A bitext of any length, part by part as it comes: what a saved model aligns while the text is still being written.

A part is what has been read while the one before was worked on, and at least what comes within a moment: a pipe that is
filled line by line gives parts of a line or two at once, a file gives parts of the full size.  Whoever works on parts must
not let their sizes matter.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from os import PathLike
from threading import Condition, Thread
from typing import Any, Generic, TypeVar

import numpy as np

from dovetail.bitext.corpus import Bitext, TextOptions
from dovetail.bitext.normalise import Normaliser
from dovetail.bitext.readers import read_in_step, read_pairs
from dovetail.bitext.text import LineBlock

T = TypeVar("T")

PART_PAIRS = 1 << 14  # enough that a part's own costs do not count; two of them are in memory
MOMENT = 0.05  # seconds that a part may wait to become larger


def stream_bitext(
    source: str | PathLike[str],
    target: str | PathLike[str] | None = None,
    *,
    lower: bool = False,
    form: str | None = None,
    tokenizer: str = "whitespace",
    keep_text: bool = True,
    skip: int = 0,
    **reading: Any,
) -> Iterator[Bitext]:
    """As `read_bitext`, in parts that know the number of their first pair; memory does not grow with the text.

    The first `skip` pairs are left out.  What is wrong with the text is raised when all pairs before it have been given.
    """
    options = TextOptions(tokenizer, Normaliser(lower, form))
    return (made() for made in stream_parts(source, target, options, keep_text=keep_text, skip=skip, **reading))


def stream_parts(
    source: str | PathLike[str],
    target: str | PathLike[str] | None,
    options: TextOptions,
    *,
    keep_text: bool = True,
    skip: int = 0,
    **reading: Any,
) -> Iterator[Callable[[], Bitext]]:
    """The same before it is cut into words: what is given for a part makes it, in the thread that wants it."""
    parts: Iterator[tuple[int, Callable[[], Bitext]]]
    lines = reading.get("format") in (None, "lines") and reading.get("columns") is None
    if target is not None and lines and options.tokenizer == "whitespace":
        errors = reading.get("encoding_errors", "strict")
        parts = (
            (sum(map(LinesInStep.__len__, blocks)), partial(_from_lines, blocks, options, keep_text))
            for blocks in read_ahead(lambda: lines_in_step(source, target, errors, skip), PART_PAIRS, len)
        )
    else:
        parts = (
            (len(pairs), partial(Bitext.from_pairs, pairs, options=options, keep_text=keep_text))
            for pairs in read_ahead(lambda: islice(read_pairs(source, target, **reading), skip, None), PART_PAIRS)
        )
    first = skip
    for size, made in parts:
        yield partial(_numbered, made, first)
        first += size


def _numbered(made: Callable[[], Bitext], first: int) -> Bitext:
    part = made()
    part.first = first
    return part


@dataclass(frozen=True)
class LinesInStep:
    """So many whole lines of each of two files; the last ones of a file may lack their ends."""

    source: bytes
    target: bytes
    lines: int

    def __len__(self) -> int:
        return self.lines

    @property
    def sides(self) -> Iterator[tuple[int, bytes]]:
        """As `Bitext.from_lines` takes them."""
        return enumerate((self.source, self.target))


def _from_lines(blocks: list[LinesInStep], options: TextOptions, keep_text: bool) -> Bitext:
    sides = chain.from_iterable(block.sides for block in blocks)
    return Bitext.from_lines(sides, options=options, keep_text=keep_text)


def lines_in_step(
    source: str | PathLike[str], target: str | PathLike[str], errors: str = "strict", skip: int = 0
) -> Iterator[LinesInStep]:
    """Whole lines of two files, as many of one as of the other, without the first `skip` of either."""
    waiting = _Waiting(), _Waiting()
    for side, block in read_in_step(source, target, errors):
        waiting[side].put(block)
        while ready := min(skip or PART_PAIRS, *(own.lines for own in waiting)):
            taken = LinesInStep(waiting[0].take(ready), waiting[1].take(ready), ready)
            if skip:
                skip -= ready
            else:
                yield taken


class _Waiting:
    """Lines of one file that wait for those of the other: nothing is copied, and no line looked for, before it must be."""

    def __init__(self) -> None:
        self.lines = 0
        self._blocks: deque[tuple[bytes | memoryview, int]] = deque()  # with the number of their lines

    def put(self, block: LineBlock) -> None:
        self._blocks.append((block.raw, block.lines))
        self.lines += block.lines

    def take(self, lines: int) -> bytes:
        """The first so many lines, which go from here."""
        self.lines -= lines
        taken = []
        while lines:
            raw, own = self._blocks.popleft()
            if own > lines:
                end = int(np.flatnonzero(np.frombuffer(raw, np.uint8) == ord("\n"))[lines - 1]) + 1
                self._blocks.appendleft((memoryview(raw)[end:], own - lines))
                raw, own = memoryview(raw)[:end], lines
            taken.append(raw)
            lines -= own
        return b"".join(taken)


def read_ahead(
    items: Callable[[], Iterator[T]], most: int, size: Callable[[T], int] = lambda item: 1
) -> Iterator[list[T]]:
    """The items in lists, read in a thread of its own; an exception comes behind the items before it.

    A list ends with the item that brings the sum of its sizes to `most`.
    """
    reader = _Reader(items, most, size)
    reader.start()
    try:
        while part := reader.take():
            yield part
    finally:
        reader.stop()


class _Reader(Thread, Generic[T]):
    """Reads until items of the size `most` wait.  As a daemon, since nothing can wake it from a pipe that brings nothing."""

    def __init__(self, items: Callable[[], Iterator[T]], most: int, size: Callable[[T], int]) -> None:
        super().__init__(name="dovetail-reader", daemon=True)
        self._items = items
        self._most = most
        self._size = size
        self._waiting: list[T] = []
        self._sum = 0  # of their sizes
        self._ended = False
        self._stopped = False
        self._problem: BaseException | None = None
        self._changed = Condition()

    def run(self) -> None:
        # Held as long as this thread may stand in a read: an interpreter that ends would close it, and wait for ever.
        standard_input = sys.stdin
        try:
            for item in self._items():
                with self._changed:
                    self._changed.wait_for(lambda: self._stopped or self._sum < self._most)
                    if self._stopped:
                        return
                    self._waiting.append(item)
                    self._sum += self._size(item)
                    if len(self._waiting) == 1 or self._sum >= self._most:
                        self._changed.notify()
        except BaseException as problem:  # raised again by `take`, in the thread that can tell it
            self._problem = problem
        finally:
            del standard_input
            with self._changed:
                self._ended = True
                self._changed.notify()

    def take(self) -> list[T]:
        """What waits, after a moment's patience; nothing at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended)
            self._changed.wait_for(lambda: self._sum >= self._most or self._ended, MOMENT)
            taken, self._waiting, self._sum = self._waiting, [], 0
            self._changed.notify()
        if not taken and self._problem is not None:
            raise self._problem
        return taken

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
