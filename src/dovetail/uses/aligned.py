"""Aligned text, as every use takes it: a text and its links, part by part, in memory that does not grow with them.

    for pair in read_aligned("corpus.en", "corpus.fr", links="links.txt"):
        print(pair.source, pair.target, pair.links, pair.probabilities)

Uses that count words work on whole parts, which are arrays; those that look at sentences walk from pair to pair.  Nothing
here knows where links come from: a file in any format, whatever has an `align` (a trained `Aligner`), or memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, NamedTuple, Protocol

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.formats import read_alignments
from dovetail.alignments.stream import LinkStream
from dovetail.bitext.corpus import Bitext, read_bitext, read_bitext_parts
from dovetail.errors import InputError

StrPath = str | PathLike[str]


class Aligns(Protocol):
    """What links new text: an `Aligner`, or a stand-in with the same method."""

    def align(self, bitext: Bitext) -> Alignments: ...


class AlignedPair(NamedTuple):
    """One sentence pair: its words as they stand in the text, and its links with their probabilities."""

    source: list[str]
    target: list[str]
    links: list[tuple[int, int]]
    probabilities: list[float]


class Part(NamedTuple):
    """Some consecutive pairs; `first` is the number of the first of them, from 0."""

    first: int
    bitext: Bitext
    alignments: Alignments

    def pairs(self) -> Iterator[AlignedPair]:
        for n, alignment in enumerate(self.alignments):
            yield AlignedPair(*self.bitext.tokens(n), alignment.links, alignment.probabilities)


class Aligned(ABC):
    """A text and its links.  `parts` may be asked again, unless something is read from standard input."""

    @abstractmethod
    def parts(self) -> Iterator[Part]: ...

    def bitexts(self) -> Iterator[Bitext]:
        """The text of all parts, one after the other, for whoever needs no links."""
        return (part.bitext for part in self.parts())

    def __iter__(self) -> Iterator[AlignedPair]:
        for part in self.parts():
            yield from part.pairs()


@dataclass(frozen=True)
class AlignedText(Aligned):
    """A bitext and its alignments in memory."""

    bitext: Bitext
    alignments: Alignments

    def __post_init__(self) -> None:
        if len(self.bitext) != len(self.alignments):
            raise InputError(f"alignments of {len(self.alignments):,} pairs, text of {len(self.bitext):,}")

    def parts(self) -> Iterator[Part]:
        yield Part(0, self.bitext, self.alignments)


@dataclass(frozen=True)
class AlignedFiles(Aligned):
    """Text from files and links from a file or from an aligner; see `read_aligned`."""

    source: StrPath
    target: StrPath | None
    links: StrPath | None
    links_format: str | None
    aligner: Aligns | None
    reading: dict[str, Any] = field(default_factory=dict)

    def parts(self) -> Iterator[Part]:
        first = 0
        stream = None if self.links is None else LinkStream(self.links, self.links_format)
        whole = stream is not None and not stream.in_order
        for bitext in [read_bitext(self.source, self.target, **self.reading)] if whole else self.bitexts():
            if stream is None:
                assert self.aligner is not None
                alignments = self.aligner.align(bitext)
            else:
                alignments = stream.take(np.column_stack((bitext.source.lengths, bitext.target.lengths)))
            yield Part(first, bitext, alignments)
            first += len(bitext)
        if stream is not None:
            stream.end()

    def whole(self, keep_text: bool = True) -> tuple[Bitext, Alignments]:
        """All of it in memory, with one vocabulary for each side."""
        bitext = read_bitext(self.source, self.target, keep_text=keep_text, **self.reading)
        if self.aligner is not None:
            return bitext, self.aligner.align(bitext)
        assert self.links is not None
        return bitext, read_alignments(self.links, self.links_format, bitext.lengths)

    def bitexts(self) -> Iterator[Bitext]:
        return read_bitext_parts(self.source, self.target, **self.reading)


@dataclass(frozen=True)
class Watched(Aligned):
    """The same text; `seen` is called with the number of pairs that a walk has come past, part by part."""

    aligned: Aligned
    seen: Callable[[int], None]

    def parts(self) -> Iterator[Part]:
        for part in self.aligned.parts():
            yield part
            self.seen(part.first + len(part.bitext))

    def bitexts(self) -> Iterator[Bitext]:
        pairs = 0
        for bitext in self.aligned.bitexts():
            yield bitext
            pairs += len(bitext)
            self.seen(pairs)


def read_aligned(
    source: StrPath,
    target: StrPath | None = None,
    *,
    links: StrPath | None = None,
    links_format: str | None = None,
    aligner: Aligns | None = None,
    **reading: Any,
) -> AlignedFiles:
    """Text as `read_bitext` reads it (`reading` are its options), with links from a file or from an aligner.

    Without `links_format` the file's format is seen by itself.  Links outside their sentences, and files of another
    number of pairs, are refused with file and line.  A file in the format naacl, whose links may stand in any order, is
    read whole, and its text with it.
    """
    if (links is None) == (aligner is None):
        raise InputError("links come from a file or from an aligner", remedy="Give one of the two.")
    paths = [fspath(path) for path in (source, target, links) if path is not None]
    if paths.count("-") > 1:
        raise InputError("only one file can come from standard input", remedy="Name a file for the others.")
    return AlignedFiles(source, target, links, links_format, aligner, reading)
