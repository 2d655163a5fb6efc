"""What was measured, one line of JSON per job, text and seed: a finished one is not run again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from io import SEEK_END
from pathlib import Path
from statistics import mean, median
from typing import Any, BinaryIO

from dovetail.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

SETS = ("en-fr-hansards", "de-en-europarl", "en-cs-czenali", "ja-en-kftt")
EDGES = ("edges", "right", "recall")  # what a point of syntax transfer has, beside where it is

Key = tuple[str, str, str, int, int]


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
    def key(self) -> Key:
        return self.paper, self.job, self.set, self.size, self.seed

    @property
    def line(self) -> bytes:
        return (json.dumps(asdict(self), ensure_ascii=False) + "\n").encode()

    @property
    def rows(self) -> Iterator[list[Any]]:
        """Each number by name, where on a curve it is (empty: on none), and its value."""
        for name, value in self.numbers.items():
            if isinstance(value, (int, float)):
                yield [name, "", value]
            elif isinstance(value, list):
                for at, *values in value:
                    names = [name] if len(values) == 1 else [f"{name}: {part}" for part in EDGES]
                    yield from ([part, at, one] for part, one in zip(names, values, strict=True))


def made_at(cells: Iterable[Cell]) -> str:
    """The commits of cells, as words; `+changed` is a tree that nobody committed."""
    commits = sorted({cell.commit.replace(", ", "+") for cell in cells})
    return f"Commit{'s' * (len(commits) > 1)} {', '.join(commits)}." if commits else ""


@dataclass
class Store:
    """A file of cells that grows; where it has a cell twice, the last one counts."""

    path: Path
    cells: dict[Key, Cell] = field(default_factory=dict)
    asked: list[Cell] = field(default_factory=list)  # those whose numbers were handed out

    @classmethod
    def open(cls, path: Path) -> Store:
        store = cls(path)
        if not path.exists():
            return store
        *lines, _ = path.read_bytes().split(b"\n")  # what has no end was being written when the run was killed
        for number, line in enumerate(lines, 1):
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
        with self.path.open("a+b", buffering=0) as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)  # other processes add theirs
            file.truncate(_finished(file))
            file.write(cell.line)
        self.cells[cell.key] = cell

    def tidy(self) -> None:
        """Leave one line per cell in the file, while nobody adds any."""
        made = self.path.with_suffix(".new")
        made.write_bytes(b"".join(cell.line for cell in self.cells.values()))
        made.replace(self.path)

    def __contains__(self, key: Key) -> bool:
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
        return _middle(mean, self._found(paper, job, set_, size, number))

    def median(self, paper: str, job: str, set_: str, size: int, number: str) -> float | None:
        """The same for times, of which one may be long because the machine was busy."""
        return _middle(median, self._found(paper, job, set_, size, number))

    def curve(self, paper: str, job: str, set_: str, size: int, number: str) -> list[list[float]]:
        """A list that a job measured, of its first seed."""
        found = self._found(paper, job, set_, size, number, seeds=1)
        return found[0] if found else []

    def _found(self, paper: str, job: str, set_: str, size: int, number: str, seeds: int | None = None) -> list[Any]:
        """The number of the first seeds that have it; their cells are noted."""
        cells = [cell for cell in self.of(paper, job, set_, size) if number in cell.numbers][:seeds]
        self.asked += cells
        return [cell.numbers[number] for cell in cells]

    def made_at(self) -> str:
        """The commits of the cells that were asked for numbers since the last time."""
        asked, self.asked = self.asked, []
        return made_at(asked)

    def rows(self) -> Iterator[list[Any]]:
        """Every single number with what it takes to get it again."""
        for cell in self.cells.values():
            for row in cell.rows:
                yield [*cell.key, *row, cell.commit, cell.signature]


def _middle(of: Callable[[Sequence[float]], float], values: Sequence[float]) -> float | None:
    return of(values) if values else None


def _finished(file: BinaryIO) -> int:
    """Where the last line that has an end ends."""
    size = file.seek(0, SEEK_END)
    if size:
        file.seek(size - 1)
    if not size or file.read(1) == b"\n":
        return size
    file.seek(0)
    return file.read().rfind(b"\n") + 1
