"""Files that outlast a SIGKILL or a power cut, and folders that one process at a time writes to."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dovetail.errors import InputError

try:
    import fcntl
except ImportError:  # Windows, where nobody watches over two processes with one file
    fcntl = None  # type: ignore[assignment]

FULL = {getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name)}
BLOCK = 1 << 20


@contextmanager
def room_in(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Have it told, with a remedy, when the disk has no room for what is written in a folder."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL or not Path(error.filename or folder).is_relative_to(folder):
            raise
        raise InputError(
            f"no room left to work in ({error.strerror})",
            path=folder,
            remedy="Free some space and run the same command again, or work on another disk: --work or TMPDIR.",
        ) from error


def allocate(file: BinaryIO, size: int) -> None:
    """Make a new file so many zeros, and have the disk find room for them now.

    Whoever maps a file with holes and writes to one of them when the disk is full is killed (SIGBUS).
    """
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), 0, size)
            return
        except OSError as error:
            if error.errno in FULL:  # else it is a file system that cannot do it
                raise
    for first in range(0, size, BLOCK):
        file.write(bytes(min(BLOCK, size - first)))
    file.flush()


def put(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, whatever happens."""
    beside = path.with_name(f".{path.name}")
    with room_in(path.parent):
        beside.write_bytes(content)
        to_disk(beside)
        os.replace(beside, path)
        to_disk(path.parent)


def to_disk(path: Path) -> None:
    """Have the system write a file, or the names in a folder, to disk now."""
    if path.is_dir() and os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)  # Windows wants files open for writing
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def locked(descriptor: int) -> bool:
    """Whether an open file is this process's alone from now on; the lock goes with the process, however that ends."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
