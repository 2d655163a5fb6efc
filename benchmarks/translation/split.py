"""Text to learn from, and the text behind it to tune and to test on."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dovetail.alignments.gold import Gold
from dovetail.errors import InputError
from texts import Text

LONGEST = 40  # words of a held-out sentence: decoding takes longer than linear time

Pair = tuple[list[str], list[str]]


@dataclass(frozen=True)
class Split:
    """Three parts of a text."""

    train: list[Pair]
    tune: list[Pair]
    test: list[Pair]


def split(pairs: Iterable[Pair], train: int, tune: int, test: int) -> Split:
    """The first `train` pairs; then, of those behind them, `tune` and `test` pairs that `held_out` takes."""
    whole = ((source, target) for source, target in pairs if source and target)
    first = list(islice(whole, train))
    rest = held_out(whole, first)
    parts = Split(first, list(islice(rest, tune)), list(islice(rest, test)))
    found = len(first) + len(parts.tune) + len(parts.test)
    if found < train + tune + test:
        raise InputError(
            f"{found:,} pairs that can be used, not {train + tune + test:,}", remedy="Ask for fewer pairs."
        )
    return parts


def held_out(pairs: Iterable[Pair], train: Iterable[Pair]) -> Iterator[Pair]:
    """Pairs up to 40 words per side whose source sentence is not in `train`, each source sentence once."""
    seen = {tuple(source) for source, _ in train}
    for source, target in pairs:
        if max(len(source), len(target)) <= LONGEST and tuple(source) not in seen:
            seen.add(tuple(source))
            yield source, target


def write_split(parts: Split, folder: Path) -> None:
    """`train.source`, `train.target`, `train.joined` and so on, in a new folder that is there whole or not at all."""
    beside = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    for name in ("train", "tune", "test"):
        pairs: list[Pair] = getattr(parts, name)
        sides = {
            "source": (" ".join(source) for source, _ in pairs),
            "target": (" ".join(target) for _, target in pairs),
            "joined": (" ||| ".join(map(" ".join, pair)) for pair in pairs),
        }
        for side, lines in sides.items():
            (beside / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    beside.replace(folder)


def train_text(folder: Path) -> Text:
    """The training part as peers take it; all of its pairs' links are asked for."""
    files = [folder / f"train.{side}" for side in ("source", "target", "joined")]
    sides = [path.read_text("utf-8").splitlines() for path in files[:2]]
    lengths = [(len(source.split()), len(target.split())) for source, target in zip(*sides, strict=True)]
    count = len(lengths)
    return Text(*files, count, count, list(range(count)), lengths, Gold.from_links([[] for _ in lengths]))
