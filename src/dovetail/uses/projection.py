"""Annotation projection: what is known of the source's words, carried to the target's, and how right it is there.

    for target, projected in project(source_sentences, target_sentences, links): ...

The rules by which labels, heads and spans cross are those of `uses/carrying.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Any

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.stream import LinkStream
from dovetail.bitext.corpus import Bitext, TextOptions
from dovetail.errors import InputError
from dovetail.uses.aligned import Aligns
from dovetail.uses.annotation import Annotated, Projected
from dovetail.uses.carrying import THRESHOLD, Weighted, WordLabels, carry_heads, carry_labels, carry_spans
from dovetail.uses.pieces import Owners, carried_over, shared_characters

PART = 1 << 12  # pairs that are aligned at a time
PUNCTUATION = "PUNCT"

# Gives the links of some pairs of sentences, with the tokens of each pair that they count: (source, target, links).
Linker = Callable[[Sequence[tuple[Annotated, Annotated]]], Iterable[tuple[list[str], list[str], Weighted]]]


@dataclass(frozen=True)
class Carry:
    """What is carried, and how: kinds of labels (of those that the source has), heads, spans; see `uses/carrying.py`."""

    labels: Sequence[str] = ("upos", "label")
    heads: bool = True
    spans: bool = True
    threshold: float = THRESHOLD
    split: bool = False


def project_pair(source: Annotated, target: Annotated, links: Weighted, carry: Carry) -> Projected:
    """What the target's words get over links between the words of both."""
    found, length = Projected(), len(target.words)
    if source.spans is not None and carry.spans:
        found.spans = carry_spans(links, source.spans, length, carry.threshold, carry.split)
    else:
        for name in carry.labels:
            if name in source.labels:
                found.labels[name] = carry_labels(links, source.labels[name], length, carry.threshold)
    if source.heads is not None and carry.heads:
        found.heads = carry_heads(links, source.heads, length, carry.threshold)
    return found


def project(
    pairs: Iterable[tuple[Annotated, Annotated]], linker: Linker, carry: Carry | None = None, part_size: int = PART
) -> Iterator[tuple[Annotated, Annotated, Projected]]:
    """Each pair with what its target got; `linker` is one of `links_from_file`, `links_from_text`, `links_from_model`.

    So many pairs are held at a time; a file of links that is not in order needs them all.
    """
    remaining = iter(pairs)
    while part := list(islice(remaining, part_size)):
        for (source, target), (here, there, links) in zip(part, linker(part), strict=True):
            on_words = carried_over(links, words_of(here, source), words_of(there, target))
            yield source, target, project_pair(source, target, on_words, carry or Carry())


def in_step(
    source: Iterable[Annotated], target: Iterable[Annotated], paths: tuple[str, str] = ("source", "target")
) -> Iterator[tuple[Annotated, Annotated]]:
    """Sentence by sentence; InputError if one side ends first."""
    for number, (here, there) in enumerate(zip_longest(source, target), 1):
        if here is None or there is None:
            longer, shorter = paths if there is None else paths[::-1]
            line = (here or there).line
            raise InputError(
                f"sentence {number:,} has no partner in {shorter}, which has {number - 1:,}",
                path=longer,
                line=line,
                remedy="Give the same sentences on both sides, in order.",
            )
        yield here, there


def links_from_file(stream: LinkStream) -> Linker:
    """Links of a file that count the annotation's own words."""

    def linker(part: Sequence[tuple[Annotated, Annotated]]) -> Iterator[tuple[list[str], list[str], Weighted]]:
        lengths = np.array([(len(source.forms), len(target.forms)) for source, target in part], np.int64)
        for (source, target), links in zip(part, _weights(stream.take(lengths)), strict=True):
            yield source.forms, target.forms, links

    return linker


def links_from_text(stream: LinkStream, text: Iterator[tuple[str, str]], options: TextOptions) -> Linker:
    """Links of a file that count the words of a text of their own, the same sentences cut in another way."""

    def linker(part: Sequence[tuple[Annotated, Annotated]]) -> Iterator[tuple[list[str], list[str], Weighted]]:
        bitext = Bitext.from_pairs(islice(text, len(part)), options=options)
        if len(bitext) < len(part):
            raise InputError("the text that the links count ends before the annotation", remedy="Give all sentences.")
        alignments = stream.take(np.array(bitext.lengths, np.int64))
        for n, links in enumerate(_weights(alignments)):
            yield *bitext.tokens(n), links

    return linker


