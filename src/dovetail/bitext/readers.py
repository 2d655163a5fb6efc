"""Sentence pairs from files: two files of lines, one file of two columns, or a translation memory."""

from __future__ import annotations

import codecs
import io
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, cast

from dovetail.bitext.paths import files_of_sides
from dovetail.bitext.text import (
    MAGIC,
    StrPath,
    display_name,
    empty_file,
    open_bytes,
    read_blocks,
    read_lines,
    reading_problem,
)
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
    hold identifiers, which is refused.  A name may be a pattern such as `part-*.en`: its files are read one after the other.
    """
    requests = [
        Request(*paths, encoding_errors, source_language, target_language, columns)
        for paths in files_of_sides(source, target)
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
            remedy="Drop it, or pass --input-format tsv.",
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


def read_in_step(source: StrPath, target: StrPath, encoding_errors: str = "strict") -> Iterator[tuple[int, bytes]]:
    """Two files of lines in blocks of whole lines in UTF-8, (0, the source's) and (1, the target's), with their ends.

    Whatever is wrong is what `read_pairs` finds wrong.  The file that is behind comes next: two pipes that are filled
    line by line never wait for each other.
    """
    for paths in files_of_sides(source, target):
        assert paths[1] is not None
        yield from _two_files_in_step(paths[0], paths[1], encoding_errors)


def _two_files_in_step(source: StrPath, target: StrPath, encoding_errors: str) -> Iterator[tuple[int, bytes]]:
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
            yield side, block.raw
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


# Translation memories

# These hold the codes of the program that the text came from; what `hi` and unknown elements hold is text.
_NATIVE_CODES = ("{*}bpt", "{*}ept", "{*}ph", "{*}it", "{*}ut")
XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def _read_tmx(request: Request) -> Iterator[Pair]:
    """The pairs of a TMX file in bounded memory; units without a language are skipped, with one warning.

    Languages are compared without regard to case, and `en` stands for `en-GB` too.  Those not asked for are
    the first ones of the first unit that has two.
    """
    name = display_name(request.source)
    wanted = language_of(request.source_language), language_of(request.target_language)
    languages: Pair | None = None
    units = skipped = 0
    present: dict[str, None] = {}  # a set that keeps the order of arrival
    with open_bytes(request.source) as handle:
        try:
            for segments in _units(_mended(handle, request.encoding_errors), request.source):
                units += 1
                present.update(dict.fromkeys(segments))
                languages = languages or choose_languages(list(segments), *wanted)
                source, target = (_segment(segments, language) for language in languages or ("", ""))
                if source is None or target is None or source is target:
                    skipped += 1
                else:
                    yield _text(source), _text(target)
        except (InputError, MemoryError):
            raise
        except Exception as error:  # every decompressor has exception classes of its own
            raise reading_problem(request.source, error) from error
    if not units:
        raise InputError("no translation unit in it", path=name, remedy="Is this a TMX file?")
    lacking = "two languages" if languages is None else f"both {languages[0]} and {languages[1]}"
    if skipped == units:
        raise InputError(f"no unit has {lacking}", path=name, remedy=f"Its languages: {', '.join(present) or 'none'}.")
    if skipped:
        warnings.warn(f"{name}: skipped {skipped:,} of {units:,} units, which lack {lacking}", stacklevel=2)


bitext_formats.add("tmx", BitextFormat(1, _read_tmx, (".tmx",)), "one file: a translation memory (TMX 1.1 to 1.4)")


def _units(handle: BinaryIO, path: StrPath) -> Iterator[dict[str, Any]]:
    """The `seg` elements of each unit by language, the first one of each, in order."""
    for unit in xml_elements(handle, path, ("{*}tu",)):
        segments: dict[str, Any] = {}
        for variant in unit.iterchildren("{*}tuv"):
            language = language_of(variant.get(XML_LANGUAGE) or variant.get("lang"))
            segment = variant.find("{*}seg")
            if language is not None and segment is not None:
                segments.setdefault(language, segment)
        yield segments


def xml_elements(handle: BinaryIO, path: StrPath, tags: tuple[str, ...]) -> Iterator[Any]:
    """The elements with these tags, one after the other; InputError where the XML is broken.

    Nothing outside the file is ever fetched, and no entity is expanded but XML's own five: a reference to any
    other stays as it is written.
    """
    from lxml import etree  # for XML alone

    elements = etree.iterparse(
        handle,
        events=("end",),
        tag=tags,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        for _, element in elements:
            yield element
            # What has been read goes, or the tree would grow to the size of the file.
            element.clear()
            parent = element.getparent()
            while parent is not None and element.getprevious() is not None:
                del parent[0]
    except etree.XMLSyntaxError as error:
        # The exception may be a later consequence without a line; the parser's own log begins with the cause.
        if not elements.error_log:
            raise empty_file(path) from error
        cause = elements.error_log[0]
        remedy = "Find the fault with xmllint."
        if "encoding" in cause.message:
            remedy = "Convert the file to UTF-8, or pass --encoding-errors replace."
        raise InputError(
            f"broken XML: {cause.message}", path=display_name(path), line=cause.line, remedy=remedy
        ) from error


def language_of(language: str | None) -> str | None:
    return language.lower().replace("_", "-") if language else None


def _matches(tag: str, language: str) -> bool:
    return tag == language or tag.startswith(language + "-")


def choose_languages(tags: list[str], source: str | None, target: str | None) -> Pair | None:
    """The two languages to read, those not asked for chosen among a unit's tags; None where it has too few.

    The chosen ones lose region and script where they differ without: a later unit may be in another English.
    """
    if source is not None and target is not None:
        return source, target
    free = [tag for tag in tags if not any(other and _matches(tag, other) for other in (source, target))]
    if len(free) < (source, target).count(None):
        return None
    found = source or free.pop(0), target or free.pop(0)
    primary = found[0].split("-")[0], found[1].split("-")[0]
    if primary[0] == primary[1]:
        return found
    return source or primary[0], target or primary[1]


def _segment(segments: dict[str, Any], language: str) -> Any:
    return segments.get(matching_tag(segments, language) or "")


def matching_tag(tags: Iterable[str], language: str) -> str | None:
    """The tag that is this language's, or else the first of one of its kinds."""
    found = [tag for tag in tags if _matches(tag, language)]
    return language if language in found else next(iter(found), None)


def _text(segment: Any) -> str:
    from lxml import etree

    etree.strip_elements(segment, *_NATIVE_CODES, with_tail=False)
    return re.sub("[\r\n\x85\u2028\u2029]+", " ", "".join(segment.itertext()))


def _mended(handle: BinaryIO, encoding_errors: str) -> BinaryIO:
    """An XML file in UTF-8 with the bytes that are not UTF-8 treated; libxml2 itself can only refuse them."""
    if encoding_errors == "strict":
        return handle
    start = handle.peek(256) if isinstance(handle, io.BufferedReader) else b""
    declared = re.match(rb"""[^>]*encoding\s*=\s*["']([^"']*)""", start)
    utf8 = declared[1].upper() in (b"UTF-8", b"UTF8", b"US-ASCII", b"ASCII") if declared else b"\0" not in start[:4]
    if not utf8 or start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return handle
    return cast(BinaryIO, codecs.EncodedFile(handle, "utf-8", "utf-8", encoding_errors))
