"""From links of pieces to the Alignments of whole pairs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.bitext.windows import Windows
from dovetail.decoding.decode import Links


def assemble(links: Links, pieces: Windows, source_lengths: np.ndarray, target_lengths: np.ndarray) -> Alignments:
    """One alignment for each pair, those without a piece (an empty side) included; windows are put together."""
    pair = np.repeat(pieces.pair, links.numbers)
    source = links.source + np.repeat(pieces.source_offset, links.numbers)
    target = links.target + np.repeat(pieces.target_offset, links.numbers)
    probability = links.probability
    if len(pieces) != len(np.unique(pieces.pair)):  # only windows can put links out of order
        order = np.lexsort((target, source, pair))
        pair, source, target, probability = pair[order], source[order], target[order], probability[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(pair, minlength=len(source_lengths)))])
    return Alignments(offsets, source, target, probability, source_lengths, target_lengths)


def pair_details(details: Mapping[str, np.ndarray], pieces: Windows, pairs: int) -> dict[str, np.ndarray]:
    """What a decoder says of pieces, for pairs: flags hold if they do for all pieces of a pair, numbers are added up."""
    result = {}
    for name, values in details.items():
        if values.dtype == bool:
            result[name] = np.ones(pairs, bool)
            np.logical_and.at(result[name], pieces.pair, values)
        else:
            result[name] = np.zeros(pairs, values.dtype)
            np.add.at(result[name], pieces.pair, values)
    return result


def sentence_scores(scores: np.ndarray, pieces: Windows, pairs: int) -> np.ndarray:
    """Log-probabilities (pairs, 2) from those of pieces; windows of a long pair are added up, overlaps and all."""
    total = np.zeros((pairs, 2))
    np.add.at(total, pieces.pair, scores)
    return total
