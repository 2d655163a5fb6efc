"""Other words in the place of a text's own: lemmas, say, one for each token, so that links stay where they are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import TypeVar

from dovetail.bitext.corpus import Bitext, TextOptions
from dovetail.bitext.normalise import Normaliser
from dovetail.bitext.readers import read_pairs
from dovetail.bitext.text import display_name
from dovetail.bitext.views import Seen, views
from dovetail.errors import InputError
from dovetail.uses.aligned import Aligned, Part

WORD_FOR_WORD = ("lemmas", "stems")  # views that make one thing of each word, so that links stay where they are
T = TypeVar("T")


class Reworded(Aligned):
    """An aligned text whose words others stand for, token by token."""

    surface: Aligned

    def parts(self) -> Iterator[Part]:
        for part, words in self._beside((part, part.bitext) for part in self.surface.parts()):
            yield Part(part.first, words, part.alignments)

    def bitexts(self) -> Iterator[Bitext]:
        return (words for _, words in self._beside((bitext, bitext) for bitext in self.surface.bitexts()))

    @abstractmethod
    def _beside(self, texts: Iterator[tuple[T, Bitext]]) -> Iterator[tuple[T, Bitext]]:
        """What comes with each part of the text, and the part in other words."""


@dataclass(frozen=True)
class Viewed(Reworded):
    """By a view that makes one thing of each word: `lemmas`, of languages such as `en,fr`, or `stems`."""

    surface: Aligned
    view: str
    languages: str = ""

    def __post_init__(self) -> None:
        if self.view not in WORD_FOR_WORD:
            raise InputError(f"view is {self.view!r}", remedy=f"Choose one of {', '.join(WORD_FOR_WORD)}.")
        views[self.view](self.languages)  # refuses at once what cannot be had

    def _beside(self, texts: Iterator[tuple[T, Bitext]]) -> Iterator[tuple[T, Bitext]]:
        cuts = views[self.view](self.languages)
        for thing, bitext in texts:
            yield thing, Seen.of(bitext, cuts, Normaliser()).bitext


@dataclass(frozen=True)
class Lemmatised(Reworded):
    """By two other files, line by line and token by token, cut at whitespace."""

    surface: Aligned
    source: str | PathLike[str]
    target: str | PathLike[str]

    def _beside(self, texts: Iterator[tuple[T, Bitext]]) -> Iterator[tuple[T, Bitext]]:
        lines = read_pairs(self.source, self.target)
        line = 0
        for thing, bitext in texts:
            lemmas = Bitext.from_pairs(islice(lines, len(bitext)), options=TextOptions())
            if len(lemmas) < len(bitext):
                raise InputError(
                    "the lemmas end here, but the text goes on",
                    path=display_name(self.source),
                    line=line + len(lemmas),
                    remedy="Give one line of lemmas for each sentence.",
                )
            sides = (self.source, lemmas.source, bitext.source), (self.target, lemmas.target, bitext.target)
            for path, side, own in sides:
                wrong = (side.lengths != own.lengths).nonzero()[0]
                if len(wrong):
                    n = int(wrong[0])
                    raise InputError(
                        f"{side.lengths[n]} lemmas for {own.lengths[n]} words",
                        path=display_name(path),
                        line=line + n + 1,
                        remedy="Give one lemma for each token of the text.",
                    )
            line += len(bitext)
            yield thing, lemmas
        if next(lines, None) is not None:
            raise InputError(
                "the lemmas go on where the text ends",
                path=display_name(self.source),
                line=line + 1,
                remedy="Give one line of lemmas for each sentence.",
            )
