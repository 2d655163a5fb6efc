"""The page that a benchmark writes: what ran where, and for each task costs, scores and paired tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aligners import COMBINATIONS, OWN, PEERS
from dovetail.evaluation.significance import Comparison
from results import Result, paired
from texts import Task, Text

OUTPUTS = (OWN, *COMBINATIONS)
MISSING = "–"


@dataclass(frozen=True)
class Settings:
    """How the aligners were run; `judge` is the name of the one that is tested against the peers."""

    threads: int = 2
    repeat: int = 1
    timeout: float | None = None
    judge: str | None = None
    retrain: bool = False


def preamble(machine: dict[str, Any], versions: dict[str, str], settings: Settings) -> str:
    """Machine, versions, and how to read the tables."""
    rounds = "one round" if settings.repeat == 1 else f"medians of {settings.repeat} interleaved rounds"
    notes = [f"- {name}: {PEERS[name].description}" for name in versions if name in PEERS]
    combinations = "from runs of their own" if settings.retrain else "from the saved model"
    page = f"""# Dovetail beside its peers

{machine_line(machine)}.
{"; ".join(dict.fromkeys(versions.values()))}.

Text to links in both directions, {settings.threads} threads, {rounds}.
CPU: user and system seconds of the whole process tree. Peak: the largest single process of the tree, not their sum
(MB = 10^6 bytes). Then, for each output, AER (precision/recall) in per cent; an aligner's best, chosen on the test set,
in bold. *own* is what an aligner puts out when no combination is asked for; systran-align offers nothing else. The
peers' directions are combined by dovetail's combiners, untimed. Dovetail's time includes saving its model unless only its
own output is asked for; its combinations come {combinations}.

"""
    return (page + "\n".join(notes)).rstrip()


def machine_line(machine: dict[str, Any]) -> str:
    parts = [machine["cpu"], f"{machine['cores']} cores", machine["system"], f"Python {machine['python']}"]
    if "memory" in machine:
        parts.insert(2, f"{machine['memory'] / 1e9:.0f} GB")
    if "load" in machine:
        parts.append(f"load {machine['load']:.1f} before the first run")
    return ", ".join(parts)


def section(task: Task, text: Text, results: list[Result], settings: Settings) -> str:
    """The tables of one task."""
    appended = text.pairs - text.train_pairs
    parts = [
        f"## {task.name}, {text.train_pairs:,} pairs",
        f"Dev and test text ({appended:,} pairs) appended; {len(text.gold):,} test pairs scored.",
        results_table(results),
        spread_line(results),
        *(f"{result.name} failed later: {result.failure}" for result in results if result.failure and result.counts),
    ]
    judged, comparisons = _judgement(results, settings)
    if judged is not None and comparisons:
        parts.append(comparison_table(judged, comparisons))
        parts.append(
            f"{judged.name}'s own output against the peer's best output; interval by paired bootstrap, p by\n"
            f"approximate randomization, {comparisons[0][1].samples:,} samples. Ratios: its cost over the peer's."
        )
    return "\n\n".join(part for part in parts if part)


def facts(task: Task, text: Text, results: list[Result], settings: Settings) -> dict[str, Any]:
    """Everything that was measured for one task, for JSON."""
    _, comparisons = _judgement(results, settings)
    return {
        "name": task.name,
        "train_pairs": text.train_pairs,
        "pairs": text.pairs,
        "test_pairs": len(text.gold),
        "aligners": [result.to_dict() for result in results],
        "judge": settings.judge,
        "comparisons": [
            {"aligner": other.name, "output": other.best(), **comparison.to_dict()} for other, comparison in comparisons
        ],
    }


def _judgement(results: list[Result], settings: Settings) -> tuple[Result | None, list[tuple[Result, Comparison]]]:
    judged = next((result for result in results if result.name == settings.judge and result.counts), None)
    peers = [result for result in results if result.name in PEERS]
    return judged, [] if judged is None else paired(judged, peers)


def results_table(results: list[Result]) -> str:
    """One row an aligner: cost, then AER (precision/recall) of every output in per cent, its best in bold."""
    header = ["aligner", "wall s", "CPU s", "peak MB", *OUTPUTS]
    rows = []
    for result in results:
        if not result.measurements:
            rows.append([result.name, *[MISSING] * 3, f"failed: {result.failure}", *[MISSING] * len(COMBINATIONS)])
            continue
        cost = result.cost
        best = result.best()
        cells = [_cell(result, output, output == best) for output in OUTPUTS]
        rows.append([result.name, _short(cost.wall), _short(cost.cpu), f"{cost.peak_memory / 1e6:.0f}", *cells])
    return markdown(header, rows)


def comparison_table(judged: Result, comparisons: list[tuple[Result, Comparison]]) -> str:
    """AER of the judged aligner minus the other's best, with the paired test, and how their costs relate."""
    header = [f"{judged.name} against", "AER", "difference", "95 % interval", "p", "CPU ratio", "wall ratio"]
    rows = []
    for other, comparison in comparisons:
        low, high = comparison.interval
        rows.append(
            [
                f"{other.name}, {other.best()}",
                f"{100 * comparison.first:.1f} : {100 * comparison.second:.1f}",
                f"{100 * comparison.difference:+.1f}",
                f"{100 * low:+.1f} to {100 * high:+.1f}",
                _p_value(comparison),
                f"{judged.cost.cpu / other.cost.cpu:.2f}",
                f"{judged.cost.wall / other.cost.wall:.2f}",
            ]
        )
    return markdown(header, rows)


def spread_line(results: list[Result]) -> str | None:
    """How far the AER of one aligner's best output moves from round to round, where the table would show it."""
    moved = []
    for result in results:
        values = result.values(result.best(), "aer") if result.counts else [0.0]
        low, high = f"{100 * min(values):.1f}", f"{100 * max(values):.1f}"
        if low != high:
            moved.append(f"{result.name} {low} to {high}")
    return f"AER of the best output over the rounds: {', '.join(moved)}." if moved else None


def _cell(result: Result, output: str, best: bool) -> str:
    if output not in result.counts:
        return MISSING
    aer, precision, recall = (100 * result.value(output, metric) for metric in ("aer", "precision", "recall"))
    shown = f"**{aer:.1f}**" if best else f"{aer:.1f}"
    return f"{shown} ({precision:.1f}/{recall:.1f})"


def _p_value(comparison: Comparison) -> str:
    smallest = 1 / (1 + comparison.samples)
    return f"≤ {smallest:.0e}" if comparison.p_value <= smallest else f"{comparison.p_value:.2g}"


def _short(seconds: float) -> str:
    return f"{seconds:.1f}" if seconds < 100 else f"{seconds:,.0f}"


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table; a cell has no bar of its own."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
