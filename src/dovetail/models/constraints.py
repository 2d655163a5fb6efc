"""Constraints on posteriors: linear functions of link posteriors with a bound (Graça et al. 2010, section 3.1).

A constraint is an object that is *bound* to a laid-out bitext before use: that is when words become numbers.  Three forms
cover everything the kernels need: a bound on the expected links of each word, equality of the two directions, and lists of
weighted cells.  Whoever writes a constraint of his own writes a `PairConstraint`.
"""

from __future__ import annotations

import inspect
import json
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import Shard, token_places
from dovetail.bitext.text import read_lines
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.errors import InputError
from dovetail.kernels.projection import lists as kernels
from dovetail.kernels.projection.records import ClassedSide
from dovetail.models.bindings import Binding, listed
from dovetail.models.constraint_values import check_bounds, check_number, check_real, check_words, checked_pairs
from dovetail.registry import Registry

Direction = Literal["forward", "reverse", "each", "mean"]


class Constraint(Protocol):
    """What every constraint offers.  `precision` and `slack` are what the projection uses where nobody says otherwise."""

    name: ClassVar[str]
    precision: ClassVar[float] = 0.005
    slack: ClassVar[float] = 0.0

    def check(self, bitext: Bitext) -> None:
        """InputError if it is about another text than this one, which is to be learned from."""

    def bind(self, bitext: Bitext, shard: Shard) -> Binding:
        """The constraint for this text."""

    def to_dict(self) -> dict[str, Any]:
        """What the constructor needs to make it again, for saving with a model."""
        return {}


constraints: Registry[type[Any]] = Registry("constraint")


def make_constraint(name: str, values: Mapping[str, Any]) -> Any:
    """A registered constraint from what its `to_dict` gives; lists of pairs may come as lists of lists, as in JSON."""
    kind = constraints[name]
    known = inspect.signature(kind).parameters
    for key in values:
        if key not in known:
            told = ", ".join(known) or "nothing"
            raise InputError(f"the constraint {name} has no value {key!r}", remedy=f"It takes {told}.")
    lacking = [key for key, value in known.items() if value.default is value.empty and key not in values]
    if lacking:
        raise InputError(f"the constraint {name} lacks {' and '.join(lacking)}", remedy=f"It takes {', '.join(known)}.")
    try:
        return kind(**values)
    except InputError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the constraint {name} cannot be made of these values ({error})") from None


def read_constraints(path: str | PathLike[str]) -> list[Any]:
    """Constraints from a JSON file: a list of objects, each with a `name` and the values that its constructor takes.

    [{"name": "dictionary", "pairs": [["house", "maison"]], "at_least": 0.8}, {"name": "fertility", "default": 2}]
    """
    remedy = 'Write [{"name": "dictionary", "pairs": [["house", "maison"]], "at_least": 0.8}].'
    try:
        entries = json.loads("\n".join(read_lines(path)))
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"not a list of constraints ({error})", path=path, remedy=remedy) from None
    if not isinstance(entries, list):
        raise InputError("not a list of constraints", path=path, remedy=remedy)
    made = []
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise InputError(f"not a list of constraints (number {number} has no name)", path=path, remedy=remedy)
        try:
            made.append(make_constraint(entry["name"], {key: entry[key] for key in entry if key != "name"}))
        except InputError as error:
            if error.path is not None:  # of a file that the constraint names
                raise
            problem = f"constraint {number}, {entry['name']}: {error.problem}"
            raise InputError(problem, path=path, remedy=error.remedy) from None
    return made


@constraints.register("bijective", "each word is used at most once in expectation (section 3.3)")
@dataclass(frozen=True)
class Bijective(Constraint):
    """sum over j of P(a_j = i) <= 1 for each source word i, and the same in the reverse direction."""

    name: ClassVar[str] = "bijective"

    def bind(self, bitext: Bitext, shard: Shard) -> Binding:
        pieces = shard.pieces
        rows, columns = (np.ones(int(n.sum()), np.float32) for n in (pieces.source_length, pieces.target_length))
        return Binding(rows, columns)


