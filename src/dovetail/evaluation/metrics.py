"""The metrics: functions of the counts |A|, |S|, |A ∩ S|, |A ∩ P|, of one corpus or of many at once.

A are the links to be scored, S the sure and P the possible gold links, S within P (Och and Ney 2003).  Each
function takes an array (..., 4) and returns an array (...).  Where a denominator is empty nothing went wrong:
without links precision is 1, without sure links recall is 1, without either AER is 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dovetail.registry import Registry


@dataclass(frozen=True)
class Metric:
    """A function of counts, and which way is better."""

    function: Callable[[np.ndarray], np.ndarray]
    lower_is_better: bool = False

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        return self.function(counts)

    def best(self, values: np.ndarray) -> int:
        """Index of the best value, the first of equals."""
        return int(np.argmin(values) if self.lower_is_better else np.argmax(values))


def aer(counts: np.ndarray) -> np.ndarray:
    """Alignment error rate (Och and Ney 2003): 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)."""
    links, sure, in_sure, in_possible = _columns(counts)
    return 1 - _ratio(in_sure + in_possible, links + sure)


def precision(counts: np.ndarray) -> np.ndarray:
    """|A ∩ P| / |A|."""
    links, _, _, in_possible = _columns(counts)
    return _ratio(in_possible, links)


def recall(counts: np.ndarray) -> np.ndarray:
    """|A ∩ S| / |S|."""
    _, sure, in_sure, _ = _columns(counts)
    return _ratio(in_sure, sure)


def f_measure(counts: np.ndarray, alpha: float = 0.5) -> np.ndarray:
    """1 / (alpha / precision + (1 - alpha) / recall) (Fraser and Marcu 2007); 0 where either is 0."""
    p, r = precision(counts), recall(counts)
    product = p * r
    return np.where(product > 0, product / np.where(product > 0, alpha * r + (1 - alpha) * p, 1), 0.0)


metrics: Registry[Metric] = Registry("metric")
metrics.add("aer", Metric(aer, lower_is_better=True), "alignment error rate, lower is better")
metrics.add("precision", Metric(precision), "share of links that are possible")
metrics.add("recall", Metric(recall), "share of sure links that were found")
metrics.add("f1", Metric(f_measure), "harmonic mean of precision and recall")


def find_metric(name: str) -> Metric:
    """A metric by name; f0.3 is `f_measure` with that alpha, which low favours recall, and high precision."""
    if match := re.fullmatch(r"f(0?\.[0-9]+)", name):
        alpha = float(match[1])
        return Metric(lambda counts: f_measure(counts, alpha))
    return metrics[name]


def _columns(counts: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.asarray(counts, np.float64), -1, 0)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Part of the whole; 1 of nothing."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), 1.0)
