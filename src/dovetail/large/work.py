"""The work folder: what a run has finished, so that after any end, a SIGKILL or a power cut too, the same command goes on.

Every stage writes beside, makes sure that it is on disk, and renames: what has its name is whole.
`lock` says that it is one of ours, `command.json` whose, `source.zst` and `target.zst` hold what came from pipes, `model`
with `learned.json` what was learned, and `links` what has been aligned, as far as the last line of `journal` says.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from dovetail.bitext.paths import StrPath, check_on_disk, file_system, files_of, is_remote
from dovetail.bitext.readers import read_in_step
from dovetail.bitext.source import TextSource
from dovetail.bitext.store import PassingFolder
from dovetail.bitext.text import display_name, empty_file, open_bytes
from dovetail.durable import locked, put, room_in, to_disk
from dovetail.errors import InputError

BLOCK = 1 << 20
RECORD = b"A folder that `dovetail align --work` works in: without this file it is not taken for one.\n"


@dataclass(frozen=True)
class Spool(PathLike[str]):
    """The file where a pipe was put; messages go on calling it by its own name."""

    path: str
    display: str

    def __fspath__(self) -> str:
        return self.path


class WorkFolder:
    """A folder that one run at a time works in."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.model = place / "model"

    def check(self, command: Mapping[str, Any]) -> None:
        """Take the folder for this command; InputError if it holds the work of another one."""
        content = json.dumps(command, sort_keys=True, default=str)
        path = self.place / "command.json"
        if not path.exists():
            put(path, content.encode())
            return
        before, now = json.loads(path.read_bytes()), json.loads(content)
        different = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if different:
            raise InputError(
                f"holds the work of another command (different: {', '.join(different)})",
                path=self.place,
                remedy="Name another folder, or remove this one.",
            )

    def spooled(self, text: TextSource) -> dict[str, Any]:
        """Which sides of a text are pipes, and the files that they become now, or have become in a run before.

        What a pipe brings then must be the same text again, unless it is a standard input that brings nothing.
        """
        found: dict[str, Any] = {}
        for side in ("source", "target"):
            path = getattr(text, side)
            if path is not None and _is_pipe(path):
                found[side] = Spool(os.fspath(self.place / f"{side}.zst"), display_name(path))
        if not found:
            return found
        spools = list(found.values())
        blocks: Iterable[tuple[int, bytes]]
        if len(found) == 2:  # whoever fills both may wait until both are read
            both = read_in_step(text.source, cast(StrPath, text.target), "strict")
            blocks = ((side, block.raw) for side, block in both)
        else:
            blocks = ((0, block) for side in found for block in _blocks(getattr(text, side)))
        if not all(map(os.path.exists, spools)):  # of two both, anew: they belong together
            self._put_by(spools, blocks)
        elif not (_is_silent() and any(spool.display == "standard input" for spool in spools)):
            self._check_same(spools, blocks)
        return found

    def _put_by(self, spools: list[Spool], blocks: Iterable[tuple[int, bytes]]) -> None:
        from xopen import xopen

        beside = [self.place / f".{Path(spool).name}" for spool in spools]
        empty = True
        with ExitStack() as stack:
            handles = [stack.enter_context(xopen(path, "wb", threads=0)) for path in beside]
            for side, block in blocks:
                handles[side].write(block)
                empty = False
        if empty:  # and stays so in no later run
            raise empty_file(spools[0])
        for path, spool in zip(beside, spools, strict=True):
            to_disk(path)
            os.replace(path, spool)
        to_disk(self.place)

    def _check_same(self, spools: list[Spool], blocks: Iterable[tuple[int, bytes]]) -> None:
        """InputError if pipes bring anything but what was put by."""
        came, same = False, True
        with ExitStack() as stack:
            before = [stack.enter_context(open_bytes(spool)) for spool in spools]
            for side, block in blocks:
                came, same = True, before[side].read(len(block)) == block
                if not same:
                    break
            if same and not (came and any(handle.read(1) for handle in before)):
                return
        raise InputError(
            f"not the text that the work in {self.place} began with",
            path=" and ".join(spool.display for spool in spools),
            remedy="Name another folder, or remove that one.",
        )

    @property
    def learned(self) -> dict[str, Any] | None:
        """What was written when the model was whole; None as long as there is none."""
        path = self.place / "learned.json"
        if path.exists():
            return dict(json.loads(path.read_bytes()))
        shutil.rmtree(self.model, ignore_errors=True)  # perhaps not all of it is on disk
        return None

    def keep_model(self, about: Mapping[str, Any]) -> None:
        """The model that was saved here is whole."""
        for path in (*self.model.rglob("*"), self.model, self.place):
            to_disk(path)
        put(self.place / "learned.json", json.dumps(about).encode())

    def links(self, names: list[str]) -> LinkJournal:
        """Files of these names (a first one of links, perhaps two of tokens) as far as they are finished."""
        return LinkJournal(self.place, names)


