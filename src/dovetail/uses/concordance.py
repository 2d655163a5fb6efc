"""A concordance: all places of a word, or of several in a row, by what they are linked to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dovetail.errors import InputError
from dovetail.uses.index import Index, Side, kinds_of


class Hit(NamedTuple):
    """One place: the pair, from 1, its words, and which of them were asked for (`here`) and are linked to those (`there`).

    `words` are those of the side that was asked, `others` those of the other one.
    """

    pair: int
    words: list[str]
    others: list[str]
    here: list[int]
    there: list[int]


class Group(NamedTuple):
    """All places with one translation, empty where there is no link; `hits` are the first of them."""

    translation: str
    count: int  # type: ignore[assignment]  # tuples count, too
    hits: list[Hit]


class Concordance(NamedTuple):
    """Everything found, the most frequent translation first; `groups` may be fewer than there are `translations`."""

    query: str
    count: int  # type: ignore[assignment]
    translations: int
    groups: list[Group]


def find(
    index: Index, query: str, *, side: str = "source", ignore_case: bool = False, groups: int = 10, hits: int = 5
) -> Concordance:
    """All places of a word, or of several that follow each other, by what they are linked to."""
    words = query.split()
    if not words:
        raise InputError("nothing to look for", remedy="Name a word.")
    here, there = index.sides(side)
    numbers = [here.numbers(word, ignore_case) for word in words]
    places, kinds = here.postings_of(numbers[0])
    if len(words) > 1:
        places = _in_a_row(here, places, numbers)
        kinds = _kinds_of_phrase(here, there, places, len(words))
    kinds, counts, firsts = _numbered(kinds)
    order = np.lexsort((firsts, -counts))
    shown = []
    for kind in order[:groups].tolist():
        members = np.flatnonzero(kinds == kind)[:hits]
        found = [hit_at(here, there, int(places[n]), len(words)) for n in members.tolist()]
        translation = _phrase(found[0].others, found[0].there)
        shown.append(Group(translation, int(counts[kind]), found))
    return Concordance(query, len(places), len(counts), shown)


def hit_at(here: Side, there: Side, place: int, size: int = 1) -> Hit:
    """The pair around some tokens of one side, and what they are linked to."""
    pair = int(here.sentence_of(np.array([place]))[0])
    first, other = int(here.sentences[pair]), int(there.sentences[pair])
    _, linked = here.partners_of(np.arange(place, place + size))
    return Hit(
        pair + 1,
        here.sentence(pair),
        there.sentence(pair),
        list(range(place - first, place - first + size)),
        [token - other for token in sorted(set(linked.tolist()))],
    )


def _in_a_row(side: Side, places: np.ndarray, numbers: Sequence[Sequence[int]]) -> np.ndarray:
    """Those of a first word's places where the others follow it in the same sentence."""
    size = len(numbers)
    places = places[places + size <= len(side.tokens)]
    for step, wanted in enumerate(numbers[1:], 1):
        places = places[np.isin(side.tokens[places + step], wanted)]
    starts = side.sentences[side.sentence_of(places + size - 1)]
    return places[starts <= places]


def _kinds_of_phrase(here: Side, there: Side, places: np.ndarray, size: int) -> np.ndarray:
    """The kind of each place's translation: several words may be linked to the same one, and in any order."""
    rows, tokens = here.partners_of(places, size)
    # They are nearly in order, which a stable sort makes use of.
    row_and_token = np.sort((rows << 32) | tokens, kind="stable")
    row_and_token = row_and_token[np.diff(row_and_token, prepend=-1) != 0]
    counts = np.bincount(row_and_token >> 32, minlength=len(places))
    return kinds_of(there.tokens[row_and_token & 0xFFFFFFFF], counts, len(there.alphabet))


def _numbered(kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kinds by numbers without gaps; how often each comes, and where first."""
    times = np.bincount(kinds)
    seen = np.flatnonzero(times)
    renamed = np.zeros(len(times), np.int32)
    renamed[seen] = np.arange(len(seen))
    kinds = renamed[kinds]
    firsts = np.zeros(len(seen), np.int64)
    firsts[kinds[::-1]] = np.arange(len(kinds))[::-1]  # of all that write, the last one stays: the first place
    return kinds, times[seen], firsts


def _phrase(words: list[str], positions: list[int]) -> str:
    """Linked words in their order, with dots where others stand between them."""
    parts: list[str] = []
    for before, position in zip([None, *positions], positions, strict=False):
        if before is not None and position != before + 1:
            parts.append("…")
        parts.append(words[position])
    return " ".join(parts)
