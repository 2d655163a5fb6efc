"""How well the two sentences of a pair translate each other: for cleaning corpora, and for finding what to look at.

*Quality*, from 0 to 1, is the share of a sentence's information that is linked with confidence, on the side where it is
less: each word weighs as much as it is rare (-log of its relative frequency in the model's training text) and counts by the
probability of its surest link.  Sentences that were copied rather than translated lose it again: names and rare terms are
rightly copied, so here each word weighs as much as it is common, and numbers and signs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.bitext.corpus import Bitext, Side, TextOptions
from dovetail.bitext.normalise import Normaliser
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.uses.aligned import Aligned

CONFIDENT = 0.5  # a link that is more probable than not
COPIED, ALL_COPIED = 0.7, 0.95  # shares of copied words from which quality falls, and at which it is 0


class Scorer(Protocol):
    """What is asked of a trained `Aligner`."""

    text_options: TextOptions
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary

    def align(self, bitext: Bitext) -> Alignments: ...


class PairQuality(NamedTuple):
    """What is known of one pair; see `Qualities`."""

    quality: float
    forward: float
    reverse: float
    linked: float


@dataclass(frozen=True)
class Qualities(Sequence[PairQuality]):
    """One entry per pair, in arrays.

    `quality` is in [0, 1].  `forward` is the log-probability of the target's words given the source and their number, per
    word, `reverse` the other way round; neither is ever above 0.  `linked` is the share of the words of both sides that
    have a link with a probability above one half.
    """

    quality: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray
    linked: np.ndarray

    def __len__(self) -> int:
        return len(self.quality)

    def __getitem__(self, n: int) -> PairQuality:  # type: ignore[override]
        return PairQuality(*(float(getattr(self, field.name)[n]) for field in fields(self)))

    @classmethod
    def concatenate(cls, parts: Sequence[Qualities]) -> Qualities:
        columns = ([getattr(part, field.name) for part in parts] for field in fields(cls))
        return cls(*(np.concatenate([*column, np.empty(0)]) for column in columns))

    def best(self, share: float) -> np.ndarray:
        """Whether each pair is among the best share of all; among equals the earlier ones are."""
        kept = np.zeros(len(self), bool)
        kept[np.argsort(-self.quality, kind="stable")[: int(share * len(self) + 1e-9)]] = True
        return kept


def score_pairs(aligner: Scorer, bitext: Bitext) -> Qualities:
    """The quality of every pair, by a trained aligner."""
    return qualities(aligner, bitext, aligner.align(bitext))


def score_parts(aligner: Scorer, aligned: Aligned) -> Iterator[Qualities]:
    """As `score_pairs`, part by part, for text that does not fit into memory."""
    for part in aligned.parts():
        yield qualities(aligner, part.bitext, part.alignments)


def qualities(aligner: Scorer, bitext: Bitext, alignments: Alignments) -> Qualities:
    """The quality of pairs that the aligner has aligned."""
    normalise = aligner.text_options.normaliser
    vocabularies = aligner.source_vocabulary, aligner.target_vocabulary
    sides = bitext.source, bitext.target
    pair = np.repeat(np.arange(len(alignments)), np.diff(alignments.offsets))
    tokens = [
        side.offsets[pair] + place for side, place in zip(sides, (alignments.source, alignments.target), strict=True)
    ]
    surest = [_surest(side, token, alignments.probability) for side, token in zip(sides, tokens, strict=True)]
    weights = [_information(side, known, normalise) for side, known in zip(sides, vocabularies, strict=True)]
    totals = [_sums(side, weight) for side, weight in zip(sides, weights, strict=True)]
    covered = [
        _sums(side, sure * weight) / np.maximum(total, 1e-9)
        for side, sure, weight, total in zip(sides, surest, weights, totals, strict=True)
    ]
    kept = 1 - np.clip((_copied(bitext, tokens, vocabularies[0], normalise) - COPIED) / (ALL_COPIED - COPIED), 0, 1)
    lengths = [side.lengths for side in sides]
    linked = sum(_sums(side, (sure > CONFIDENT).astype(float)) for side, sure in zip(sides, surest, strict=True))
    forward, reverse = (
        np.minimum(np.asarray(alignments.details[name], float) / np.maximum(length, 1), 0)  # rounding may exceed 0
        for name, length in (("score_forward", lengths[1]), ("score_reverse", lengths[0]))
    )
    return Qualities(
        np.clip(np.minimum(*covered), 0, 1) * kept,
        forward,
        reverse,
        linked / np.maximum(lengths[0] + lengths[1], 1),
    )


def _surest(side: Side, tokens: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """The highest probability of a link of each token."""
    found = np.zeros(len(side.ids))
    np.maximum.at(found, tokens, probability)
    return found


def _counts(side: Side, known: Vocabulary, normalise: Normaliser) -> np.ndarray:
    """How often each token's word was in the training text."""
    numbers = side.vocabulary.numbers_in(known, normalise)
    counts = np.where(numbers >= 0, known.counts[numbers], 0) if len(known) else np.zeros(len(numbers), np.int64)
    found: np.ndarray = counts[side.ids]
    return found


def _information(side: Side, known: Vocabulary, normalise: Normaliser) -> np.ndarray:
    """-log of each token's relative frequency in the training text; of a new word as if it had been half there."""
    weights: np.ndarray = np.log(known.counts.sum() + 1.0) - np.log(_counts(side, known, normalise) + 0.5)
    return np.maximum(weights, 1e-3)


def _sums(side: Side, values: np.ndarray) -> np.ndarray:
    """The sum over each sentence's tokens, which is 0 for an empty one."""
    totals: np.ndarray = np.concatenate(([0.0], np.cumsum(values)))
    return totals[side.offsets[1:]] - totals[side.offsets[:-1]]


def _copied(bitext: Bitext, tokens: Sequence[np.ndarray], known: Vocabulary, normalise: Normaliser) -> np.ndarray:
    """The share of each source sentence that is linked to itself; words weigh as much as they are common."""
    source, target = bitext.source, bitext.target
    letters = np.array([any(map(str.isalpha, word)) for word in source.vocabulary.words], bool)
    same = source.vocabulary.numbers_in(target.vocabulary)
    copies = np.zeros(len(source.ids))
    copies[tokens[0][same[source.ids[tokens[0]]] == target.ids[tokens[1]]]] = 1.0
    common = np.log1p(_counts(source, known, normalise)) * letters[source.ids]
    share: np.ndarray = _sums(source, copies * common) / np.maximum(_sums(source, common), 1e-9)
    return share
