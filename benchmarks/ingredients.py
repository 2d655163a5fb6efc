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
from dovetail.evaluation import Calibration, evaluate, reliability_diagram
from texts import Task, find_set, write_text

# What is changed, for each row of the table; the first row changes nothing.
VARIANTS: dict[str, dict[str, object]] = {
    "all": {},
    "no agreement (mean of both)": {"agreement_power": 0.0},
    "softer agreement (0.5)": {"agreement_power": 0.5},
    "softer agreement (0.6)": {"agreement_power": 0.6},
    "hard agreement (product)": {"agreement_power": 1.0},
    "no leave-one-out": {"leave_one_out": False},
    "no head stems": {"head_stems": 0.0},
    "no tail stems": {"tail_stems": 0.0},
    "no short stems": {"short_stems": 0.0},
    "no middle stems": {"middle_stems": 0.0},
    "no stems at all": {"head_stems": 0.0, "tail_stems": 0.0, "short_stems": 0.0, "middle_stems": 0.0},
    "no spelling": {"spelling": False},
    "no word-dependent jumps": {"jump_strength": 0.0},
    "no fertility": {"largest_fertility": 0},
    "no growing": {"grow": 1.0},
    "no passing over of cells": {"share": 0.0},
    "no sample first": {"sample": 0},
    "no view but words": {"views": "words"},
    "views learned by the same recipe": {"view_recipe": ""},
    "growing from 0.3 on": {"grow": 0.3},
    "eight iterations of the HMM, over more cells": {"hmm_iterations": 8, "share": 0.01},
}


Diagrams = dict[str, tuple[Calibration, Calibration]]  # of each set: the model's own probabilities, and those put out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", required=True, help="NAME:PAIRS under the data folder")
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--only", nargs="*", help="rows to run (default: all)")
    parser.add_argument("--dev", action="store_true", help="nothing of the test set: for whoever is choosing")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--picture", type=Path, help="write reliability diagrams of all sets there (needs matplotlib)")
    arguments = parser.parse_args()
    page = [f"`python benchmarks/ingredients.py {' '.join(sys.argv[1:])}`\n"]
    diagrams: Diagrams = {}
    for name in arguments.set:
        task = find_set(name, arguments.data)
        page.append(_section(task, arguments.recipe, arguments.only or list(VARIANTS), diagrams, arguments.dev))
        print(page[-1], flush=True)
        if arguments.output:
            arguments.output.write_text("\n".join(page), encoding="utf-8")
        if arguments.picture and diagrams:
            _draw(diagrams, arguments.picture)


def _section(task: Task, recipe: str, rows: list[str], diagrams: Diagrams, choosing: bool) -> str:
    with tempfile.TemporaryDirectory() as folder:
        text = write_text(task, Path(folder))
        bitext = read_bitext(text.source, text.target, keep_text=False)
    parts = {"test": (text.pairs - len(text.lines), text.gold)}
    if task.dev is not None:
        gold = read_gold(task.gold.with_name("dev.gold"))
        parts = {"dev": (text.train_pairs, gold)} if choosing else {"dev": (text.train_pairs, gold), **parts}
    lines = [
        f"### {task.name}, {text.train_pairs:,} pairs\n",
        "| " + " | ".join(["left out", *(f"{part}: AER (P/R)" for part in parts), "CPU s"]) + " |",
        "|---" * (2 + len(parts)) + "|",
    ]
    calibration = ""
    for row in rows:
        began = time.process_time()
        aligner = Aligner(recipe, **VARIANTS[row])  # type: ignore[arg-type]
        links = aligner.fit(bitext).align(bitext)
        seconds = time.process_time() - began
        scores = [evaluate(links[first : first + len(gold)], gold) for first, gold in parts.values()]
        cells = [f"{100 * s.aer:.2f} ({100 * s.precision:.1f}/{100 * s.recall:.1f})" for s in scores]
        lines.append("| " + " | ".join([row, *cells, f"{seconds:.1f}"]) + " |")
        if row == "all" and not choosing:
            diagrams[task.name] = _calibration(aligner, bitext, *parts["test"])
            calibration = _reliability(*diagrams[task.name])
    return "\n".join([*lines, "", calibration, ""])


def _calibration(aligner: Aligner, bitext: Bitext, first: int, gold: Gold) -> tuple[Calibration, Calibration]:
    """Reliability of all cells above 0.01 of the test pairs: the model's own probabilities, and those that are put out."""
    options = {"threshold": 0.01, "grow": 1.0}
    diagrams = []
    for temper in (1.0, aligner.recipe.options.temper):
        aligner.recipe = aligner.recipe.with_options({**options, "temper": temper})
        candidates = aligner.align(bitext)[first : first + len(gold)]
        assert isinstance(candidates, Alignments)
        diagrams.append(reliability_diagram(candidates, gold))
    return diagrams[0], diagrams[1]


def _reliability(own: Calibration, tempered: Calibration) -> str:
    """Both diagrams as one table."""
    rows = []
    for k in range(len(own.count)):
        bin = f"{own.edges[k]:.1f}-{own.edges[k + 1]:.1f}"
        parts = [f"{d.count[k]:,} | {d.confidence[k]:.3f} | {d.accuracy[k]:.3f}" for d in (tempered, own)]
        rows.append(f"| {bin} | {' | '.join(parts)} |")
    return "\n".join(
        [
            f"Reliability on test (possible-only cells left out): expected calibration error {tempered.expected_error:.3f}, "
            f"{own.expected_error:.3f} before tempering\n",
            "| probability | cells | mean said | share right | before: cells | mean said | share right |",
            "|---|---|---|---|---|---|---|",
            *rows,
        ]
    )


def _draw(diagrams: Diagrams, file: Path) -> None:
    """Reliability diagrams side by side: on the diagonal, probabilities mean what they say."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "dovetail"  # the same picture for the same numbers
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(1, len(diagrams), figsize=(3 * len(diagrams), 3.2), sharey=True, squeeze=False)
    for axes, (name, (own, tempered)) in zip(grid[0], diagrams.items(), strict=True):
        axes.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
        for diagram, colour, label in ((own, "#c2571a", "the model's own"), (tempered, "#1b6ca8", "put out")):
            axes.plot(diagram.confidence, diagram.accuracy, "o-", color=colour, markersize=3, linewidth=1, label=label)
        axes.set_title(f"{name}\nECE {own.expected_error:.3f} to {tempered.expected_error:.3f}", fontsize=9)
        axes.set_xlabel("probability", fontsize=8)
    grid[0, 0].set_ylabel("share right", fontsize=8)
    grid[0, 0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
