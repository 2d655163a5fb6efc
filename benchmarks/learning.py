"""What gold pairs teach: AER before and after learning from draws of development pairs, and whether probabilities are true.

    python benchmarks/learning.py --set ja-en-kftt:30000 --set en-cs-czenali:30000 --pairs 20 --pairs 100 --on dev

Trains `default` once per set on the training pairs with dev and test text appended, and keeps the model in --models.  With
`--on dev`, for choosing, each draw is scored on the development pairs that it left; with `--on test`, for reporting, on the
test set.  A set without development gold is learned from halves of its test set and scored on the others, and marked so.
`--picked` adds pairs that `dovetail pick` chose from one half of the development pairs, scored on the other, beside random
draws from the same half, with the words that are to be looked at; `--without` leaves out one group of features at a time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dovetail import Aligner, Bitext, Gold, evaluate, read_bitext, read_gold
from dovetail.errors import InputError
from dovetail.evaluation import reliability_diagram
from dovetail.kernels.learned.features import FEATURES
from dovetail.kernels.learned.records import Trees
from dovetail.learning import learn as learning
from dovetail.learning.boosting import grow
from report import markdown
from texts import Task, find_set, write_text

HEADER = ["set", "gold pairs", "draws", "before", "after", "change %", "worst %", "cross-validated %", "learned"]
HEADER += ["worst ECE", "CPU s"]
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Part:
    """Text and gold links of a development or test set."""

    bitext: Bitext
    gold: Gold


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    rows: list[list[str]] = []
    try:
        for argument in options.set:
            task = find_set(argument, options.data)
            model = trained(task, options.models)
            if options.picked:
                rows += picked(task, model, options.pairs, options.draws)
            elif options.without:
                rows += without(task, model, options.pairs, options.draws)
            else:
                rows += [row(task, model, pairs, options.draws, options.on) for pairs in options.pairs]
            print(markdown(HEADER, rows), file=sys.stderr, flush=True)
    except InputError as error:
        print(f"learning.py: {error}", file=sys.stderr)
        return 2
    print(f"`python benchmarks/learning.py {' '.join(arguments or sys.argv[1:])}`\n")
    print(markdown(HEADER, rows))
    return 0


def trained(task: Task, folder: Path) -> Path:
    """The set's model, which is trained if it is not there yet."""
    place = folder / task.name
    if not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as work:
            text = write_text(task, Path(work))
            Aligner("default").fit(read_bitext(text.source, text.target, keep_text=False)).save(place)
    return place


def part(task: Task, name: str) -> Part:
    paths = task.dev if name == "dev" and task.dev is not None else task.test
    bitext = read_bitext(*paths)
    gold = read_gold(task.gold.with_name(f"{name}.gold"), lengths=bitext.lengths)
    return Part(bitext, gold)


def drawn(pool: np.ndarray, pairs: int, draw: int, size: int) -> np.ndarray:
    """A mask of so many of the pool's pairs; draw n is the same wherever it is used."""
    mask = np.zeros(size, bool)
    mask[np.random.default_rng(draw).permutation(pool)[:pairs]] = True
    return mask


