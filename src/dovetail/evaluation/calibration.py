"""Do links with probability 0.8 turn out right 80 per cent of the time?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold
from dovetail.errors import InputError
from dovetail.evaluation.curve import check_probabilities
from dovetail.evaluation.matching import match_gold


@dataclass(frozen=True)
class Calibration:
    """A reliability diagram: bin b holds the candidates with `edges[b]` <= probability < `edges[b + 1]`.

    `count` of them, of mean probability `confidence`; the share `accuracy` of them is right (both nan in an
    empty bin).  The last bin includes its upper edge.
    """

    edges: np.ndarray
    count: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray

    @property
    def expected_error(self) -> float:
        """Expected calibration error (Naeini et al. 2015); 0 when there are no candidates.

        Sum over bins of count / total |accuracy - confidence|.
        """
        filled = self.count > 0
        return float(self.count[filled] @ self._gap[filled]) / max(1, int(self.count.sum()))

    @property
    def maximum_error(self) -> float:
        """The largest |accuracy - confidence| of a bin; 0 when there are no candidates."""
        return float(np.max(self._gap[self.count > 0], initial=0.0))

    @property
    def _gap(self) -> np.ndarray:
        return np.abs(self.accuracy - self.confidence)


def reliability_diagram(
    candidates: Alignments,
    gold: Gold,
    bins: int = 10,
    binning: Literal["width", "mass"] = "width",
    possible_is_right: bool = False,
) -> Calibration:
    """Compare probabilities with gold links, candidate by candidate.

    A candidate is right (1) if it is sure and wrong (0) if it is not even possible.  One that is possible but
    not sure is left out, since annotators did not settle it, or counts as right with `possible_is_right`.
    Gold links that are no candidates play no part: the diagram speaks of the probabilities that were given.

    `binning`: "width" cuts [0, 1] into equal parts; "mass" gives each bin the same number of candidates as
    nearly as can be done without parting equal probabilities, which may take fewer bins.
    """
    if bins < 1:
        raise InputError(f"{bins} bins asked for", remedy="Ask for at least 1, such as 10.")
    if binning not in ("width", "mass"):
        raise InputError(f"no binning {binning!r}", remedy="Choose one of: width, mass.")
    matched = match_gold(candidates, gold)
    check_probabilities(matched.links.probability)
    right = matched.possible if possible_is_right else matched.sure
    settled = right | ~matched.possible
    probability, right = matched.links.probability[settled].astype(np.float64), right[settled]

    edges = np.linspace(0, 1, bins + 1) if binning == "width" else _mass_edges(probability, bins)
    which = np.searchsorted(edges[1:-1], probability, side="right")
    count = np.bincount(which, minlength=len(edges) - 1)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(which, probability, len(count)) / count
        accuracy = np.bincount(which, right, len(count)) / count
    return Calibration(edges, count, confidence, accuracy)


def _mass_edges(probability: np.ndarray, bins: int) -> np.ndarray:
    """0, the probabilities that stand at 1/bins, 2/bins, ... of the sorted candidates (each once), 1."""
    if not len(probability):
        return np.array([0.0, 1.0])
    ascending = np.sort(probability)
    inner = np.unique(ascending[np.arange(1, bins) * len(ascending) // bins])
    # A cut at the lowest probability would leave an empty bin under it.
    return np.concatenate([[0.0], inner[inner > ascending[0]], [1.0]])
