"""Words and their numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypeVar, cast

import numpy as np

from dovetail.bitext.numbering import TokenNumbers

T = TypeVar("T")


class Vocabulary:
    """Word types of one side, numbered in order of first appearance, with how often each was seen."""

    def __init__(self, words: Iterable[str] | TokenNumbers, counts: np.ndarray | None = None) -> None:
        self._tokens = words if isinstance(words, TokenNumbers) else None
        self._words = None if isinstance(words, TokenNumbers) else list(words)
        self.counts = np.zeros(len(self.words), np.int64) if counts is None else counts
        self._ids: dict[str, int] | None = None
        self._derived: dict[Hashable, Any] = {}

    @property
    def words(self) -> list[str]:
        if self._words is None:  # as they were read: strings are made on demand
            assert self._tokens is not None
            self._words = self._tokens.tokens()
        return self._words

    def first(self, most: int) -> list[str]:
        """The first so many words, or as many as there are."""
        return self._tokens.tokens(most) if self._words is None and self._tokens is not None else self.words[:most]

    @property
    def tokens(self) -> TokenNumbers:
        """The words as bytes."""
        return self._tokens if self._tokens is not None else self.derived("tokens", TokenNumbers.of)

    def __len__(self) -> int:
        return len(self.words) if self._tokens is None else len(self._tokens)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __getitem__(self, number: int) -> str:
        return self.words[number]

    def derived(self, name: Hashable, make: Callable[[Vocabulary], T]) -> T:
        """Something made from the words, once, and kept."""
        if name not in self._derived:
            self._derived[name] = make(self)
        return cast(T, self._derived[name])

    def id(self, word: str) -> int:
        """The word's number, -1 for a word never seen."""
        if self._ids is None:  # made on demand: training never looks a word up
            self._ids = {known: number for number, known in enumerate(self.words)}
        return self._ids.get(word, -1)

    def numbers_in(self, other: Vocabulary, normalise: Callable[[str], str] | None = None) -> np.ndarray:
        """For each word here its number in `other`, whose words are normalised; -1 where `other` lacks it (int32)."""
        if normalise is None and self._tokens is not None:
            return self._tokens.numbers_in(other.tokens)
        words = self.words if normalise is None else map(normalise, self.words)
        return np.fromiter(map(other.id, words), np.int32, len(self))