@constraints.register("symmetric", "both directions believe equally in each link (section 3.4)")
@dataclass(frozen=True)
class Symmetric(Constraint):
    """P(a_j = i) = P(b_i = j) in every cell, within the slack (equation 15)."""

    name: ClassVar[str] = "symmetric"
    precision: ClassVar[float] = 0.001
    slack: ClassVar[float] = 0.001

    def bind(self, bitext: Bitext, shard: Shard) -> Binding:
        return Binding(symmetric=True)


@constraints.register("fertility", "a maximum of expected links for each word, or for some")
@dataclass(frozen=True)
class MaximumFertility(Constraint):
    """At most `source[word]` expected links for a source word, `default` for one not named; `target` likewise."""

    source: Mapping[str, float] = field(default_factory=dict)
    target: Mapping[str, float] = field(default_factory=dict)
    default: float | None = None

    name: ClassVar[str] = "fertility"

    def __post_init__(self) -> None:
        check_words("source", self.source, float)
        check_words("target", self.target, float)
        if self.default is not None:
            check_number("default", self.default)

    def bind(self, bitext: Bitext, shard: Shard) -> Binding:
        pieces = shard.pieces
        sides = (
            (self.source, bitext.source.vocabulary, shard.source_ids, pieces.source_start, pieces.source_length),
            (self.target, bitext.target.vocabulary, shard.target_ids, pieces.target_start, pieces.target_length),
        )
        bounds = []
        for words, vocabulary, ids, start, length in sides:
            of_word = np.full(len(vocabulary), np.inf if self.default is None else self.default, np.float32)
            for number, bound in _numbered(words, vocabulary, bitext):
                of_word[number] = bound
            bounds.append(of_word[ids[token_places(start, length)]])
        return Binding(bounds[0], bounds[1])

    def to_dict(self) -> dict[str, Any]:
        return {"source": dict(self.source), "target": dict(self.target), "default": self.default}


@constraints.register("dictionary", "word pairs that should be linked wherever they meet")
@dataclass(frozen=True)
class Dictionary(Constraint):
    """Wherever words of a listed pair meet, they are linked with expectation at least `at_least`.

    Where several listed partners of a word are in the sentence, it is enough that together they get so much; where a word
    comes several times, it counts as often as partners can be had.
    """

    pairs: Sequence[tuple[str, str]]
    at_least: float = 0.8

    name: ClassVar[str] = "dictionary"

    def __post_init__(self) -> None:
        check_number("at_least", self.at_least, above=0, at_most=1)
        object.__setattr__(self, "pairs", checked_pairs("pairs", self.pairs))

    def bind(self, bitext: Bitext, shard: Shard) -> Binding:
        word = bitext.options.normaliser
        source, target = bitext.source.vocabulary, bitext.target.vocabulary
        numbers = [(source.id(word(e)), target.id(word(f))) for e, f in self.pairs]
        known = [pair for pair in numbers if min(pair) >= 0]
        classes = [np.arange(len(words), dtype=np.int64) for words in (source, target)]
        return _on_pairs(shard, classes, known, len(target), by_word=True, weight=-1.0, bound=-self.at_least)

    def to_dict(self) -> dict[str, Any]:
        return {"pairs": [list(pair) for pair in self.pairs], "at_least": self.at_least}


