"""What a dictionary is worth as a prior: AER without it and with it, by weight.

    python benchmarks/dictionaries.py --set ja-en-kftt:1000 --dictionary /usr/share/dictd/freedict-jpn-eng.index

Trains on the set's first pairs with dev and test text appended.  Weights are chosen on `--part dev`; `--part test` is for a
set without, and for the end.  `halves` are the AERs of the part's even and odd pairs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from dovetail import Aligner, Alignments, Bitext, Gold, evaluate, read_bitext, read_dictionary, read_gold
from dovetail.errors import InputError
from report import markdown
from texts import find_set, write_text

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        task, words = find_set(options.set, options.data), read_dictionary(options.dictionary)
        with TemporaryDirectory() as folder:
            text = write_text(task, Path(folder))
            bitext = read_bitext(text.source, text.target)
        if options.part == "test":
            lines, gold = text.lines, text.gold
        else:
            gold = read_gold(task.gold.with_name("dev.gold"))
            lines = list(range(text.train_pairs, text.train_pairs + len(gold)))
        rows = [["none", *_errors(Aligner(options.recipe).fit(bitext), bitext, lines, gold)]]
        for weight in options.weight or [1.0]:
            aligner = Aligner(options.recipe, dictionary_weight=weight).fit(bitext, dictionary=words)
            rows.append([f"{weight:g}", *_errors(aligner, bitext, lines, gold)])
    except InputError as error:
        print(f"dictionaries.py: {error}", file=sys.stderr)
        return 2
    print(f"{options.set}, {options.recipe}, {len(words):,} entries, AER on {options.part}\n")
    print(markdown(["weight", "AER", "halves"], rows))
    return 0


def _errors(aligner: Aligner, bitext: Bitext, lines: Sequence[int | None], gold: Gold) -> tuple[str, str]:
    """AER in per cent, of all pairs and of the even and the odd ones."""
    result = aligner.align(bitext)

    def aer(chosen: Sequence[int]) -> float:
        places = [lines[n] for n in chosen]
        links = [[] if place is None else result[place].links for place in places]
        own = Gold.from_links([gold[n].sure for n in chosen], [gold[n].possible for n in chosen])
        return 100 * evaluate(Alignments.from_links(links), own).aer

    every = range(len(gold))
    return f"{aer(every):.2f}", f"{aer(every[::2]):.2f} / {aer(every[1::2]):.2f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", required=True, help="NAME:PAIRS under the data folder")
    parser.add_argument("--dictionary", required=True, help="any file that `--dictionary` of `align` takes")
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--weight", action="append", type=float, help="repeat it for several (1)")
    parser.add_argument("--part", choices=["dev", "test"], default="dev")
    parser.add_argument("--data", type=Path, default=DATA)
    return parser


if __name__ == "__main__":
    sys.exit(main())
