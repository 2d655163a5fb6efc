"""What constraints on posteriors bring and cost: curves, one-to-one links, symmetry, rare words, training time.

    python benchmarks/regularization.py en-fr-hansards:10000 --output table.md

Training text, then the set's dev and test text; scores are of the test text.  Times are CPU seconds of `fit` on one thread,
the recipes taking turns, the best of `--repeats`, at the same number of iterations for all.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from dovetail import Aligner, Bitext
from dovetail.alignments.gold import Gold, read_gold
from dovetail.bitext.text import read_lines
from dovetail.evaluation import (
    evaluate,
    evaluate_by_frequency,
    one_to_one_share,
    precision_recall_curve,
    symmetry,
)
from texts import find_set

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RECIPES = ("hmm", "hmm-agreement", "hmm-bijective", "hmm-symmetric")
RECALLS = (0.6, 0.7, 0.8, 0.9)
CANDIDATE = 0.0005


@dataclass(frozen=True)
class Trial:
    """The packed text, and where its test pairs begin."""

    bitext: Bitext
    first: int
    gold: Gold


def load(argument: str, data: Path) -> Trial:
    """Training pairs, then dev, then test."""
    task = find_set(argument, data)
    pairs: list[tuple[str, str]] = []
    for files in (task.train, task.dev, task.test):
        if files is None:
            continue
        first = len(pairs)
        lines = zip(*(read_lines(str(path)) for path in files), strict=False)
        pairs += [pair for n, pair in enumerate(lines) if files is not task.train or n < (task.pairs or sys.maxsize)]
    return Trial(Bitext.from_pairs(pairs), first, read_gold(task.gold))


def aligned(aligner: Aligner, trial: Trial, threshold: float, combine: str):
    """Links of the test text."""
    aligner.recipe = aligner.recipe.with_options({"threshold": threshold, "combine": combine})
    return aligner.align(trial.bitext.part(trial.first, trial.first + len(trial.gold)))


def quality(name: str, aligner: Aligner, trial: Trial, recall: float | None) -> tuple[list[str], float]:
    """Rows of the first table, and the forward recall at 0.5, at which other recipes' rare words are compared."""
    rows = []
    counts = trial.bitext.source.vocabulary.counts
    test = trial.bitext.part(trial.first, trial.first + len(trial.gold))
    at_half = {side: aligned(aligner, trial, 0.5, side) for side in ("forward", "reverse", "soft-union")}
    both = symmetry(at_half["forward"], at_half["reverse"])
    for side in ("forward", "soft-union"):
        curve = precision_recall_curve(aligned(aligner, trial, CANDIDATE, side), trial.gold)
        reached = recall if recall is not None else evaluate(at_half["forward"], trial.gold).recall
        matched = aligned(aligner, trial, curve.threshold_at(reached), side)
        parts = evaluate_by_frequency(matched, trial.gold, counts[test.source.ids], test.source.offsets)
        score = evaluate(at_half[side], trial.gold)
        values = [
            f"{100 * curve.area:.1f}",
            *(f"{100 * curve.precision_at(r):.1f}" for r in RECALLS),
            f"{100 * score.aer:.1f}",
            f"{100 * one_to_one_share(at_half[side]):.0f}",
            f"{100 * both:.0f}",
            f"{100 * parts.rare.precision:.1f}",
            f"{100 * parts.common.precision:.1f}",
        ]
        rows.append(f"| `{name}` | {side} | {' | '.join(values)} |")
    return rows, reached


def cost(trial: Trial, iterations: int, repeats: int) -> list[str]:
    """Rows of the second table: CPU seconds of training, and passes over a pair in both directions."""
    seconds: dict[str, list[float]] = {name: [] for name in RECIPES}
    passes: dict[str, str] = {}
    for _ in range(repeats):
        for name in RECIPES:
            aligner = Aligner(name, threads=1, hmm_iterations=iterations)
            began = time.process_time()
            aligner.fit(trial.bitext)
            seconds[name].append(time.process_time() - began)
            effort = getattr(aligner.model, "effort", None)
            passes[name] = f"{effort.mean_passes:.1f}" if effort is not None else "1.0"
    plain = min(seconds["hmm"])
    return [f"| `{name}` | {min(s):.2f} | {min(s) / plain:.2f} | {passes[name]} |" for name, s in seconds.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", nargs="?", default="en-fr-hansards:10000", help="NAME:PAIRS under the data folder")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--iterations", type=int, default=5, help="HMM iterations of the timed runs")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path)
    choices = parser.parse_args()
    trial = load(choices.set, choices.data)
    recalls = " | ".join(f"P at R {r}" for r in RECALLS)
    lines = [
        f"{choices.set}, {len(trial.bitext):,} pairs; per cent.  `1-1`: links alone in row and column; `sym`: links of both",
        "directions in those of either; rare: source words seen at most 5 times, at the recall of `hmm` forward at 0.5.",
        "",
        f"| recipe | links | area | {recalls} | AER | 1-1 | sym | rare P | common P |",
        f"|---|---|{'---|' * (len(RECALLS) + 6)}",
    ]
    Aligner("hmm-bijective").fit(trial.bitext.part(0, 50))  # compiles, once
    reached = None
    for name in RECIPES:
        rows, recall = quality(name, Aligner(name).fit(trial.bitext), trial, reached)
        reached = recall if reached is None else reached
        lines += rows
    lines += [
        "",
        f"Training: 5 iterations of IBM Model 1, {choices.iterations} of the HMM; passes are those of a pair and iteration.",
        "",
        "| recipe | CPU s | times `hmm` | passes |",
        "|---|---|---|---|",
        *cost(trial, choices.iterations, choices.repeats),
    ]
    table = "\n".join(lines) + "\n"
    if choices.output:
        choices.output.write_text(table, encoding="utf-8")
    print(table, end="")


if __name__ == "__main__":
    main()
