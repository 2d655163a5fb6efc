"""Formats with one line of links per pair: `pharaoh`, `probabilities` and `tsv`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple, NoReturn, TextIO

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.formats_packing import check_pairs, outside, outside_error, pack
from dovetail.alignments.formats_text import Text
from dovetail.errors import InputError

MOST_DIGITS = 9  # an index must fit into int32
LINK = re.compile(rf"([0-9]{{1,{MOST_DIGITS}}})([-?p])([0-9]{{1,{MOST_DIGITS}}})(?::([0-9.eE+-]+))?")
CHUNK = 1 << 14  # pairs read or written at a time: arrays that fit into the cache

SPACES = str.maketrans("\t\n\r", "   ")


class LinkLines(NamedTuple):
    """The links of each line, in the order of the file: line n + 1 holds `counts[n]` of them."""

    counts: np.ndarray
    source: np.ndarray
    target: np.ndarray
    probability: np.ndarray
    possible: np.ndarray

    def link(self, k: int) -> str:
        return f"{self.source[k]}{'?' if self.possible[k] else '-'}{self.target[k]}"


def parse_link_lines(lines: Iterable[str], path: str, *, probabilities: bool = True) -> LinkLines:
    """`i-j`, or `i?j` and `ipj` for possible links, separated by blanks; each may end in `:probability`."""
    chunks = []
    remaining = iter(lines)
    parsed = 0
    while chunk := list(islice(remaining, CHUNK)):
        chunks.append(_parse_plain(chunk) or _parse_any(chunk, path, parsed, probabilities))
        parsed += len(chunk)
    if not chunks:
        return _parse_any([], path, 0, probabilities)
    return LinkLines(*(np.concatenate(arrays) for arrays in zip(*chunks, strict=True)))


def _parse_plain(lines: list[str]) -> LinkLines | None:
    """Lines of nothing but `i-j` and blanks, all at once and so much faster; None for any others."""
    joined = "\n".join(["", *lines, ""])
    if not joined.isascii():
        return None
    text = np.frombuffer(joined.encode("ascii"), np.uint8)
    digit = (text >= ord("0")) & (text <= ord("9"))
    dash = text == ord("-")
    blank = (text == ord(" ")) | (text == ord("\n"))
    first = np.flatnonzero(digit[1:] & ~digit[:-1]) + 1  # of each number
    after = np.flatnonzero(digit[:-1] & ~digit[1:]) + 1
    # Numbers come in twos: a blank, i, one dash, j, a blank.
    if (
        not (digit | dash | blank).all()
        or 2 * np.count_nonzero(dash) != len(first)
        or not (blank[first[::2] - 1].all() and dash[after[::2]].all())
        or not (dash[first[1::2] - 1].all() and blank[after[1::2]].all())
        or (after - first).max(initial=0) > MOST_DIGITS
    ):
        return None
    ends = np.flatnonzero(text == ord("\n"))
    size = len(first) // 2
    numbers = np.fromstring(joined.replace("-", " "), np.int64, sep=" ") if size else np.zeros(0, np.int64)
    counts = np.diff(np.searchsorted(np.flatnonzero(dash), ends))
    source, target = numbers[::2].astype(np.int32), numbers[1::2].astype(np.int32)
    return LinkLines(counts, source, target, np.ones(size, np.float32), np.zeros(size, bool))


def _parse_any(lines: list[str], path: str, before: int, probabilities: bool) -> LinkLines:
    counts, source, target, weights, possible = [], [], [], [], []
    for number, line in enumerate(lines, before + 1):
        fields = line.split()
        counts.append(len(fields))
        for field in fields:
            match = LINK.fullmatch(field)
            if match is None:
                _refuse(field, path, number)
            i, mark, j, weight = match.groups()
            source.append(int(i))
            target.append(int(j))
            possible.append(mark != "-")
            if weight is None:
                weights.append(1.0)
            elif probabilities:
                weights.append(parse_probability(weight, path, number))
            else:
                _refuse(field, path, number)
    columns, kinds = (counts, source, target, weights, possible), (np.int64, np.int32, np.int32, np.float32, bool)
    return LinkLines(*map(np.array, columns, kinds))


def _refuse(field: str, path: str, line: int) -> NoReturn:
    shown = field if len(field) <= 40 else field[:40] + "…"
    raise InputError(
        f"{shown!r} is not a link",
        path=path,
        line=line,
        remedy="Links are written i-j, or i?j if only possible, counted from 0, with blanks between them.",
    )


def parse_probability(text: str, path: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise InputError(
            f"{text!r} is not a probability",
            path=path,
            line=line,
            remedy="Write a number from 0 to 1, such as 0.98.",
        )
    return value


def read_link_lines(lines: Iterable[str], path: str, lengths: np.ndarray | None) -> Alignments:
    """`pharaoh` and `probabilities`: they differ only in what is written."""
    links = parse_link_lines(lines, path)
    if lengths is not None:
        check_pairs(path, len(links.counts), len(links.counts), len(lengths))
        if (beyond := outside(links.counts, links.source, links.target, lengths)) is not None:
            pair, k = beyond
            raise outside_error(path, pair + 1, links.link(k), lengths[pair].tolist())
    return pack(links.counts, links.source, links.target, links.probability, lengths)


def read_tsv(lines: Iterable[str], path: str, lengths: np.ndarray | None) -> Alignments:
    return read_link_lines(_third_column(lines, path), path, lengths)


def _third_column(lines: Iterable[str], path: str) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        columns = line.split("\t")
        if len(columns) != 3:
            raise InputError(
                f"{len(columns)} columns instead of 3",
                path=path,
                line=number,
                remedy="A line holds source text, target text and links, with one tab between them.",
            )
        yield columns[2]


def link_lines(alignments: Alignments, probabilities: bool = False) -> Iterator[str]:
    """The links as text, one line per pair, many lines at a time."""
    for start in range(0, len(alignments), CHUNK):
        yield _lines_of_chunk(alignments[start : start + CHUNK], probabilities)


def _lines_of_chunk(chunk: Alignments, probabilities: bool) -> str:
    """Each link is a record of bytes, `i-j:p` and a blank or a line end; zero bytes are dropped in the end.

    A pair without links has a record as well, with the line end alone.
    """
    counts = np.diff(chunk.offsets)
    last = np.cumsum(np.maximum(counts, 1)) - 1
    of_link = np.ones(len(last) and last[-1] + 1, bool)
    of_link[last[counts == 0]] = False

    columns = {"i": _numerals(chunk.source), "-": _byte("-"), "j": _numerals(chunk.target)}
    if probabilities:
        columns |= {":": _byte(":"), "p": _decimals(chunk.probability)}
    text = np.zeros(len(of_link), [*((name, column.dtype) for name, column in columns.items()), ("end", np.uint8)])
    links = slice(None) if of_link.all() else of_link
    for name, column in columns.items():
        text[name][links] = column
    text["end"] = ord(" ")
    text["end"][last] = ord("\n")
    return without_zeros(text)


def _byte(character: str) -> np.ndarray:
    return np.array(ord(character), np.uint8)


def beside(columns: Sequence[np.ndarray | str], size: int) -> np.ndarray:
    """Columns of bytes side by side; a string is the same in each of `size` rows."""
    return np.concatenate(
        [
            np.tile(np.frombuffer(column.encode("ascii"), np.uint8), (size, 1)) if isinstance(column, str) else column
            for column in columns
        ],
        axis=1,
    )


def without_zeros(text: np.ndarray) -> str:
    return text.tobytes().translate(None, b"\0").decode("ascii")


def numerals(values: np.ndarray, least: int = 1) -> np.ndarray:
    """Each number's digits, at `least` so many, as a row of bytes, zero bytes in front."""
    width = max(least, len(str(values.max(initial=0))))
    text = np.empty((len(values), width), np.uint8)
    for place in range(1, width + 1):
        digits = values % 10 + ord("0")
        text[:, -place] = digits if place <= least else np.where(values > 0, digits, 0)
        values = values // 10
    return text


