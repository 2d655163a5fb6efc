"""Inline markup moved from a source sentence to its plain translation.

Every tag of the source is in the target exactly once (`split` allows an element several times), and elements lie apart or
within each other there as they did.  The rules:

- an element takes the smallest run of words that covers the counterparts of its own words.  A target word is the
  element's if its links to words of the element weigh more than those to others.  A word of a sibling is never covered:
  the run is cut there, and its heaviest part stays; with `split` all parts, which leave out words that are linked elsewhere;
- an element over all words of the one around it, or of the sentence, is so in the target too;
- an element without counterparts goes where its neighbours say, over words that are linked to nothing if there are any;
- what stands alone goes where it parts the fewest links, near ones first, but not into an element that it was not in;
- a tag within a word parts the target's word at the same letter if the two are the same, else it goes to the word's edge.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice, pairwise
from typing import NamedTuple, Protocol

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.stream import LinkStream
from dovetail.bitext.corpus import Bitext, TextOptions
from dovetail.bitext.normalise import Normaliser
from dovetail.bitext.readers import read_pairs
from dovetail.bitext.text import display_name
from dovetail.errors import InputError
from dovetail.uses.aligned import AlignedFiles, Aligns
from dovetail.uses.markup import Marked, Node, Single, parse

Interval = tuple[int, int]  # words first..last - 1
Weighted = Mapping[tuple[int, int], float]

PART = 1 << 12  # pairs that are aligned at a time
NEAR = 0.5  # what a word counts for, for each word that lies between it and a tag


def move_tags(
    marked: Marked,
    source_words: Sequence[Interval],
    target: str,
    target_words: Sequence[Interval],
    links: Weighted,
    split: bool = False,
) -> str:
    """The target with the source's markup; words are spans of characters of `marked.text` and `target`.

    >>> from dovetail.uses.markup import parse
    >>> move_tags(parse("the <b>house</b>"), [(0, 3), (4, 9)], "la maison", [(0, 2), (3, 9)], {(0, 0): 1.0, (1, 1): 1.0})
    'la <b>maison</b>'
    """
    sentence = _Sentence(*_parted(marked, source_words, target, target_words, links), split)
    runs = [(0, len(sentence.target))]
    (items,) = _Placing(sentence, marked.children, (0, len(marked.text) + 1), runs).items()
    return _written(list(_events(items, *runs[0])), target, sentence.target)


class Tagger(Aligns, Protocol):
    """What is asked of a trained `Aligner`."""

    text_options: TextOptions


def tag(aligner: Tagger, source: str, target: str, split: bool = False, patterns: Sequence[str] = ()) -> str:
    """One plain target with the markup of its source; both are cut as the aligner's training text was."""
    marked = parse(source, patterns)
    bitext = Bitext.from_pairs([(marked.text, target)], options=aligner.text_options)
    return next(_tagged([marked], bitext, aligner.align(bitext), split))


def tagged(files: AlignedFiles, split: bool = False, patterns: Sequence[str] = ()) -> Iterator[str]:
    """The target lines of a text with the markup of its source lines; links count words without markup.

    Further placeholders are found by `patterns`, regular expressions.
    """
    reading = dict(files.reading)
    options = TextOptions(
        reading.pop("tokenizer", "whitespace"), Normaliser(reading.pop("lower", False), reading.pop("form", None))
    )
    stream = None if files.links is None else LinkStream(files.links, files.links_format)
    size = PART if stream is None or stream.in_order else sys.maxsize
    pairs = enumerate(read_pairs(files.source, files.target, **reading), 1)
    while part := list(islice(pairs, size)):
        marked = [_parse(source, patterns, files, line) for line, (source, _) in part]
        bitext = Bitext.from_pairs(
            ((one.text, target) for one, (_, (_, target)) in zip(marked, part, strict=True)), options=options
        )
        if stream is None:
            assert files.aligner is not None
            alignments = files.aligner.align(bitext)
        else:
            alignments = stream.take(np.column_stack((bitext.source.lengths, bitext.target.lengths)))
        yield from _tagged(marked, bitext, alignments, split)
    if stream is not None:
        stream.end()


def _tagged(marked: Sequence[Marked], bitext: Bitext, alignments: Alignments, split: bool) -> Iterator[str]:
    text = bitext.text
    assert text is not None
    for n, alignment in enumerate(alignments):
        links = dict(zip(alignment.links, alignment.probabilities, strict=True))
        target, target_words = text.target(n)
        yield move_tags(marked[n], text.source(n)[1], target, target_words, links, split)


def _parse(line: str, patterns: Sequence[str], files: AlignedFiles, number: int) -> Marked:
    try:
        return parse(line, patterns)
    except InputError as error:
        raise InputError(
            error.problem, path=display_name(files.source), line=number, remedy="Is this the right file?"
        ) from None


