"""Constraints on what tokens are in their sentence: tags and trees of the text itself, not of word types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike, fspath
from typing import Any, ClassVar

from dovetail.bitext import conllu
from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import Shard
from dovetail.bitext.text import read_lines
from dovetail.errors import InputError
from dovetail.models.bindings import Binding
from dovetail.models.constraint_values import check_bounds, check_number, checked_pairs
from dovetail.models.constraints import Limit, PairConstraint

FEATURES = ("upos", "xpos", "deprel", "lemma", "head")
Sentence = Sequence[tuple[str, str]]  # a word and its feature, for every token


@dataclass(frozen=True)
class TokenPairs(PairConstraint):
    """Links between source tokens with feature s and target tokens with t, (s, t) in `pairs`: so much in each sentence.

    `source` and `target` are files of CoNLL-U with one sentence per pair, or lists with a (word, feature) list for each.
    Of a file `feature` is a column, or "head": the tag of the token's head, "root" where it has none.  `at_most` and
    `at_least` bound the expected links of these kinds together, wherever there are such tokens on both sides.

    A pair has the features of the sentence with its number if that has its words, else those of the first sentence that has
    them, else none, and is free.
    """

    source: str | PathLike[str] | Sequence[Sentence]
    target: str | PathLike[str] | Sequence[Sentence]
    pairs: Sequence[tuple[str, str]]
    at_most: float | None = None
    at_least: float | None = None
    feature: str = "upos"

    name: ClassVar[str] = "tokens"

    def __post_init__(self) -> None:
        if self.feature not in FEATURES:
            raise InputError(f"feature is {self.feature!r}", remedy=f"Choose from: {', '.join(FEATURES)}.")
        if self.at_most is not None:
            check_number("at_most", self.at_most)
        if self.at_least is not None:
            check_number("at_least", self.at_least, above=0, at_most=1)
        check_bounds(self.at_most, self.at_least)
        object.__setattr__(self, "pairs", checked_pairs("pairs", self.pairs))
        for side in ("source", "target"):
            object.__setattr__(self, side, _sentences(side, getattr(self, side), self.feature))

    @property
    def _sides(self) -> tuple[Sequence[Sentence], Sequence[Sentence]]:
        """Source and target, which are no files any more."""
        return self.source, self.target  # type: ignore[return-value]

    @cached_property
    def _wanted(self) -> frozenset[tuple[str, str]]:
        return frozenset(self.pairs)

    @cached_property
    def _by_words(self) -> tuple[dict[tuple[str, ...], Sentence], dict[tuple[str, ...], Sentence]]:
        found: list[dict[tuple[str, ...], Sentence]] = []
        for side in self._sides:
            known: dict[tuple[str, ...], Sentence] = {}
            for sentence in side:
                known.setdefault(_words(sentence), sentence)
            found.append(known)
        return found[0], found[1]

    def check(self, bitext: Bitext) -> None:
        """InputError unless the features are those of this text, sentence by sentence."""
        normalise = bitext.options.normaliser
        sides = zip(("source", "target"), (bitext.source, bitext.target), self._sides, strict=True)
        for name, side, given in sides:
            if len(given) != len(bitext):
                raise InputError(
                    f"{name} has {len(given):,} sentences, but the text has {len(bitext):,} pairs",
                    remedy="Give one sentence for each pair.",
                )
            for n, sentence in enumerate(given):
                words, own = side.tokens(n), _words(sentence)
                if [normalise(word) for word in words] != [normalise(word) for word in own]:
                    raise InputError(
                        f"{name}, sentence {n + 1:,}: features of {' '.join(own)!r}, but text {' '.join(words)!r}",
                        remedy="Tokenise both alike.",
                    )

    def bind(self, bitext: Bitext, shard: Shard) -> Binding:
        normalise = bitext.options.normaliser
        source, target = (
            [[(normalise(word), feature) for word, feature in sentence] for sentence in side] for side in self._sides
        )
        return PairConstraint.bind(replace(self, source=source, target=target), bitext, shard)

    def limits(self, source: list[str], target: list[str], number: int) -> Iterator[Limit]:
        features = [self._features(side, words, number) for side, words in enumerate((source, target))]
        links = {
            (i, j): 1.0 for i, s in enumerate(features[0]) for j, t in enumerate(features[1]) if (s, t) in self._wanted
        }
        if links:
            yield Limit(links, at_most=self.at_most, at_least=self.at_least)

    def _features(self, side: int, words: list[str], number: int) -> Iterable[str]:
        sentences, told = self._sides[side], tuple(words)
        sentence = sentences[number] if 0 <= number < len(sentences) else ()
        if _words(sentence) != told:
            sentence = self._by_words[side].get(told, ())
        return [feature for _, feature in sentence]

    def to_dict(self) -> dict[str, Any]:
        sides = {
            side: [[list(token) for token in sentence] for sentence in getattr(self, side)]
            for side in ("source", "target")
        }
        pairs = [list(pair) for pair in self.pairs]
        return {**sides, "pairs": pairs, "at_most": self.at_most, "at_least": self.at_least, "feature": self.feature}


def _words(sentence: Sentence) -> tuple[str, ...]:
    return tuple(word for word, _ in sentence)


def _sentences(side: str, given: Any, feature: str) -> tuple[tuple[tuple[str, str], ...], ...]:
    if isinstance(given, str | PathLike):
        read = conllu.read_conllu(read_lines(given), fspath(given))
        return tuple(tuple(zip(sentence.forms, _features(sentence, feature), strict=True)) for sentence in read)
    if not isinstance(given, Sequence):
        raise InputError(f"{side} is {given!r}", remedy="It is a file of CoNLL-U, or a list with a list for each pair.")
    return tuple(checked_pairs(f"{side}, sentence {n}", sentence) for n, sentence in enumerate(given, 1))


def _features(sentence: conllu.Sentence, feature: str) -> list[str]:
    if feature == "head":
        tags = [
            *(row[conllu.UPOS] for row in sentence.words),
            "root",
        ]  # the last for ROOT, and for a word without a head
        return [tags[-1 if head is None else head] for head in sentence.heads]
    column = conllu.DEPREL if feature == "deprel" else conllu.COLUMNS[feature]
    return [row[column] for row in sentence.words]
