"""Pairs that do not translate each other, put into real text on purpose: how well `dovetail score` finds them.

    python benchmarks/quality.py --set en-fr-hansards:10000 --output FILE

A share of the pairs is spoilt: targets exchanged among themselves (shuffled), cut to half of their words (truncated), or
replaced by the source (untranslated).  The model is trained on the spoilt text itself, as anyone would who wants to clean
it.  Area under the curve: how often a good pair has a better score than a spoilt one, drawn at random.  Beside it the
likeness of the two lengths, and the mean of eflomal's scores in both directions.  Of the quality of good and of spoilt pairs
the median, and where the middle eight tenths lie.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aligners import Recipe
from dovetail.errors import InputError
from environments import ensure
from measure import exit_when_terminated, run
from texts import find_set, write_text

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SHARES = (0.1, 0.5)

Pair = tuple[list[str], list[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", dest="sets", action="append", help="NAME:PAIRS, as for peers.py; more than one works")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--kinds", nargs="+", choices=list(SPOIL), default=list(SPOIL))
    parser.add_argument("--shares", nargs="+", type=float, default=SHARES)
    parser.add_argument("--no-peer", action="store_true", help="leave eflomal out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = [
        "| text | spoilt | quality | log p | length ratio | eflomal | quality of good pairs | of spoilt ones |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    try:
        recipe = Recipe(options.recipe)
        recipe.prepare(offline=True)
        peer = None if options.no_peer else ensure("eflomal")[0]
        for name in options.sets or ["en-fr-hansards:10000"]:
            pairs = read(name, options.data)
            for share in options.shares:
                for kind in options.kinds:
                    spoilt, bad = spoil(pairs, share, kind, options.seed)
                    cells = " | ".join(measure(spoilt, bad, recipe, peer))
                    lines.append(f"| {name} | {100 * share:g}% {kind} | {cells} |")
                    print(lines[-1], file=sys.stderr, flush=True)
    except (InputError, OSError) as error:
        print(f"quality.py: {error}", file=sys.stderr)
        return 2
    text = "".join(f"{line}\n" for line in lines)
    print(text, end="")
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    return 0


def read(name: str, data: Path) -> list[Pair]:
    """The training pairs of a set, and no others."""
    with tempfile.TemporaryDirectory(prefix="dovetail-quality-") as folder:
        text = write_text(find_set(name, data), Path(folder))
        sides = [path.read_text(encoding="utf-8").splitlines() for path in (text.source, text.target)]
    return [(source.split(), target.split()) for source, target in zip(*sides, strict=True)][: text.train_pairs]


SPOIL = {
    "shuffled": lambda pair, other: (pair[0], other[1]),
    "truncated": lambda pair, other: (pair[0], pair[1][: max(1, len(pair[1]) // 2)]),
    "untranslated": lambda pair, other: (pair[0], pair[0]),
}


def spoil(pairs: Sequence[Pair], share: float, kind: str, seed: int) -> tuple[list[Pair], np.ndarray]:
    """The pairs with some of them spoilt, and which."""
    chosen = random.Random(seed).sample(range(len(pairs)), int(share * len(pairs)))
    found, bad = list(pairs), np.zeros(len(pairs), bool)
    bad[chosen] = True
    for n, other in zip(chosen, chosen[1:] + chosen[:1], strict=True):
        found[n] = SPOIL[kind](pairs[n], pairs[other])
    return found, bad


def measure(pairs: Sequence[Pair], bad: np.ndarray, recipe: Recipe, peer: Path | None) -> list[str]:
    """Areas under the curve: quality, mean log-probability per word, likeness of lengths, eflomal; quantiles of quality."""
    with tempfile.TemporaryDirectory(prefix="dovetail-quality-") as name:
        folder = Path(name)
        source, target, model = folder / "source", folder / "target", folder / "model"
        for side, path in enumerate((source, target)):
            path.write_text("".join(" ".join(pair[side]) + "\n" for pair in pairs), encoding="utf-8")
        run(recipe.command(source, target, folder / "links", 1, "--save", str(model)))
        scores = folder / "scores"
        run([recipe.program or "dovetail", "score", source, target, "--load", model, "--threads", "1", "-o", scores])
        columns = np.loadtxt(scores)
        lengths = np.array([(len(source), len(target)) for source, target in pairs])
        likeness = -np.abs(np.log((lengths[:, 0] + 1) / (lengths[:, 1] + 1)))
        scores_of = [columns[:, 0], columns[:, 1] + columns[:, 2], likeness]
        if peer is not None:
            scores_of.append(_eflomal(peer, source, target, folder))
    areas = [f"{area(values, bad):.3f}" for values in scores_of] + ["–"] * (peer is None)
    quantiles = [np.quantile(columns[kind, 0], (0.1, 0.5, 0.9)) for kind in (~bad, bad)]
    return [*areas, *(f"{middle:.2f} ({low:.2f} to {high:.2f})" for low, middle, high in quantiles)]


def _eflomal(peer: Path, source: Path, target: Path, folder: Path) -> np.ndarray:
    """The mean of its two scores, which are costs."""
    scores = [folder / "forward.scores", folder / "reverse.scores"]
    files = ("-s", source, "-t", target, "-f", folder / "f", "-r", folder / "r")
    run([peer / "bin" / "eflomal-align", *files, "-F", scores[0], "-R", scores[1]])
    return -np.mean([np.loadtxt(path) for path in scores], axis=0)


def area(scores: np.ndarray, bad: np.ndarray) -> float:
    """Under the ROC curve: the share of (good, bad) pairs in which the good one scores higher; equal ones count half."""
    _, places, numbers = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(numbers) - (numbers - 1) / 2)[places]  # the mean rank of equal scores
    good = ~bad
    total = ranks[good].sum() - good.sum() * (good.sum() + 1) / 2
    return float(total / (good.sum() * bad.sum()))


if __name__ == "__main__":
    exit_when_terminated()
    sys.exit(main())
