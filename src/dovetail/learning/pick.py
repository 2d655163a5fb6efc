"""Which pairs to annotate: those whose links the model is least sure of."""

from __future__ import annotations

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.bitext.corpus import Bitext
from dovetail.learning.lesson import groups

CANDIDATE = 0.01  # cells below this are settled
LONGEST = 60  # words of a side: longer pairs tire those who annotate them


def worth_annotating(candidates: Alignments, bitext: Bitext, number: int) -> list[int]:
    """Numbers (from 0) of the pairs whose gold would teach most, best first; of pairs that share a sentence one at most.

    `candidates` are all cells above CANDIDATE with their probabilities.
    """
    worth = doubt(candidates)
    lengths = np.stack([bitext.source.lengths, bitext.target.lengths])
    worth[(lengths.max(axis=0) > LONGEST) | (lengths.min(axis=0) == 0)] = -1.0
    order = np.argsort(-worth, kind="stable")
    _, first = np.unique(groups(bitext, order), return_index=True)
    return [int(pair) for pair in order[np.sort(first)] if worth[pair] >= 0][:number]


def doubt(candidates: Alignments) -> np.ndarray:
    """The entropy of each pair's cells, in bits: how much is open, so that long and hard pairs come first."""
    p = np.clip(candidates.probability.astype(np.float64), 1e-6, 1 - 1e-6)
    entropy = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    running = np.append(0.0, np.cumsum(entropy))
    found: np.ndarray = running[candidates.offsets[1:]] - running[candidates.offsets[:-1]]
    return found
