"""What constraints on posteriors bring and cost: curves, one-to-one links, symmetry, rare words, training time.

    python benchmarks/regularization.py en-fr-hansards:10000 --output table.md

Training text, then the set's dev and test text; scores are of the test text.  Times are CPU seconds of `fit` on one thread,
the recipes taking turns, the best of `--repeats`, at the same number of iterations for all; the HMM's stage is what `fit`
takes beyond a `fit` without HMM iterations.  `--other FILE` (links of the test text by another system, any format) adds
precision at its recall (Graça et al. 2010, section 4.2).
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from dovetail import Aligner, Bitext, read_alignments
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
RARE_RECALLS = (0.7, 0.8, 0.85, 0.9)
RARE = 4  # the paper's rare words come less than five times (section 2.2)
CANDIDATE = 0.0005
SIDES = ("forward", "reverse", "soft-union")


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


@dataclass(frozen=True)
class Quality:
    """One recipe's rows of the tables on quality; rare words' precision by links and recall, for comparison."""

    rows: list[str]
    rare_rows: list[str]
    rare: dict[tuple[str, str], float]


def quality(label: str, aligner: Aligner, trial: Trial, other: float | None, plain: Quality | None) -> Quality:
    rows, rare_rows, rare = [], [], {}
    test = trial.bitext.part(trial.first, trial.first + len(trial.gold))
    source, target = (
        (trained.vocabulary.counts[words.ids], words.offsets, side)
        for side, trained, words in (
            ("source", trial.bitext.source, test.source),
            ("target", trial.bitext.target, test.target),
        )
    )
    frequencies = {"forward": source, "reverse": target, "soft-union": source}  # of the words that generate
    at_half = {side: aligned(aligner, trial, 0.5, side) for side in SIDES}
    both = symmetry(at_half["forward"], at_half["reverse"])
    recalls = [*RARE_RECALLS, *([] if other is None else [other])]
    for side in SIDES:
        curve = precision_recall_curve(aligned(aligner, trial, CANDIDATE, side), trial.gold)
        score = evaluate(at_half[side], trial.gold)
        values = [
            f"{100 * curve.area:.1f}",
            *(f"{100 * curve.precision_at(r):.1f}" for r in (*RECALLS, *([] if other is None else [other]))),
            f"{100 * score.aer:.1f}",
            f"{100 * one_to_one_share(at_half[side]):.0f}",
            f"{100 * both:.0f}",
        ]
        rows.append(f"| {label} | {side} | {' | '.join(values)} |")
        cells = []
        for where in (*recalls, None):  # None: at the threshold 0.5
            if where is not None and curve.recall[-1] < where:
                cells.append("out of reach")
                continue
            links = at_half[side] if where is None else aligned(aligner, trial, curve.threshold_at(where), side)
            parts = evaluate_by_frequency(links, trial.gold, *frequencies[side], RARE)
            rare[side, str(where)] = parts.rare.precision
            before = None if plain is None else plain.rare.get((side, str(where)))
            gain = "" if before is None else f" ({100 * (parts.rare.precision - before):+.0f})"
            cells.append(f"{100 * parts.rare.precision:.1f}{gain}, {100 * parts.common.precision:.1f}")
        rare_rows.append(f"| {label} | {side} | {' | '.join(cells)} |")
    return Quality(rows, rare_rows, rare)


def seconds_of_fit(name: str, trial: Trial, iterations: int) -> tuple[float, float]:
    """CPU seconds, and forward-backward passes per pair and iteration."""
    aligner = Aligner(name, threads=1, hmm_iterations=iterations)
    began = time.process_time()
    aligner.fit(trial.bitext)
    effort = getattr(aligner.model, "effort", None)
    return time.process_time() - began, effort.mean_passes if effort is not None else 1.0


def cost(trial: Trial, iterations: int, repeats: int) -> list[str]:
    """Rows of the table on cost."""
    whole: dict[str, list[float]] = {name: [] for name in RECIPES}
    before: list[float] = []
    passes: dict[str, float] = {}
    for _ in range(repeats):
        before.append(seconds_of_fit("hmm", trial, 0)[0])
        for name in RECIPES:
            seconds, passes[name] = seconds_of_fit(name, trial, iterations)
            whole[name].append(seconds)
    first, plain = min(before), min(whole["hmm"])
    rows = []
    for name in RECIPES:
        fit = min(whole[name])
        ratios = (fit / plain, (fit - first) / (plain - first))
        rows.append(
            f"| `{name}` | {fit:.2f} | {ratios[0]:.2f} | {fit - first:.2f} | {ratios[1]:.2f} | {passes[name]:.1f} |"
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", nargs="?", default="en-fr-hansards:10000", help="NAME:PAIRS under the data folder")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--iterations", type=int, default=5, help="HMM iterations of the timed runs")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--other", type=Path, help="links of the test text by another system")
    parser.add_argument("--output", type=Path)
    choices = parser.parse_args()
    trial = load(choices.set, choices.data)
    other = None
    if choices.other is not None:
        other = evaluate(read_alignments(choices.other), trial.gold).recall
    beside = [] if other is None else [f"R {other:.3f}, of {choices.other.name}"]
    recalls = " | ".join([f"P at R {r}" for r in RECALLS] + [f"P at {text}" for text in beside])
    rare_recalls = " | ".join([f"R {r}" for r in RARE_RECALLS] + beside + ["threshold 0.5"])
    Aligner("hmm-bijective").fit(trial.bitext.part(0, 50))  # compiles, once
    found: list[Quality] = []
    for name, changes in (*((name, {}) for name in RECIPES), ("hmm-symmetric", {"free_mass": False})):
        label = f"`{name}`" + "".join(f", {option}={value}" for option, value in changes.items())
        aligner = Aligner(name, **changes).fit(trial.bitext)
        found.append(quality(label, aligner, trial, other, found[0] if found else None))
    lines = [
        f"{choices.set}, {len(trial.bitext):,} pairs; per cent.  `1-1`: links alone in row and column; `sym`: links of both",
        "directions in those of either; these and the AER of links above 0.5.",
        "",
        f"| recipe | links | area | {recalls} | AER | 1-1 | sym |",
        f"|---|---|{'---|' * (len(RECALLS) + len(beside) + 4)}",
        *(row for one in found for row in one.rows),
        "",
        f"Precision of rare words, seen at most {RARE} times (source words; of the reverse direction target words), in",
        "brackets the points above `hmm`, and of common ones; the threshold gives all links together the recall R.",
        "",
        f"| recipe | links | {rare_recalls} |",
        f"|---|---|{'---|' * (len(RARE_RECALLS) + len(beside) + 1)}",
        *(row for one in found for row in one.rare_rows),
        "",
        f"Training: 5 iterations of IBM Model 1, {choices.iterations} of the HMM; passes are forward-backward calls per",
        "pair and iteration (both directions are one).",
        "",
        "| recipe | `fit`, CPU s | times `hmm` | HMM stage, CPU s | times `hmm` | passes |",
        "|---|---|---|---|---|---|",
        *cost(trial, choices.iterations, choices.repeats),
    ]
    table = "\n".join(lines) + "\n"
    if choices.output:
        choices.output.write_text(table, encoding="utf-8")
    print(table, end="")


if __name__ == "__main__":
    main()
