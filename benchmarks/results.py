"""What the rounds of a benchmark gave: statistics before scores, medians over rounds, paired tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median, median_low
from typing import Any

import numpy as np

from aligners import OWN, Run
from dovetail.alignments.gold import Gold
from dovetail.evaluation.metrics import metrics
from dovetail.evaluation.score import statistics
from dovetail.evaluation.significance import Comparison, compare
from measure import Measurement, medians


@dataclass
class Result:
    """All rounds of one aligner: `counts[output][r]` are round r's statistics (N, 4) of the test pairs."""

    name: str
    version: str
    measurements: list[Measurement] = field(default_factory=list)
    counts: dict[str, list[np.ndarray]] = field(default_factory=dict)
    failure: str | None = None

    def add(self, run: Run, gold: Gold) -> None:
        self.measurements.append(run.measurement)
        for output, links in run.links.items():
            self.counts.setdefault(output, []).append(statistics(links, gold))

    @property
    def cost(self) -> Measurement:
        return medians(self.measurements)

    def values(self, output: str, metric: str) -> list[float]:
        """The metric of that output, one value a round."""
        return [float(metrics[metric](counts.sum(axis=0))) for counts in self.counts[output]]

    def value(self, output: str, metric: str) -> float:
        return median(self.values(output, metric))

    def best(self) -> str:
        """The output with the lowest AER, chosen on the test set: this favours whoever is asked."""
        return min(self.counts, key=lambda output: self.value(output, "aer"))

    def typical(self, output: str) -> np.ndarray:
        """Statistics of the round whose AER is the (lower) median: it stands for all in a paired test."""
        values = self.values(output, "aer")
        return self.counts[output][values.index(median_low(values))]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "version": self.version,
            "failure": self.failure,
            "runs": [measurement.to_dict() for measurement in self.measurements],
            "median": self.cost.to_dict() if self.measurements else None,
            "best": self.best() if self.counts else None,
            "outputs": {
                output: {metric: self.values(output, metric) for metric in ("aer", "precision", "recall", "f1")}
                for output in self.counts
            },
        }


def paired(judged: Result, others: list[Result]) -> list[tuple[Result, Comparison]]:
    """The judged aligner's own output against every other one's best."""
    output = OWN if OWN in judged.counts else judged.best()
    mine = judged.typical(output)
    return [(other, compare(mine, other.typical(other.best()), "aer")) for other in others if other.counts]
