"""Which files a name stands for: one, those that match a pattern, or some in a store behind an address such as s3://."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import Any

from dovetail.errors import InputError

StrPath = str | os.PathLike[str]


def is_remote(path: StrPath) -> bool:
    """Whether this is an address for fsspec, not a file here."""
    return "://" in os.fspath(path)


def check_on_disk(path: StrPath) -> None:
    """InputError for an address where a folder is wanted: it would become a local folder of that name."""
    if is_remote(path):
        raise InputError(
            "an address, but folders of work and of models are on disks",
            path=path,
            remedy="Name a folder of this machine, or one that several share.",
        )


def file_system(path: StrPath) -> tuple[Any, str]:
    """fsspec's file system of an address, and the name of the file there."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise InputError(
            "files behind an address need fsspec, which is not installed",
            path=path,
            remedy="python -m pip install 'dovetail-align[remote]', and s3fs or gcsfs for s3:// or gs://.",
        ) from error
    try:
        system, name = url_to_fs(os.fspath(path))
    except (ImportError, ValueError) as error:  # a protocol that needs a package, or that nobody knows
        raise InputError(f"could not be opened ({error})", path=path, remedy="Check the address.") from error
    return system, name


def is_pattern(path: StrPath) -> bool:
    """Whether the name stands for whatever files match it: it has one of * ? [ and is no file's own."""
    name = os.fspath(path)
    return glob.has_magic(name) and (is_remote(path) or not os.path.lexists(name))


def files_of(path: StrPath) -> list[StrPath]:
    """The files that a name stands for, sorted; itself if it is no pattern, InputError if nothing matches."""
    if not is_pattern(path):
        return [path]
    if is_remote(path):
        system, name = file_system(path)
        found = [system.unstrip_protocol(match) for match in system.glob(name)]
    else:
        found = glob.glob(os.fspath(path))
    if not found:
        raise InputError("no file matches", path=path, remedy="Check the pattern.")
    return sorted(found)


def files_of_sides(source: StrPath, target: StrPath | None) -> list[tuple[StrPath, StrPath | None]]:
    """The files of a bitext: the n-th of the source's with the n-th of the target's, as their names are sorted."""
    sources = files_of(source)
    if target is None:
        return [(path, None) for path in sources]
    targets = files_of(target)
    if len(sources) != len(targets):
        raise InputError(
            f"stands for {len(sources):,} files, but {os.fspath(target)} for {len(targets):,}",
            path=source,
            remedy="Each file needs its counterpart; they are matched in the order of their names.",
        )
    return list(zip(sources, targets, strict=True))


def filled(files: Sequence[tuple[StrPath, StrPath | None]]) -> list[tuple[StrPath, StrPath | None]]:
    """Those that are not empty on all sides, as a part of a large text may be; or all of them, if none is left."""
    return [paths for paths in files if len(files) == 1 or not is_empty(paths)] or list(files)


def is_empty(paths: tuple[StrPath, StrPath | None]) -> bool:
    """Whether nothing is in any of these files."""
    return all(_size(path) == 0 for path in paths if path is not None)


def _size(path: StrPath) -> int | None:
    """The size of a regular file, or of one in a store."""
    if is_remote(path):
        system, name = file_system(path)
        return int(system.size(name) or 0) if system.exists(name) else None
    return os.path.getsize(path) if os.path.isfile(path) else None