@cache
def _numeral_table() -> np.ndarray:
    """Entry n holds the digits of n < 10,000, zero bytes in front."""
    return np.frombuffer(b"".join(str(n).encode().rjust(4, b"\0") for n in range(10_000)), "V4")


def _numerals(values: np.ndarray) -> np.ndarray:
    """Each number's digits as one item of bytes."""
    if values.max(initial=0) < len(_numeral_table()):
        return _numeral_table()[values]
    text = numerals(values)
    return text.view(f"V{text.shape[1]}").reshape(-1)


@cache
def _decimal_table() -> np.ndarray:
    """Entry q holds the bytes of q / 10,000, as short as possible: 0.98, 0.5, 1."""
    return np.array([f"{q / 10_000:.4f}".rstrip("0").rstrip(".") for q in range(10_001)], "S6")


def _decimals(probability: np.ndarray) -> np.ndarray:
    clean = np.clip(np.nan_to_num(probability.astype(np.float64)), 0, 1)
    return _decimal_table()[np.rint(clean * 10_000).astype(np.int64)]


def write_pharaoh(handle: TextIO, alignments: Alignments, text: Text | None, first_id: int) -> None:
    for block in link_lines(alignments):
        handle.write(block)


def write_probabilities(handle: TextIO, alignments: Alignments, text: Text | None, first_id: int) -> None:
    for block in link_lines(alignments, probabilities=True):
        handle.write(block)


def write_tsv(handle: TextIO, alignments: Alignments, text: Text | None, first_id: int) -> None:
    """Tabs and line ends inside the text become blanks, which leaves its words where they were."""
    assert text is not None
    n = 0
    for block in link_lines(alignments):
        for links in block.split("\n")[:-1]:
            (source, _), (target, _) = text.source(n), text.target(n)
            handle.write(f"{source.translate(SPACES)}\t{target.translate(SPACES)}\t{links}\n")
            n += 1