def _parted(
    marked: Marked,
    source_words: Sequence[Interval],
    target: str,
    target_words: Sequence[Interval],
    links: Weighted,
) -> tuple[list[Interval], list[Interval], dict[tuple[int, int], float]]:
    """Words and links, with words cut where a tag stands in them and the other side has the same word."""
    cuts = sorted({place for child in marked.children for place in _places(child)})
    partners: dict[int, list[int]] = defaultdict(list)
    owners: dict[int, list[int]] = defaultdict(list)
    for i, j in links:
        partners[i].append(j)
        owners[j].append(i)
    inner: dict[int, list[int]] = {}
    for i, (start, end) in enumerate(source_words):
        inside = [cut - start for cut in cuts if start < cut < end]
        if inside and len(partners[i]) == 1 and owners[partners[i][0]] == [i]:
            low, high = target_words[partners[i][0]]
            if target[low:high] == marked.text[start:end]:
                inner[i] = inside
    across = {partners[i][0]: inside for i, inside in inner.items()}
    source, new_i = _cut_words(source_words, inner)
    other, new_j = _cut_words(target_words, across)
    found = {}
    for (i, j), probability in links.items():
        for part in range(len(inner.get(i, ())) + 1):
            found[new_i[i] + part, new_j[j] + part] = probability
    return source, other, found


def _places(child: Node | Single) -> Iterator[int]:
    if isinstance(child, Single):
        yield child.place
        return
    yield child.first
    yield child.last
    for inner in child.children:
        yield from _places(inner)


def _cut_words(words: Sequence[Interval], cuts: Mapping[int, Sequence[int]]) -> tuple[list[Interval], list[int]]:
    """The words with some of them cut, and the number of each word's first part."""
    parts: list[Interval] = []
    firsts = []
    for n, (start, end) in enumerate(words):
        firsts.append(len(parts))
        ends = [start, *(start + cut for cut in cuts.get(n, ())), end]
        parts += pairwise(ends)
    return parts, firsts


