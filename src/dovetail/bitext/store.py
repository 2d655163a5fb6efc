"""Arrays that need not all be in memory at once: by name in a folder, mapped when somebody asks for them; or in memory.

A file is a safetensors file.  Pages of a mapped one come in when they are read and leave when the arrays are forgotten.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import mmap
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, BinaryIO

import numpy as np

from dovetail.durable import allocate, room_in, to_disk
from dovetail.pool import Pool

# Types in a file and numpy's names of them; the library puts arrays of the last of them first.
_DTYPES = {"BOOL": "b1", "U8": "u1", "I8": "i1", "I16": "i2", "U16": "u2", "F16": "f2"}
_DTYPES |= {"I32": "i4", "U32": "u4", "F32": "f4", "F64": "f8", "I64": "i8", "U64": "u8"}
_NAMES = {short: name for name, short in _DTYPES.items()}
_ORDER = (*_DTYPES,)
# Places of a mapped array that are read before its pages are released: the system may map megabytes around each.
FROM_A_FILE = 1 << 6
AT_ONCE = 1 << 24  # bytes of an array that are written together
COPIED_AT_ONCE = 1 << 22  # the same where threads share them out
Like = Mapping[str, tuple[tuple[int, ...], Any]]  # shapes and types of arrays


class _Shared(mmap.mmap):
    """A file's map: what is written to it is in the file."""


class _Copy(mmap.mmap):
    """A file's map for this process alone: what is written to it goes to no file, and is lost when pages are released."""


