"""Phrase pairs where they stand, and how many of them gold links would give; `phrase_table` counts and scores them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold
from dovetail.errors import InputError
from dovetail.kernels.links import phrases as kernels
from dovetail.uses.aligned import Aligned

Phrase = tuple[int, int, int, int]


def phrase_pairs(
    links: list[tuple[int, int]], source_length: int, target_length: int, longest: int = 7
) -> list[Phrase]:
    """Phrase pairs (first i, last i, first j, last j), ends inclusive, that no link leaves and some link supports."""
    i, j = (np.array([link[side] for link in links], np.int64) for side in range(2))
    return [tuple(row) for row in kernels.extract(i, j, source_length, target_length, longest).tolist()]


class Occurrence(NamedTuple):
    """A phrase pair where it stands: in which pair, its spans, and its words."""

    pair: int
    phrase: Phrase
    source: tuple[str, ...]
    target: tuple[str, ...]


def occurrences(aligned: Aligned, longest: int = 7) -> Iterator[Occurrence]:
    """Every phrase pair of an aligned text, pair by pair, spans in order."""
    for n, (source, target, links, _) in enumerate(aligned):
        for phrase in phrase_pairs(links, len(source), len(target), longest):
            a, b, c, d = phrase
            yield Occurrence(n, phrase, tuple(source[a : b + 1]), tuple(target[c : d + 1]))


@dataclass(frozen=True)
class PhraseScore:
    """Precision, recall and F1 of extracted phrase pairs (Ayan and Dorr 2006); `hypothesis` and `gold` count them."""

    right: int
    hypothesis: int
    gold: int

    @property
    def precision(self) -> float:
        return self.right / self.hypothesis if self.hypothesis else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.gold if self.gold else 1.0

    @property
    def f1(self) -> float:
        total = self.hypothesis + self.gold
        return 2 * self.right / total if total else 1.0

    def to_dict(self) -> dict[str, float | int]:
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "right": self.right,
            "phrases": self.hypothesis,
            "gold_phrases": self.gold,
        }

    def __str__(self) -> str:
        scores = " ".join(
            f"{name} {100 * value:.1f}" for name, value in (("P", self.precision), ("R", self.recall), ("F1", self.f1))
        )
        return f"phrase pairs: {scores} | {self.hypothesis:,} extracted, {self.gold:,} in gold, {self.right:,} in both"


def evaluate_phrases(alignments: Alignments, gold: Gold, longest: int = 7, sure_only: bool = False) -> PhraseScore:
    """Phrase pairs from the alignments against those from gold links (possible ones included unless `sure_only`)."""
    if len(alignments) != len(gold):
        raise InputError(f"alignments of {len(alignments):,} pairs, gold of {len(gold):,}")
    right = hypothesis = reference = 0
    for n, alignment in enumerate(alignments):
        if not gold.annotated[n]:
            continue
        links = list(gold[n].sure if sure_only else gold[n].possible)
        # A hypothesis read from a file knows its sentences only up to the last link.
        I = max([alignment.source_length, *(i + 1 for i, _ in links)])
        J = max([alignment.target_length, *(j + 1 for _, j in links)])
        ours = set(phrase_pairs(alignment.links, I, J, longest))
        theirs = set(phrase_pairs(links, I, J, longest))
        right += len(ours & theirs)
        hypothesis += len(ours)
        reference += len(theirs)
    return PhraseScore(right, hypothesis, reference)
