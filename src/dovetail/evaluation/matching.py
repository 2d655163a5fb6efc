"""Links beside gold links: which of them are sure, which possible, and how many a pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.formats_packing import sort_links
from dovetail.alignments.gold import Gold
from dovetail.errors import InputError
from dovetail.kernels.links.matching import match


def as_sets(alignments: Alignments) -> Alignments:
    """The links as the definitions want them: sorted, each once, a repeated one with its top probability."""
    counts = np.diff(alignments.offsets)
    packed = sort_links(counts, alignments.source, alignments.target, alignments.probability)
    return Alignments(*packed, alignments.source_lengths, alignments.target_lengths, alignments.details)


def per_pair(offsets: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """How many entries of each pair the mask holds, (N,) int64."""
    running = np.concatenate([[0], np.cumsum(mask)])
    return running[offsets[1:]] - running[offsets[:-1]]


def word_numbers(offsets: np.ndarray, positions: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Place in the packed corpus of the word that each link touches; pair n's words start at `words[n]`."""
    if len(words) != len(offsets):
        raise InputError(f"links of {len(offsets) - 1:,} pairs, but words of {len(words) - 1:,} pairs")
    outside = positions >= np.repeat(np.diff(words), np.diff(offsets))
    if outside.any():
        k = int(np.argmax(outside))
        n = int(np.searchsorted(offsets, k, side="right")) - 1
        raise InputError(
            f"pair {n + 1:,}: a link to word {positions[k]} of a sentence of {words[n + 1] - words[n]} words",
            remedy="Positions count from 0. Were the links made from the same tokens?",
        )
    return np.repeat(words[:-1], np.diff(offsets)) + positions


@dataclass(frozen=True)
class Matched:
    """Links as sets, and for each whether it is sure and whether it is possible (which includes sure)."""

    links: Alignments
    sure: np.ndarray
    possible: np.ndarray


def _of_pairs(alignments: Alignments, kept: np.ndarray) -> Alignments:
    """The alignments with the links of some pairs alone."""
    if kept.all():
        return alignments
    counts = np.diff(alignments.offsets)
    links, offsets = np.repeat(kept, counts), np.append(0, np.cumsum(np.where(kept, counts, 0)))
    return Alignments(
        offsets,
        alignments.source[links],
        alignments.target[links],
        alignments.probability[links],
        alignments.source_lengths,
        alignments.target_lengths,
        alignments.details,
    )


def match_gold(alignments: Alignments, gold: Gold) -> Matched:
    """Look every link up in the gold links; the two must cover the same pairs.

    Links of pairs that nobody annotated are left out: they are neither right nor wrong.
    """
    if len(alignments) != len(gold):
        raise InputError(
            f"{len(alignments):,} pairs in the alignment, but {len(gold):,} pairs in the gold links",
            remedy="Score exactly the pairs that have gold links, one line per pair, empty lines included.",
        )
    links = as_sets(_of_pairs(alignments, gold.annotated))
    entry = match(links.offsets, links.source, links.target, gold.offsets, gold.source, gold.target)
    possible = entry >= 0
    sure = possible.copy()
    sure[possible] = gold.sure[entry[possible]]
    return Matched(links, sure, possible)


def tally(
    matched: Matched, gold: Gold, links: np.ndarray | None = None, gold_links: np.ndarray | None = None
) -> np.ndarray:
    """|A|, |S|, |A ∩ S|, |A ∩ P| of each annotated pair, (N, 4) int64; masks keep a part of links and gold links."""
    kept = np.ones(len(matched.sure), bool) if links is None else links
    sure = gold.sure if gold_links is None else gold.sure & gold_links
    offsets = matched.links.offsets
    of_links = (per_pair(offsets, mask) for mask in (matched.sure & kept, matched.possible & kept))
    table = np.stack([per_pair(offsets, kept), per_pair(gold.offsets, sure), *of_links], axis=1)
    return table[gold.annotated]