@dataclass(frozen=True)
class _Sentence:
    source: list[Interval]  # words, as spans of characters
    target: list[Interval]
    links: Weighted
    split: bool
    by_target: dict[int, list[tuple[int, float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for (i, j), probability in self.links.items():
            self.by_target.setdefault(j, []).append((i, max(probability, 1e-6)))

    def words_in(self, first: int, last: int) -> set[int]:
        """Source words with a character in first..last - 1."""
        return {i for i, (start, end) in enumerate(self.source) if start < last and end > first}

    def weight(self, j: int, words: set[int]) -> float:
        return sum(probability for i, probability in self.by_target.get(j, ()) if i in words)


class _Item(NamedTuple):
    """A tag at a gap between target words (first == last), or an element over words, with what it holds."""

    first: int
    last: int
    order: int  # among its siblings in the source
    tags: tuple[Single, ...]  # one, or opening and closing
    inside: tuple[_Item, ...] = ()


class _Placing:
    """Finds the places of siblings within the runs of target words that the element around them has."""

    def __init__(
        self,
        sentence: _Sentence,
        children: Sequence[Node | Single],
        around: Interval,
        runs: Sequence[Interval],
    ) -> None:
        self.sentence = sentence
        self.runs = list(runs)
        self.children = list(children)
        self.around = around
        self.words = {
            n: sentence.words_in(child.first, child.last) for n, child in enumerate(children) if isinstance(child, Node)
        }
        # Whose words, by the numbers of children, the target words of all runs are.
        self.owner = {j: self._owner(j) for run in runs for j in range(*run)}
        self.taken: dict[int, list[Interval]] = {}

    def items(self) -> list[list[_Item]]:
        """What stands in each run, in order."""
        for n in self.words:
            if found := self._runs_of(n):
                self.taken[n] = found
        for n, words in self.words.items():
            if n not in self.taken:
                self.taken[n] = [self._somewhere(n, len(words))]
        found_items: list[list[_Item]] = [[] for _ in self.runs]
        opened: dict[str, int] = {}
        for n, child in enumerate(self.children):
            if isinstance(child, Single):
                gap = self._gap(child.place, at_least=opened.get(child.pair or "", 0))
                if child.pair is not None:
                    opened[child.pair] = gap
                found_items[self._run_at(gap)].append(_Item(gap, gap, n, (child,)))
                continue
            places = self.taken[n]
            inner = _Placing(self.sentence, child.children, (child.first, child.last), places).items()
            for (first, last), inside in zip(places, inner, strict=True):
                item = _Item(first, last, n, (child.opening, child.closing), tuple(inside))
                found_items[self._run_at(first, last)].append(item)
        # What is empty stands before an element that begins there, and behind one that ends there.
        return [
            sorted(items, key=lambda item: (item.first, item.first < item.last, item.order)) for items in found_items
        ]

    def _owner(self, j: int) -> int | None:
        """The child that a target word is linked to most; None: to the words between them, or to nothing."""
        weights = [(self.sentence.weight(j, words), -n) for n, words in self.words.items()]
        weight, child = max(weights, default=(0.0, 0))
        total = sum(probability for _, probability in self.sentence.by_target.get(j, ()))
        return -child if weight > 0 and weight >= total - weight else None

    def _runs_of(self, n: int) -> list[Interval]:
        """The words of an element: the smallest run that covers its own, cut by those of siblings."""
        words = self.words[n]
        if words and words == self.sentence.words_in(*self.around) and not self._rivals(n):
            return [run for run in self.runs if run[0] < run[1]]
        found: list[tuple[float, Interval]] = []
        for run in self.runs:
            first = last = -1
            weight = 0.0
            for j in (*range(*run), None):
                owner = None if j is None else self.owner[j]
                foreign = owner is None and self.sentence.split and j in self.sentence.by_target
                if first >= 0 and (j is None or foreign or owner not in (None, n)):
                    found.append((weight, (first, last + 1)))
                    first, weight = -1, 0.0
                if j is not None and owner == n:
                    first, last = (j if first < 0 else first), j
                    weight += self.sentence.weight(j, words)
        if not found:
            return []
        if self.sentence.split:
            return [run for _, run in found]
        return [max(found, key=lambda part: (part[0], -part[1][0]))[1]]

    def _rivals(self, n: int) -> bool:
        """Whether a sibling shares a word with an element, or has a target word of its own."""
        return any(other != n and self.words[other] & self.words[n] for other in self.words)

    def _somewhere(self, n: int, words: int) -> Interval:
        """A place for an element whose words are linked to nothing here: over free words, else empty."""
        child = self.children[n]
        assert isinstance(child, Node)
        gap = end = self._gap(child.first)
        limit = next(high for low, high in self.runs if low <= gap <= high)
        starts = [first for places in self.taken.values() for first, _ in places]
        while end < min(limit, gap + words) and end not in self.sentence.by_target and end not in starts:
            end += 1
        return gap, end

    def _gap(self, place: int, at_least: int = 0) -> int:
        """The gap (before target word g, or behind the last) that parts the fewest links across a place in the source.

        Gaps within siblings are out.  Words weigh less the farther from the place they are.
        """
        before = sum(end <= place for _, end in self.sentence.source)
        behind = sum(start < place for start, _ in self.sentence.source)  # more, if the place is within a word
        steps = [0.0] * (len(self.sentence.target) + 1)  # by which the cost rises from gap to gap
        for (i, j), probability in self.sentence.links.items():
            left = i < before
            weight = max(probability, 1e-6) * NEAR ** (before - 1 - i if left else max(i - behind, 0))
            # A word before the place should be before the gap, one behind it behind: the other gaps cost.
            steps[0] += weight if left else 0.0
            steps[j + 1] += -weight if left else weight
        cost = [round(total, 9) for total in accumulate(steps)]
        inside = {g for places in self.taken.values() for low, high in places for g in range(low + 1, high)}
        gaps = [g for low, high in self.runs for g in range(low, high + 1) if g not in inside]
        later = [g for g in gaps if g >= at_least]
        return min(later or gaps, key=lambda g: (cost[g], abs(g - before)))

    def _run_at(self, first: int, last: int | None = None) -> int:
        last = first if last is None else last
        return next(n for n, (low, high) in enumerate(self.runs) if low <= first and last <= high)


Event = Single | int  # a tag, or a target word


def _events(items: Iterable[_Item], first: int, last: int) -> Iterator[Event]:
    """Tags and words of a run in order."""
    for item in items:
        yield from range(first, item.first)
        yield item.tags[0]
        if len(item.tags) > 1:
            yield from _events(item.inside, item.first, item.last)
            yield item.tags[1]
        first = item.last
    yield from range(first, last)


def _written(events: Sequence[Event], target: str, words: Sequence[Interval]) -> str:
    """The target with its own white space, and tags close to the words that they belong to."""
    parts: list[str] = []
    tags: list[Single] = []
    end = 0
    for event in events:
        if isinstance(event, int):
            start = words[event][0]
            parts += _filled(target[end:start], tags, _character(target, end - 1), _character(target, start))
            end = words[event][1]
            parts.append(target[start:end])
            tags = []
        else:
            tags.append(event)
    return "".join([*parts, *_filled(target[end:], tags, _character(target, end - 1), "")])


def _character(text: str, place: int) -> str:
    return text[place] if 0 <= place < len(text) else ""


def _filled(space: str, tags: Sequence[Single], before: str, behind: str) -> list[str]:
    """What stands between two words: closing tags, white space, opening tags.

    Tags that had white space on both sides have it here too, but not towards a comma, say, that follows its word.
    """
    # The white space goes where the fewest tags are on the wrong side of it.
    wrong = [sum(tag.opens for tag in tags[:n]) + sum(not tag.opens for tag in tags[n:]) for n in range(len(tags) + 1)]
    place = wrong.index(min(wrong))
    found: list[str] = []
    for n, tag in enumerate(tags):
        if n == place:
            found.append(space)
        last = found[-1][-1:] if found and found[-1] else before
        alone = tag.spaced and not (tag.joined and n > 0)
        if alone and last and not last.isspace() and (space or last.isalnum() or n > 0):
            found.append(" ")
        found.append(tag.text)
    if place == len(tags):
        found.append(space)
    elif tags[-1].spaced and behind and (space or behind.isalnum()):
        found.append(" ")
    return found
