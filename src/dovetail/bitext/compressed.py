"""bzip2 and xz files read to their very end.

Python's own readers stop without a word where something else follows the compressed data; a file that was cut and glued, or
overwritten in part, would lose its second half.
"""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Callable
from typing import Any, BinaryIO

DECOMPRESSORS: dict[bytes, Callable[[], Any]] = {
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ),
}
BLOCK = 1 << 17


class Decompressed(io.RawIOBase):
    """What a file of one or more compressed streams holds; EOFError, OSError or LZMAError where it is not whole."""

    def __init__(self, handle: BinaryIO, decompressor: Callable[[], Any]) -> None:
        self._handle, self._new = handle, decompressor
        self._stream = decompressor()
        self._ready = b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._handle.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if self._stream.eof:
                if not self._begin_next():
                    return 0
                continue
            block = self._handle.read(BLOCK) if self._stream.needs_input else b""
            if self._stream.needs_input and not block:
                raise EOFError("compressed file ended before the end of its stream")
            self._ready = self._stream.decompress(block, BLOCK)
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _begin_next(self) -> bool:
        """Begin with the stream that follows, if anything does; zeros, with which xz pads, are skipped."""
        rest = self._stream.unused_data.lstrip(b"\0")
        while not rest and (block := self._handle.read(BLOCK)):
            rest = block.lstrip(b"\0")
        if rest:
            self._stream = self._new()
            self._ready = self._stream.decompress(rest, BLOCK)
        return bool(rest)