@constraints.register("tags", "few links between words of certain parts of speech")
@dataclass(frozen=True)
class TagPairs(Constraint):
    """Links between a source word tagged s and a target word tagged t, (s, t) in `pairs`: at most `at_most` a sentence.

    The tags of words come as mappings; a word without a tag is free.  Tags that depend on the sentence need a
    `PairConstraint`.
    """

    source_tags: Mapping[str, str]
    target_tags: Mapping[str, str]
    pairs: Sequence[tuple[str, str]]
    at_most: float = 0.1

    name: ClassVar[str] = "tags"

    def __post_init__(self) -> None:
        check_words("source_tags", self.source_tags, str)
        check_words("target_tags", self.target_tags, str)
        check_number("at_most", self.at_most)
        object.__setattr__(self, "pairs", checked_pairs("pairs", self.pairs))

    def bind(self, bitext: Bitext, shard: Shard) -> Binding:
        numbers, classes = [], []
        for tags, side in ((self.source_tags, bitext.source), (self.target_tags, bitext.target)):
            numbers.append({tag: n for n, tag in enumerate(sorted({*tags.values()}))})
            of_word = np.full(len(side.vocabulary), -1, np.int64)
            for word, tag in _numbered(tags, side.vocabulary, bitext):
                of_word[word] = numbers[-1][tag]
            classes.append(of_word)
        source, target = numbers
        known = [(source[s], target[t]) for s, t in self.pairs if s in source and t in target]
        width = max(1, len(target))
        return _on_pairs(shard, classes, known, width, by_word=False, weight=1.0, bound=self.at_most)

    def to_dict(self) -> dict[str, Any]:
        return {
            "source_tags": dict(self.source_tags),
            "target_tags": dict(self.target_tags),
            "pairs": [list(pair) for pair in self.pairs],
            "at_most": self.at_most,
        }


@dataclass(frozen=True)
class Limit:
    """sum over `links` of weight * P(link) is at most, or at least, a bound; `links` maps (i, j) to a weight.

    `direction`: of the forward posteriors, of the reverse ones, of each of them on its own, or of their mean, which couples
    the two directions as the symmetric constraint does.
    """

    links: Mapping[tuple[int, int], float]
    at_most: float | None = None
    at_least: float | None = None
    direction: Direction = "each"

    def __post_init__(self) -> None:
        if not isinstance(self.links, Mapping):
            raise InputError(f"links is {self.links!r}", remedy="It maps links to weights, as {(0, 0): 1.0} does.")
        for link, weight in self.links.items():
            if not (isinstance(link, tuple) and len(link) == 2 and all(isinstance(place, Integral) for place in link)):
                raise InputError(f"links has {link!r}", remedy="A link is a pair of positions, as (0, 0) is.")
            check_real(f"the weight of {link[0]}-{link[1]}", weight, math.inf, -math.inf)
        for name, bound, never in (("at_most", self.at_most, -math.inf), ("at_least", self.at_least, math.inf)):
            if bound is not None:
                check_real(name, bound, never)
        check_bounds(self.at_most, self.at_least)
        if self.direction not in tuple(_DIRECTIONS):
            raise InputError(f"direction is {self.direction!r}", remedy=f"Choose from: {', '.join(_DIRECTIONS)}.")


