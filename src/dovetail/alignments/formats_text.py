"""Where the formats that show words get them from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dovetail.alignments.alignments import Alignments

Sentence = tuple[str, Sequence[tuple[int, int]]]


class Text(Protocol):
    """The sentences of the pairs: each as (raw text, [(start, end) of each token in it])."""

    def source(self, n: int) -> Sentence: ...

    def target(self, n: int) -> Sentence: ...


def sentences(text: Text, alignments: Alignments, n: int) -> tuple[Sentence, Sentence]:
    """Pair n's two sentences; they must have at least the words that the alignment speaks of."""
    pair = text.source(n), text.target(n)
    lengths = alignments.source_lengths[n], alignments.target_lengths[n]
    for side, (_, spans), length in zip(("source", "target"), pair, lengths, strict=True):
        if len(spans) < length:
            raise ValueError(f"pair {n}: {length} {side} words are aligned, but the text has {len(spans)}")
    return pair


def tokens(sentence: Sentence) -> list[str]:
    raw, spans = sentence
    return [raw[start:end] for start, end in spans]
