"""Raw lines to word numbers, many lines at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from dovetail.kernels.text import tokens as kernels

BATCH = 1 << 20  # bytes: what fits into the cache beside the table


class LineBuffer:
    """Lines as bytes, one after the other: line n is `content[ends[n]:ends[n + 1]]`."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.ends = array("q", [0])

    def append(self, line: str) -> None:
        self.content += line.encode("utf-8", "surrogatepass")
        self.ends.append(len(self.content))

    def extend(self, lines: bytes) -> None:
        """Whole lines with their ends, which stay."""
        ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n")) + 1
        self.ends.frombytes((ends + len(self.content)).astype(np.int64, copy=False).tobytes())
        self.content += lines
        if self.ends[-1] != len(self.content):
            self.ends.append(len(self.content))

    def __len__(self) -> int:
        return len(self.ends) - 1


class TokenNumbers:
    """Numbers for tokens as they stand in the text, cut at ASCII whitespace, in order of first appearance."""

    def __init__(self) -> None:
        self.known = 0
        hashes, heads = np.empty((2, 1 << 13), np.uint64)
        starts, store = np.zeros((1 << 13) + 1, np.int64), np.empty(1 << 16, np.uint8)
        self._types = kernels.Types(np.full(1 << 14, -1, np.int32), hashes, heads, starts, store)

    @classmethod
    def of(cls, tokens: Iterable[str]) -> TokenNumbers:
        """These tokens, all of them different, in this order."""
        made, encoded = cls(), [token.encode("utf-8", "surrogatepass") for token in tokens]
        made.known = len(encoded)
        starts = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        hashes, heads = np.empty((2, len(encoded)), np.uint64)
        store = np.frombuffer(b"".join(encoded), np.uint8).copy()  # one that may be written to, as those of read text
        kernels.hash_tokens(store, starts, hashes, heads)
        table = _table(made.known)
        kernels.spread(hashes, made.known, table)
        made._types = kernels.Types(table, hashes, heads, starts, store)
        return made

    def picked(self, numbers: np.ndarray) -> TokenNumbers:
        """Those with these numbers, in this order."""
        made, (_, hashes, heads, starts, store) = TokenNumbers(), self._types
        made.known, hashes, heads = len(numbers), hashes[numbers], heads[numbers]
        begin, length = starts[numbers], starts[numbers + 1] - starts[numbers]
        table = _table(made.known)
        kernels.spread(hashes, made.known, table)
        starts, store = np.concatenate([[0], np.cumsum(length)]), _runs(store, begin, length)
        made._types = kernels.Types(table, hashes, heads, starts, store)
        return made

    def __len__(self) -> int:
        return self.known

    def numbers_in(self, other: TokenNumbers) -> np.ndarray:
        """For each token here its number there, -1 where there is none (int32)."""
        numbers = np.empty(self.known, np.int32)
        kernels.find_tokens(self._types, self.known, other._types, numbers)
        return numbers

    def add(self, other: TokenNumbers) -> np.ndarray:
        """Take in the tokens of another; for each of them its number here (int32)."""
        numbers, done = np.empty(other.known, np.int32), 0
        while True:
            done, self.known = kernels.add_tokens(other._types, done, other.known, self._types, self.known, numbers)
            if done == other.known:
                return numbers
            self._grow()

    def number(self, lines: LineBuffer, first: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the tokens of the lines from `first` on, and how many each of these lines has."""
        text, ends = np.frombuffer(lines.content, np.uint8), np.frombuffer(lines.ends, np.int64)[first:]
        ids = np.empty((ends[-1] - ends[0] + len(ends)) // 2 + 1, np.int32)
        counts = np.empty(len(ends) - 1, np.int64)
        line = used = 0
        while True:
            known = self._types, self.known
            line, self.known, used = kernels.number_tokens(text, ends, line, *known, ids, used, counts)
            if line == len(counts):
                return ids[:used].copy(), counts
            self._grow()

    def _grow(self) -> None:
        table, hashes, heads, starts, store = (np.resize(values, 2 * len(values)) for values in self._types)
        table.fill(-1)
        self._types = kernels.Types(table, hashes, heads, starts[:-1], store)
        kernels.spread(hashes, self.known, table)

    def tokens(self, most: int | None = None) -> list[str]:
        """The tokens, or the first so many of them."""
        starts = self._types.starts[: min(self.known, self.known if most is None else most) + 1].tolist()
        store = self._types.store[: starts[-1]].tobytes()
        return [store[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(starts)]

    def letters(self, numbers: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Code points (int32) of the tokens with these numbers, or of all, one after the other; how many each has."""
        starts, store = self._types.starts[: self.known + 1], self._types.store
        chosen = np.arange(self.known) if numbers is None else numbers
        begin, length = starts[chosen], starts[chosen + 1] - starts[chosen]
        ends, encoded = np.cumsum(length), _runs(store, begin, length)
        codes = encoded.tobytes().decode("utf-8", "surrogatepass").encode("utf-32-le", "surrogatepass")
        # A byte of the form 10xxxxxx belongs to the letter before.
        before = np.concatenate([[0], np.cumsum(encoded & 0xC0 != 0x80)])
        return np.frombuffer(codes, np.int32), before[ends] - before[ends - length]


def _table(size: int) -> np.ndarray:
    """Room to find so many tokens in, with none yet."""
    return np.full(1 << max(4, (2 * size).bit_length()), -1, np.int32)


def _runs(values: np.ndarray, begin: np.ndarray, length: np.ndarray) -> np.ndarray:
    """values[begin[n] : begin[n] + length[n]] for every n, one after the other."""
    before = np.cumsum(length) - length
    return values[np.repeat(begin - before, length) + np.arange(length.sum())]
