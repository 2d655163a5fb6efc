"""The text that every aligner gets: training pairs, then dev, then test, which is what is scored."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from xopen import xopen

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold, read_gold
from dovetail.errors import InputError

SAMPLE_PAIRS = 100_000  # a set's fixed sample holds this many; more pairs come from its whole training text
BLANKS = re.compile(r"[ \t\r\n\f\v]+")
OTHER_BLANKS = re.compile(r"\s")


@dataclass(frozen=True)
class Task:
    """Where a benchmark's text lies; dev text is trained on too, `gold` holds the links of the test text."""

    name: str
    train: tuple[Path, Path]
    test: tuple[Path, Path]
    gold: Path
    dev: tuple[Path, Path] | None = None
    pairs: int | None = None  # the first so many of train; None is all of them


@dataclass(frozen=True)
class Text:
    """A task's text, written out: `source` and `target` line by line, `joined` with ` ||| ` between them.

    Test pair n is line `lines[n]` (0-based) of these files, None if one of its sides is empty; it has
    `lengths[n]` = (I, J) words.
    """

    source: Path
    target: Path
    joined: Path
    pairs: int
    train_pairs: int
    lines: list[int | None]
    lengths: list[tuple[int, int]]
    gold: Gold


def find_set(argument: str, data: Path, otherwise: str = "") -> Task:
    """`en-fr-hansards:10000`: that set under `data`, its first 10,000 pairs; all without a number.

    `otherwise`: what one may do who has no such set.
    """
    name, _, number = argument.partition(":")
    folder = data / name
    if not folder.is_dir():
        known = ", ".join(sorted(path.parent.name for path in data.glob("*/test.gold"))) or "none"
        raise InputError(f"no set {name!r}", path=data, remedy=f"Sets there: {known}.{otherwise}")
    if number and not (number.isdecimal() and int(number) > 0):
        raise InputError(f"{number!r} in {argument!r} is not a number of pairs", remedy="Write it like NAME:10000.")
    pairs = int(number) if number else None
    source, target = name.split("-")[:2]
    sampled = pairs is not None and pairs <= SAMPLE_PAIRS and (folder / f"sample100k.{source}.xz").exists()
    train = "sample100k" if sampled else "train"
    dev = (folder / f"dev.{source}", folder / f"dev.{target}")
    return Task(
        name,
        (folder / f"{train}.{source}.xz", folder / f"{train}.{target}.xz"),
        (folder / f"test.{source}", folder / f"test.{target}"),
        folder / "test.gold",
        dev if dev[0].exists() else None,
        pairs,
    )


def write_text(task: Task, folder: Path) -> Text:
    """Write the task's text into `folder`, in words that all aligners split alike.

    Words are what blanks of ASCII separate, as the gold files count them; any other white space inside a word
    becomes `_` and a word `|||` becomes `|`, so that no aligner's own splitting moves a position.  Pairs with
    an empty side are left out, for not every aligner writes a line for them.
    """
    source, target, joined = folder / "text.source", folder / "text.target", folder / "text.joined"
    lines: list[int | None] = []
    lengths: list[tuple[int, int]] = []
    written = 0
    with (
        source.open("w", encoding="utf-8", newline="\n") as source_file,
        target.open("w", encoding="utf-8", newline="\n") as target_file,
        joined.open("w", encoding="utf-8", newline="\n") as joined_file,
    ):

        def write(words: tuple[list[str], list[str]]) -> int | None:
            nonlocal written
            if not words[0] or not words[1]:
                return None
            sides = " ".join(words[0]), " ".join(words[1])
            source_file.write(sides[0] + "\n")
            target_file.write(sides[1] + "\n")
            joined_file.write(f"{sides[0]} ||| {sides[1]}\n")
            written += 1
            return written - 1

        for words in islice(read_pairs(task.train), task.pairs):
            write(words)
        train_pairs = written
        for words in read_pairs(task.dev) if task.dev is not None else ():
            write(words)
        for words in read_pairs(task.test):
            lines.append(write(words))
            lengths.append((len(words[0]), len(words[1])))
    gold = read_gold(task.gold, lengths=lengths)
    return Text(source, target, joined, written, train_pairs, lines, lengths, gold)


def read_test_links(path: Path, text: Text) -> Alignments:
    """An aligner's links of the test pairs, out of its Pharaoh lines for the whole text."""
    wanted = set(text.lines)
    kept: dict[int, list[tuple[int, int]]] = {}
    count = 0
    with path.open(encoding="utf-8") as handle:
        for count, line in enumerate(handle, 1):
            if count - 1 in wanted:
                kept[count - 1] = sorted({_link(field, path, count) for field in line.split()})
    if count != text.pairs:
        raise InputError(f"{count:,} lines of links for {text.pairs:,} pairs", path=path)
    links = [[] if place is None else kept[place] for place in text.lines]
    for place, pair, (source_length, target_length) in zip(text.lines, links, text.lengths, strict=True):
        for i, j in pair:
            if i >= source_length or j >= target_length:
                problem = f"link {i}-{j} outside a pair of {source_length} x {target_length} words"
                raise InputError(problem, path=path, line=(place or 0) + 1)
    return Alignments.from_links(links, lengths=text.lengths)


def _link(field: str, path: Path, line: int) -> tuple[int, int]:
    i, dash, j = field.partition("-")
    if not (dash and i.isdecimal() and j.isdecimal()):
        raise InputError(f"{field!r} is not a link like 0-0", path=path, line=line)
    return int(i), int(j)


def read_pairs(paths: tuple[Path, Path]) -> Generator[tuple[list[str], list[str]], None, None]:
    """The two files in step, as words; InputError if one of them ends first."""
    with (
        xopen(paths[0], encoding="utf-8", newline="\n") as source,
        xopen(paths[1], encoding="utf-8", newline="\n") as target,
    ):
        for number, line in enumerate(source, 1):
            other = next(target, None)
            if other is None:
                raise InputError(f"no matching line in {paths[1].name}", path=paths[0], line=number)
            yield _words(line), _words(other)
        if next(target, None) is not None:
            raise InputError(f"has more lines than {paths[0].name}", path=paths[1])


def _words(line: str) -> list[str]:
    words = [OTHER_BLANKS.sub("_", word) for word in BLANKS.split(line) if word]
    return ["|" if word == "|||" else word for word in words]
