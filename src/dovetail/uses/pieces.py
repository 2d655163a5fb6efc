"""Links told in other tokens of the same text: words, whitespace tokens, SentencePiece or BPE pieces, and back.

Two tokens belong together where they share a character.  A text and its pieces are compared without white space and without
the marks of pieces, so that every piece finds its place; `▁` alone holds no character, and so belongs to nothing.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise, product
from typing import TypeVar

from dovetail.alignments.alignments import Alignment, Alignments
from dovetail.errors import InputError

Place = TypeVar("Place", int, float)
Owners = list[list[int]]
Weighted = dict[tuple[int, int], float]

LEAST_IN_COMMON = 0.5  # of the characters; two different sentences rarely share so many in order

_SPACE = re.compile(r"[\s\u200b\u2581]+")  # U+2581 is SentencePiece's space
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")

# How pieces mark that a word goes on, where it is not by a space.
_MARKS: tuple[Callable[[str], str], ...] = (
    lambda token: token,
    lambda token: token.removesuffix("@@"),  # subword-nmt
    lambda token: token.removeprefix("##"),  # WordPiece
    lambda token: token.strip("\uffed"),  # OpenNMT's joiner
)


def remap(
    links: Mapping[tuple[int, int], float],
    source: Sequence[str],
    target: Sequence[str],
    new_source: Sequence[str],
    new_target: Sequence[str],
) -> Weighted:
    """Links between tokens of `source` and `target` as links between those of `new_source` and `new_target`.

    New tokens are linked if any old tokens that they share a character with are, with the highest of those links'
    probabilities.

    >>> remap({(0, 0): 1.0}, ["house"], ["Haus"], ["▁hou", "se"], ["▁", "Haus"])
    {(0, 1): 1.0, (1, 1): 1.0}
    """
    return carried_over(links, shared_characters(source, new_source), shared_characters(target, new_target))


def remap_alignments(
    alignments: Iterable[Alignment],
    old: Iterable[tuple[Sequence[str], Sequence[str]]],
    new: Iterable[tuple[Sequence[str], Sequence[str]]],
) -> Alignments:
    """`remap` for every pair of an aligned text; InputErrors tell the pair, counted from 1."""
    links, lengths = [], []
    for number, (alignment, before, after) in enumerate(zip(alignments, old, new, strict=True), 1):
        weights = dict(zip(alignment.links, alignment.probabilities, strict=True))
        try:
            links.append(remap(weights, *before, *after))
        except InputError as error:
            raise InputError(error.problem, line=number, remedy=error.remedy) from None
        lengths.append((len(after[0]), len(after[1])))
    return Alignments.from_links(links, (weights.values() for weights in links), lengths)


def carried_over(links: Mapping[tuple[int, int], float], source: Owners, target: Owners) -> Weighted:
    """Links by the new tokens of each old one; of several links to the same place the surest counts."""
    found: Weighted = {}
    for (i, j), probability in links.items():
        for link in product(source[i], target[j]):
            found[link] = max(found.get(link, 0.0), probability)
    return dict(sorted(found.items()))


def shared_characters(old: Sequence[str], new: Sequence[str]) -> Owners:
    """For each old token the new tokens that hold some of its characters; both are the same text, cut differently.

    Case and compatibility forms (NFKC) may differ, pieces may be bytes (`<0xE2>`), and some may be unknown (`<unk>`):
    what differs is matched by what stands before and behind it.  InputError for two texts that have too little in common.
    """
    for fold, *marks in product((_same, _folded), _MARKS, _MARKS):
        readings = [_contents(map(fold, map(mark, side))) for mark, side in zip(marks, (old, new), strict=True)]
        if b"".join(readings[0]) == b"".join(readings[1]):
            return overlapping(_spans(readings[0]), _spans(readings[1]))
    return _nearly_the_same(_contents(map(_folded, old)), _contents(map(_folded, new)))


def overlapping(old: Sequence[tuple[Place, Place]], new: Sequence[tuple[Place, Place]]) -> Owners:
    """For each old span the new ones that share a place with it; starts and ends never fall along either list.

    >>> overlapping([(0, 5), (5, 5), (6, 9)], [(0, 2), (2, 7), (7, 9)])
    [[0, 1], [], [1, 2]]
    """
    starts, ends = [start for start, _ in new], [end for _, end in new]
    owners = []
    for start, end in old:
        near = range(bisect_right(ends, start), bisect_left(starts, end))
        owners.append([n for n in near if start < end and starts[n] < ends[n]])
    return owners


def _same(token: str) -> str:
    return token


def _folded(token: str) -> str:
    return unicodedata.normalize("NFKC", token).casefold()


def _contents(tokens: Iterable[str]) -> list[bytes]:
    """The bytes of each token that are text: bytes, since a piece may be a part of a character."""
    found = []
    for token in tokens:
        one = _BYTE.fullmatch(token)
        found.append(bytes([int(one[1], 16)]) if one else _SPACE.sub("", token).encode("utf-8", "surrogatepass"))
    return found


def _spans(contents: Iterable[bytes]) -> list[tuple[int, int]]:
    return list(pairwise(accumulate(map(len, contents), initial=0)))


def _nearly_the_same(old: Sequence[bytes], new: Sequence[bytes]) -> Owners:
    """As `shared_characters` for texts that differ here and there: the places of the new text in the old one."""
    texts = b"".join(old), b"".join(new)
    matcher = SequenceMatcher(None, *texts, autojunk=False)
    if sum(block.size for block in matcher.get_matching_blocks()) < LEAST_IN_COMMON * max(map(len, texts)):
        raise InputError(
            f"two texts where one text cut in two ways was expected: {_shown(old)} and {_shown(new)}",
            remedy="Are the lines of all files in step?",
        )
    places = [0.0] * (len(texts[1]) + 1)
    for _, a, b, c, d in matcher.get_opcodes():
        for place in range(c, d + 1):
            places[place] = a + (b - a) * (place - c) / max(d - c, 1)
    spans = [(places[start], places[end]) for start, end in _spans(new)]
    return overlapping([(float(start), float(end)) for start, end in _spans(old)], spans)


def _shown(contents: Sequence[bytes]) -> str:
    text = " ".join(content.decode("utf-8", "replace") for content in contents)
    return repr(text if len(text) <= 40 else text[:39] + "…")
