"""What gold pairs teach: AER before and after learning from draws of development pairs, and whether probabilities are true.

    python benchmarks/learning.py --set ja-en-kftt:30000 --set en-cs-czenali:30000 --pairs 20 --pairs 100 --kept dev.jsonl

Trains `default` once per set on the training pairs with dev and test text appended, and keeps the model in --models.  With
`--on dev`, for choosing, each draw is scored on the development pairs that it left; with `--on test`, for reporting, on the
test set.  A set without development gold is learned from halves of its test set and scored on the others, and marked so.
With `--views` the model that learns has these views, and is compared with `default` over words alone.  `--picked` adds pairs
that `dovetail pick` chose from one half of the development pairs, scored on the other, beside random draws from that half;
`--without` leaves out one group of features at a time.

Every draw that is finished goes to the file --kept, and is not made again: a run may be cut short, and the table, with
--picture the learning curves too, is made of all that is there.  Each bears a digest of the code that learns, and those of
other code are left aside.

`aligning` is the CPU time of aligning the scored text with what was learned, on one thread, over that of the model before:
the median of runs in turns.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import dovetail
from dovetail import Aligner, Bitext, Gold, evaluate, read_bitext, read_gold
from dovetail.bitext.views import WORDS
from dovetail.errors import InputError
from dovetail.evaluation import reliability_diagram
from dovetail.kernels.learned.features import FEATURES
from dovetail.kernels.learned.records import Trees
from dovetail.learning import learn as learning
from dovetail.learning.boosting import grow
from report import markdown
from texts import Task, find_set, write_text

HEADER = ["set", "learned from, scored on", "gold pairs", "draws", "before", "after", "change %", "worst %"]
HEADER += ["cross-validated %", "learned", "worst ECE", "CPU s", "aligning"]
CURVES = ("dev, test", "halves of test")  # what --picture shows
TURNS = 7  # of aligning
LEARNING = (
    "learning/*.py",
    "kernels/learned/*.py",
    "decoding/candidates.py",
    "decoding/habits.py",
    "decoding/learned.py",
)
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Part:
    """Text and gold links of a development or test set."""

    bitext: Bitext
    gold: Gold


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    kept = Kept(options.kept)
    try:
        for argument in options.set:
            task = find_set(argument, options.data)
            models = Models(trained(task, options.models), trained(task, options.models, options.views))
            task = replace(task, name=f"{task.name}, {options.views}") if options.views != WORDS else task
            for pairs in options.pairs:
                if options.picked:
                    picked(task, models, pairs, options.draws, kept)
                elif options.without:
                    without(task, models, pairs, options.draws, kept)
                else:
                    random(task, models, pairs, options.draws, options.on, kept)
    except InputError as error:
        print(f"learning.py: {error}", file=sys.stderr)
        return 2
    about = f"see `benchmarks/learning.py`; the digest of the code that learns is {digest_of_code()}"
    print(f"AER in per cent of `default` before learning and after it, means of draws; {about}.\n")
    print(markdown(HEADER, [[*map(str, row), *summary(outcomes)] for row, outcomes in kept.rows()]))
    if options.picture:
        draw_curves(kept, options.picture)
    return 0


@dataclass(frozen=True)
class Models:
    """What is compared with, and what learns; the same without other views."""

    plain: Path
    learner: Path


@dataclass(frozen=True)
class Draw:
    """One draw of gold pairs: of which set, learned from and scored on what, how many, and which draw it is."""

    set: str
    on: str
    pairs: int
    number: int


def digest_of_code() -> str:
    """Of the code that learns, and that aligns with what was learned."""
    package = Path(dovetail.__file__).parent
    found = hashlib.sha256()
    for path in sorted(path for pattern in LEARNING for path in package.glob(pattern)):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


class Kept:
    """Outcomes of draws, one JSON object per line of a file, if there is one; those of other code stay there unused."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._code = path, digest_of_code()
        lines = path.read_text("utf-8").splitlines() if path is not None and path.exists() else []
        entries = [json.loads(line) for line in lines]
        ours = [entry for entry in entries if entry.get("code") == self._code]
        if len(ours) < len(entries):
            print(f"{path}: {len(entries) - len(ours)} outcomes are of other code, and left aside", file=sys.stderr)
        self._outcomes = {Draw(**entry["draw"]): Outcome(**entry["outcome"]) for entry in ours}

    def outcome(self, draw: Draw, models: Models, teach: Part, mask: np.ndarray, scored: Part | None) -> None:
        """Learn and score, unless that is done."""
        if draw in self._outcomes:
            return
        found = self._outcomes[draw] = Outcome.of(models, teach, mask, scored)
        print(draw, found, file=sys.stderr, flush=True)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"code": self._code, "draw": asdict(draw), "outcome": asdict(found)}) + "\n")

    def rows(self) -> Iterator[tuple[tuple[str, str, int, int], list[Outcome]]]:
        """Set, what it was learned from and scored on, pairs, draws; and the outcomes."""
        rows: dict[tuple[str, str, int], list[Outcome]] = {}
        for draw, outcome in sorted(self._outcomes.items(), key=lambda entry: astuple(entry[0])):
            rows.setdefault((draw.set, draw.on, draw.pairs), []).append(outcome)
        for row, outcomes in rows.items():
            yield (*row, len(outcomes)), outcomes


