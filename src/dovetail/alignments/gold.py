"""Links made by hand, sure or possible: what alignments are measured against."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from typing import overload

import numpy as np

from dovetail.alignments.formats_lines import LINK, LinkLines, parse_link_lines
from dovetail.alignments.formats_naacl import LINE, parse_naacl
from dovetail.alignments.formats_packing import (
    Lengths,
    check_pairs,
    length_table,
    outside,
    outside_error,
    sort_links,
)
from dovetail.bitext.text import display_name, read_lines
from dovetail.errors import InputError
from dovetail.registry import Registry

GoldReader = Callable[[Iterable[str], str, "np.ndarray | None", "int | None"], "Gold"]

ENOUGH_PAIRS = 10  # a file of so many pairs in which no first word ever has a link is taken to count from 1


@dataclass(frozen=True)
class GoldPair:
    """One pair's sure links, and its possible ones, which include the sure."""

    sure: set[tuple[int, int]]
    possible: set[tuple[int, int]]


@dataclass(eq=False, repr=False)
class Gold(Sequence[GoldPair]):
    """One `GoldPair` for each pair, in order, packed.

    Pair n owns entries `offsets[n]:offsets[n + 1]` of `source` (i) and `target` (j), both int32, its possible
    links, sorted by (i, j), and of `sure` (bool), which says which of them are sure.
    """

    offsets: np.ndarray
    source: np.ndarray
    target: np.ndarray
    sure: np.ndarray

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
            parts = (values[low:high] for values in (self.source, self.target, self.sure))
            return Gold(self.offsets[start : stop + 1] - low, *parts)
        n = range(len(self))[index]
        entries = slice(self.offsets[n], self.offsets[n + 1])
        links = list(zip(self.source[entries].tolist(), self.target[entries].tolist(), strict=True))
        marks = self.sure[entries].tolist()
        return GoldPair({link for link, mark in zip(links, marks, strict=True) if mark}, set(links))

    def __repr__(self) -> str:
        return f"<Gold: {len(self):,} pairs, {int(self.sure.sum()):,} sure links, {len(self.sure):,} possible>"


def read_gold(
    path: str | PathLike[str],
    format: str | None = None,
    lengths: Lengths | None = None,
    pairs: int | None = None,
) -> Gold:
    """The gold links of a file, in one of two forms, told apart by the first line that is not empty.

    - `pharaoh`: one line per pair, `i-j` sure and `i?j` (or `ipj`) possible, counted from 0.
    - `naacl`: one line per link, `sentence source target [S|P] [confidence]`, counted from 1, sure where the
      mark is missing.  Sentence n is pair n - 1 when the number of pairs is known; else each number that
      occurs is a pair, in the order of the file, and a pair without links is lost.

    A link that is marked both ways is sure.  `lengths`, the (source, target) words of each pair, has links
    outside a sentence refused; `pairs` is the number of pairs where only that is known.  Files that count
    from 1 instead of 0 are refused as far as this can be seen.
    """
    table = length_table(lengths)
    if table is not None:
        if pairs is not None and pairs != len(table):
            raise ValueError(f"lengths of {len(table)} pairs, but {pairs} pairs")
        pairs = len(table)
    read = gold_formats[format] if format is not None else None
    name = display_name(path)
    lines: Iterator[str] = iter(read_lines(path))
    if read is None:
        seen: list[str] = []
        for line in lines:
            seen.append(line)
            if line.strip():
                break
        read = gold_formats[_recognise(seen[-1], name, len(seen))]
        lines = chain(seen, lines)
    return read(lines, name, table, pairs)


def _recognise(line: str, path: str, number: int) -> str:
    if all(LINK.fullmatch(field) for field in line.split()):
        return "pharaoh"
    if LINE.fullmatch(line):
        return "naacl"
    raise InputError(
        f"{line[:40]!r} is not a line of gold links",
        path=path,
        line=number,
        remedy="Expected `0-0 1?2`, one line per pair, or `0001 1 2 S`, one line per link.",
    )


def _read_links(lines: Iterable[str], path: str, lengths: np.ndarray | None, pairs: int | None) -> Gold:
    links = parse_link_lines(lines, path, probabilities=False)
    check_pairs(path, len(links.counts), len(links.counts), pairs)
    _check_base(links, path, lengths)
    if lengths is not None and (beyond := outside(links.counts, links.source, links.target, lengths)) is not None:
        pair, k = beyond
        raise outside_error(path, pair + 1, links.link(k), lengths[pair].tolist())
    return Gold(*sort_links(links.counts, links.source, links.target, ~links.possible))


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
    return Gold(*sort_links(np.bincount(pair, minlength=pairs), i, j, sure.astype(bool)))


gold_formats: Registry[GoldReader] = Registry("gold format")
gold_formats.add(
    "pharaoh", _read_links, "`0-0 1?2`, one line per pair, counted from 0; `?` or `p` marks possible links"
)
gold_formats.add("naacl", _read_naacl, "`0001 1 2 S`, one line per link, counted from 1; P marks possible links")
