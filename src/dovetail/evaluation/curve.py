"""Precision against recall as the threshold on link probabilities falls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold
from dovetail.errors import InputError
from dovetail.evaluation.matching import match_gold
from dovetail.evaluation.metrics import metrics


@dataclass(frozen=True)
class Curve:
    """Point k keeps the candidates with probability >= `threshold[k]`; these fall from inf, which keeps none.

    `counts` (K, 4) holds |A|, |S|, |A ∩ S|, |A ∩ P| of each point, so every metric is known along the curve.
    """

    threshold: np.ndarray
    counts: np.ndarray

    @property
    def precision(self) -> np.ndarray:
        return self.values("precision")

    @property
    def recall(self) -> np.ndarray:
        """Never falls along the curve."""
        return self.values("recall")

    @property
    def links(self) -> np.ndarray:
        """Candidates kept, (K,) int64."""
        return self.counts[:, 0]

    def values(self, metric: str) -> np.ndarray:
        """A metric at each point."""
        return metrics[metric](self.counts)

    @property
    def area(self) -> float:
        """Area under the curve in steps, uninterpolated: sum of (recall[k] - recall[k - 1]) precision[k].

        This is the integral of `precision_at`.  At the left end nothing is made up: from recall 0 to that of
        the first threshold the precision is the first threshold's.  At the right end, recall that no
        threshold reaches counts with precision 0, so the area is at most the share of sure links among the
        candidates.
        """
        return float(np.diff(self.recall, prepend=0.0) @ self.precision)

    def precision_at(self, recall: float) -> float:
        """Precision at the highest threshold that reaches this recall; 0 where none does."""
        k = self._reach(recall)
        return float(self.precision[k]) if k < len(self.threshold) else 0.0

    def threshold_at(self, recall: float) -> float:
        """Highest threshold that reaches this recall (Graça et al. 2010, section 4: another system's)."""
        k = self._reach(recall)
        if k == len(self.threshold):
            raise InputError(
                f"recall {recall:g} is out of reach: {self.recall[-1]:.4f} of the sure links are candidates",
                remedy="Keep candidates of lower probability, or ask for less.",
            )
        return self._cut(k)

    def best_threshold(self, metric: str = "aer") -> float:
        """Threshold with the best value of the metric, the highest of equals; inf where no link is best."""
        return self._cut(metrics[metric].best(self.values(metric)))

    def _reach(self, recall: float) -> int:
        return int(np.searchsorted(self.recall, recall, side="left"))

    def _cut(self, k: int) -> float:
        """Halfway to the next lower probability: the same links for decoders that keep >= and that keep >."""
        below = self.threshold[k + 1] if k + 1 < len(self.threshold) else 0.0
        return float((self.threshold[k] + below) / 2)


def precision_recall_curve(candidates: Alignments, gold: Gold) -> Curve:
    """One point for each distinct probability among the candidates, and one for no links at all.

    `candidates` should hold every cell whose probability is above a small floor: the curve ends at the floor.
    Candidates of equal probability enter together, so their order plays no role.
    """
    matched = match_gold(candidates, gold)
    probability = matched.links.probability
    check_probabilities(probability)
    # The bits of a float32 in [0, 1], read as an integer, have the same order and leave two bits for marks:
    # one sort of integers, several times faster than finding the order and gathering by it.
    bits = np.abs(probability).astype(np.float32).view(np.uint32)
    marks = matched.possible.astype(np.uint32) << 1 | matched.sure
    descending = np.sort(bits << 2 | marks)[::-1]
    bits, possible, sure = descending >> 2, descending >> 1 & 1, descending & 1
    last = np.flatnonzero(np.diff(bits, append=~bits[-1:]))
    counts = np.zeros((len(last) + 1, 4), np.int64)
    counts[1:, 0] = last + 1
    counts[:, 1] = np.count_nonzero(gold.sure)
    counts[1:, 2] = np.cumsum(sure, dtype=np.int64)[last]
    counts[1:, 3] = np.cumsum(possible, dtype=np.int64)[last]
    return Curve(np.append(np.inf, bits[last].view(np.float32).astype(np.float64)), counts)


def check_probabilities(probability: np.ndarray) -> None:
    """Refuse what is no probability, nan included, before it hides somewhere in a sorted list."""
    wrong = ~((probability >= 0) & (probability <= 1))
    if wrong.any():
        raise InputError(f"{probability[np.argmax(wrong)]} among the link probabilities is not in [0, 1]")
