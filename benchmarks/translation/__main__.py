"""Run the systems that are not in the store yet, then write the tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from measure import exit_when_terminated
from side_by_side import side_by_side
from translation.running import one_set
from translation.systems import SYSTEMS
from translation.thot import EVALUATIONS

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SETS = ("en-fr-hansards", "de-en-europarl")
TUNE, TEST = 200, 500  # sentences


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    sets = options.set or SETS
    if len(sets) == 1:
        return one_set(sets[0], options)
    options.threads = max(
        1, options.threads // len(sets)
    )  # most of the work is the translation system's, which has one
    return side_by_side(one_set, [(name, options) for name in sets], len(sets))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.translation", description=__doc__, allow_abbrev=False)
    parser.add_argument("--set", action="append", metavar="NAME", help="a set under the data folder (several times)")
    parser.add_argument("--size", type=int, default=20_000, metavar="N", help="training pairs")
    known = [system.name for system in SYSTEMS]
    parser.add_argument("--system", action="append", choices=known, help="only this and the base, in order")
    parser.add_argument("--tune", type=int, default=TUNE, metavar="N", help="held-out sentences to tune weights on")
    parser.add_argument("--test", type=int, default=TEST, metavar="N", help="held-out sentences to translate")
    parser.add_argument(
        "--evaluations", type=int, default=EVALUATIONS, metavar="N", help="weights that the tuner tries"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="all that is learned, and the finished cells"
    )
    parser.add_argument("--tables", type=Path, metavar="DIR", help="where the tables go (--out)")
    return parser


if __name__ == "__main__":
    exit_when_terminated()
    sys.exit(main())