class LinkJournal:
    """Files that grow part by part, and a journal that says how far they are whole."""

    def __init__(self, place: Path, names: list[str]) -> None:
        self._journal = place / "journal"
        self._paths = [place / name for name in names]
        self.state: dict[str, Any] = self._last() or {"sizes": [0] * len(names)}
        self.handles: list[IO[str]] = []
        for path, size in zip(self._paths, self.state["sizes"], strict=True):
            with open(path, "ab") as raw:
                raw.truncate(size)  # what a run that was killed wrote beyond its last entry
            self.handles.append(open(path, "a", encoding="utf-8", newline="\n"))  # noqa: SIM115 (closed by `close`)
        self._entries = open(self._journal, "ab")  # noqa: SIM115 (closed by `close`)
        if self._entries.tell() and not self._journal.read_bytes().endswith(b"\n"):
            self._entries.write(b"\n")  # an entry that was cut short stays a line of its own

    def _last(self) -> dict[str, Any] | None:
        """The last whole entry."""
        if not self._journal.exists():
            return None
        for line in reversed(self._journal.read_bytes().split(b"\n")):
            try:
                return dict(json.loads(line))
            except ValueError:  # empty, or cut short
                continue
        return None

    def finished(self, state: Mapping[str, Any]) -> None:
        """All that was written so far is on disk, and so is the entry that says so."""
        for handle in self.handles:
            handle.flush()
            os.fsync(handle.fileno())
        sizes = [path.stat().st_size for path in self._paths]
        self.state = {**state, "sizes": sizes}
        self._entries.write(json.dumps(self.state).encode() + b"\n")
        self._entries.flush()
        os.fsync(self._entries.fileno())

    def close(self) -> None:
        for handle in self.handles:
            handle.close()
        self._entries.close()

    def copy(self, number: int, out: IO[str]) -> None:
        """The text of one of the files."""
        with open(self._paths[number], encoding="utf-8", newline="\n") as handle:
            shutil.copyfileobj(handle, out, BLOCK)


@contextmanager
def work_folder(place: str | None) -> Iterator[WorkFolder]:
    """The folder of this name, made if need be and locked; without a name a temporary one, which goes in the end.

    What others have put into a folder is never touched: InputError if it holds anything, but not our record.
    """
    if place is None:
        with PassingFolder() as temporary, room_in(temporary):
            yield WorkFolder(Path(temporary))
        return
    check_on_disk(place)
    path = Path(place)
    try:
        with room_in(path), _taken(path):
            yield WorkFolder(path)
    except OSError as error:
        if error.filename is None or not Path(error.filename).is_relative_to(path):
            raise
        raise InputError(
            f"no folder to work in ({error.strerror})", path=place, remedy="Name one that you can write to."
        ) from error


@contextmanager
def _taken(path: Path) -> Iterator[None]:
    """The folder is ours, and this run's alone."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error  # and not the name of a parent
    if not _is_ours(path):
        raise InputError("is neither empty nor a work folder", path=path, remedy="Name a new folder.")
    with open(path / "lock", "ab") as lock:
        if not locked(lock.fileno()):
            raise InputError("another run works in this folder", path=path, remedy="Wait for it, or name another.")
        _record(lock, path)
        yield


def _is_ours(path: Path) -> bool:
    """Whether a folder is empty or has our record, all of it or as much as a run wrote that was killed over it."""
    names = os.listdir(path)  # before the record is read: a run that comes between writes that first
    if not names:
        return True
    record = path / "lock"
    if not record.is_file():
        return False
    written = record.read_bytes()
    return written == RECORD or (names == [record.name] and RECORD.startswith(written.rstrip(b"\0")))


def _record(lock: BinaryIO, path: Path) -> None:
    """Say that the folder is ours, on disk before anything else is in it."""
    if (path / "lock").read_bytes() != RECORD:
        lock.truncate(0)
        lock.write(RECORD)
        lock.flush()
    os.fsync(lock.fileno())  # of a run before, too, which may have been killed over it
    to_disk(path)


def _is_pipe(path: StrPath) -> bool:
    """Whether this can be read but once."""
    return os.fspath(path) == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))


def _is_silent() -> bool:
    """Whether nobody has put anything behind standard input."""
    return sys.stdin is None or sys.stdin.isatty()


def _blocks(path: StrPath) -> Iterator[bytes]:
    with open_bytes(path) as stream:
        while block := stream.read(BLOCK):
            yield block


def identity(path: StrPath) -> list[Any]:
    """What tells whether files, or a folder's files, are the same as before: names, sizes, times."""
    found: list[Any] = []
    for file in files_of(path):
        if is_remote(file):
            system, name = file_system(file)
            about = system.info(name)
            found.append([os.fspath(file), about.get("size"), str(about.get("ETag") or about.get("mtime"))])
        elif _is_pipe(file):
            found.append("a pipe")
        else:
            inside = sorted(Path(file).iterdir()) if os.path.isdir(file) else [Path(file)]
            for entry in inside:
                status = entry.stat() if entry.exists() else None
                found.append([os.path.abspath(entry), status and status.st_size, status and status.st_mtime_ns])
    return found
