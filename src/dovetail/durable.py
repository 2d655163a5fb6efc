"""Files that outlast a SIGKILL or a power cut, and folders that one process at a time writes to."""

from __future__ import annotations

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where nobody watches over two processes with one file
    fcntl = None  # type: ignore[assignment]


def put(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, whatever happens."""
    beside = path.with_name(f".{path.name}")
    beside.write_bytes(content)
    to_disk(beside)
    os.replace(beside, path)
    to_disk(path.parent)


def to_disk(path: Path) -> None:
    """Have the system write a file, or the names in a folder, to disk now."""
    if path.is_dir() and os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
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