class Growing:
    """An array that is written part by part, in memory."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []

    def append(self, values: np.ndarray) -> None:
        """Further rows; the first ones, of which there may be none, tell of what type and shape rows are."""
        self._parts.append(values)

    def whole(self) -> np.ndarray:
        """All of it, when nothing more comes."""
        return np.concatenate(self._parts)


class GrowingFile(Growing):
    """The same in a file that has no name: the system frees it when nobody has the array any more, or after a kill."""

    def __init__(self, path: Path) -> None:
        self._path, self._none = path, np.empty(0)
        with room_in(path):
            self._file = TemporaryFile(dir=path)  # noqa: SIM115 (closed by `whole`)

    def append(self, values: np.ndarray) -> None:
        self._none = np.empty((0, *values.shape[1:]), values.dtype)
        with room_in(self._path):
            self._file.write(values.tobytes())

    def whole(self) -> np.ndarray:
        none = self._none
        with room_in(self._path), self._file as file:
            if not file.tell():
                return none
            file.flush()
            mapped = _Shared(file.fileno(), 0)
        return np.frombuffer(mapped, none.dtype).reshape(-1, *none.shape[1:])


class Store:
    """Named groups of arrays in memory."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, np.ndarray]] = {}

    def put(self, name: str, arrays: Mapping[str, np.ndarray], pool: Pool | None = None) -> None:
        """Keep these as a group; large ones are written by the pool's threads where there is anything to write."""
        self._groups[name] = dict(arrays)

    @contextmanager
    def room(self, name: str, like: Like) -> Iterator[dict[str, np.ndarray]]:
        """Arrays for a group, to be filled, by many threads if need be: it is there when the block ends."""
        arrays = {key: np.empty(*one) for key, one in like.items()}
        yield arrays
        self.put(name, arrays)

    def get(self, name: str) -> dict[str, np.ndarray]:
        """Arrays that may be written to; whether that changes what is stored is left open."""
        return dict(self._groups[name])

    def remove(self, name: str) -> None:
        self._groups.pop(name, None)

    def rename(self, name: str, new: str) -> None:
        """Call a group otherwise."""
        self._groups[new] = self._groups.pop(name)

    def __contains__(self, name: str) -> bool:
        return name in self._groups

    def table(self, name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Zeros that are written to and read from in place, and that `release` can put aside."""
        return np.zeros(shape, dtype)

    def growing(self) -> Growing:
        """An array to be written part by part, and then read from parts that `release` can put aside."""
        return Growing()

    def within(self, name: str) -> Store:
        """A store of its own beside the groups, for as long as this one."""
        return Store()


class Folder(Store):
    """The same, one file per group.  Files are written beside their place and renamed: a group is there whole or not."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with room_in(self.path):
            self.path.mkdir(parents=True, exist_ok=True)

    def put(
        self, name: str, arrays: Mapping[str, np.ndarray], pool: Pool | None = None, *, lasting: bool = False
    ) -> None:
        """`lasting`: even if power fails the next moment."""
        if pool is not None and not lasting:
            with self.room(name, {key: (values.shape, values.dtype) for key, values in arrays.items()}) as places:
                _copy(arrays, places, pool)
            return
        with self._begun(name) as file:
            file.writelines(file_of(arrays))
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        if lasting:
            to_disk(self.path)

    @contextmanager
    def room(self, name: str, like: Like) -> Iterator[dict[str, np.ndarray]]:
        header, abouts, size = _layout(like)
        with self._begun(name) as file:
            allocate(file, size)
            mapped = _Shared(file.fileno(), 0)
            mapped[: len(header)] = header
            yield {key: _mapped(mapped, len(header), about) for key, about in abouts.items()}

    @contextmanager
    def _begun(self, name: str) -> Iterator[BinaryIO]:
        """A file beside the group's place, which has it when the block ends without exception."""
        place = self._place(name)
        beside = place.with_name(f".{place.name}.{os.getpid()}")
        with room_in(self.path):
            try:
                with open(beside, "w+b") as file:
                    yield file
                os.replace(beside, place)
            finally:
                beside.unlink(missing_ok=True)  # what could not be written to its end takes no room

    def get(self, name: str) -> dict[str, np.ndarray]:
        return arrays_of(self._place(name))

    def remove(self, name: str) -> None:
        self._place(name).unlink(missing_ok=True)

    def rename(self, name: str, new: str) -> None:
        with room_in(self.path):
            os.replace(self._place(name), self._place(new))

    def __contains__(self, name: str) -> bool:
        return self._place(name).exists()

    def table(self, name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Gone from the folder already: the system frees it when nobody has it any more."""
        size = int(np.prod(shape, dtype=np.int64))
        if size == 0:
            return np.zeros(shape, dtype)
        place = self.path / f"{name}.table"
        with room_in(self.path), open(place, "w+b") as file:
            try:
                allocate(file, size * np.dtype(dtype).itemsize)
                mapped = _Shared(file.fileno(), 0)
            finally:
                place.unlink()
        return np.frombuffer(mapped, dtype, size).reshape(shape)

    def growing(self) -> GrowingFile:
        return GrowingFile(self.path)

    def within(self, name: str) -> Folder:
        return Folder(self.path / name)

    def _place(self, name: str) -> Path:
        return self.path / f"{name}.safetensors"


class PassingFolder(TemporaryDirectory[str]):
    """A folder for as long as a block takes, in which workers may still write, or have files, when it ends.

    What they leave is removed when the process ends, and they with it.
    """

    def __init__(self, pool: Pool | None = None) -> None:
        super().__init__(prefix="dovetail-", ignore_cleanup_errors=True)
        self._pool = pool  # whose threads remove large files side by side

    def __exit__(self, kind: type[BaseException] | None, *exception: Any) -> None:
        if kind is None and self._pool is not None:  # after an interruption nobody waits for threads
            self._pool.map(_gone, [(path,) for path in Path(self.name).glob("*.*")])
        super().__exit__(kind, *exception)

    def cleanup(self) -> None:
        super().cleanup()
        if os.path.exists(self.name):
            atexit.register(shutil.rmtree, self.name, ignore_errors=True)


def _gone(path: Path) -> None:
    with suppress(OSError):  # whoever still has it open, or is faster: the folder's own clean-up tells
        path.unlink()


def release(values: np.ndarray) -> None:
    """Let the pages of a mapped array's part go, out of this process's memory; in memory itself nothing happens."""
    base = map_of(values)
    if base is None or not values.size or not hasattr(mmap, "MADV_DONTNEED"):
        return
    first = values.ctypes.data - np.frombuffer(base, np.uint8).ctypes.data
    low = first // mmap.PAGESIZE * mmap.PAGESIZE
    base.madvise(mmap.MADV_DONTNEED, low, first + values.nbytes - low)


def map_of(values: np.ndarray) -> mmap.mmap | None:
    """The map of a file of a store that an array is in; None of one in memory, or in another's map."""
    base: Any = values
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return base if isinstance(base, _Shared | _Copy) else None


def give_back() -> None:
    """Let the C library hand freed memory back to the system, where it knows how (glibc): it would keep a shard's worth."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def file_of(arrays: Mapping[str, np.ndarray]) -> Iterator[bytes | memoryview]:
    """A safetensors file of these arrays, a piece after another: never is a second copy of them all in memory.

    The same bytes as the library makes, which would first join them in one string.
    """
    header, abouts, _ = _layout({key: (values.shape, values.dtype) for key, values in arrays.items()})
    yield header
    for key in abouts:
        values = arrays[key]
        flat = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
        for first in range(0, len(flat), AT_ONCE):
            piece = flat[first : first + AT_ONCE]
            yield piece.data
            if not isinstance(map_of(piece), _Copy):
                release(piece)


def arrays_of(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a file that this package wrote, mapped: pages come in when they are read."""
    with open(path, "rb") as file:
        # Private and writable: kernels are compiled for arrays that can be written to.
        mapped = _Copy(file.fileno(), 0, access=mmap.ACCESS_COPY)
    begin = 8 + int.from_bytes(mapped[:8], "little")
    header = json.loads(mapped[8:begin])
    return {key: _mapped(mapped, begin, about) for key, about in header.items() if key != "__metadata__"}


def _layout(like: Like) -> tuple[bytes, dict[str, dict[str, Any]], int]:
    """Of a file of such arrays: what stands before them, where each is behind that, in their order, and its size."""
    names = {key: _type_of(key, np.dtype(dtype)) for key, (_, dtype) in like.items()}
    abouts, begin = {}, 0
    # The widest first, so that every array lies where its numbers may lie.
    for key in sorted(like, key=lambda key: (-_ORDER.index(names[key]), key)):
        shape, dtype = like[key]
        end = begin + int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        abouts[key] = {"dtype": names[key], "shape": list(shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(abouts, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text, abouts, 8 + len(text) + begin


def _copy(arrays: Mapping[str, np.ndarray], places: Mapping[str, np.ndarray], pool: Pool) -> None:
    """Fill the places with the arrays, by the pool's threads."""
    tasks = []
    for key, place in places.items():
        own, room = (values.reshape(-1) for values in (arrays[key], place))
        step = max(COPIED_AT_ONCE // own.itemsize, 1)
        tasks += [(own[first : first + step], room[first : first + step]) for first in range(0, len(own), step)]
    pool.map(put_aside, tasks)


def put_aside(values: np.ndarray, place: np.ndarray) -> None:
    """Write values to a mapped array, and let the pages of both go."""
    place[:] = values
    release(place)
    if not isinstance(map_of(values), _Copy):
        release(values)


def _type_of(name: str, dtype: np.dtype) -> str:
    """The file's name of an array's type."""
    try:
        return _NAMES[dtype.str[1:]]
    except KeyError:
        raise TypeError(f"{name} is of type {dtype}, which no file of arrays can hold") from None


def _mapped(mapped: mmap.mmap, begin: int, about: Mapping[str, Any]) -> np.ndarray:
    dtype, shape = np.dtype(_DTYPES[about["dtype"]]), tuple(about["shape"])
    size = int(np.prod(shape, dtype=np.int64))
    if size == 0:
        return np.empty(shape, dtype)
    return np.frombuffer(mapped, dtype, size, begin + about["data_offsets"][0]).reshape(shape)
