"""Long columns of things that are small or come often, without an object for each: a lexicon may have millions of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import overload

import numpy as np

ROWS = 1 << 12  # rows that are objects at a time


@dataclass(frozen=True, eq=False)
class Spellings(Sequence[str]):
    """A column of text in which much comes again: each spelling once, and the number of each row's."""

    spelled: list[str]
    numbers: np.ndarray  # int64 or int32 (rows,)

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self.spelled[n] for n in self.numbers[index].tolist()]
        return self.spelled[self.numbers[index]]

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self[first : first + ROWS] for first in range(0, len(self), ROWS))

    def chosen(self, order: np.ndarray) -> Spellings:
        return Spellings(self.spelled, self.numbers[order])

    @classmethod
    def joined(cls, parts: Sequence[Spellings]) -> Spellings:
        """One behind the other; numbers are then in the order of spelling."""
        spelled = sorted(set().union(*(part.spelled for part in parts)))
        ranks = {word: rank for rank, word in enumerate(spelled)}
        numbers = [
            np.fromiter(map(ranks.__getitem__, part.spelled), np.int32, len(part.spelled))[part.numbers]
            for part in parts
        ]
        return cls(spelled, np.concatenate(numbers))


@dataclass(frozen=True, eq=False)
class Numbers(Sequence[tuple[int, ...]]):
    """A column of a few numbers per row, from 1 on; where there are fewer, 0 stands behind them."""

    table: np.ndarray  # int64 or int32 (rows, most)

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, index: int) -> tuple[int, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[int, ...]]: ...
    def __getitem__(self, index: int | slice) -> tuple[int, ...] | list[tuple[int, ...]]:
        if isinstance(index, slice):
            return [tuple(number for number in row if number) for row in self.table[index].tolist()]
        return tuple(number for number in self.table[index].tolist() if number)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return chain.from_iterable(self[first : first + ROWS] for first in range(0, len(self), ROWS))

    def chosen(self, order: np.ndarray) -> Numbers:
        return Numbers(self.table[order])

    @classmethod
    def joined(cls, parts: Sequence[Numbers]) -> Numbers:
        return cls(np.concatenate([part.table for part in parts]))
