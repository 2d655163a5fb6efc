"""Sentence pairs from files: two files of lines, one file of two columns; translation memories are read in `bitext.tmx`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from pathlib import Path

from dovetail.bitext.paths import files_of_sides, filled
from dovetail.bitext.text import MAGIC, LineBlock, StrPath, display_name, read_blocks, read_lines
from dovetail.errors import InputError
from dovetail.registry import Registry

Pair = tuple[str, str]


class Row(tuple[str, str]):
    """A pair with the other columns of its line, each with the tab behind it."""

    rest: str

    @classmethod
    def of(cls, fields: list[str], source: int, target: int) -> Row:
        row = cls((fields[source], fields[target]))
        row.rest = "".join(f"{field}\t" for n, field in enumerate(fields) if n not in (source, target))
        return row


LOOK_AT = 50  # lines in which identifiers are noticed
IDENTIFIER = re.compile(r"[^\s]*[0-9][^\s]*")


@dataclass(frozen=True)
class Request:
    """What `read_pairs` was asked for; `lines` are the source's where they have been opened already."""

    source: StrPath
    target: StrPath | None = None
    encoding_errors: str = "strict"
    source_language: str | None = None
    target_language: str | None = None
    columns: tuple[int, int] | None = None
    lines: Iterator[str] | None = None

    def source_lines(self) -> Iterator[str]:
        return read_lines(self.source, self.encoding_errors) if self.lines is None else self.lines


@dataclass(frozen=True)
class BitextFormat:
    """One way to hold pairs: how many files, how to read them, and by what one of them is known."""

    files: int
    read: Callable[[Request], Iterator[Pair]]
    suffixes: tuple[str, ...] = ()
    recognises: Callable[[str], bool] = lambda line: False


bitext_formats: Registry[BitextFormat] = Registry("bitext format")


def read_pairs(
    source: StrPath,
    target: StrPath | None = None,
    *,
    format: str | None = None,
    encoding_errors: str = "strict",
    source_language: str | None = None,
    target_language: str | None = None,
    columns: tuple[int, int] | None = None,
) -> Iterator[Pair]:
    """The (source, target) lines of a bitext as they stand in its files, one pair after the other.

    Without `format`, two paths are two files of lines; one path is known by its name, else by its first line
    that is not empty.  Either path may be `-`, standard input.  An empty side is an empty string.  The
    languages choose among those of a translation memory; other formats do not need them.  `columns` are those of source and
    target in a file of columns between tabs, counted from 1; without it they are the first two, unless the first seems to
    hold identifiers, which is refused.  A name may be a pattern such as `part-*.en`: its files are read one after the other,
    but for those that are empty on both sides.
    """
    requests = [
        Request(*paths, encoding_errors, source_language, target_language, columns)
        for paths in filled(files_of_sides(source, target))
    ]
    if len(requests) == 1:
        return _read_files(requests[0], format)  # what is wrong with the request is told at once
    return chain.from_iterable(_read_files(request, format, one_of_many=True) for request in requests)


def _read_files(request: Request, format: str | None, one_of_many: bool = False) -> Iterator[Pair]:
    """The pairs of one file, or of two."""
    source = request.source
    paths = [os.fspath(path) for path in (source, request.target) if path is not None]
    _check_standard_input(*paths)
    if format is None:
        format, request = _recognised(request)
    chosen = bitext_formats[format]
    if one_of_many and format == "tmx" and not (request.source_language and request.target_language):
        raise InputError(
            "several translation memories may begin with different languages",
            path=display_name(source),
            remedy="Name them: --source-language, --target-language.",
        )
    if len(paths) < chosen.files:
        raise InputError(
            f"the format {format} needs a source and a target file",
            path=display_name(source),
            remedy="Name both.",
        )
    if len(paths) > chosen.files:
        raise InputError(
            f"the format {format} holds both sides in one file",
            path=display_name(paths[1]),
            remedy="Name one file, or leave the format out.",
        )
    if request.columns is not None and format != "tsv":
        raise InputError(
            f"--columns is for text between tabs, and this is in the format {format}",
            path=display_name(source),
            remedy="Drop it, or name one file, with --input-format tsv.",
        )
    return chosen.read(request)


def _recognised(request: Request) -> tuple[str, Request]:
    """The format of a request that names none, and the request with the lines opened to find out."""
    if request.target is not None:
        return "lines", request
    path = Path(request.source)
    if path.suffix.lower() in MAGIC:
        path = path.with_suffix("")
    for name, known in bitext_formats.items():
        if path.suffix.lower() in known.suffixes:
            return name, request
    lines = request.source_lines()
    seen: list[str] = []
    for line in lines:
        seen.append(line)
        if line.strip():
            break
    request = replace(request, lines=chain(seen, lines))
    first = seen[-1]
    if not first.strip():
        return "tsv", request  # blank lines only: pairs of empty sentences in any format
    for name, known in bitext_formats.items():
        if known.recognises(first):
            return name, request
    if re.match(r"\s*<(\?xml|tmx|!DOCTYPE)\b", first):
        problem, remedy = "this looks like XML", "Name the format tmx if it is a translation memory."
    else:
        problem = "expected source and target separated by a tab or by ' ||| '"
        remedy = "Name a second file if this is one side of a bitext."
    raise InputError(problem, path=display_name(request.source), line=len(seen), remedy=remedy)


# Two files of lines


def _read_two_files(request: Request) -> Iterator[Pair]:
    assert request.target is not None
    source_lines = request.source_lines()
    target_lines = read_lines(request.target, request.encoding_errors)
    for number, (source, target) in enumerate(zip_longest(source_lines, target_lines), 1):
        if source is None or target is None:
            longer, shorter = request.source, request.target
            if source is None:
                longer, shorter = shorter, longer
            raise _unmatched(longer, shorter, number)
        yield source, target


