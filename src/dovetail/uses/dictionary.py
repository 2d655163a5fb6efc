"""Words looked up in an index: spellings that begin alike, translations with probabilities and counts, and their places.

The numbers are those of `lexicon`, one word at a time, the places those of `concordance`; nothing walks through the text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.uses.concordance import Hit, hit_at
from dovetail.uses.index import SIDES, Index, Side
from dovetail.uses.tally import ONE

BLOCK = 1 << 14  # places that are looked at at a time, until enough have been found


class Word(NamedTuple):
    """A word of one side, and how often it stands in the text."""

    side: str
    word: str
    count: int  # type: ignore[assignment]  # tuples count, too


class Translation(NamedTuple):
    """As in `lexicon.Entry`, seen from either side: the `probability` of this word given the one that was asked for.

    `reverse` is that of the other way, `count` are links, `expected` the sum of their probabilities.
    """

    word: str
    probability: float
    reverse: float
    count: int  # type: ignore[assignment]
    expected: float


class Translations(NamedTuple):
    """What a word is linked to, the most probable first; `unlinked` of its places have no link.

    `translations` may be fewer than there are in all (`number`).
    """

    side: str
    word: str
    count: int  # type: ignore[assignment]
    unlinked: int
    number: int
    translations: list[Translation]


class Places(NamedTuple):
    """Some places where two words are linked, in the order of the text; `next` is where to go on, None at the end."""

    hits: list[Hit]
    next: int | None


def beginning_with(index: Index, text: str, most: int = 8) -> list[Word]:
    """Words of both sides that are spelled so, then those that only begin so, whatever the case; the most frequent first."""
    folded = text.encode("utf-8", "replace").decode("utf-8").casefold()
    if not folded:
        return []
    found = []
    for name, side in zip(SIDES, (index.source, index.target), strict=True):
        numbers = np.asarray(side.alphabet[side.before(folded) : side.before(folded + chr(0x10FFFF))])
        counts = side.word_starts[numbers.astype(np.int64) + 1] - side.word_starts[numbers]
        chosen = np.argsort(-counts, kind="stable")[:most]  # among equals, the order of the alphabet
        same = side.numbers(text, ignore_case=True)
        for number in dict.fromkeys([*same, *numbers[chosen].tolist()]):
            place = number not in same, -_count(side, number), SIDES.index(name), int(side.ranks[number])
            found.append((place, Word(name, side.word(number), -place[1])))
    return [word for _, word in sorted(found)[:most]]


def translations(index: Index, word: str, side: str = "source", most: int = 50) -> Translations | None:
    """What a word, exactly as it is spelled, is linked to; None if it does not occur."""
    here, there = index.sides(side)
    numbers = here.numbers(word, ignore_case=False)
    if not numbers:
        return None
    (number,) = numbers
    others, links, weights = here.entries.of(number)
    order = np.lexsort((there.ranks[others], -links, -weights))[:most]
    total = max(1, int(weights.sum()))
    found = []
    for n in order.tolist():
        other, weight = int(others[n]), int(weights[n])
        reverse = weight / max(1, int(there.entries.of(other)[2].sum()))
        found.append(Translation(there.word(other), weight / total, reverse, int(links[n]), weight / ONE))
    start, end = here.word_starts[number : number + 2].tolist()
    unlinked = int(np.count_nonzero(here.kinds[start:end] == len(there.alphabet)))
    return Translations(side, here.word(number), end - start, unlinked, len(others), found)


def places(
    index: Index, word: str, translation: str, side: str = "source", *, most: int = 20, start: int = 0
) -> Places:
    """Places where a word is linked to another; `start` is 0, or the `next` of an answer before.

    Each place of the rarer of the two counts once, and is the one that is walked through: a rare translation of a frequent
    word is found as fast as a frequent one.
    """
    here, there = index.sides(side)
    own, other = here.numbers(word, ignore_case=False), there.numbers(translation, ignore_case=False)
    if not own or not other:
        return Places([], None)
    turned = _count(there, other[0]) < _count(here, own[0])
    near, far, walked, wanted = (there, here, other, own[0]) if turned else (here, there, own, other[0])
    tokens, _ = near.postings_of(walked)
    found: list[int] = []
    for first in range(max(0, start), len(tokens), BLOCK):
        rows, partners = near.partners_of(tokens[first : first + BLOCK])
        found += (first + np.unique(rows[far.tokens[partners] == wanted])).tolist()
        if len(found) > most:
            break
    hits = [_linked(near, far, int(tokens[n]), wanted) for n in found[:most]]
    if turned:
        hits = [Hit(hit.pair, hit.others, hit.words, hit.there, hit.here) for hit in hits]
    return Places(hits, found[most] if len(found) > most else None)


def _linked(near: Side, far: Side, token: int, wanted: int) -> Hit:
    """The pair around a token; of what it is linked to, only the places of one word."""
    hit = hit_at(near, far, token)
    first = int(far.sentences[hit.pair - 1])
    return hit._replace(there=[n for n in hit.there if int(far.tokens[first + n]) == wanted])


def _count(side: Side, number: int) -> int:
    low, high = side.word_starts[number : number + 2].tolist()
    return high - low
