"""Files of text, as the rest of the house sees them: lines in, whole files out.

A line ends at `\\n` or `\\r\\n` and nowhere else.  A lone `\\r`, U+2028 or U+0085 inside a sentence must not
shift every later line of one side against the other: no `str.splitlines`, no universal newlines here.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, cast

import numpy as np

from dovetail.bitext.compressed import DECOMPRESSORS, Decompressed
from dovetail.bitext.paths import StrPath, file_system, is_remote
from dovetail.durable import FULL, to_disk
from dovetail.errors import InputError

ENCODING_ERRORS = ("strict", "replace", "ignore")

# How each kind of compressed file starts, by the suffix that promises it.
MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00", ".zst": b"\x28\xb5\x2f\xfd"}

# UTF-32's mark begins with UTF-16's: it is looked for first.
_OTHER_MARKS = {
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}

_BUFFER_BYTES = 1 << 17


def display_name(path: StrPath) -> str:
    """How a message calls a file that is read: `-` is standard input, and a path may bring a name of its own."""
    name = str(getattr(path, "display", os.fspath(path)))
    return "standard input" if name == "-" else name


@contextmanager
def open_bytes(path: StrPath) -> Iterator[BinaryIO]:
    """The decompressed bytes of a file, or InputError; `-` is standard input, which stays open."""
    # Standard input goes to xopen as a stream: its own "-" wants a file descriptor, and a notebook has none.
    if os.fspath(path) == "-" and sys.stdin is None:
        raise InputError("it is closed", path=display_name(path), remedy="Name a file.")
    stream = sys.stdin.buffer if os.fspath(path) == "-" else None
    if is_remote(path):
        with _open_remote(path) as remote:
            yield remote
        return
    try:
        handle: BinaryIO = _open(path, "rb", _is_plain(path)) if stream is None else _open(stream, "rb", False)
    except OSError as error:
        raise reading_problem(path, error) from error
    if handle is stream:
        yield handle
        return
    with _buffered(handle) as reader:
        yield reader


@contextmanager
def _open_remote(path: StrPath) -> Iterator[BinaryIO]:
    system, name = file_system(path)
    try:
        raw = system.open(name, "rb")
    except (OSError, ValueError) as error:
        raise InputError(f"could not be opened ({error})", path=path, remedy="Check the address.") from error
    with _buffered(raw) as stream, _buffered(_open(stream, "rb", False)) as handle:
        yield handle


def _is_plain(path: StrPath) -> bool:
    """Whether this is a file, and not a compressed one."""
    if not os.path.isfile(path) or os.fspath(path).endswith(tuple(MAGIC)):
        return False
    return not _head(path).startswith(tuple(MAGIC.values()))


def _head(path: StrPath) -> bytes:
    """As many first bytes of a file as it takes to tell how it is compressed."""
    with open(path, "rb") as handle:
        return handle.read(max(map(len, MAGIC.values())))


def _open(file: Any, mode: Any, plain: bool, **settings: Any) -> Any:
    """A file or stream by xopen, but a plain file without: xopen imports much, and most files are plain."""
    if plain:
        return open(file, mode, **settings)
    if mode == "rb" and (decompressor := _read_to_the_end(file)) is not None:
        return Decompressed(open(file, "rb"), decompressor)
    from xopen import xopen

    return xopen(file, mode, threads=0, **settings)


def _read_to_the_end(file: Any) -> Any:
    """How to decompress a file of a kind that xopen would not read to its very end; None for all others."""
    if not isinstance(file, (str, os.PathLike)) or not os.path.isfile(file):
        return None
    with open(file, "rb") as handle:
        start = handle.read(8)
    return next((kind for magic, kind in DECOMPRESSORS.items() if start.startswith(magic)), None)


def _buffered(handle: BinaryIO) -> BinaryIO:
    """Python's gzip, bz2 and lzma files hand out lines by Python code; a reader in C on top is faster."""
    if isinstance(handle, io.BufferedReader):
        return handle
    return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, handle), _BUFFER_BYTES))


def read_lines(path: StrPath, encoding_errors: str = "strict") -> Iterator[str]:
    """The lines of a UTF-8 file without their ends; a last line that lacks one counts.

    `-` is standard input; .gz .bz2 .xz .zst are read transparently.  A byte-order mark is removed, every
    other character stays.  `encoding_errors` says what becomes of bytes that are not UTF-8: `strict` raises,
    `replace` puts U+FFFD, `ignore` drops them.  Raises InputError for all that keeps the file from being read
    to its end, and for an empty file.
    """
    for block in read_blocks(path, encoding_errors):
        *lines, rest = block.text.split("\n")
        for line in lines:
            yield line[:-1] if line[-1:] == "\r" else line
        if rest:
            yield rest