def trained(task: Task, folder: Path, views: str = WORDS) -> Path:
    """The set's model, which is trained if it is not there yet."""
    place = folder / (task.name if views == WORDS else f"{task.name}.{views}")
    if not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as work:
            text = write_text(task, Path(work))
            bitext = read_bitext(text.source, text.target, keep_text=False)
            languages = ",".join(task.name.split("-")[:2])
            Aligner("default", views=views, languages=languages).fit(bitext).save(place)
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


def random(task: Task, models: Models, pairs: int, draws: int, on: str, kept: Kept, note: str = "") -> None:
    """Draws from all development pairs, or from all test pairs where there are none."""
    if task.dev is None:
        teach, scored, name = part(task, "test"), None, "halves of test"
    elif on == "test":
        teach, scored, name = part(task, "dev"), part(task, "test"), "dev, test"
    else:
        teach, scored, name = part(task, "dev"), None, "dev, rest of dev"
    size = len(teach.gold)
    pairs = min(pairs, size if scored is not None else size // 2)
    for number in range(draws):
        draw = Draw(task.name, name + note, pairs, number)
        kept.outcome(draw, models, teach, drawn(np.arange(size), pairs, number, size), scored)


@dataclass(frozen=True)
class Outcome:
    """One draw: AER before and after, cross-validated change, whether anything was learned, calibration, costs."""

    before: float
    after: float
    validated: float
    learned: bool
    calibration: float
    seconds: float
    aligning: float

    @classmethod
    def of(cls, models: Models, teach: Part, mask: np.ndarray, scored: Part | None) -> Outcome:
        """Learn from the pairs of the mask; score `scored`, or else the other pairs."""
        rest = Part(teach.bitext, teach.gold.without(mask)) if scored is None else scored
        plain = Aligner.load(models.plain, threads=1)
        before = evaluate(plain.align(rest.bitext), rest.gold).aer
        aligner = Aligner.load(models.learner, threads=1)
        began = time.process_time()
        result = aligner.learn(teach.bitext, teach.gold.without(~mask))
        seconds = time.process_time() - began
        after = evaluate(aligner.align(rest.bitext), rest.gold).aer
        costs = [[cost_of(one, rest.bitext) for one in (aligner, plain)] for _ in range(TURNS)]
        aligning = median(learned for learned, _ in costs) / median(loaded for _, loaded in costs)
        said = result.validation
        validated = said.value(True) / said.value(False) - 1 if said is not None else 0.0
        aligner.recipe = aligner.recipe.with_options({"threshold": 0.01, "grow": 1.0})
        calibration = reliability_diagram(aligner.align(rest.bitext), rest.gold).expected_error
        return cls(before, after, validated, result.decoder is not None, calibration, seconds, aligning)


def cost_of(aligner: Aligner, bitext: Bitext) -> float:
    """CPU seconds of aligning."""
    began = time.process_time()
    aligner.align(bitext)
    return time.process_time() - began


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
        f"{np.mean([one.aligning for one in outcomes]):.2f}",
    ]


