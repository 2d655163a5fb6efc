"""numba's cache of compiled kernels, so that it only ever saves time.

A file in it that is damaged, empty, unreadable or another kernel's counts as none: it is removed, and the kernel is compiled
again.  Whatever changes in any kernel's source makes every file stale, for numba looks at a kernel's own source alone, and
puts copies of the kernels that it calls into its file.  Files are compared by what they say, never by their dates.

The digest finds damage, not malice: who can write to the cache can run code as its user.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

DIGEST = sha256().digest_size


class CheckedFiles(IndexDataCacheFile):
    """The index and the files of one kernel, each file with the digest of what it holds at its end."""

    @classmethod
    def instead_of(cls, files: IndexDataCacheFile, name: str) -> CheckedFiles:
        return cls(files._cache_path, name, (files._source_stamp, stamp_of_sources()))

    def save(self, key: Any, data: Any) -> None:
        with suppress(OSError):  # a full disk, say: a kernel that cannot be saved still runs
            super().save(key, (repr(key), data))

    def load(self, key: Any) -> Any:
        found = super().load(key)
        # Two processes that begin with an empty cache may give one name to two files.
        return found[1] if found is not None and found[0] == repr(key) else None

    def _dump(self, value: Any) -> bytes:
        content: bytes = super()._dump(value)
        return content + sha256(content).digest()

    def _load_index(self) -> dict[Any, str]:
        try:
            index: dict[Any, str] = super()._load_index()
        except Exception:  # damaged bytes make pickle raise whatever they happen to name
            _remove(self._index_path)
            return {}
        return index

    def _load_data(self, name: str) -> Any:
        path = self._data_path(name)
        with open(path, "rb") as handle:
            content = handle.read()
        if sha256(content[:-DIGEST]).digest() != content[-DIGEST:]:
            _remove(path)
            raise FileNotFoundError(path)  # which numba takes for what it is
        return pickle.loads(content)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


@cache
def stamp_of_sources() -> bytes:
    """A digest of all kernels' sources: a few milliseconds, once per process."""
    digest = sha256()
    for source in sorted(_sources(Path(__file__).parent)):
        digest.update(source.read_bytes())
    return digest.digest()


def _sources(room: Path) -> Iterator[Path]:
    yield from room.glob("*.py")
    yield from room.glob("*/*.py")
