"""Very small texts: draws of a few development pairs, trained and scored on those alone.

    python benchmarks/small_texts.py --recipe default --recipe hmm-bayes --pairs 10 --pairs 20 --pairs 50 --pairs 100

Every recipe gets the same draws.  Sets without development gold are left out; so are numbers larger than a set has.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dovetail import Aligner, Bitext, Gold, evaluate, read_bitext, read_gold
from dovetail.errors import InputError
from report import markdown

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    recipes = options.recipe or ["default", "hmm-bayes"]
    rows = []
    try:
        for gold_file in sorted(options.data.glob("*/dev.gold")):
            folder = gold_file.parent
            source, target = folder.name.split("-")[:2]
            bitext, gold = read_bitext(folder / f"dev.{source}", folder / f"dev.{target}"), read_gold(gold_file)
            for pairs in options.pairs or [10, 20, 50, 100]:
                if pairs <= len(gold):
                    means = [f"{100 * mean_aer(recipe, bitext, gold, pairs, options.draws):.1f}" for recipe in recipes]
                    rows.append([folder.name, str(pairs), *means])
                    print(" ".join(rows[-1]), file=sys.stderr)
    except InputError as error:
        print(f"small_texts.py: {error}", file=sys.stderr)
        return 2
    print(f"Mean AER over {options.draws} draws of development pairs (seeds 0 to {options.draws - 1}).\n")
    print(markdown(["set", "pairs", *recipes], rows))
    return 0


def mean_aer(recipe: str, bitext: Bitext, gold: Gold, pairs: int, draws: int) -> float:
    """Of texts of so many pairs; draw n is the same for every recipe."""
    errors = []
    for draw in range(draws):
        chosen = np.random.default_rng(draw).permutation(len(bitext))[:pairs]
        text = Bitext.from_pairs([bitext.tokens(n) for n in chosen])
        own = Gold.from_links([gold[n].sure for n in chosen], [gold[n].possible for n in chosen])
        errors.append(evaluate(Aligner(recipe, seed=1).fit(text).align(text), own).aer)
    return float(np.mean(errors))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", action="append", help="repeat it for several (default and hmm-bayes)")
    parser.add_argument("--pairs", action="append", type=int, help="pairs of a text; repeat it for several")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--data", type=Path, default=DATA)
    return parser


if __name__ == "__main__":
    sys.exit(main())
