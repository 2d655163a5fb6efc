"""Links made by hand, sure or possible: what alignments are measured against."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from os import PathLike
from typing import overload

import numpy as np

from dovetail.alignments.formats_lines import LINK, LinkLines, parse_link_lines
from dovetail.alignments.formats_naacl import LARGEST_SENTENCE, LINE, parse_naacl
from dovetail.alignments.formats_packing import (
    Lengths,
    check_pairs,
    length_table,
    outside,
    outside_error,
    sort_links,
)
from dovetail.bitext.text import atomic_writer, display_name, read_lines
from dovetail.errors import InputError
from dovetail.registry import Registry

GoldReader = Callable[[Iterable[str], str, "np.ndarray | None", "int | None"], "Gold"]

NUMBERED = re.compile(r"([0-9]{1,18})\t(.*)")
ENOUGH_PAIRS = 10  # a file of so many pairs in which no first word ever has a link is taken to count from 1


@dataclass(frozen=True)
class GoldPair:
    """One pair's sure links, and its possible ones, which include the sure."""

    sure: set[tuple[int, int]]
    possible: set[tuple[int, int]]

    @classmethod
    def from_text(cls, text: str) -> GoldPair:
        """From `0-0 1?2`, a line of a gold file without its number."""
        found = parse_link_lines([text], "the links", probabilities=False)
        marked = list(zip(found.source.tolist(), found.target.tolist(), found.possible.tolist(), strict=True))
        return cls({(i, j) for i, j, possible in marked if not possible}, {(i, j) for i, j, _ in marked})

    def __str__(self) -> str:
        """`0-0 1?2`: in order, each link once."""
        links = sorted(self.sure | self.possible)
        return " ".join(f"{i}{'-' if (i, j) in self.sure else '?'}{j}" for i, j in links)


