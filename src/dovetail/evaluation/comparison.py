"""Any number of systems, each of one run or several, on the same gold links: scores, intervals, and tests of all pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import lcm
from typing import Any

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold
from dovetail.errors import InputError
from dovetail.evaluation import significance
from dovetail.evaluation.metrics import find_metric, metrics
from dovetail.evaluation.score import score, statistics
from dovetail.evaluation.significance import Comparison, Interval, bootstrap

Runs = Alignments | Sequence[Alignments]


@dataclass(frozen=True)
class SystemScore:
    """A system's scores: all metrics from the counts of all its runs; `spread` is the deviation of `metric` over runs."""

    name: str
    runs: int
    values: Mapping[str, float]
    interval: Interval
    spread: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "runs": self.runs,
            **self.values,
            "interval": list(self.interval),
            "spread": self.spread,
        }


@dataclass(frozen=True)
class PairTest:
    """Two systems against each other; `holm` is the p-value corrected for all tests of the report (Holm 1979)."""

    first: str
    second: str
    comparison: Comparison
    holm: float

    def to_dict(self) -> dict[str, Any]:
        return {**self.comparison.to_dict(), "first": self.first, "second": self.second, "holm_p_value": self.holm}


@dataclass(frozen=True)
class Report:
    """What `compare_systems` found; `str` and `table` show it."""

    metric: str
    systems: list[SystemScore]
    tests: list[PairTest]
    signature: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "metric": self.metric,
            "systems": [system.to_dict() for system in self.systems],
            "tests": [test.to_dict() for test in self.tests],
            "signature": self.signature,
        }

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Heads and cells of the table of systems; the metric that is tested comes with its interval."""
        names = list(self.systems[0].values)
        several = any(system.runs > 1 for system in self.systems)
        heads = ["system", *(["runs"] if several else [])]
        for name in names:
            heads.append(_label(name))
            if name == self.metric:
                heads += ["95 per cent", *(["over runs"] if several else [])]
        cells = []
        for system in self.systems:
            row = [system.name, *([str(system.runs)] if several else [])]
            for name in names:
                row.append(_per_cent(system.values[name]))
                if name == self.metric:
                    low, high = system.interval
                    row.append(f"[{_per_cent(low)}, {_per_cent(high)}]")
                    row += [f"±{_per_cent(system.spread)}"] if several else []
            cells.append(row)
        return heads, cells

    def test_rows(self) -> tuple[list[str], list[list[str]]]:
        """Heads and cells of the table of tests."""
        heads = ["first", "second", f"{_label(self.metric)} difference", "95 per cent", "p", "p (Holm)"]
        cells = []
        for test in self.tests:
            low, high = test.comparison.interval
            difference = f"{100 * test.comparison.difference:+.2f}"
            interval = f"[{100 * low:+.2f}, {100 * high:+.2f}]"
            p, holm = f"{test.comparison.p_value:.4f}", f"{test.holm:.4f}"
            cells.append([test.first, test.second, difference, interval, p, holm])
        return heads, cells

    def __str__(self) -> str:
        return self.table("text")

    def table(self, format: str) -> str:
        """Both tables as `text`, `markdown` or `latex`, without an end of the last line."""
        draw = {"text": _text, "markdown": _markdown, "latex": _latex}[format]
        tables = [draw(*self.rows())] + ([draw(*self.test_rows())] if self.tests else [])
        sign = {"text": "sig: {}", "markdown": "sig: `{}`", "latex": "% sig: {}"}[format].format(self.signature)
        return "\n\n".join([*tables, sign])


def compare(
    first: Alignments | np.ndarray,
    second: Alignments | np.ndarray,
    gold: Gold | None = None,
    metric: str = "aer",
    samples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Comparison:
    """Is the difference between two alignments' scores against gold links more than chance?

    Without `gold`, the two are `statistics` that were made before.  `metric` is one of `metrics`, or f0.3 and the like.  For
    more systems, or several runs of them, see `compare_systems`.
    """
    counts = []
    for system in (first, second):
        if isinstance(system, Alignments):
            if gold is None:
                raise InputError(
                    "alignments are compared by gold links", remedy="Give them: compare(one, other, gold)."
                )
            counts.append(statistics(system, gold))
        else:
            counts.append(system)
    return significance.compare(counts[0], counts[1], metric, samples, seed, confidence)


def compare_systems(
    systems: Mapping[str, Runs], gold: Gold, metric: str = "aer", samples: int = 10_000, seed: int = 0
) -> Report:
    """Scores of named systems with intervals, and paired tests of all pairs of them with Holm's correction.

    A system is its alignments, or a list of those of several runs (with other seeds, say): a pair's counts are then the mean
    over runs, and the tests draw and swap all runs of a pair together.
    """
    if not systems:
        raise InputError("no system to compare", remedy="Name at least one.")
    runs = {name: [value] if isinstance(value, Alignments) else list(value) for name, value in systems.items()}
    counts = {name: [statistics(run, gold) for run in row] for name, row in runs.items()}
    measures = {name: find_metric(name) for name in dict.fromkeys([*metrics, metric])}
    # Means over different numbers of runs as integers: all metrics are ratios, so a common factor does not matter.
    factor = lcm(*(len(row) for row in counts.values()))
    means = {name: np.sum(row, axis=0) * (factor // len(row)) for name, row in counts.items()}
    scores = []
    for name, row in counts.items():
        total = means[name].sum(axis=0)
        values = {other: float(measure(total)) for other, measure in measures.items()}
        of_runs = [float(measures[metric](run.sum(axis=0))) for run in row]
        spread = float(np.std(of_runs, ddof=1)) if len(row) > 1 else 0.0
        scores.append(SystemScore(name, len(row), values, bootstrap(means[name], metric, samples, seed), spread))
    tests = [
        (one, other, significance.compare(means[one], means[other], metric, samples, seed))
        for one, other in combinations(means, 2)
    ]
    corrected = holm([comparison.p_value for *_, comparison in tests])
    any_run = next(iter(counts.values()))[0]
    signature = score(any_run, gold, len(gold.source), samples=samples, seed=seed).signature
    signature = signature.replace("metric aer", f"metric {metric}")
    return Report(metric, scores, [PairTest(*test, p) for test, p in zip(tests, corrected, strict=True)], signature)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values that keep the chance of any false alarm below their level (Holm 1979), in the same order."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    result = [0.0] * len(p_values)
    highest = 0.0
    for rank, n in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[n]))
        result[n] = highest
    return result


def _label(metric: str) -> str:
    return {"aer": "AER", "precision": "P", "recall": "R", "f1": "F1"}.get(metric, metric.upper())


def _per_cent(value: float) -> str:
    return f"{100 * value:.2f}"


def _text(heads: list[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = []
    for first, *others in [heads, *rows]:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]))
    return "\n".join(lines)


def _markdown(heads: list[str], rows: list[list[str]]) -> str:
    marks = ["---", *(["---:"] * (len(heads) - 1))]
    lines = [[cell.replace("|", "\\|") for cell in row] for row in [heads, marks, *rows]]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


_LATEX = {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "±": "$\\pm$"}
_LATEX |= {letter: f"\\{letter}" for letter in "&%$#_{}"}


def _latex(heads: list[str], rows: list[list[str]]) -> str:
    lines = [
        " & ".join("".join(_LATEX.get(letter, letter) for letter in cell) for cell in row) for row in [heads, *rows]
    ]
    lines = [f"{line} \\\\" for line in lines]
    columns = "l" + "r" * (len(heads) - 1)
    body = [f"\\begin{{tabular}}{{{columns}}}", "\\hline", lines[0], "\\hline", *lines[1:], "\\hline", "\\end{tabular}"]
    return "\n".join(body)
