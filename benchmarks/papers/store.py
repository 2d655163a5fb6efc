"""What was measured, one line of JSON per job, text and seed: a finished one is not run again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from dovetail.errors import InputError

SETS = ("en-fr-hansards", "de-en-europarl", "en-cs-czenali", "ja-en-kftt")


@dataclass(frozen=True)
class Cell:
    """One finished job.  `commit` is the code's, `seconds` CPU seconds of all of it."""

    paper: str
    job: str
    set: str
    size: int
    seed: int
    numbers: dict[str, Any]
    signature: str
    commit: str
    seconds: float

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        return self.paper, self.job, self.set, self.size, self.seed


@dataclass
class Store:
    """A file of cells that grows."""

    path: Path
    cells: dict[tuple[str, str, str, int, int], Cell] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path) -> Store:
        store = cls(path)
        if not path.exists():
            return store
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            try:
                cell = Cell(**json.loads(line))
            except (ValueError, TypeError):
                raise InputError(
                    "not a finished cell", path=path, line=number, remedy="Delete the line: it is then measured again."
                ) from None
            store.cells[cell.key] = cell
        return store

    def add(self, cell: Cell) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(asdict(cell), ensure_ascii=False) + "\n"
        with self.path.open("ab", buffering=0) as file:
            file.write(line.encode())  # at once, since other processes add theirs
        self.cells[cell.key] = cell

    def __contains__(self, key: tuple[str, str, str, int, int]) -> bool:
        return key in self.cells

    def of(self, paper: str, job: str, set_: str, size: int) -> list[Cell]:
        """All seeds, in order."""
        wanted = [cell for key, cell in self.cells.items() if key[:4] == (paper, job, set_, size)]
        return sorted(wanted, key=lambda cell: cell.seed)

    def has(self, paper: str, set_: str, size: int) -> bool:
        """Whether anything of the paper was measured on the text."""
        return (set_, size) in self.texts(paper)

    def texts(self, paper: str) -> list[tuple[str, int]]:
        """Sets and sizes of which the paper has a cell, small ones first, sets in their order and others behind them."""
        found = dict.fromkeys((set_, size) for own, _, set_, size, _ in self.cells if own == paper)
        return sorted(found, key=lambda text: (text[1], (*SETS, text[0]).index(text[0])))

    def mean(self, paper: str, job: str, set_: str, size: int, number: str) -> float | None:
        """Over seeds; None where nothing was measured."""
        found = [cell.numbers[number] for cell in self.of(paper, job, set_, size) if number in cell.numbers]
        return mean(found) if found else None

    def curve(self, paper: str, job: str, set_: str, size: int, number: str) -> list[list[float]]:
        """A list that a job measured, of its first seed."""
        found = [cell.numbers[number] for cell in self.of(paper, job, set_, size) if number in cell.numbers]
        return found[0] if found else []

    def rows(self) -> Iterator[list[Any]]:
        """Every single number with what it takes to get it again."""
        for cell in self.cells.values():
            for name, value in cell.numbers.items():
                if isinstance(value, (int, float)):
                    yield [*cell.key, name, value, cell.commit, cell.signature]
