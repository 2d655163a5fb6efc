"""Other views of a text: its words cut to characters, to stems, or turned into lemmas.

A model over words knows nothing of rare forms; one over what they are made of, or have in common, does.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from dovetail.bitext.corpus import Bitext, Side, TextOptions
from dovetail.bitext.normalise import Normaliser
from dovetail.bitext.numbering import TokenNumbers
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.errors import InputError
from dovetail.options import Options, option
from dovetail.pool import Pool
from dovetail.registry import Registry

WORDS = "words"
STEM = 5  # letters of a stem
# Scripts that are written without spaces, by how Unicode's names of their letters begin.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "YI")
FIRST_UNSPACED = "\u0e00"  # no letter before this one is of them, which nearly all words are told by

Cut = Callable[[str], list[str]]  # what a view makes of a word: one thing or several, never none
Cuts = tuple[Cut, Cut]  # of the source's, and of the target's
Entry = tuple[str, str]  # of a dictionary: source and target, a word or a phrase


@dataclass(frozen=True)
class Views(Options):
    """What models see of a text; links are chosen by the mean of their probabilities.

    Of views with `|` between them, the first that changes the text.
    """

    views: str = option(WORDS, help="what is seen of a text, words first: words,characters, words,stems, words,lemmas")
    languages: str = option("", help="of source and target, for lemmas: en,cs")
    view_recipe: str = option("", help="recipe that the models of other views are learned by (none: the same)")
    view_cells: int = option(
        700_000_000,
        at_least=1,
        help="cells (of words) of the text that other views learn from, at most: an even sample of a larger one",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        first, *others = self.views.replace("|", ",").split(",")
        alone = self.views.split(",")[0] == first == WORDS
        if not alone or len(set(others)) < len(others) or not set(others) <= set(views):
            known = ", ".join(f"words,{name}" for name in views)
            raise InputError(f"views is {self.views!r}", remedy=f"Write words, or such as {known}.")

    @property
    def alternatives(self) -> list[dict[str, Cuts]]:
        """What each view besides words makes of the words of both sides; InputError for one that cannot be had."""
        return [
            {name: views[name](self.languages) for name in either.split("|")} for either in self.views.split(",")[1:]
        ]

    @property
    def others(self) -> dict[str, Cuts]:
        """All of them."""
        return {name: cuts for either in self.alternatives for name, cuts in either.items()}


@dataclass(frozen=True)
class Seen:
    """A text as a view has it, and which word, by its place in the sentence, each token of both sides is of."""

    bitext: Bitext
    words: tuple[np.ndarray, np.ndarray]  # int32 (tokens,)

    @classmethod
    def of(cls, bitext: Bitext, cuts: Cuts, normalise: Normaliser) -> Seen:
        """A bitext, whose words are normalised first."""
        sides = [_seen(side, cut, normalise) for side, cut in zip((bitext.source, bitext.target), cuts, strict=True)]
        (source, of_source), (target, of_target) = sides
        return cls(Bitext(source, target, TextOptions(), bitext.first), (of_source, of_target))


def changed_words(bitext: Bitext, cuts: Cuts, normalise: Normaliser, pool: Pool) -> float:
    """The share of words that a view has something else for, on the side where these are more."""
    vocabularies = bitext.source.vocabulary, bitext.target.vocabulary
    different = [_changed(words, cut, normalise) for words, cut in zip(vocabularies, cuts, strict=True)]

    def count(part: Bitext) -> list[int]:
        sides = zip((part.source, part.target), different, strict=True)
        return [int(np.count_nonzero(own[side.ids])) for side, own in sides]

    changed = np.sum([*pool.stream(count, bitext.runs())], axis=0)
    tokens = [len(side.ids) for side in (bitext.source, bitext.target)]
    return float((changed / np.maximum(tokens, 1)).max())


def cut_vocabularies(bitext: Bitext, cuts: Cuts, normalise: Normaliser) -> None:
    """Cut the words of a text, before threads ask for its parts as a view has them."""
    for side, cut in zip((bitext.source, bitext.target), cuts, strict=True):
        _cut(side, cut, normalise)


def cut_entries(dictionary: Mapping[Entry, float], options: TextOptions, cuts: Cuts) -> dict[Entry, float]:
    """A dictionary of words and phrases as a view has them; of entries that become one, the surest.

    >>> cut_entries({("the universities", "Universitäten"): 0.5}, TextOptions(), (stem, stem))
    {('the unive', 'unive'): 0.5}
    """

    def seen(phrase: str, side: int) -> str:
        words = (options.normaliser(phrase[start:end]) for start, end in options.of_side(side).spans(phrase))
        return " ".join(piece for word in words for piece in cuts[side](word))

    found: dict[Entry, float] = {}
    for (source, target), probability in dictionary.items():
        entry = seen(source, 0), seen(target, 1)
        found[entry] = max(probability, found.get(entry, probability))
    return found


class CutWords(NamedTuple):
    """The words of a vocabulary as a view has them: word w is pieces[starts[w]:starts[w] + sizes[w]]."""

    tokens: TokenNumbers  # all different pieces
    pieces: np.ndarray  # int32
    starts: np.ndarray  # int64 (words,)
    sizes: np.ndarray  # int64 (words,)

    @classmethod
    def of(cls, found: Iterable[list[str]]) -> CutWords:
        """Of what the view makes of each word."""
        found = list(found)
        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__  # the next number for a piece that is new
        flat = np.array([numbers[piece] for pieces in found for piece in pieces], np.int32)
        sizes = np.fromiter(map(len, found), np.int64, len(found))
        return cls(TokenNumbers.of(numbers), flat, np.cumsum(sizes) - sizes, sizes)


def _pieces(words: Vocabulary, cut: Cut, normalise: Normaliser) -> Iterator[list[str]]:
    return map(cut, words if normalise.identity else map(normalise, words))


def _cut(side: Side, cut: Cut, normalise: Normaliser) -> CutWords:
    """The words of one side, once for all parts of a text, which share its vocabulary."""
    return side.vocabulary.derived(("cut", cut, normalise), lambda words: CutWords.of(_pieces(words, cut, normalise)))


def _changed(words: Vocabulary, cut: Cut, normalise: Normaliser) -> np.ndarray:
    """bool (words,): whether the view has something else for a word."""
    both = zip(words, _pieces(words, cut, normalise), strict=True)
    return np.fromiter((pieces != [word] for word, pieces in both), bool, len(words))


def _seen(side: Side, cut: Cut, normalise: Normaliser) -> tuple[Side, np.ndarray]:
    """One side, and the word of each of its tokens."""
    words = _cut(side, cut, normalise)
    lengths = words.sizes[side.ids]  # of each token, in tokens of the view
    ends = np.append(0, np.cumsum(lengths))
    within = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
    ids = words.pieces[np.repeat(words.starts[side.ids], lengths) + within]
    first = side.offsets[0]
    place = np.arange(len(side.ids)) - np.repeat(side.offsets[:-1] - first, np.diff(side.offsets))
    vocabulary = Vocabulary(words.tokens, np.bincount(ids, minlength=len(words.tokens)))
    seen = Side(ids, ends[side.offsets - first], vocabulary, None)
    return seen, np.repeat(place, lengths).astype(np.int32)


def characters(word: str) -> list[str]:
    """The characters of a word, marks with what they stand on, if it is written without spaces; any other stays whole.

    >>> characters("京都府"), characters("Kyoto")
    (['京', '都', '府'], ['Kyoto'])
    """
    if max(word, default="") < FIRST_UNSPACED or not any(map(_without_spaces, word)):
        return [word]
    found: list[str] = []
    for letter in word:
        if found and unicodedata.category(letter).startswith("M"):
            found[-1] += letter
        else:
            found.append(letter)
    return found


@cache
def _without_spaces(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith(UNSPACED)


def stem(word: str) -> list[str]:
    """How a word begins, in lower case.

    >>> stem("Translations")
    ['trans']
    """
    return [word.lower()[:STEM]]


def _lemmas(languages: str) -> Cuts:
    """Lemmas by simplemma's tables, in lower case."""
    names = [name.strip().lower() for name in languages.split(",")]
    if len(names) != 2 or not all(names):
        raise InputError(
            "lemmas need to know the languages",
            remedy="Give --source-language and --target-language, such as en and cs.",
        )
    try:
        from simplemma import lemmatize
    except ImportError:
        raise InputError(
            "lemmas need simplemma, which is not installed", remedy="pip install 'dovetail-align[lemmas]'"
        ) from None

    def of_language(name: str) -> Cut:
        try:
            lemmatize("word", name)
        except ValueError:
            raise InputError(f"simplemma has no lemmas of the language {name!r}", remedy="Choose stems.") from None
        return lambda word: [lemmatize(word, name).lower()]

    return of_language(names[0]), of_language(names[1])


views: Registry[Callable[[str], Cuts]] = Registry("view")
views.add("characters", lambda _: (characters, characters), "characters of words that are written without spaces")
views.add("stems", lambda _: (stem, stem), f"the first {STEM} letters of words")
views.add("lemmas", _lemmas, "dictionary forms, by simplemma")