def links_from_model(aligner: Aligns, options: TextOptions) -> Linker:
    """Links by a model: between the annotation's words, or between those of its text if the model cuts raw text."""

    def linker(part: Sequence[tuple[Annotated, Annotated]]) -> Iterator[tuple[list[str], list[str], Weighted]]:
        raw = options.tokenizer != "whitespace"
        pairs = ((one.text, other.text) if raw else (one.forms, other.forms) for one, other in part)
        bitext = Bitext.from_pairs(pairs, options=options)
        for n, links in enumerate(_weights(aligner.align(bitext))):
            yield *bitext.tokens(n), links

    return linker


def _weights(alignments: Alignments) -> Iterator[Weighted]:
    for alignment in alignments:
        yield dict(zip(alignment.links, alignment.probabilities, strict=True))


def words_of(tokens: Sequence[str], sentence: Annotated) -> Owners:
    """For each token of the sentence's text the words that it belongs to, by the characters that they share.

    All words of a multiword token stand for it.
    """
    if list(tokens) == sentence.forms:
        return [[n] for n in range(len(tokens))]
    at: dict[tuple[int, int], list[int]] = defaultdict(list)
    for n, place in enumerate(sentence.words):
        at[place].append(n)
    owners = shared_characters(tokens, [sentence.text[start:end] for start, end in at])
    words = list(at.values())
    return [[n for place in places for n in words[place]] for places in owners]


def learn_words(results: Iterable[tuple[Annotated, Annotated, Projected]]) -> dict[str, WordLabels]:
    """What each word is mostly labelled with, by kind of label: one walk through a text, before another that lends it."""
    found: dict[str, WordLabels] = defaultdict(WordLabels)
    for _, target, projected in results:
        for name, labels in projected.labels.items():
            found[name].add(target.forms, labels)
    return found


def lend_words(projected: Projected, target: Annotated, words: dict[str, WordLabels]) -> None:
    """Words without a label, or with a doubtful one, take the one that they mostly have elsewhere."""
    for name, labels in projected.labels.items():
        projected.labels[name] = words[name].lend(target.forms, labels)


@dataclass
class Tally:
    """How many annotations were carried, how many of them are right, and how many there are to be had."""

    carried: int = 0
    right: int = 0
    there: int = 0

    @property
    def precision(self) -> float:
        return self.right / self.carried if self.carried else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.there if self.there else 1.0

    @property
    def f1(self) -> float:
        total = self.carried + self.there
        return 2 * self.right / total if total else 1.0

    def count(self, ours: Iterable[Any], theirs: Iterable[Any]) -> None:
        """Word by word: ours or None against theirs or None, which says that nobody knows."""
        for our, their in zip(ours, theirs, strict=True):
            if their is not None:
                self.there += 1
                self.carried += our is not None
                self.right += our == their

    def count_sets(self, ours: set[Any], theirs: set[Any]) -> None:
        self.carried += len(ours)
        self.there += len(theirs)
        self.right += len(ours & theirs)

    def to_dict(self) -> dict[str, float | int]:
        return {name: getattr(self, name) for name in ("precision", "recall", "f1", "carried", "right", "there")}

    def __str__(self) -> str:
        scores = self.precision, self.recall, self.f1
        percents = (f"{name} {100 * value:.1f}" for name, value in zip("PRF", scores, strict=True))
        return " ".join(percents)


@dataclass
class ProjectionScore:
    """Tallies by what was carried (`upos`, `heads`, `spans` ...), against the target side's own annotation.

    Punctuation, where the target's parts of speech tell it, is left out of labels and heads: it is easy, and common.
    """

    tallies: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))

    def add(self, source: Annotated, target: Annotated, projected: Projected) -> None:
        """Count what one sentence got, as far as its own annotation can tell whether that is right."""
        parts = target.labels.get("upos", [None] * len(target.words))
        counted = [n for n, part in enumerate(parts) if part != PUNCTUATION]
        for name, labels in projected.labels.items():
            if name in target.labels:
                ours = [None if label is None else label.label for label in labels]
                own = target.labels[name]
                self.tallies[name].count((ours[n] for n in counted), (own[n] for n in counted))
        if projected.heads is not None and target.heads is not None:
            heads = [None if head is None else head.head for head in projected.heads]
            own_heads = target.heads
            self.tallies["heads"].count((heads[n] for n in counted), (own_heads[n] for n in counted))
        if projected.spans is not None and target.spans is not None:
            self.tallies["spans"].count_sets({span[:3] for span in projected.spans}, set(map(tuple, target.spans)))

    def to_dict(self) -> dict[str, dict[str, float | int]]:
        return {name: tally.to_dict() for name, tally in self.tallies.items()}

    def __str__(self) -> str:
        return "; ".join(f"{name}: {tally} of {tally.there:,}" for name, tally in self.tallies.items())
