"""`naacl`: one line per link, `sentence source target [S|P] [confidence]`, all counted from 1.

The form of the shared tasks of 2003 and 2005 (Mihalcea and Pedersen 2003); S, sure, is what a missing mark
means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TextIO

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.formats_lines import CHUNK, beside, numerals, parse_probability, without_zeros
from dovetail.alignments.formats_packing import outside_error, pack
from dovetail.alignments.formats_text import Text
from dovetail.errors import InputError

LINE = re.compile(
    r"\s*([0-9]{1,18})\s+([0-9]{1,9})\s+([0-9]{1,9})(?:\s+([SPsp]))?(?:\s+([0-9.]+(?:[eE][+-]?[0-9]+)?))?\s*"
)
LARGEST_SENTENCE = 100_000_000  # a number over this is a slip, and an array of that size would be one too


class Record(NamedTuple):
    """One link, its sentence counted from 1 and its positions from 0."""

    sentence: int
    i: int
    j: int
    sure: bool
    confidence: float


def parse_naacl(lines: Iterable[str], path: str, lengths: np.ndarray | None, pairs: int | None) -> Iterator[Record]:
    """The links in the order of the file, checked against `lengths` and `pairs` where these are known."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        match = LINE.fullmatch(line)
        if match is None:
            raise InputError(
                f"{line.strip()[:40]!r} is not a link",
                path=path,
                line=number,
                remedy="A line is `sentence source target [S|P] [confidence]`, counted from 1.",
            )
        sentence, i, j = int(match[1]), int(match[2]), int(match[3])
        if i == 0 or j == 0:
            raise InputError(
                "position 0, but positions count from 1",
                path=path,
                line=number,
                remedy="If 0 stands for NULL, leave such lines out; else add 1 to every position.",
            )
        if sentence == 0 or sentence > (LARGEST_SENTENCE if pairs is None else pairs):
            there = "" if pairs is None else f", but there are {pairs:,} pairs"
            raise InputError(
                f"sentence number {sentence:,}{there}",
                path=path,
                line=number,
                remedy="Sentences are numbered from 1, in the order of the bitext.",
            )
        if lengths is not None and (i > lengths[sentence - 1, 0] or j > lengths[sentence - 1, 1]):
            raise outside_error(path, number, f"{i} {j} (counted from 1)", lengths[sentence - 1].tolist())
        confidence = 1.0 if match[5] is None else parse_probability(match[5], path, number)
        yield Record(sentence, i - 1, j - 1, (match[4] or "S") in "Ss", confidence)


def read_naacl(lines: Iterable[str], path: str, lengths: np.ndarray | None) -> Alignments:
    """Sure and possible links alike, with their confidence as probability.

    A number that does not occur is a pair without links; without `lengths` the last pair is the last one with
    a link.
    """
    records = sorted(
        parse_naacl(lines, path, lengths, None if lengths is None else len(lengths)),
        key=lambda record: record.sentence,
    )
    pairs = len(lengths) if lengths is not None else records[-1].sentence if records else 0
    numbers = np.array([record[:3] for record in records], np.int64).reshape(-1, 3)
    counts = np.bincount(numbers[:, 0] - 1, minlength=pairs)
    confidence = np.array([record.confidence for record in records], np.float32)
    return pack(counts, numbers[:, 1], numbers[:, 2], confidence, lengths)


def write_naacl(handle: TextIO, alignments: Alignments, text: Text | None, first_id: int) -> None:
    """Every link is marked S."""
    for start in range(0, len(alignments), CHUNK):
        chunk = alignments[start : start + CHUNK]
        sentence = np.repeat(np.arange(len(chunk)) + first_id + start + 1, np.diff(chunk.offsets))
        columns: list[np.ndarray | str] = [
            numerals(sentence, least=4),
            " ",
            numerals(chunk.source + 1),
            " ",
            numerals(chunk.target + 1),
            " S\n",
        ]
        handle.write(without_zeros(beside(columns, len(sentence))))
