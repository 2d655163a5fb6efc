"""Labels of words, dependency trees and labelled spans, carried over the links of one sentence pair.

The rules, the same for every kind of annotation.  Links come with probabilities, and may compete:

- *one source word, several target words*: each of them takes its label, and its head;
- *several source words, one target word*: their labels vote with the probabilities of their links, and the label is as sure
  as the sum of its votes (at most 1); among equals the surest link decides, then the first source word;
- *no link*: no label, unless `WordLabels` lends what the same word has elsewhere;
- less sure than the threshold: no label.

A dependency crosses if both of its ends do (Graça, Ganchev and Taskar 2010, section 5.2), and is as sure as the product of
the two links' probabilities.  Spans: see `carry_spans`.  Nothing is ever carried to a word that is not there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dovetail.bitext.conllu import ROOT

Weighted = Mapping[tuple[int, int], float]  # the probability of each link (i, j)

# Links below the first are not asked for: a low value that loses little, tried on all of the parallel trees.  What is less
# sure than the second is not carried: it has the best F on one half of them (benchmarks/projection.py --choose).
LINK_THRESHOLD = 0.02
THRESHOLD = 0.02

LENT = -2  # the source of a label that came from the same word elsewhere


class Label(NamedTuple):
    """What a target word got: its label, the source word it came from (the surest of them), how sure it is."""

    label: str
    source: int
    probability: float


class Head(NamedTuple):
    """The head of a target word (ROOT for none), the source word whose head it was, how sure it is."""

    head: int
    source: int
    probability: float


class Span(NamedTuple):
    """Words first..last - 1 with a label."""

    first: int
    last: int
    label: str


class CarriedSpan(NamedTuple):
    """Target words first..last - 1, which took the label of the source span of that number, and how sure they are."""

    first: int
    last: int
    label: str
    source: int
    probability: float


def carry_labels(
    links: Weighted, labels: Sequence[str | None], target_length: int, threshold: float = THRESHOLD
) -> list[Label | None]:
    """The label of each target word, by the votes of the source words that it is linked to.

    >>> carry_labels({(0, 0): 0.9, (1, 1): 0.6, (2, 1): 0.3}, ["DET", "ADJ", "NOUN"], 3)
    [Label(label='DET', source=0, probability=0.9), Label(label='ADJ', source=1, probability=0.6), None]
    """
    votes: list[dict[str, list[tuple[float, int]]]] = [{} for _ in range(target_length)]
    for (i, j), probability in sorted(links.items()):
        label = labels[i]
        if label is not None:
            votes[j].setdefault(label, []).append((probability, -i))
    found: list[Label | None] = []
    for candidates in votes:
        total, (_, source), label = max(
            ((sum(p for p, _ in given), max(given), label) for label, given in candidates.items()),
            default=(-1.0, (0.0, 0), ""),
        )
        found.append(Label(label, -source, min(total, 1.0)) if total >= threshold else None)
    return found


def carry_heads(
    links: Weighted, heads: Sequence[int | None], target_length: int, threshold: float = THRESHOLD
) -> list[Head | None]:
    """The head of each target word: a counterpart of the head of its counterpart.

    As far as a word and its head are linked to one target word, the two are one there, whose head is the upper one's.
    Heads that compete are voted for as labels are.  The surest heads are taken first, and one that would close a circle,
    or be a second root, is left out: what comes is always a part of a tree.
    """
    partners: list[dict[int, float]] = [{} for _ in range(target_length)]
    counterparts: dict[int, dict[int, float]] = defaultdict(dict)
    for (i, j), probability in sorted(links.items()):
        partners[j][i] = probability
        counterparts[i][j] = probability
    candidates = []
    for j, linked in enumerate(partners):
        votes: dict[int, list[tuple[float, int]]] = defaultdict(list)
        for i, probability in linked.items():
            for head, other in _heads_across(i, j, heads, linked, counterparts).items():
                votes[head].append((probability * other, -i))
        for head, given in votes.items():
            total = min(sum(p for p, _ in given), 1.0)
            if total >= threshold:
                candidates.append((-total, j, head, -max(given)[1]))
    found: list[Head | None] = [None] * target_length
    rooted = False
    for total, j, head, source in sorted(candidates):
        if found[j] is None and not (rooted if head == ROOT else _leads_to(head, j, found)):
            found[j] = Head(head, source, -total)
            rooted = rooted or head == ROOT
    return found


def _heads_across(
    i: int,
    j: int,
    heads: Sequence[int | None],
    linked: Mapping[int, float],
    counterparts: Mapping[int, Mapping[int, float]],
) -> dict[int, float]:
    """The counterparts of the head of source word i, as target word j sees them, with probabilities.

    As far as that head is linked to j itself, it is the head above that counts.
    """
    found: dict[int, float] = defaultdict(float)
    weight, head = 1.0, heads[i]
    seen = {i}  # a source tree with a circle in it must not hold us up
    while head is not None and head not in seen and weight > 0:
        if head == ROOT:
            found[ROOT] += weight
            break
        for other, probability in counterparts.get(head, {}).items():
            if other != j:
                found[other] += weight * probability
        weight *= linked.get(head, 0.0)
        seen.add(head)
        head = heads[head]
    return found


def _leads_to(word: int, goal: int, heads: Sequence[Head | None]) -> bool:
    while word != ROOT:
        if word == goal:
            return True
        above = heads[word]
        if above is None:
            return False
        word = above.head
    return False


def carry_spans(
    links: Weighted,
    spans: Sequence[Span],
    target_length: int,
    threshold: float = THRESHOLD,
    split: bool = False,
) -> list[CarriedSpan]:
    """The target words of each source span, as one run of words.

    A target word is the span's if its links to words in the span weigh more than those to words outside (if as much: if the
    surest of them, the first among equals, leads into it).  Words without links between two of the span's words belong to
    it too; a word that is linked to another place cuts it, and the part that weighs most stays, with `split` all parts.
    So spans that do not overlap in the source do not in the target.  A part is as sure as its linked words on average.
    """
    partners: list[list[tuple[int, float]]] = [[] for _ in range(target_length)]
    for (i, j), probability in sorted(links.items()):
        if probability >= threshold:
            partners[j].append((i, probability))
    found = []
    for number, span in enumerate(spans):
        parts = _parts([_claim(linked, span) for linked in partners])
        if parts and not split:
            parts = [max(parts, key=lambda part: (sum(part[2]), -part[0]))]
        found += [CarriedSpan(low, high, span.label, number, sum(w) / len(w)) for low, high, w in parts]
    return found


def _claim(linked: Sequence[tuple[int, float]], span: Span) -> float | None:
    """How strongly a word belongs to a span: None if it belongs elsewhere, 0 if it has no link."""
    if not linked:
        return 0.0
    inside = [span.first <= i < span.last for i, _ in linked]
    weight = sum(p for (_, p), within in zip(linked, inside, strict=True) if within)
    rest = sum(p for (_, p), within in zip(linked, inside, strict=True) if not within)
    surest = max(range(len(linked)), key=lambda n: linked[n][1])
    claimed = weight > rest or (weight == rest and inside[surest])
    return min(weight, 1.0) if claimed else None


def _parts(claims: Sequence[float | None]) -> list[tuple[int, int, list[float]]]:
    """Runs of claimed words with nothing but words without links in them: first, last + 1, the linked words' weights."""
    parts: list[tuple[int, int, list[float]]] = []
    open_run = False
    for j, claim in enumerate(claims):
        if claim is None:
            open_run = False
        elif claim > 0:
            if open_run:
                first, _, weights = parts.pop()
                parts.append((first, j + 1, [*weights, claim]))
            else:
                parts.append((j, j + 1, [claim]))
            open_run = True
    return parts


