"""Counts of more keys than fit into memory: sorted in parts, written to disk, and merged from there.

A key is a row of bytes, ordered as bytes; what is counted is a few integers per key, which are added up.  Sums of integers
are exact, so the result does not depend on where the parts end.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from types import TracebackType

import numpy as np

from dovetail.errors import InputError

MEMORY = 1 << 27  # bytes held at a time, by default
BLOCK = 128  # rows of a file that are held at least while merging: of fewer, asking for them is most of the work


class Spill:
    """A table from keys (`key_bytes` each) to `values` integers, kept in a folder that goes when the block ends.

    with Spill(8, 1) as counts:
        counts.add(keys, values)         # uint8 (N, 8), int64 (N, 1); as often as one likes
        for keys, values in counts.merged(): ...
    """

    def __init__(
        self, key_bytes: int, values: int, memory: int = MEMORY, folder: str | PathLike[str] | None = None
    ) -> None:
        self._row = np.dtype([("key", f"S{key_bytes}"), ("values", "<i8", (values,))])
        # Sorting takes the rows some times over: as they come, in one piece, their order, in order, and added up.
        self._limit = max(1, memory // (6 * self._row.itemsize))
        self._held: list[np.ndarray] = []
        self._rows = 0
        self._runs: list[Path] = []
        self._written = 0
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="dovetail-", dir=folder))
        except OSError as error:
            raise InputError(
                f"nothing can be written there ({error.strerror})", path=folder, remedy="Name a folder that is there."
            ) from error

    def __enter__(self) -> Spill:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Rows in any order, keys more than once."""
        for start in range(0, len(keys), self._limit):
            part = slice(start, start + self._limit)
            rows = np.empty(len(keys[part]), self._row)
            rows["key"] = np.ascontiguousarray(keys[part]).view(self._row["key"]).reshape(-1)
            rows["values"] = values[part]
            self._held.append(_added_up(rows))
            self._rows += len(self._held[-1])
            if self._rows > self._limit:
                self._write()

    def _write(self) -> None:
        if self._rows:
            _added_up(np.concatenate(self._held)).tofile(self._new_run())
            self._held, self._rows = [], 0

    def _new_run(self) -> Path:
        self._written += 1
        self._runs.append(self._folder / f"{self._written}.run")
        return self._runs[-1]

    def merged(self, together: int | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Every key once, in order, with its sums: blocks of uint8 (N, key_bytes) and int64 (N, values).

        Keys that begin with the same `together` bytes are in the same block, however large it gets.  To be asked once:
        files go when they have been read.
        """
        self._write()
        most = max(2, self._limit // BLOCK)
        while len(self._runs) > most:
            some, self._runs = self._runs[:most], self._runs[most:]
            with self._new_run().open("wb") as handle:
                for rows in self._blocks(some):
                    rows.tofile(handle)
        kept = np.empty(0, self._row)
        for rows in self._blocks(self._runs):
            if not together:
                yield self._unpacked(rows)
                continue
            rows = np.concatenate([kept, rows])
            begins = self._bytes(rows)[:, :together]
            whole = len(rows) - np.count_nonzero((begins == begins[-1]).all(axis=1))  # the last ones may go on
            if whole:
                yield self._unpacked(rows[:whole])
            kept = rows[whole:]
        if len(kept):
            yield self._unpacked(kept)

    def _blocks(self, paths: list[Path]) -> Iterator[np.ndarray]:
        """Runs as one: of each a block is held; what is certain to be complete leaves, block by block."""
        size = max(1, self._limit // max(1, len(paths)))
        runs = [_Run(path, self._row, size) for path in paths]
        while runs:
            # Up to the smallest of the blocks' last keys, nothing can come that is not held.
            bound = min(run.block["key"][-1] for run in runs)
            ready = [run.up_to(bound) for run in runs]
            runs = [run for run in runs if run.refilled()]
            yield _added_up(np.concatenate(ready))

    def _unpacked(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._bytes(rows), np.ascontiguousarray(rows["values"])

    def _bytes(self, rows: np.ndarray) -> np.ndarray:
        width = self._row["key"].itemsize
        return np.ascontiguousarray(rows["key"]).view(np.uint8).reshape(-1, width)


class _Run:
    """One sorted file, read block by block; it goes when it has been read."""

    def __init__(self, path: Path, row: np.dtype, size: int) -> None:
        self._path, self._row, self._size = path, row, size
        self._place, self._end = 0, path.stat().st_size
        self.block = np.empty(0, row)
        self.refilled()

    def up_to(self, bound: bytes) -> np.ndarray:
        """What is held of keys up to `bound`, which is then held no longer."""
        end = int(np.searchsorted(self.block["key"], bound, side="right"))
        taken, self.block = self.block[:end], self.block[end:]
        return taken

    def refilled(self) -> bool:
        """Whether there is anything left."""
        # From half a block on: what is certain to be complete would else be that of the emptiest run, a few rows.
        if 2 * len(self.block) < self._size and self._place < self._end:
            more = np.fromfile(self._path, self._row, self._size - len(self.block), offset=self._place)
            self.block = np.concatenate([self.block, more])
            self._place += more.nbytes
            if self._place == self._end:
                self._path.unlink()
        return len(self.block) > 0


def _added_up(rows: np.ndarray) -> np.ndarray:
    """Sorted by key, each key once, values summed."""
    if not len(rows):
        return rows
    rows = rows[np.argsort(rows["key"], kind="stable")]
    new = np.ones(len(rows), bool)
    new[1:] = rows["key"][1:] != rows["key"][:-1]
    starts = np.flatnonzero(new)
    result = rows[starts]
    result["values"] = np.add.reduceat(rows["values"], starts, axis=0)
    return result