@dataclass(eq=False, repr=False)
class Gold(Sequence[GoldPair]):
    """One `GoldPair` for each pair, in order, packed.

    Pair n owns entries `offsets[n]:offsets[n + 1]` of `source` (i) and `target` (j), both int32, its possible
    links, sorted by (i, j), and of `sure` (bool), which says which of them are sure.  `annotated` (bool) says which
    pairs a person looked at: the others have no links here, and whatever an aligner links there is neither right nor wrong.
    """

    offsets: np.ndarray
    source: np.ndarray
    target: np.ndarray
    sure: np.ndarray
    annotated: np.ndarray = field(default_factory=lambda: np.empty(0, bool))

    def __post_init__(self) -> None:
        if len(self.annotated) != len(self.offsets) - 1:
            self.annotated = np.ones(len(self.offsets) - 1, bool)

    @classmethod
    def from_links(
        cls,
        sure: Iterable[Iterable[tuple[int, int]]],
        possible: Iterable[Iterable[tuple[int, int]]] | None = None,
        lengths: Lengths | None = None,
    ) -> Gold:
        """From lists of (i, j) a pair; `possible` need not repeat the sure links.  All must fit `lengths`."""
        sure_rows = [list(row) for row in sure]
        possible_rows = [[] for _ in sure_rows] if possible is None else [list(row) for row in possible]
        if len(possible_rows) != len(sure_rows):
            raise ValueError(f"sure links of {len(sure_rows)} pairs, but possible links of {len(possible_rows)}")
        rows = [first + second for first, second in zip(sure_rows, possible_rows, strict=True)]
        counts = np.array([len(row) for row in rows], np.int64)
        links = np.array([link for row in rows for link in row], np.int64).reshape(-1, 2)
        marks = [
            mark for s, p in zip(sure_rows, possible_rows, strict=True) for mark in [True] * len(s) + [False] * len(p)
        ]
        if (links < 0).any():
            raise ValueError("links count from 0: none can be negative")
        if (table := length_table(lengths)) is not None:
            if len(table) != len(rows):
                raise ValueError(f"links of {len(rows)} pairs, but lengths of {len(table)}")
            if (beyond := outside(counts, links[:, 0], links[:, 1], table)) is not None:
                pair, k = beyond
                raise ValueError(
                    f"pair {pair}: link {tuple(links[k].tolist())} lies outside {table[pair].tolist()} words"
                )
        return cls(*sort_links(counts, links[:, 0], links[:, 1], np.array(marks, bool)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> GoldPair: ...
    @overload
    def __getitem__(self, index: slice) -> Gold: ...
    def __getitem__(self, index: int | slice) -> GoldPair | Gold:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise ValueError("gold is sliced in order, without a step")
            stop = max(start, stop)
            low, high = self.offsets[start], self.offsets[stop]
            source, target, sure = (values[low:high] for values in (self.source, self.target, self.sure))
            return Gold(self.offsets[start : stop + 1] - low, source, target, sure, self.annotated[start:stop])
        n = range(len(self))[index]
        entries = slice(self.offsets[n], self.offsets[n + 1])
        links = list(zip(self.source[entries].tolist(), self.target[entries].tolist(), strict=True))
        marks = self.sure[entries].tolist()
        return GoldPair({link for link, mark in zip(links, marks, strict=True) if mark}, set(links))

    def __repr__(self) -> str:
        pairs = f"{len(self):,}" if self.annotated.all() else f"{int(self.annotated.sum()):,} of {len(self):,}"
        return f"<Gold: {pairs} pairs, {int(self.sure.sum()):,} sure links, {len(self.sure):,} possible>"

    def trimmed(self) -> Gold:
        """The same without the pairs behind the last annotated one."""
        return self[: max(np.flatnonzero(self.annotated), default=-1) + 1]

    def padded(self, pairs: int) -> Gold:
        """The same with further pairs that nobody annotated, up to so many in all."""
        more = pairs - len(self)
        offsets = np.append(self.offsets, np.full(more, self.offsets[-1]))
        return Gold(offsets, self.source, self.target, self.sure, np.append(self.annotated, np.zeros(more, bool)))

    def kept(self, pairs: np.ndarray) -> Gold:
        """The pairs that a mask tells, and no others."""
        counts = np.diff(self.offsets)
        links = np.repeat(pairs, counts)
        offsets = np.append(0, np.cumsum(counts[pairs]))
        return Gold(offsets, self.source[links], self.target[links], self.sure[links], self.annotated[pairs])

    def without(self, pairs: np.ndarray) -> Gold:
        """The same as if nobody had annotated some of the pairs, which a mask tells."""
        counts = np.diff(self.offsets)
        kept = np.repeat(~pairs, counts)
        offsets = np.append(0, np.cumsum(np.where(pairs, 0, counts)))
        return Gold(offsets, self.source[kept], self.target[kept], self.sure[kept], self.annotated & ~pairs)


def read_gold(
    path: str | PathLike[str],
    format: str | None = None,
    lengths: Lengths | None = None,
    pairs: int | None = None,
    partial: bool = False,
) -> Gold:
    """The gold links of a file, in one of three forms, told apart by the first line that is not empty.

    - `pharaoh`: one line per pair, `i-j` sure and `i?j` (or `ipj`) possible, counted from 0.  A blank line is a pair that
      nobody annotated.
    - `numbered`: the same for some pairs, each line with its pair's number, from 1, and a tab before the links.
    - `naacl`: one line per link, `sentence source target [S|P] [confidence]`, counted from 1, sure where the
      mark is missing.  Sentence n is pair n - 1 when the number of pairs is known; else each number that
      occurs is a pair, in the order of the file, and a pair without links is lost.

    A link that is marked both ways is sure.  `lengths`, the (source, target) words of each pair, has links
    outside a sentence refused; `pairs` is the number of pairs where only that is known.  Files that count
    from 1 instead of 0 are refused as far as this can be seen.  A `partial` file of the first form may end before the last
    pair.
    """
    table = length_table(lengths)
    if table is not None:
        if pairs is not None and pairs != len(table):
            raise ValueError(f"lengths of {len(table)} pairs, but {pairs} pairs")
        pairs = len(table)
    read = gold_formats[format] if format is not None else None
    name = display_name(path)
    lines: Iterable[str] = iter(read_lines(path))
    if read is None:
        seen: list[str] = []
        for line in lines:
            seen.append(line)
            if line.strip():
                break
        read = gold_formats[_recognise(seen[-1], name, len(seen))]
        lines = chain(seen, lines)
    if partial and read is _read_links and pairs is not None:
        lines = list(lines)
        if len(lines) > pairs:
            raise InputError(
                f"gold links of {len(lines):,} pairs, but there are {pairs:,}",
                path=name,
                line=pairs + 1,
                remedy="Is this the file of these sentences, one line per pair?",
            )
        return _read_links(lines, name, None if table is None else table[: len(lines)], len(lines)).padded(pairs)
    return read(lines, name, table, pairs)


def write_gold(path: str | PathLike[str], pairs: Iterable[tuple[int, GoldPair | str]]) -> None:
    """Write numbers (from 1) and links of annotated pairs in the form `numbered`; the file is whole or as it was before."""
    with atomic_writer(path) as handle:
        for number, links in pairs:
            handle.write(f"{number}\t{links}\n")
        handle.flush()
        with suppress(OSError, ValueError):  # of something that is no file: a pipe, standard output
            os.fsync(handle.fileno())


def _recognise(line: str, path: str, number: int) -> str:
    if all(LINK.fullmatch(field) for field in line.split()):
        return "pharaoh"
    if NUMBERED.fullmatch(line) and all(LINK.fullmatch(field) for field in line.split()[1:]):
        return "numbered"
    if LINE.fullmatch(line):
        return "naacl"
    raise InputError(
        f"{line[:40]!r} is not a line of gold links",
        path=path,
        line=number,
        remedy="Expected `0-0 1?2`, one line per pair, `7 TAB 0-0 1?2` for some, or `0001 1 2 S`, one line per link.",
    )


def _read_links(lines: Iterable[str], path: str, lengths: np.ndarray | None, pairs: int | None) -> Gold:
    links = parse_link_lines(lines, path, probabilities=False)
    check_pairs(path, len(links.counts), len(links.counts), pairs)
    _check_positions(links, path, lengths)
    return Gold(*sort_links(links.counts, links.source, links.target, ~links.possible), links.counts > 0)


def numbered_lines(lines: Iterable[str], path: str, pairs: int | None = None) -> dict[int, str]:
    """What each pair's number has behind it, in the order of the file; at most `pairs`, where that is known."""
    seen: dict[int, int] = {}  # the line of each pair
    rest: list[str] = []
    for line_number, line in enumerate(lines, 1):
        found = NUMBERED.fullmatch(line)
        number = int(found[1]) if found else 0
        problem, remedy = None, "A line is the pair's number, counted from 1, a tab, and the pair's links."
        if not line.strip():
            problem = "an empty line"
        elif found is None:
            problem = f"{line[:40]!r} has no number and tab before the links"
        elif not 1 <= number <= (LARGEST_SENTENCE if pairs is None else pairs):
            problem = f"pair {number:,}, but " + (
                f"there are {pairs:,} pairs" if pairs and number else "pairs count from 1"
            )
        elif number in seen:
            problem, remedy = f"pair {number:,} stands in line {seen[number]:,} already", "Give each pair one line."
        if problem is not None:
            raise InputError(problem, path=path, line=line_number, remedy=remedy)
        seen[number] = line_number
        rest.append(line.partition("\t")[2])
    return dict(zip(seen, rest, strict=True))


def _read_numbered(lines: Iterable[str], path: str, lengths: np.ndarray | None, pairs: int | None) -> Gold:
    found = numbered_lines(lines, path, pairs)
    links = parse_link_lines(found.values(), path, probabilities=False)
    place = np.array(list(found), np.int64) - 1
    _check_positions(links, path, None if lengths is None else lengths[place])
    total = int(place.max()) + 1 if pairs is None else pairs
    order = np.argsort(np.repeat(place, links.counts), kind="stable")
    counts, annotated = np.zeros(total, np.int64), np.zeros(total, bool)
    counts[place], annotated[place] = links.counts, True
    packed = sort_links(counts, links.source[order], links.target[order], ~links.possible[order])
    return Gold(*packed, annotated)


def _check_positions(links: LinkLines, path: str, lengths: np.ndarray | None) -> None:
    """Refuse links that count from 1, and links outside their sentences; `lengths` are those of each line's."""
    _check_base(links, path, lengths)
    if lengths is not None and (beyond := outside(links.counts, links.source, links.target, lengths)) is not None:
        line, k = beyond
        raise outside_error(path, line + 1, links.link(k), lengths[line].tolist())


def _check_base(links: LinkLines, path: str, lengths: np.ndarray | None) -> None:
    """Refuse a file that seems to count from 1: never 0, but a sentence's length where that is known."""
    if len(links.source) == 0 or (links.source == 0).any() or (links.target == 0).any():
        return
    remedy = "Links count from 0: subtract 1 from every index."
    pair = np.repeat(np.arange(len(links.counts)), links.counts)
    if lengths is None:
        if len(links.counts) >= ENOUGH_PAIRS:
            raise InputError(
                f"the file seems to count from 1, for no index in its {len(links.counts):,} pairs is 0",
                path=path,
                line=int(pair[0]) + 1,
                remedy=f"{remedy} If it is right as it is, give the lengths of the sentences.",
            )
        return
    at_end = (links.source == lengths[pair, 0]) | (links.target == lengths[pair, 1])
    if at_end.any():
        k = int(np.argmax(at_end))
        I, J = lengths[pair[k]].tolist()
        raise InputError(
            f"the file seems to count from 1, for no index is 0, and here is link {links.link(k)}"
            f" in a pair of {I:,} source and {J:,} target words",
            path=path,
            line=int(pair[k]) + 1,
            remedy=remedy,
        )


def _read_naacl(lines: Iterable[str], path: str, lengths: np.ndarray | None, pairs: int | None) -> Gold:
    records = list(parse_naacl(lines, path, lengths, pairs))
    if pairs is None:
        order = {sentence: n for n, sentence in enumerate(dict.fromkeys(record.sentence for record in records))}
        pair = np.array([order[record.sentence] for record in records], np.int64)
        pairs = len(order)
    else:
        pair = np.array([record.sentence - 1 for record in records], np.int64)
    together = np.argsort(pair, kind="stable")  # the lines of a sentence need not stand together
    links = np.array([(record.i, record.j, record.sure) for record in records], np.int64).reshape(-1, 3)
    i, j, sure = links[together].T
    counts = np.bincount(pair, minlength=pairs)
    return Gold(*sort_links(counts, i, j, sure.astype(bool)), counts > 0)


gold_formats: Registry[GoldReader] = Registry("gold format")
gold_formats.add(
    "pharaoh", _read_links, "`0-0 1?2`, one line per pair, counted from 0; `?` or `p` marks possible links"
)
gold_formats.add(
    "numbered", _read_numbered, "`7<TAB>0-0 1?2`, one line per annotated pair with its number, counted from 1"
)
gold_formats.add("naacl", _read_naacl, "`0001 1 2 S`, one line per link, counted from 1; P marks possible links")