class LineBlock(NamedTuple):
    """So many whole lines of a file with their ends, which only the last of a file may lack."""

    raw: bytes  # in UTF-8
    text: str
    lines: int


def read_blocks(path: StrPath, encoding_errors: str = "strict") -> Iterator[LineBlock]:
    """As `read_lines`, many lines at a time; a fault is raised when all lines before it have been given."""
    if encoding_errors not in ENCODING_ERRORS:
        raise InputError(
            f"encoding errors can't be treated by {encoding_errors!r}",
            remedy=f"Choose one of: {', '.join(ENCODING_ERRORS)}.",
        )
    number = 0
    with open_bytes(path) as handle:
        try:
            for raw in _whole_lines(handle):
                if not number:
                    raw = _without_mark(raw, path)
                    if not raw:
                        break  # the mark was all there is
                    _check_line_ends(raw, path)
                try:
                    text = raw.decode("utf-8", encoding_errors)
                except UnicodeDecodeError as error:
                    good = raw[: raw.rfind(b"\n", 0, error.start) + 1]
                    lines = good.count(b"\n")
                    if good:
                        yield LineBlock(good, good.decode("utf-8"), lines)
                    raise InputError(
                        f"not valid UTF-8 (byte 0x{raw[error.start]:02x})",
                        path=display_name(path),
                        line=number + lines + 1,
                        remedy="Convert the file to UTF-8, or pass --encoding-errors replace.",
                    ) from error
                # Half the time that bytes.count takes.
                lines = int(np.count_nonzero(np.frombuffer(raw, np.uint8) == ord("\n"))) + (not raw.endswith(b"\n"))
                if encoding_errors != "strict":
                    if not raw.endswith(b"\n") and text[-1:] in ("", "\n"):
                        text += "\n"  # nothing is left of the last line, but it counts
                    raw = text.encode("utf-8")
                yield LineBlock(raw, text, lines)
                number += lines
        except (InputError, MemoryError):
            raise
        except Exception as error:  # every decompressor has exception classes of its own
            raise reading_problem(path, error, line=number + 1) from error
    if not number:
        raise empty_file(path)


def _whole_lines(handle: BinaryIO) -> Iterator[bytes]:
    """What a file holds in blocks that end with a line, each what one call of the system has to give, or more."""
    rest: list[bytes] = []
    while block := handle.read1(_BUFFER_BYTES):  # type: ignore[attr-defined] # of all buffered readers
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join((*rest, block[:end]))
            rest = []
        rest.append(block[end:])
    if last := b"".join(rest):
        yield last


def _without_mark(first: bytes, path: StrPath) -> bytes:
    """The first line without UTF-8's byte-order mark; after another's, no treatment of errors gives sense."""
    for name, marks in _OTHER_MARKS.items():
        if first.startswith(marks):
            raise InputError(
                f"this is {name}, not UTF-8",
                path=display_name(path),
                line=1,
                remedy=f"Convert it: iconv -f {name} -t UTF-8.",
            )
    return first.removeprefix(codecs.BOM_UTF8)


def _check_line_ends(first: bytes, path: StrPath) -> None:
    """Refuse a file without a single line end but with CRs, which older programs for the Macintosh write: one long line."""
    if not first.endswith(b"\n") and b"\r" in first[:-1]:
        raise InputError(
            "the lines end in CR alone",
            path=display_name(path),
            line=1,
            remedy="Convert it: tr '\\r' '\\n' < FILE.",
        )


def empty_file(path: StrPath) -> InputError:
    return InputError("the file is empty", path=display_name(path), remedy="Was it written to its end?")


