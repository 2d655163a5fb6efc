"""What links look like, beside how right they are: shape, agreement, fertility, dictionary, rare words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold
from dovetail.errors import InputError
from dovetail.evaluation.matching import as_sets, match_gold, tally, word_numbers
from dovetail.evaluation.score import Score, score
from dovetail.kernels.links.matching import match

Side = Literal["source", "target"]


def one_to_one_share(links: Alignments | Gold) -> float:
    """Share of links that are alone in their row and in their column, of all links; 1 without links."""
    if isinstance(links, Alignments):
        links = as_sets(links)
    if not len(links.source):
        return 1.0
    alone = np.ones(len(links.source), bool)
    for positions in (links.source, links.target):
        word = word_numbers(links.offsets, positions, _reach(links.offsets, positions))
        alone &= np.bincount(word)[word] == 1
    return float(alone.mean())


def symmetry(forward: Alignments, reverse: Alignments) -> float:
    """|forward ∩ reverse| / |forward ∪ reverse|, both with links source first; 1 when neither has a link."""
    if len(forward) != len(reverse):
        raise InputError(f"{len(forward):,} pairs forward, but {len(reverse):,} in reverse")
    forward, reverse = as_sets(forward), as_sets(reverse)
    entry = match(forward.offsets, forward.source, forward.target, reverse.offsets, reverse.source, reverse.target)
    both = np.count_nonzero(entry >= 0)
    either = len(forward.source) + len(reverse.source) - both
    return both / either if either else 1.0


@dataclass(frozen=True)
class Fertilities:
    """`histogram[k]` words take exactly k links, k = 0..`maximum` (Mermer and Saraçlar 2011, Table 3)."""

    histogram: np.ndarray

    @property
    def words(self) -> int:
        return int(self.histogram.sum())

    @property
    def maximum(self) -> int:
        return len(self.histogram) - 1

    @property
    def high(self) -> int:
        """Words with 4 to 7 links."""
        return int(self.histogram[4:8].sum())

    @property
    def excessive(self) -> int:
        """Words with more than 7 links: the mark of rare words that collect garbage."""
        return int(self.histogram[8:].sum())

    @property
    def mean(self) -> float:
        return float(self.histogram @ np.arange(len(self.histogram))) / max(1, self.words)


def fertilities(alignments: Alignments, side: Side = "source") -> Fertilities:
    """How many links each word of one side takes; words without a link count too, by the pairs' lengths."""
    alignments = as_sets(alignments)
    positions = _side(alignments, side)
    lengths = alignments.source_lengths if side == "source" else alignments.target_lengths
    words = _starts(lengths)
    fertility = np.bincount(word_numbers(alignments.offsets, positions, words), minlength=int(words[-1]))
    return Fertilities(np.bincount(fertility, minlength=1))


def dictionary_size(
    alignments: Alignments,
    source_ids: np.ndarray,
    source_offsets: np.ndarray,
    target_ids: np.ndarray,
    target_offsets: np.ndarray,
) -> int:
    """Number of distinct (source word, target word) that are linked (Mermer and Saraçlar 2011, Table 4).

    Pair n's source words are `source_ids[source_offsets[n]:source_offsets[n + 1]]`, and so for the target.
    """
    if not len(alignments.source):
        return 0
    source = source_ids[word_numbers(alignments.offsets, alignments.source, source_offsets)]
    target = target_ids[word_numbers(alignments.offsets, alignments.target, target_offsets)]
    low = int(target.min())  # ids may be negative where they mark unknown words
    entry = source.astype(np.int64) * (int(target.max()) - low + 1) + (target.astype(np.int64) - low)
    entry.sort()  # much faster than np.unique, which hashes
    return 1 + int(np.count_nonzero(np.diff(entry)))


class ByFrequency(NamedTuple):
    """Scores of the links whose word is rare and of those whose word is common."""

    rare: Score
    common: Score


def evaluate_by_frequency(
    alignments: Alignments,
    gold: Gold,
    counts: np.ndarray,
    offsets: np.ndarray,
    side: Side = "source",
    rare: int = 5,
) -> ByFrequency:
    """Precision and recall apart for rare and common words (Graça et al. 2010, section 4.3).

    A link, found or gold, is rare when its word on `side` came at most `rare` times in training.  `counts`
    says how often each token of that side came there; pair n owns `counts[offsets[n]:offsets[n + 1]]`.
    """
    matched = match_gold(alignments, gold)
    scores = []
    is_rare, gold_is_rare = (
        counts[word_numbers(links.offsets, _side(links, side), offsets)] <= rare for links in (matched.links, gold)
    )
    for links, gold_links, words in (
        (is_rare, gold_is_rare, f"{side}<={rare}"),
        (~is_rare, ~gold_is_rare, f"{side}>{rare}"),
    ):
        statistics = tally(matched, gold, links, gold_links)
        scores.append(score(statistics, gold, int(gold_links.sum()), words=words))
    return ByFrequency(*scores)


def _side(links: Alignments | Gold, side: Side) -> np.ndarray:
    if side not in ("source", "target"):
        raise InputError(f"no side {side!r}", remedy="Choose one of: source, target.")
    return links.source if side == "source" else links.target


def _starts(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _reach(offsets: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Where each pair's words start if a sentence ends at its last link: enough to tell words apart."""
    lengths = np.zeros(len(offsets) - 1, np.int64)
    linked = offsets[:-1] < offsets[1:]
    lengths[linked] = np.maximum.reduceat(positions, offsets[:-1][linked]) + 1
    return _starts(lengths)