class WordLabels:
    """The labels that words got over links, all over a text, to be lent where a word has no link.

    As in Yarowsky and Ngai (2001): what a word is mostly labelled with is right more often than nothing is.
    """

    def __init__(self) -> None:
        self._weights: dict[str, dict[str, float]] = {}

    def add(self, forms: Sequence[str], labels: Sequence[Label | None]) -> None:
        for form, label in zip(forms, labels, strict=True):
            # A label that is more wrong than right teaches nothing.
            if label is not None and label.probability > 0.5:
                weights = self._weights.setdefault(form.casefold(), defaultdict(float))
                weights[label.label] += label.probability

    def lend(self, forms: Sequence[str], labels: Sequence[Label | None], threshold: float = 0.5) -> list[Label | None]:
        """The labels; words without one, or with one less sure than the threshold, take the word's commonest."""
        return [
            label if label is not None and label.probability >= threshold else self._of(form) or label
            for form, label in zip(forms, labels, strict=True)
        ]

    def _of(self, form: str) -> Label | None:
        weights = self._weights.get(form.casefold())
        if not weights:
            return None
        weight, label = max((weight, label) for label, weight in weights.items())
        return Label(label, LENT, weight / sum(weights.values()))


# Links between words of other kinds (Ganchev, Gillenwater and Taskar 2009 leave them out before edges are carried).
_KIN = {"PROPN": "NOUN", "PRON": "NOUN", "AUX": "VERB"}


def keep_compatible(links: Weighted, source: Sequence[str | None], target: Sequence[str | None]) -> Weighted:
    """Links between words of the same part of speech, or nearly (nouns, names and pronouns; verbs and auxiliaries)."""

    def kind(part: str | None) -> str | None:
        return _KIN.get(part, part) if part is not None else None

    return {(i, j): p for (i, j), p in links.items() if kind(source[i]) == kind(target[j])}
