"""Some pairs of a bitext as a bitext, and several bitexts as one: words are numbered as if read that way."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dovetail.bitext.corpus import Bitext, Side, Text
from dovetail.bitext.numbering import TokenNumbers
from dovetail.bitext.store import FROM_A_FILE, Store, map_of, release
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.pool import Pool


def picked(bitext: Bitext, numbers: np.ndarray, pool: Pool | None = None) -> Bitext:
    """These pairs alone, with vocabularies of their own; the text comes along where it was kept."""
    source, target = _both(_picked, (bitext.source, bitext.target), pool, numbers)
    return Bitext(source, target, bitext.options)


def joined(parts: Sequence[Bitext], pool: Pool | None = None) -> Bitext:
    """Bitexts, read with the same options, one after the other: what reading them at once would have given."""
    source, target = _both(_joined, ([part.source for part in parts], [part.target for part in parts]), pool)
    bitext = Bitext(source, target, parts[0].options, parts[0].first)
    if any(part.rest is not None for part in parts):
        bitext.rest = [rest for part in parts for rest in part.rest or [""] * len(part)]
    return bitext


def _both(function: Callable[..., Side], sides: tuple[Any, Any], pool: Pool | None, *shared: Any) -> list[Side]:
    """function(side, *shared) for both sides, at the same time if there are threads."""
    if pool is None:
        return [function(side, *shared) for side in sides]
    return pool.map(function, [(side,) for side in sides], *shared)


def joined_in(store: Store, parts: Iterable[Bitext], pool: Pool) -> Bitext:
    """The same of parts as they come, with the numbers of words in the store, and without text."""
    joining = Joining(store, pool)
    for part in parts:
        joining.add(part)
    return joining.joined()


class Joining:
    """What `joined_in` has so far, of one part at least."""

    def __init__(self, store: Store, pool: Pool) -> None:
        self._sides = _GrowingSide(store), _GrowingSide(store)
        self._pool = pool  # one thread for each side
        self._first: Bitext | None = None

    def add(self, part: Bitext) -> None:
        """The next part."""
        if self._first is None:
            self._first = part.part(0, 0)
        self._pool.map(_GrowingSide.add, zip(self._sides, (part.source, part.target), strict=True))

    def joined(self) -> Bitext:
        """All of them, when nothing more comes."""
        assert self._first is not None
        source, target = (growing.side() for growing in self._sides)
        return Bitext(source, target, self._first.options, self._first.first)


class _GrowingSide:
    def __init__(self, store: Store) -> None:
        self._known, self._counts = TokenNumbers(), np.zeros(0, np.int64)
        self._ids, self._offsets, self._tokens = store.growing(), store.growing(), 0
        self._offsets.append(np.zeros(1, np.int64))

    def add(self, side: Side) -> None:
        ids = self._known.add(side.vocabulary.tokens)[side.ids]
        counts = np.bincount(ids, minlength=len(self._known))
        counts[: len(self._counts)] += self._counts
        self._counts = counts
        self._ids.append(ids)
        self._offsets.append(side.offsets[1:] - side.offsets[0] + self._tokens)
        self._tokens += len(ids)

    def side(self) -> Side:
        return Side(self._ids.whole(), self._offsets.whole(), Vocabulary(self._known, self._counts), None)


def _picked(side: Side, numbers: np.ndarray) -> Side:
    at_once = FROM_A_FILE if map_of(side.ids) is not None else max(len(numbers), 1)
    parts = [_tokens(side, numbers[first : first + at_once]) for first in range(0, len(numbers), at_once)]
    ids = np.concatenate([side.ids[:0], *(ids for ids, _ in parts)])
    offsets = np.concatenate([[0], *(lengths for _, lengths in parts)]).cumsum(dtype=np.int64)
    first, counts = np.empty(len(side.vocabulary), np.int64), np.bincount(ids, minlength=len(side.vocabulary))
    first[ids[::-1]] = np.arange(len(ids))[::-1]  # the last one that is written is a word's first appearance
    used = np.flatnonzero(counts)
    order = used[np.argsort(first[used])]  # words are numbered by first appearance
    rank = np.empty(len(counts), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    words = side.vocabulary.tokens.picked(order)
    text = None if side.text is None else Chosen(side.text, numbers)
    return Side(rank[ids], offsets, Vocabulary(words, counts[order]), text)


def _tokens(side: Side, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ids of some pairs, one after the other, and how many each has."""
    start, length = side.offsets[numbers], side.offsets[numbers + 1] - side.offsets[numbers]
    within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    ids = side.ids[np.repeat(start, length) + within]
    release(side.ids)
    release(side.offsets)
    return ids, length


def _joined(sides: Sequence[Side]) -> Side:
    known = TokenNumbers()
    all_ids = np.concatenate([known.add(side.vocabulary.tokens)[side.ids] for side in sides])
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([side.lengths for side in sides]), dtype=np.int64)])
    texts = [side.text for side in sides if side.text is not None]
    text = Chained(texts, [len(side.offsets) - 1 for side in sides]) if len(texts) == len(sides) else None
    return Side(all_ids, offsets, Vocabulary(known, np.bincount(all_ids, minlength=len(known))), text)


class Chosen:
    """Some sentences of a text."""

    def __init__(self, text: Text, numbers: np.ndarray) -> None:
        self._text, self._numbers = text, numbers

    def __getitem__(self, n: int) -> tuple[str, list[tuple[int, int]]]:
        return self._text[int(self._numbers[n])]


class Chained:
    """The sentences of one text after those of another."""

    def __init__(self, texts: Sequence[Text], lengths: Sequence[int]) -> None:
        self._texts = texts
        self._starts = [0, *np.cumsum(lengths).tolist()]

    def __getitem__(self, n: int) -> tuple[str, list[tuple[int, int]]]:
        n += self._starts[-1] if n < 0 else 0
        which = bisect_right(self._starts, n) - 1
        if not 0 <= which < len(self._texts):
            raise IndexError(n)
        return self._texts[which][n - self._starts[which]]
