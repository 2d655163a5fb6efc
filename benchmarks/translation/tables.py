"""Thot's phrase tables, `target ||| source ||| count(target) count(both)`, and how much of one a text needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dovetail.errors import InputError

# Translations of a source phrase, as Moses has it.  Without a limit, frequent words have thousands, and decoding takes six
# times as long.
LIMIT = 20


def spans(sentences: Iterable[Sequence[str]], longest: int) -> set[str]:
    """Every run of up to `longest` words."""
    return {
        " ".join(words[start:end])
        for words in sentences
        for start in range(len(words))
        for end in range(start + 1, min(start + longest, len(words)) + 1)
    }


def filter_table(table: Path, wanted: set[str], output: Path, limit: int = LIMIT) -> tuple[int, int]:
    """Write the lines whose source phrase is wanted; how many there were, and how many are kept.

    Of each source phrase only the `limit` most frequent translations are kept; of equally frequent ones, the first.
    """
    count = 0
    best: dict[str, list[tuple[float, int, str]]] = defaultdict(list)
    for line, source, both in _phrases(table):
        count += 1
        if source in wanted:
            best[source].append((-both, count, line))
    kept = [one for lines in best.values() for one in sorted(lines)[:limit]]
    part = output.with_suffix(".part")
    part.write_text("".join(line for *_, line in sorted(kept, key=lambda one: one[1])), "utf-8", newline="\n")
    part.replace(output)
    return count, len(kept)


def _phrases(table: Path) -> Iterator[tuple[str, str, float]]:
    """Each line with its source phrase and the count of both."""
    with table.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            fields = line.split(" ||| ")
            if len(fields) != 3:
                remedy = "Delete it: it is then made again."
                raise InputError("not `target ||| source ||| counts`", path=table, line=number, remedy=remedy)
            yield line, fields[1], float(fields[2].split()[1])