def row(task: Task, model: Path, pairs: int, draws: int, on: str) -> list[str]:
    """One line of the table."""
    if task.dev is None:
        teach, scored, name = part(task, "test"), None, f"{task.name} (halves of test)"
    else:
        teach, scored, name = part(task, "dev"), part(task, "test") if on == "test" else None, task.name
    size = len(teach.gold)
    pairs = min(pairs, size if scored is not None else size // 2)
    outcomes = [Outcome.of(model, teach, drawn(np.arange(size), pairs, draw, size), scored) for draw in range(draws)]
    return [name, str(pairs), str(draws), *summary(outcomes)]


@dataclass(frozen=True)
class Outcome:
    """One draw: AER before and after, cross-validated change, whether anything was learned, calibration, cost."""

    before: float
    after: float
    validated: float
    learned: bool
    calibration: float
    seconds: float

    @classmethod
    def of(cls, model: Path, teach: Part, mask: np.ndarray, scored: Part | None) -> Outcome:
        """Learn from the pairs of the mask; score `scored`, or else the other pairs."""
        rest = Part(teach.bitext, teach.gold.without(mask)) if scored is None else scored
        aligner = Aligner.load(model, threads=1)
        before = evaluate(aligner.align(rest.bitext), rest.gold).aer
        began = time.process_time()
        result = aligner.learn(teach.bitext, teach.gold.without(~mask))
        seconds = time.process_time() - began
        after = evaluate(aligner.align(rest.bitext), rest.gold).aer
        said = result.validation
        validated = said.value(True) / said.value(False) - 1 if said is not None else 0.0
        aligner.recipe = aligner.recipe.with_options({"threshold": 0.01, "grow": 1.0})
        calibration = reliability_diagram(aligner.align(rest.bitext), rest.gold).expected_error
        return cls(before, after, validated, result.decoder is not None, calibration, seconds)


def summary(outcomes: list[Outcome]) -> list[str]:
    changes = [100 * (one.after / one.before - 1) for one in outcomes]
    return [
        f"{100 * np.mean([one.before for one in outcomes]):.2f}",
        f"{100 * np.mean([one.after for one in outcomes]):.2f}",
        f"{np.mean(changes):+.1f}",
        f"{max(changes):+.1f}",
        f"{100 * np.mean([one.validated for one in outcomes]):+.1f}",
        f"{sum(one.learned for one in outcomes)} of {len(outcomes)}",
        f"{max(one.calibration for one in outcomes):.3f}",
        f"{np.mean([one.seconds for one in outcomes]):.1f}",
    ]


def picked(task: Task, model: Path, numbers: list[int], draws: int) -> list[list[str]]:
    """Pairs that `pick` chose from one half of the development set beside random ones; the other half is scored."""
    teach = part(task, "dev")
    size = len(teach.gold)
    order = np.random.default_rng(0).permutation(size)
    half = order[: size // 2]
    scored = Part(teach.bitext, teach.gold.without(np.isin(np.arange(size), half)))
    text = Bitext.from_pairs([teach.bitext.tokens(n) for n in half])
    rows = []
    for pairs in numbers:
        chosen = np.zeros(size, bool)
        chosen[half[Aligner.load(model).pick(text, pairs)]] = True
        for name, masks in (
            ("random", [drawn(half, pairs, draw, size) for draw in range(draws)]),
            ("picked", [chosen]),
        ):
            # What annotators have to look at: a hundred short pairs are not the work of a hundred long ones.
            words = np.mean([np.array(teach.bitext.lengths)[mask].sum() for mask in masks])
            outcomes = [Outcome.of(model, teach, mask, scored) for mask in masks]
            rows.append([f"{task.name}, {name}, {words:,.0f} words", str(pairs), str(len(masks)), *summary(outcomes)])
    return rows


def without(task: Task, model: Path, numbers: list[int], draws: int) -> list[list[str]]:
    """One group of features hidden at a time."""
    rows = []
    try:
        for hidden in ("nothing", *dict.fromkeys(group for _, group in FEATURES)):
            columns = [k for k, (_, group) in enumerate(FEATURES) if group == hidden]

            def grow_without(facts: np.ndarray, right: np.ndarray, trees: int, columns: list[int] = columns) -> Trees:
                facts = facts.copy()
                facts[:, columns] = 0.0  # what never differs is never asked for
                return grow(facts, right, trees)

            learning.grow = grow_without
            for pairs in numbers:
                line = row(task, model, pairs, draws, "dev")
                rows.append([f"{line[0]}, without {hidden}", *line[1:]])
    finally:
        learning.grow = grow
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", required=True, help="NAME:PAIRS under the data folder; repeat it")
    parser.add_argument("--pairs", action="append", type=int, required=True, help="gold pairs of a draw; repeat it")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--on", choices=["dev", "test"], default="dev")
    parser.add_argument("--picked", action="store_true")
    parser.add_argument("--without", action="store_true")
    parser.add_argument("--models", type=Path, default=Path(tempfile.gettempdir()) / "dovetail-learning")
    parser.add_argument("--data", type=Path, default=DATA)
    return parser


if __name__ == "__main__":
    sys.exit(main())