def picked(task: Task, models: Models, pairs: int, draws: int, kept: Kept) -> None:
    """Pairs that `pick` chose from one half of the development set beside random ones; the other half is scored."""
    teach = part(task, "dev")
    size = len(teach.gold)
    half = np.random.default_rng(0).permutation(size)[: size // 2]
    scored = Part(teach.bitext, teach.gold.without(np.isin(np.arange(size), half)))
    text = Bitext.from_pairs([teach.bitext.tokens(n) for n in half])
    chosen = np.zeros(size, bool)
    chosen[half[Aligner.load(models.learner).pick(text, pairs)]] = True
    kept.outcome(Draw(task.name, "half of dev, other half: picked", pairs, 0), models, teach, chosen, scored)
    for number in range(draws):
        draw = Draw(task.name, "half of dev, other half: random", pairs, number)
        kept.outcome(draw, models, teach, drawn(half, pairs, number, size), scored)


def without(task: Task, models: Models, pairs: int, draws: int, kept: Kept) -> None:
    """One group of features hidden at a time."""
    try:
        for hidden in dict.fromkeys(group for _, group in FEATURES):
            columns = [k for k, (_, group) in enumerate(FEATURES) if group == hidden]

            def grow_without(facts: np.ndarray, *how: Any, columns: list[int] = columns) -> Trees:
                facts = facts.copy()
                facts[:, columns] = 0.0  # what never differs is never asked for
                return grow(facts, *how)

            learning.grow = grow_without
            random(task, models, pairs, draws, "dev", kept, f", without {hidden}")
    finally:
        learning.grow = grow


def draw_curves(kept: Kept, picture: Path) -> None:
    """Mean AER by the number of gold pairs, before learning at 0, with the range of the draws."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "dovetail"  # the same picture for the same numbers
    import matplotlib.pyplot as plt

    curves: dict[str, list[tuple[int, list[Outcome]]]] = {}
    for (name, on, pairs, _), outcomes in kept.rows():
        if on in CURVES:
            curves.setdefault(name if on == CURVES[0] else f"{name} ({on})", []).append((pairs, outcomes))
    figure, axes = plt.subplots(figsize=(6, 4))
    for name, points in curves.items():
        at = [0, *(pairs for pairs, _ in points)]
        change = [np.zeros(1), *(100 * np.array([o.after / o.before - 1 for o in outcomes]) for _, outcomes in points)]
        line = axes.plot(at, [values.mean() for values in change], marker="o", markersize=4, label=name)
        axes.fill_between(
            at, [v.min() for v in change], [v.max() for v in change], alpha=0.15, color=line[0].get_color(), linewidth=0
        )
    axes.set_xlabel("gold pairs learned from")
    axes.set_ylabel("change of AER in per cent; shaded: range of draws")
    axes.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", default=[], help="NAME:PAIRS under the data folder; repeat it")
    parser.add_argument("--pairs", action="append", default=[], type=int, help="gold pairs of a draw; repeat it")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--on", choices=["dev", "test"], default="dev")
    parser.add_argument("--views", default=WORDS, help="what the model that learns sees, such as words,characters")
    parser.add_argument("--picked", action="store_true")
    parser.add_argument("--without", action="store_true")
    parser.add_argument("--kept", type=Path, help="where outcomes are kept, to go on from there")
    parser.add_argument("--picture", type=Path, help="learning curves, .svg (needs matplotlib)")
    parser.add_argument("--models", type=Path, default=Path(tempfile.gettempdir()) / "dovetail-learning")
    parser.add_argument("--data", type=Path, default=DATA)
    return parser


if __name__ == "__main__":
    sys.exit(main())
