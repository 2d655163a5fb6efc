"""Scores of an alignment against gold links: counts a pair first, everything else from them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold
from dovetail.evaluation.matching import match_gold, tally
from dovetail.evaluation.metrics import f_measure, metrics
from dovetail.evaluation.significance import Interval, percentile_interval, resample

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Score:
    """|A| `links`, |S| `sure`, |P| `possible`, |A ∩ S| `in_sure`, |A ∩ P| `in_possible`, and what they imply.

    The metrics are fractions in [0, 1].  `intervals` maps a metric's name to its bootstrap interval, where
    one was asked for.
    """

    links: int
    sure: int
    possible: int
    in_sure: int
    in_possible: int
    sentences: int
    signature: str
    intervals: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def aer(self) -> float:
        """1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|); 0 when there are neither links nor sure links."""
        return self._value("aer")

    @property
    def precision(self) -> float:
        """|A ∩ P| / |A|; 1 when there are no links."""
        return self._value("precision")

    @property
    def recall(self) -> float:
        """|A ∩ S| / |S|; 1 when there are no sure links."""
        return self._value("recall")

    @property
    def f1(self) -> float:
        """2 precision recall / (precision + recall); 0 when both are 0."""
        return self._value("f1")

    def f(self, alpha: float) -> float:
        """1 / (alpha / precision + (1 - alpha) / recall) (Fraser and Marcu 2007): low alphas favour recall."""
        return float(f_measure(self._counts, alpha))

    @property
    def interval(self) -> Interval | None:
        """The interval of AER, None without bootstrap."""
        return self.intervals.get("aer")

    def __str__(self) -> str:
        interval = "" if self.interval is None else " [{:.2f}, {:.2f}]".format(*(100 * x for x in self.interval))
        return (
            f"AER {100 * self.aer:.2f}{interval} | P {100 * self.precision:.1f} R {100 * self.recall:.1f} "
            f"F1 {100 * self.f1:.1f} | {self.sentences:,} pairs, {self.links:,} links | sig: {self.signature}"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the metrics with their intervals, where there are any."""
        from dovetail import markup

        rows = []
        for name in metrics:
            interval = self.intervals.get(name)
            spread = "" if interval is None else f"{100 * interval.low:.2f} – {100 * interval.high:.2f}"
            rows.append([name, f"{100 * self._value(name):.2f}", spread])
        columns = ["metric", "per cent", "95 per cent interval"] if self.intervals else ["metric", "per cent"]
        cells = [row[: len(columns)] for row in rows]
        caption = f"{self.sentences:,} pairs, {self.links:,} links, {self.sure:,} sure and {self.possible:,} possible"
        return markup.table(columns, cells, f"{caption} | {self.signature}")

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        result: dict[str, Any] = {name: self._value(name) for name in metrics}
        for name in ("links", "sentences", "sure", "possible", "in_sure", "in_possible", "signature"):
            result[name] = getattr(self, name)
        if self.intervals:
            result["intervals"] = {name: list(interval) for name, interval in self.intervals.items()}
        return result

    def to_records(self) -> list[dict[str, Any]]:
        """One dict per metric: its name, value and interval (None without bootstrap)."""
        found = []
        for name in metrics:
            low, high = self.intervals.get(name, (None, None))
            found.append({"metric": name, "value": self._value(name), "low": low, "high": high})
        return found

    def to_pandas(self) -> pandas.DataFrame:
        """What `to_records` gives, as a data frame; needs the extra `pandas`."""
        from dovetail.alignments.frames import pandas_module

        return pandas_module().DataFrame.from_records(self.to_records())

    @property
    def _counts(self) -> np.ndarray:
        return np.array([self.links, self.sure, self.in_sure, self.in_possible])

    def _value(self, metric: str) -> float:
        return float(metrics[metric](self._counts))


def statistics(alignments: Alignments, gold: Gold) -> np.ndarray:
    """|A|, |S|, |A ∩ S|, |A ∩ P| of each annotated pair, (N, 4) int64: what scores, intervals and tests are made of."""
    return tally(match_gold(alignments, gold), gold)


def evaluate(alignments: Alignments, gold: Gold, bootstrap: int = 0, seed: int = 0) -> Score:
    """Score all pairs as one corpus; with `bootstrap` samples every metric gets a 95 per cent interval."""
    counts = statistics(alignments, gold)
    possible = len(gold.source)
    if not bootstrap:
        return score(counts, gold, possible)
    drawn = resample(counts, bootstrap, seed)
    intervals = {name: percentile_interval(metric(drawn)) for name, metric in metrics.items()}
    return score(counts, gold, possible, intervals, bootstrap=bootstrap, seed=seed, confidence=0.95)


def score(
    counts: np.ndarray,
    gold: Gold,
    possible: int,
    intervals: Mapping[str, Interval] | None = None,
    **choices: object,
) -> Score:
    """The Score of `statistics`; `choices` are what else one must know to get the same numbers again."""
    links, sure, in_sure, in_possible = (int(total) for total in counts.sum(axis=0))
    facts = {
        "dovetail": _version(),
        "metric": "aer",
        "gold": f"sha256:{fingerprint(gold)}",
        "pairs": len(counts),
        "sure": sure,
        "possible": possible,
        **choices,
    }
    signature = "|".join(f"{name} {value}" for name, value in facts.items())
    return Score(links, sure, possible, in_sure, in_possible, len(counts), signature, dict(intervals or {}))


def fingerprint(gold: Gold) -> str:
    """Start of the SHA-256 of the annotated pairs' links, in hexadecimal: the same for every machine and file format."""
    digest = hashlib.sha256()
    offsets = np.append(gold.offsets[:1], gold.offsets[1:][gold.annotated])
    for array, kind in ((offsets, "<i8"), (gold.source, "<i4"), (gold.target, "<i4"), (gold.sure, "u1")):
        digest.update(array.astype(kind, copy=False).tobytes())
    return digest.hexdigest()[:8]


def _version() -> str:
    try:
        return version("dovetail-align")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "unknown"
