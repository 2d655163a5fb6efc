"""What people have linked: a journal that every change is added to at once, and the gold file of the finished pairs.

The journal (GOLD.log, a JSON object per line) is the truth: who changed what, and when.  A change counts when its line is on
the disk.  The gold file follows from it and is made again, beside the old one and then in its place, whenever a finished
pair changes: whatever dies in between, the next start finds every change that was confirmed, and mends the gold file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from threading import Lock
from typing import Any

from dovetail.alignments.formats_lines import parse_link_lines
from dovetail.alignments.gold import GoldPair, numbered_lines, write_gold
from dovetail.bitext.text import MAGIC, read_lines
from dovetail.durable import locked, to_disk
from dovetail.errors import InputError

SET, UNDO, REDO, FINISH, REOPEN, READ = "set", "undo", "redo", "finish", "reopen", "read"
ACTIONS = (SET, UNDO, REDO, FINISH, REOPEN)  # READ is ours alone: what somebody wrote into the gold file
MOST_STATES = 1000  # of a pair, to go back to


class Outdated(Exception):
    """The pair has changed since the caller saw it; `draft` is how it stands."""

    def __init__(self, draft: Draft) -> None:
        super().__init__("the pair has changed meanwhile")
        self.draft = draft


@dataclass(frozen=True)
class Draft:
    """One pair: its links in each state since it was first shown, which of these holds, and whether it is finished.

    `version` counts the changes, so that nobody overwrites what they have not seen.
    """

    states: tuple[str, ...]
    at: int = 0
    finished: bool = False
    version: int = 0
    who: str = ""
    when: str = ""

    @property
    def links(self) -> str:
        return self.states[self.at]

    @property
    def can_undo(self) -> bool:
        return self.at > 0

    @property
    def can_redo(self) -> bool:
        return self.at + 1 < len(self.states)

    def after(self, action: str, links: str, who: str, when: str) -> Draft:
        """As it stands after an action; the same object if that changes nothing."""
        states, at, finished = self.states, self.at, self.finished
        if action in (SET, READ) and links != self.links:
            states = (*states[: at + 1], links)[-MOST_STATES:]
            at = len(states) - 1
        elif action == UNDO and self.can_undo:
            at -= 1
        elif action == REDO and self.can_redo:
            at += 1
        finished = action in (FINISH, READ) or (finished and action != REOPEN)
        if (states, at, finished) == (self.states, self.at, self.finished):
            return self
        return Draft(states, at, finished, self.version + 1, who, when)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass
class Drafts:
    """All pairs that anybody has changed, by number (from 1).  Made by `open_drafts`; several threads may use it."""

    gold: Path
    journal: Path
    descriptor: int  # of the journal, open to be added to, and locked as long as this lives
    clock: Callable[[], str] = _now
    _drafts: dict[int, Draft] = field(default_factory=dict)
    _seen: dict[int, set[str]] = field(default_factory=dict)  # all links that each pair ever had
    _lock: Lock = field(default_factory=Lock)

    def __getitem__(self, pair: int) -> Draft | None:
        return self._drafts.get(pair)

    def items(self) -> list[tuple[int, Draft]]:
        """Those that were ever changed, in the order of their first change."""
        return list(self._drafts.items())

    def close(self) -> None:
        """Let another process write the same files."""
        os.close(self.descriptor)

    def change(self, pair: int, action: str, links: str, *, start: str, version: int, who: str = "") -> Draft:
        """How a pair stands after an action; when this returns, it is on the disk.

        `links` are those of `set`, in the gold file's form; `start` those that the pair had before its first change.
        Raises `Outdated` if `version` is not the pair's.
        """
        with self._lock:
            before = self._drafts.get(pair)
            now = before or Draft((start,))
            if version != now.version:
                raise Outdated(now)
            after = now.after(action, links, who, self.clock())
            if after is now:
                return now
            self._append(_line(pair, action, after, start if before is None else None))
            self._hold(pair, after)
            if before is None:
                self._seen[pair].add(start)
            if after.finished or now.finished:
                self._write_gold()
            return after

    def _append(self, line: bytes) -> None:
        size = os.fstat(self.descriptor).st_size
        try:
            rest = line
            while rest:
                rest = rest[os.write(self.descriptor, rest) :]
            os.fsync(self.descriptor)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self.descriptor, size)  # half a line would spoil the next
            raise

    def _hold(self, pair: int, draft: Draft) -> None:
        self._drafts[pair] = draft
        self._seen.setdefault(pair, set()).add(draft.links)

    def _finished(self) -> dict[int, str]:
        return {pair: draft.links for pair, draft in sorted(self._drafts.items()) if draft.finished}

    def _write_gold(self) -> None:
        write_gold(self.gold, self._finished().items())

    def replay(self, content: bytes) -> None:
        """Take over what a journal holds."""
        for number, raw in enumerate(content.splitlines(), 1):
            try:
                entry = json.loads(raw)
                pair, action, links = entry["pair"], entry["action"], entry["links"]
                who, when, start = entry["who"], entry["time"], entry.get("start", links)
                if not isinstance(pair, int) or action not in (*ACTIONS, READ):
                    raise ValueError
                if not all(isinstance(text, str) for text in (links, who, when, start)):
                    raise ValueError
                before = self._drafts.get(pair) or Draft((start,))
                after = before.after(action, links, who, when)
            except (ValueError, KeyError, TypeError, RecursionError):
                raise InputError(
                    "this is no line of annotate's journal",
                    path=self.journal,
                    line=number,
                    remedy="Restore the file, or move it away: finished pairs are in the gold file too.",
                ) from None
            self._hold(pair, after)
            self._seen[pair].add(before.links)

    def reconcile(self) -> None:
        """Take over lines of the gold file that the journal never had; then make the file what the journal says."""
        written = _read_gold(self.gold)
        for pair, links in written.items():
            if links in self._seen.get(pair, ()):
                continue  # the journal knows better what became of it
            before = self._drafts.get(pair)
            now = before or Draft((links,))
            after = now.after(READ, links, "", self.clock())
            self._append(_line(pair, READ, after, links if before is None else None))
            self._hold(pair, after)
        if written != self._finished():
            self._write_gold()

    def check(self, lengths: Mapping[int, tuple[int, int]]) -> None:
        """Refuse drafts that do not fit the text: (source, target) words of each pair."""
        for pair, draft in self._drafts.items():
            if pair in lengths and not fits(draft.links, *lengths[pair]):
                I, J = lengths[pair]
                raise InputError(
                    f"pair {pair:,} has links outside its {I:,} source and {J:,} target words",
                    path=self.journal,
                    remedy="Give the text that was annotated, cut into the same words, or another GOLD.",
                )


def open_drafts(gold: str | os.PathLike[str], clock: Callable[[], str] = _now) -> Drafts:
    """The drafts beside a gold file, with all that was confirmed before; InputError if another process has them open."""
    path = Path(gold)
    if os.fspath(gold) == "-" or path.suffix in MAGIC:
        raise InputError("gold links are added to as you work", path=gold, remedy="Name a plain file.")
    if path.is_dir():
        raise InputError("this is a directory", path=gold, remedy="Name a file in it.")
    journal = path.with_name(path.name + ".log")
    try:
        new = not journal.exists()
        descriptor = os.open(journal, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as error:
        raise InputError(
            f"could not be written ({error.strerror})",
            path=journal,
            remedy="Check that its directory is there and yours.",
        ) from error
    try:
        _take(descriptor, path)
        content = _whole_lines(descriptor)
        drafts = Drafts(path, journal, descriptor, clock)
        drafts.replay(content)
        drafts.reconcile()
    except BaseException:
        os.close(descriptor)
        raise
    if new:
        to_disk(path.parent)
    return drafts


def fits(links: str, I: int, J: int) -> bool:
    """Whether all links lie within so many source and target words."""
    return all(i < I and j < J for i, j in GoldPair.from_text(links).possible)


def canonical(links: str) -> str:
    """The same links in order, each once, sure where it is marked both ways; InputError for what is none."""
    return str(GoldPair.from_text(links))


def _line(pair: int, action: str, draft: Draft, start: str | None) -> bytes:
    entry: dict[str, Any] = {"time": draft.when, "who": draft.who, "pair": pair, "action": action, "links": draft.links}
    if start is not None:
        entry["start"] = start
    return json.dumps(entry).encode("ascii") + b"\n"


def _take(descriptor: int, gold: Path) -> None:
    """Keep others from writing the same journal."""
    if not locked(descriptor):
        raise InputError(
            "another `dovetail annotate` is writing this file",
            path=gold,
            remedy="Open its page, or name a file of your own: finished ones can be put together with `cat`.",
        )


def _whole_lines(descriptor: int) -> bytes:
    """All lines; what a dying process left of a last one was never confirmed, and goes."""
    with open(descriptor, "rb", closefd=False) as handle:
        handle.seek(0)
        content = handle.read()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.ftruncate(descriptor, len(whole))
    return whole


def _read_gold(path: Path) -> dict[int, str]:
    """The pairs of a gold file in the numbered form; none where there is no file, or an empty one."""
    if not path.exists() or path.stat().st_size == 0:
        return {}
    try:
        found = numbered_lines(read_lines(path), str(path))
        parse_link_lines(found.values(), str(path), probabilities=False)  # names the line of what is no link
    except InputError as error:
        raise InputError(
            error.problem,
            path=path,
            line=error.line,
            remedy="annotate goes on with files of numbers, tabs and links only: name a new file, or mend this one.",
        ) from error
    return {pair: canonical(links) for pair, links in found.items()}
