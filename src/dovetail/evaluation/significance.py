"""How far chance could move a score: bootstrap intervals and paired tests, all made from counts per pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dovetail.errors import InputError
from dovetail.evaluation.metrics import find_metric

CELLS = 4_000_000  # draws held in memory at a time; the numbers drawn don't depend on it
TIE = 1e-12  # two differences closer than this are one value that was rounded in two ways


class Interval(NamedTuple):
    """Bounds of a confidence interval."""

    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same pairs; `difference` is first minus second, so a negative AER favours the first.

    `interval` of the difference comes from the paired bootstrap.  `p_value` (two-sided) is that of the
    approximate randomization test, `bootstrap_p_value` that of the paired bootstrap.
    """

    metric: str
    first: float
    second: float
    interval: Interval
    p_value: float
    bootstrap_p_value: float
    confidence: float
    samples: int
    seed: int

    @property
    def difference(self) -> float:
        return self.first - self.second

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.metric} {100 * self.first:.2f} against {100 * self.second:.2f}: difference "
            f"{100 * self.difference:+.2f} [{100 * low:+.2f}, {100 * high:+.2f}], p = {self.p_value:.4f} "
            f"(approximate randomization, {self.samples:,} samples, seed {self.seed})"
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "metric": self.metric,
            "first": self.first,
            "second": self.second,
            "difference": self.difference,
            "interval": list(self.interval),
            "p_value": self.p_value,
            "bootstrap_p_value": self.bootstrap_p_value,
            "confidence": self.confidence,
            "samples": self.samples,
            "seed": self.seed,
        }


def resample(statistics: np.ndarray, samples: int, seed: int = 0) -> np.ndarray:
    """Counts of corpora of the same size, pairs drawn with replacement (Efron 1979): (samples, columns)."""
    if samples < 1:
        raise InputError(f"{samples:,} samples asked for", remedy="Ask for 1,000 or more.")
    pairs, columns = statistics.shape
    counts = np.zeros((samples, columns), np.int64)
    if pairs == 0:
        return counts
    generator = np.random.Generator(np.random.Philox(seed))
    values = statistics.astype(np.float64)  # integers below 2^53: the matrix product is exact, and fast
    chunk = max(1, CELLS // pairs)
    for start in range(0, samples, chunk):
        rows = min(chunk, samples - start)
        drawn = generator.integers(pairs, size=(rows, pairs)) + pairs * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * pairs).reshape(rows, pairs)
        counts[start : start + rows] = times @ values
    return counts


def percentile_interval(values: np.ndarray, confidence: float = 0.95) -> Interval:
    """The middle `confidence` of the values."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence {confidence}", remedy="Choose a value between 0 and 1, such as 0.95.")
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def bootstrap(
    statistics: np.ndarray, metric: str = "aer", samples: int = 1000, seed: int = 0, confidence: float = 0.95
) -> Interval:
    """Percentile bootstrap interval over pairs of a metric of `statistics` (N, 4)."""
    return percentile_interval(find_metric(metric)(resample(statistics, samples, seed)), confidence)


def compare(
    first: np.ndarray,
    second: np.ndarray,
    metric: str = "aer",
    samples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Comparison:
    """Is the difference between two systems' `statistics` (N, 4) on the same gold links more than chance?

    Paired bootstrap (Koehn 2004): both systems are scored on the same drawn pairs.  Approximate randomization
    (Noreen 1989): if the systems don't differ, their outputs for a pair may be swapped; the p-value is the
    share of random swaps with a difference at least as large, (1 + hits) / (1 + samples), so never 0.
    """
    if first.shape != second.shape or not np.array_equal(first[:, 1], second[:, 1]):
        raise InputError(
            f"the two systems were scored on different gold links ({len(first):,} and {len(second):,} pairs)",
            remedy="Compare statistics of the same pairs and the same gold file.",
        )
    measure = find_metric(metric)
    of_first, of_second = float(measure(first.sum(axis=0))), float(measure(second.sum(axis=0)))
    observed = abs(of_first - of_second)

    resampled = resample(np.hstack([first, second]), samples, seed)
    spread = measure(resampled[:, :4]) - measure(resampled[:, 4:])
    # Under the null hypothesis the differences scatter in the same way, but around 0.
    bootstrap_hits = np.count_nonzero(np.abs(spread - spread.mean()) >= observed - TIE)

    swapped = swap(first, second, samples, seed)
    shuffled = measure(swapped[:, :4]) - measure(swapped[:, 4:])
    hits = np.count_nonzero(np.abs(shuffled) >= observed - TIE)
    return Comparison(
        metric,
        of_first,
        of_second,
        percentile_interval(spread, confidence),
        (1 + hits) / (1 + samples),
        (1 + bootstrap_hits) / (1 + samples),
        confidence,
        samples,
        seed,
    )


def swap(first: np.ndarray, second: np.ndarray, samples: int, seed: int = 0) -> np.ndarray:
    """Counts of both systems after each pair's outputs were swapped or not by a fair coin: (samples, 8)."""
    generator = np.random.Generator(np.random.Philox(seed).jumped())  # apart from the bootstrap's numbers
    gain = (second - first).astype(np.float64)  # exact, as in `resample`
    moved = np.empty((samples, gain.shape[1]))
    chunk = max(1, CELLS // max(1, len(first)))
    for start in range(0, samples, chunk):
        coins = generator.integers(2, size=(min(chunk, samples - start), len(first)), dtype=np.int64)
        moved[start : start + chunk] = coins.astype(np.float64) @ gain
    return np.hstack([first.sum(axis=0) + moved, second.sum(axis=0) - moved])