def read_in_step(source: StrPath, target: StrPath, encoding_errors: str = "strict") -> Iterator[tuple[int, LineBlock]]:
    """Two files of lines in blocks of whole lines, (0, the source's) and (1, the target's).

    Whatever is wrong is what `read_pairs` finds wrong.  The file that is behind comes next: two pipes that are filled
    line by line never wait for each other.
    """
    for paths in filled(files_of_sides(source, target)):
        assert paths[1] is not None
        yield from _two_files_in_step(paths[0], paths[1], encoding_errors)


def _two_files_in_step(source: StrPath, target: StrPath, encoding_errors: str) -> Iterator[tuple[int, LineBlock]]:
    paths = source, target
    _check_standard_input(os.fspath(source), os.fspath(target))
    blocks = [read_blocks(path, encoding_errors) for path in paths]
    lines = [0, 0]
    open_sides = [0, 1]
    while open_sides:
        side = min(open_sides, key=lines.__getitem__)
        block = next(blocks[side], None)
        if block is None:
            open_sides.remove(side)
        else:
            lines[side] += block.lines
            yield side, block
        for longer, shorter in ((0, 1), (1, 0)):
            if shorter not in open_sides and lines[longer] > lines[shorter]:
                raise _unmatched(paths[longer], paths[shorter], lines[shorter] + 1)


def _check_standard_input(*paths: str) -> None:
    if paths == ("-", "-"):
        raise InputError("both sides can't come from standard input", remedy="Name a file for one of them.")


def _unmatched(longer: StrPath, shorter: StrPath, line: int) -> InputError:
    return InputError(
        f"no matching line in {display_name(shorter)} ({line - 1:,} lines)",
        path=display_name(longer),
        line=line,
        remedy="Were blank lines removed on one side?",
    )


bitext_formats.add(
    "lines", BitextFormat(2, _read_two_files), "two files: line n of one is translated by line n of the other"
)


# One file of two columns


def _pairs_of(lines: Iterable[str], split: Callable[[str], Pair | None], lacking: str, path: StrPath) -> Iterator[Pair]:
    """Lines that `split` cuts into source and target, None where what is `lacking` is not there."""
    for number, line in enumerate(lines, 1):
        pair = split(line)
        if pair is None:
            if line.strip():
                raise InputError(
                    f"no {lacking}",
                    path=display_name(path),
                    line=number,
                    remedy="Every line needs both sides; either may be empty.",
                )
            pair = "", ""
        yield pair


def _read_tabs(request: Request) -> Iterator[Pair]:
    lines = request.source_lines()
    if request.columns is None:
        lines = _without_identifiers(lines, request.source)
        return _pairs_of(lines, _split_tab, "tab between source and target", request.source)
    source, target = request.columns

    def split(line: str) -> Pair | None:
        fields = line.split("\t")
        return Row.of(fields, source - 1, target - 1) if len(fields) >= max(source, target) else None

    return _pairs_of(lines, split, f"column {max(source, target)}", request.source)


def _split_tab(line: str) -> Pair | None:
    columns = line.split("\t", 2)
    return (columns[0], columns[1]) if len(columns) > 1 else None


def _without_identifiers(lines: Iterator[str], path: StrPath) -> Iterator[str]:
    """The lines, which are looked at as they pass: a pipe may not bring the next one soon."""
    first = []
    for line in islice(lines, LOOK_AT):
        first.append(line)
        yield line
    _refuse_identifiers(first, path)
    yield from lines


def _refuse_identifiers(lines: list[str], path: StrPath) -> None:
    """InputError where text seems to stand in the second and third column, behind numbers or names of the pairs."""
    rows = [line.split("\t") for line in lines if line.strip()]
    if len(rows) < 2 or min(map(len, rows)) < 3:
        return
    named = all(IDENTIFIER.fullmatch(row[0]) for row in rows) and len({row[0] for row in rows}) == len(rows)
    worded = sum(any(map(str.isalpha, row[1])) and any(map(str.isalpha, row[2])) for row in rows)
    if named and 2 * worded > len(rows):
        raise InputError(
            f"the first column seems to hold identifiers ({rows[0][0]!r}, {rows[1][0]!r}), not text",
            path=display_name(path),
            line=1,
            remedy="Pass --columns 2,3; or --columns 1,2 if these are the two sides.",
        )


def _read_pipes(request: Request) -> Iterator[Pair]:
    return _pairs_of(request.source_lines(), _split_pipes, "'|||' between source and target", request.source)


def _split_pipes(line: str) -> Pair | None:
    # With a space at either end, every separator has one before and one behind, at the line's ends too; the
    # one behind is left standing, so that it may also be the one before the next separator.
    columns = re.split(r" \|\|\|(?= )", f" {line} ", maxsplit=2)
    if len(columns) == 1:
        return None
    target = columns[1][1:] if len(columns) == 3 else columns[1][1:-1]
    return columns[0][1:], target


bitext_formats.add(
    "tsv",
    BitextFormat(1, _read_tabs, (".tsv", ".tab"), lambda line: _split_tab(line) is not None),
    "one file: two columns between tabs, the first two unless --columns names others",
)
bitext_formats.add(
    "pipes",
    BitextFormat(1, _read_pipes, (), lambda line: _split_pipes(line) is not None),
    "one file: source ||| target",
)
bitext_formats.add_later("tmx", "dovetail.bitext.tmx:TMX", "one file: a translation memory (TMX 1.1 to 1.4)")
