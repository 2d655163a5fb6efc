"""Links told in other tokens of the same text: words, whitespace tokens, SentencePiece or BPE pieces, and back.

Two tokens belong together where they share a character.  A text and its pieces are compared without white space and without
the marks of pieces, so that every piece finds its place; `▁` alone holds no character, and so belongs to nothing.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, islice, pairwise, product
from typing import NamedTuple, TypeVar

from dovetail.alignments.alignments import Alignments
from dovetail.bitext.corpus import Bitext, TextOptions
from dovetail.bitext.readers import read_pairs
from dovetail.bitext.text import StrPath, display_name
from dovetail.errors import InputError
from dovetail.uses.aligned import AlignedFiles

Place = TypeVar("Place", int, float)
Owners = list[list[int]]
Weighted = dict[tuple[int, int], float]

LEAST_IN_COMMON = 0.5  # of the characters; two different sentences rarely share so many in order

_SPACE = re.compile(r"[\s\u200b\u2581]+")  # U+2581 is SentencePiece's space
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_UNKNOWN = re.compile(r"<unk>|\[unk\]", re.IGNORECASE)
_CONTROL = re.compile(r"</?s>|<pad>|\[(cls|sep|pad)\]", re.IGNORECASE)
_ANYTHING = b"\xff"  # for an unknown piece; no byte of any text in UTF-8

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


class Remapped(NamedTuple):
    """Some consecutive pairs, `first` the number of the first of them, from 0, with links on their new tokens."""

    first: int
    bitext: Bitext
    alignments: Alignments


def remapped(
    files: AlignedFiles, new_source: StrPath, new_target: StrPath, options: TextOptions | None = None
) -> Iterator[Remapped]:
    """The links of a text on the tokens of another two files, which are the same text, cut as `options` say."""
    errors = files.reading.get("encoding_errors", "strict")
    new = read_pairs(new_source, new_target, format="lines", encoding_errors=errors)
    pairs = 0
    for part in files.parts():
        bitext = Bitext.from_pairs(islice(new, len(part.bitext)), options=options)
        if len(bitext) < len(part.bitext):
            raise InputError(
                f"the file ends after {pairs + len(bitext):,} lines, but the text that is linked goes on",
                path=display_name(new_source),
                remedy="Give the same sentences, cut in another way.",
            )
        links = []
        for n, pair in enumerate(part.pairs()):
            weights = dict(zip(pair.links, pair.probabilities, strict=True))
            here, there = bitext.tokens(n)
            owners = [
                _owners(old, tokens, path, part.first + n + 1)
                for old, tokens, path in ((pair.source, here, new_source), (pair.target, there, new_target))
            ]
            links.append(carried_over(weights, *owners))
        yield Remapped(
            part.first, bitext, Alignments.from_links(links, (one.values() for one in links), bitext.lengths)
        )
        pairs += len(bitext)
    if next(new, None) is not None:
        raise InputError(
            "the text that is linked ends before this line",
            path=display_name(new_source),
            line=pairs + 1,
            remedy="Give the same sentences, cut in another way.",
        )


def _owners(old: Sequence[str], new: Sequence[str], path: StrPath, line: int) -> Owners:
    try:
        return shared_characters(old, new)
    except InputError as error:
        raise InputError(error.problem, path=display_name(path), line=line, remedy=error.remedy) from None


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
    return _nearly_the_same(_contents(map(_folded, old), special=True), _contents(map(_folded, new), special=True))


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


def _contents(tokens: Iterable[str], special: bool = False) -> list[bytes]:
    """The bytes of each token that are text: bytes, since a piece may be a part of a character.

    `special`: what looks like an unknown piece, or like one that marks an end, is none.
    """
    found = []
    for token in tokens:
        bare = _SPACE.sub("", token)
        if one := _BYTE.fullmatch(bare):
            found.append(bytes([int(one[1], 16)]))
        elif special and _UNKNOWN.fullmatch(bare):
            found.append(_ANYTHING)
        else:
            found.append(b"" if special and _CONTROL.fullmatch(bare) else bare.encode("utf-8", "surrogatepass"))
    return found


def _spans(contents: Iterable[bytes]) -> list[tuple[int, int]]:
    return list(pairwise(accumulate(map(len, contents), initial=0)))


def _nearly_the_same(old: Sequence[bytes], new: Sequence[bytes]) -> Owners:
    """As `shared_characters` for texts that differ here and there: the places of the new text in the old one."""
    texts = b"".join(old), b"".join(new)
    matcher = SequenceMatcher(None, *texts, autojunk=False)
    if sum(block.size for block in matcher.get_matching_blocks()) < LEAST_IN_COMMON * _shared_at_most(texts):
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


def _shared_at_most(texts: tuple[bytes, bytes]) -> int:
    """The longer text's length; but where the other one has unknown pieces, which may stand for much, its known bytes."""
    known = [len(text) - text.count(_ANYTHING) for text in texts]
    limits = [known[n] for n in range(2) if _ANYTHING in texts[n]]
    return min(limits) if limits else max(known)


def _shown(contents: Sequence[bytes]) -> str:
    text = " ".join(content.decode("utf-8", "replace") for content in contents)
    return repr(text if len(text) <= 40 else text[:39] + "…")
