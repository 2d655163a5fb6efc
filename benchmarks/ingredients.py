"""What each ingredient of the joint HMM brings: one left out at a time, on every set; and whether probabilities are true.

    python benchmarks/ingredients.py --set en-fr-hansards:10000 --set en-cs-czenali:20000 --output FILE

Trains in this process, on the training pairs with dev and test text appended.  Scores dev and test apart; choices are
made on dev.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from dovetail.aligner import Aligner
from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold, read_gold
from dovetail.bitext.corpus import Bitext, read_bitext
from dovetail.evaluation import evaluate, reliability_diagram
from texts import Task, find_set, write_text

# What is changed, for each row of the table; the first row changes nothing.
VARIANTS: dict[str, dict[str, object]] = {
    "all": {},
    "no agreement (mean of both)": {"agreement_power": 0.0},
    "hard agreement (product)": {"agreement_power": 1.0},
    "no leave-one-out": {"leave_one_out": False},
    "no head stems": {"head_stems": 0.0},
    "no tail stems": {"tail_stems": 0.0},
    "no stems at all": {"head_stems": 0.0, "tail_stems": 0.0},
    "no spelling": {"spelling": False},
    "no word-dependent jumps": {"jump_strength": 0.0},
    "no fertility": {"largest_fertility": 0},
    "no growing": {"grow": 1.0},
    "no passing over of cells": {"share": 0.0},
    "no sample first": {"sample": 0},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", required=True, help="NAME:PAIRS under the data folder")
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--only", nargs="*", help="rows to run (default: all)")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    page = [f"`python benchmarks/ingredients.py {' '.join(sys.argv[1:])}`\n"]
    for name in arguments.set:
        page.append(_section(find_set(name, arguments.data), arguments.recipe, arguments.only or list(VARIANTS)))
        print(page[-1], flush=True)
    if arguments.output:
        arguments.output.write_text("\n".join(page), encoding="utf-8")


def _section(task: Task, recipe: str, rows: list[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        text = write_text(task, Path(folder))
        bitext = read_bitext(text.source, text.target, keep_text=False)
    parts = {"test": (text.pairs - len(text.lines), text.gold)}
    if task.dev is not None:
        gold = read_gold(task.gold.with_name("dev.gold"))
        parts = {"dev": (text.train_pairs, gold), **parts}
    lines = [
        f"### {task.name}, {text.train_pairs:,} pairs\n",
        "| " + " | ".join(["left out", *(f"{part}: AER (P/R)" for part in parts), "CPU s"]) + " |",
        "|---" * (2 + len(parts)) + "|",
    ]
    for row in rows:
        began = time.process_time()
        aligner = Aligner(recipe, **VARIANTS[row])  # type: ignore[arg-type]
        links = aligner.fit(bitext).align(bitext)
        seconds = time.process_time() - began
        scores = [evaluate(links[first : first + len(gold)], gold) for first, gold in parts.values()]
        cells = [f"{100 * s.aer:.2f} ({100 * s.precision:.1f}/{100 * s.recall:.1f})" for s in scores]
        lines.append("| " + " | ".join([row, *cells, f"{seconds:.1f}"]) + " |")
        if row == "all":
            calibration = _calibration(aligner, bitext, *parts["test"])
    return "\n".join([*lines, "", calibration, ""])


def _calibration(aligner: Aligner, bitext: Bitext, first: int, gold: Gold) -> str:
    """A reliability diagram of all cells above 0.01 of the test pairs: probability said, share that is in gold."""
    candidates = Aligner.align(_with_threshold(aligner, 0.01), bitext)[first : first + len(gold)]
    assert isinstance(candidates, Alignments)
    diagram = reliability_diagram(candidates, gold)
    rows = [
        f"| {low:.1f}-{high:.1f} | {count:,} | {said:.3f} | {true:.3f} |"
        for low, high, count, said, true in zip(
            diagram.edges[:-1], diagram.edges[1:], diagram.count, diagram.confidence, diagram.accuracy, strict=True
        )
    ]
    return "\n".join(
        [
            f"Reliability (possible-only cells left out); expected calibration error {diagram.expected_error:.3f}\n",
            "| probability | cells | mean said | share right |",
            "|---|---|---|---|",
            *rows,
        ]
    )


def _with_threshold(aligner: Aligner, threshold: float) -> Aligner:
    """The same trained aligner, decoding at another threshold and without growing."""
    aligner.recipe = aligner.recipe.with_options({"threshold": threshold, "grow": 1.0})
    return aligner


if __name__ == "__main__":
    main()
