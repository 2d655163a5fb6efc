"""Links to files and back: the registry of formats, `write_alignments` and `read_alignments`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from typing import TextIO

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.formats_giza import HEADER, read_giza, write_giza
from dovetail.alignments.formats_jsonl import read_jsonl, write_jsonl
from dovetail.alignments.formats_lines import (
    LINK,
    read_link_lines,
    read_tsv,
    write_pharaoh,
    write_probabilities,
    write_tsv,
)
from dovetail.alignments.formats_naacl import LINE, read_naacl, write_naacl
from dovetail.alignments.formats_packing import Lengths, length_table
from dovetail.alignments.formats_text import Text
from dovetail.bitext.text import display_name, read_lines
from dovetail.errors import InputError
from dovetail.registry import Registry


@dataclass(frozen=True)
class AlignmentFormat:
    """How links are written and read, and how a file is known by its first line that is not empty.

    `write(handle, alignments, text, first_id)`, `read(lines, path, lengths)`, where lengths is an (N, 2)
    array or None.  At most one format recognises a line.  A pair takes `lines_per_pair` lines, so that a file can be read
    part by part; 0 says that links stand in any order.  `skips_blanks`: lines without anything are no pairs.
    """

    write: Callable[[TextIO, Alignments, Text | None, int], None]
    read: Callable[[Iterable[str], str, np.ndarray | None], Alignments]
    recognises: Callable[[str], bool]
    needs_text: bool = False
    lines_per_pair: int = 1
    skips_blanks: bool = False


alignment_formats: Registry[AlignmentFormat] = Registry("alignment format")


def write_alignments(
    handle: TextIO, alignments: Alignments, format: str, text: Text | None = None, first_id: int = 0
) -> None:
    """Write every pair to `handle` in one of the `alignment_formats`.

    `text.source(n)` and `text.target(n)` give the sentences of `alignments[n]`, each as (raw text, spans of
    its tokens).  `first_id` is the number of the first pair, for a bitext that is written piece by piece.
    """
    chosen = alignment_formats[format]
    if chosen.needs_text and text is None:
        raise InputError(
            f"the format {format} shows the words, and there are none here",
            remedy="Give the sentences as `text`, or choose a format without them, such as pharaoh.",
        )
    chosen.write(handle, alignments, text, first_id)


def read_alignments(path: str | PathLike[str], format: str | None = None, lengths: Lengths | None = None) -> Alignments:
    """The links of a file; without `format` it is known by its first line that is not empty.

    `lengths`, the (source, target) words of each pair, has links outside a sentence and files of another
    number of pairs refused.  Without it, and in formats that do not tell, a sentence is taken to end at its
    last link.
    """
    chosen, lines = open_alignments(path, format)
    return chosen.read(lines, display_name(path), length_table(lengths))


def open_alignments(path: str | PathLike[str], format: str | None = None) -> tuple[AlignmentFormat, Iterator[str]]:
    """A file's format, seen in its first line that is not empty unless named, and all of its lines."""
    lines = iter(read_lines(path))
    return _recognise(lines, display_name(path)) if format is None else (alignment_formats[format], lines)


def _recognise(lines: Iterator[str], path: str) -> tuple[AlignmentFormat, Iterator[str]]:
    """The format, and all lines again.  Nothing but empty lines: pairs without links."""
    seen: list[str] = []
    for line in lines:
        seen.append(line)
        if not line.strip(" "):  # a tab counts: it stands between the columns of an empty pair
            continue
        for known in alignment_formats.values():
            if known.recognises(line):
                return known, chain(seen, lines)
        raise InputError(
            f"{line[:40]!r} is in no known alignment format",
            path=path,
            line=len(seen),
            remedy=f"Expected links such as `0-0 1-2`, or one of: {', '.join(alignment_formats)}.",
        )
    return alignment_formats["pharaoh"], chain(seen, lines)


def _only_links(text: str) -> bool:
    return all(LINK.fullmatch(field) for field in text.split())


def _is_tsv(line: str) -> bool:
    """Three columns of which the last holds links; but not three links with tabs between them."""
    columns = line.split("\t")
    if len(columns) != 3 or not _only_links(columns[2]):
        return False
    return not all(LINK.fullmatch(column) for column in columns)


def _is_pharaoh(line: str) -> bool:
    return _only_links(line) and ":" not in line and not _is_tsv(line)


def _is_probabilities(line: str) -> bool:
    return _only_links(line) and ":" in line and not _is_tsv(line)


def _is_jsonl(line: str) -> bool:
    return line.lstrip().startswith("{") and not _is_tsv(line)


alignment_formats.add(
    "pharaoh", AlignmentFormat(write_pharaoh, read_link_lines, _is_pharaoh), "`0-0 1-2`, one line per pair"
)
alignment_formats.add(
    "probabilities",
    AlignmentFormat(write_probabilities, read_link_lines, _is_probabilities),
    "`0-0:0.98 1-2:0.5`, one line per pair",
)
alignment_formats.add(
    "tsv",
    AlignmentFormat(write_tsv, read_tsv, _is_tsv, needs_text=True),
    "source text, target text and links, with tabs between them",
)
alignment_formats.add(
    "jsonl",
    AlignmentFormat(write_jsonl, read_jsonl, _is_jsonl, skips_blanks=True),
    "one JSON object a pair: words, character offsets, links, probabilities, scores",
)
alignment_formats.add(
    "giza",
    AlignmentFormat(write_giza, read_giza, lambda line: HEADER.fullmatch(line) is not None, True, lines_per_pair=3),
    "GIZA++'s A3 files, three lines per pair",
)
alignment_formats.add(
    "naacl",
    AlignmentFormat(write_naacl, read_naacl, lambda line: LINE.fullmatch(line) is not None, lines_per_pair=0),
    "`0001 1 2 S`, one line per link, counted from 1 (shared tasks of 2003 and 2005)",
)