def reading_problem(path: StrPath, error: Exception, line: int | None = None) -> InputError:
    """What to tell the person whose file could not be opened, or not be read beyond some line."""
    name = display_name(path)
    if isinstance(error, OSError) and error.errno is not None:
        if os.path.isdir(path):  # asked first: Windows calls it a lack of permission
            return InputError("this is a directory", path=name, remedy="Name a file in it.")
        if error.errno == errno.ENOENT:
            return InputError("no such file", path=name, remedy="Check the path.")
        if error.errno == errno.EACCES:
            return InputError("no permission to read it", path=name, remedy="Check the file's permissions.")
        return InputError(f"could not be read ({error.strerror})", path=name, line=line)
    if os.path.isfile(path) and os.path.getsize(path) == 0:  # to bz2 and lzma, a file cut off at once
        return empty_file(path)
    suffix = Path(path).suffix.lower()
    # A file cut off within these bytes may have been one, and so may a pipe.
    if suffix in MAGIC and os.path.isfile(path) and not MAGIC[suffix].startswith(_head(path)[: len(MAGIC[suffix])]):
        return InputError(
            f"the name ends in {suffix}, but the contents are something else",
            path=name,
            remedy="Give the file the suffix of what it holds.",
        )
    if isinstance(error, EOFError):
        problem, remedy = "the compressed data end too early", "Was a copy or a download cut short?"
    else:
        problem, remedy = f"the compressed data are damaged ({error})", "Fetch or compress the file again."
    return InputError(problem, path=name, line=line, remedy=remedy)


@contextmanager
def atomic_writer(path: StrPath) -> Iterator[TextIO]:
    """A text handle (UTF-8, `\\n`) to a file that gets its name only when the block ends without exception.

    Until then the text goes to a hidden file beside it, which any exception removes: nobody ever reads half a
    file, and a failed run, or a power cut, leaves what was there before.  A name in .gz .bz2 .xz .zst is compressed.
    `-` is standard output.  What is not a regular file (a pipe, /dev/null) is written in place: renaming would put a
    file where it was.
    """
    if os.fspath(path) == "-":
        with _named("standard output"), _standard_output() as handle:
            yield handle
        return
    if is_remote(path):
        with _remote_writer(path) as handle:
            yield handle
        return
    target = Path(os.path.realpath(path))  # the file behind a symbolic link: the link itself stays
    if os.path.isdir(target):
        raise InputError("this is a directory", path=path, remedy="Name a file in it.")
    if not os.path.isdir(target.parent):
        raise InputError("its directory does not exist", path=path, remedy=f"Create {target.parent} first.")
    replaces = os.path.exists(target)
    # The target's name comes last in the hidden one, for its suffix tells xopen how to compress.
    temporary = target.with_name(f".{os.urandom(4).hex()}.{target.name}")
    in_place = replaces and not os.path.isfile(target)
    try:
        written = target if in_place else temporary
        plain = not target.name.endswith(tuple(MAGIC))
        handle = cast(TextIO, _open(written, "wt", plain, encoding="utf-8", newline="\n"))
    except OSError as error:
        raise InputError(
            f"could not be written ({error.strerror})", path=path, remedy="Check the permissions there."
        ) from error
    if in_place:
        with _named(path), handle:
            yield handle
        return
    try:
        with _named(path):
            yield handle
            handle.close()
            to_disk(temporary)
        if replaces:
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
        to_disk(target.parent)
    except BaseException:  # KeyboardInterrupt too
        with suppress(Exception):  # closing flushes, which fails again on a full disk
            handle.close()
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def _remote_writer(path: StrPath) -> Iterator[TextIO]:
    """A file in a store: written here first and sent when all of it is there, since a store knows no half files."""
    system, name = file_system(path)
    with tempfile.TemporaryDirectory(prefix="dovetail-") as folder:
        here = Path(folder, Path(name).name)
        with atomic_writer(here) as handle:
            yield handle
        try:
            system.put_file(os.fspath(here), name)
        except (OSError, ValueError) as error:
            raise InputError(f"could not be written ({error})", path=path, remedy="Check the address.") from error


@contextmanager
def _named(path: StrPath) -> Iterator[None]:
    """Have what is said of a full disk name the file."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            error.filename = os.fspath(path)
        raise


@contextmanager
def _standard_output() -> Iterator[TextIO]:
    """Standard output as UTF-8 with `\\n`, whatever the locale; BrokenPipeError where its reader has left.

    It has its own buffer over the same descriptor, so nothing is left over that would fail once more at exit.
    """
    if sys.stdout is None:
        raise InputError("standard output is closed", remedy="Name a file: -o FILE.")
    sys.stdout.flush()
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, AttributeError):  # a notebook, or a test that catches the output: no file behind it
        yield sys.stdout
        sys.stdout.flush()
        return
    handle = open(descriptor, "w", encoding="utf-8", newline="\n", closefd=False)  # noqa: SIM115 (closed below)
    try:
        yield handle
    except BaseException:
        with suppress(BrokenPipeError):  # once more, of what is left to write
            handle.close()
        raise
    handle.close()