class PairConstraint(Constraint):
    """Base of constraints that one writes pair by pair: name it, give it `limits`, register it if it should be saved.

    `limits` may ask for the pair's number, too: a third argument.  Pairs count from 0 in the text that is aligned, so what
    hangs on numbers should make sure of the words as well.  One that overrides the constructor overrides `to_dict`, too.

    >>> class NoFirstToLast(PairConstraint):
    ...     name = "no-first-to-last"
    ...     def limits(self, source, target):
    ...         yield Limit({(0, len(target) - 1): 1.0}, at_most=0.05)
    """

    name: ClassVar[str] = "pair constraint"

    @abstractmethod
    def limits(self, source: list[str], target: list[str], number: int) -> Iterable[Limit]:
        """The limits of one pair, given its words (normalised, as the vocabularies have them) and its number."""

    def bind(self, bitext: Bitext, shard: Shard) -> Binding:
        bounds: list[tuple[int, float]] = []
        entries: list[tuple[int, int, int, int, float]] = []
        pieces, numbered = shard.pieces, _asks_for_the_number(self.limits)
        for p in range(len(pieces)):
            i0, I = int(pieces.source_start[p]), int(pieces.source_length[p])
            j0, J = int(pieces.target_start[p]), int(pieces.target_length[p])
            source = [bitext.source.vocabulary[w] for w in shard.source_ids[i0 : i0 + I]]
            target = [bitext.target.vocabulary[w] for w in shard.target_ids[j0 : j0 + J]]
            number, pair = 0, bitext.first + int(pieces.pair[p])
            for limit in self._checked_limits((source, target, pair) if numbered else (source, target), pair):
                for sign, bound in ((1.0, limit.at_most), (-1.0, limit.at_least)):
                    if bound is None:
                        continue
                    for directions in _DIRECTIONS[limit.direction]:
                        share = sign / len(directions)
                        bounds.append((p, sign * bound))
                        for d in directions:
                            entries += [(p, d, i * J + j, number, share * w) for (i, j), w in limit.links.items()]
                        number += 1
        owner, values = np.array(bounds).reshape(-1, 2).T
        columns = np.array(entries).reshape(-1, 5)
        return Binding(lists=[listed(len(pieces), owner, values, columns[:, 0], columns[:, 1:4], columns[:, 4])])

    def _checked_limits(self, given: tuple[Any, ...], pair: int) -> list[Limit]:
        """The limits of a pair, checked; InputErrors name the pair, counted from 1."""
        source, target = given[:2]
        try:
            limits = self.limits(*given)
            if not isinstance(limits, Iterable):
                raise InputError(f"limits gives {limits!r}", remedy="It yields Limits, or returns a list of them.")
            found = list(limits)
            for limit in found:
                if not isinstance(limit, Limit):
                    raise InputError(f"limits gives {limit!r}", remedy="It yields Limits, or returns a list of them.")
                for i, j in limit.links:
                    if not (0 <= i < len(source) and 0 <= j < len(target)):
                        about = f"names the link {i}-{j} in a pair of {len(source)} and {len(target)} words"
                        raise InputError(about, remedy="Positions count from 0.")
        except InputError as error:
            told = f"the constraint {self.name}, pair {pair + 1:,}: {error.problem}"
            raise InputError(told, path=error.path, line=error.line, remedy=error.remedy) from None
        return found


def _asks_for_the_number(limits: Callable[..., Any]) -> bool:
    """Whether it takes a third argument."""
    try:
        signature(limits).bind([], [], 0)
    except TypeError:
        return False
    return True


_DIRECTIONS: dict[str, tuple[tuple[int, ...], ...]] = {
    "forward": ((0,),),
    "reverse": ((1,),),
    "each": ((0,), (1,)),
    "mean": ((0, 1),),
}


def _numbered(words: Mapping[str, Any], vocabulary: Vocabulary, bitext: Bitext) -> list[tuple[int, Any]]:
    """(word number, value) of the words that the vocabulary has, normalised as the text was."""
    numbers = [(vocabulary.id(bitext.options.normaliser(word)), value) for word, value in words.items()]
    return [entry for entry in numbers if entry[0] >= 0]


def _on_pairs(
    shard: Shard,
    classes: Sequence[np.ndarray],
    pairs: Iterable[tuple[int, int]],
    width: int,
    by_word: bool,
    weight: float,
    bound: float,
) -> Binding:
    """Constraints on the cells whose (class, class), the latter below `width`, is among `pairs`, for each direction."""
    keys = np.array(sorted({e * width + f for e, f in pairs}), np.int64)
    pieces = shard.pieces
    source = ClassedSide(shard.source_ids, pieces.source_start, pieces.source_length, classes[0])
    target = ClassedSide(shard.target_ids, pieces.target_start, pieces.target_length, classes[1])
    bound_piece, number, piece, entries = kernels.list_pairs(source, target, keys, width, by_word)
    weights = np.full(len(entries), weight)
    return Binding(lists=[listed(len(pieces), bound_piece, bound * number, piece, entries, weights)])


constraints.add_later(
    "tokens",
    "dovetail.models.token_constraints:TokenPairs",
    "links between tokens of certain tags or places in their trees (CoNLL-U)",
)
