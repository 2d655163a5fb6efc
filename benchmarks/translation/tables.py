"""Thot's phrase tables, `target ||| source ||| count(target) count(both)`, and how much of one a text needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dovetail.errors import InputError


def spans(sentences: Iterable[Sequence[str]], longest: int) -> set[str]:
    """Every run of up to `longest` words."""
    return {
        " ".join(words[start:end])
        for words in sentences
        for start in range(len(words))
        for end in range(start + 1, min(start + longest, len(words)) + 1)
    }


def filter_table(table: Path, wanted: set[str], output: Path) -> tuple[int, int]:
    """Write the lines whose source phrase is wanted; how many there were, and how many are kept.

    Both probabilities of a phrase pair stay what they were: all translations of a source phrase are kept, and each line has
    its target phrase's count.
    """
    count = kept = 0
    part = output.with_suffix(".part")
    with part.open("w", encoding="utf-8", newline="\n") as file:
        for line, source in _sources(table):
            count += 1
            if source in wanted:
                file.write(line)
                kept += 1
    part.replace(output)
    return count, kept


def _sources(table: Path) -> Iterator[tuple[str, str]]:
    with table.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            fields = line.split(" ||| ")
            if len(fields) != 3:
                remedy = "Delete it: it is then made again."
                raise InputError("not `target ||| source ||| counts`", path=table, line=number, remedy=remedy)
            yield line, fields[1]
