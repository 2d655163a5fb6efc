"""Run the systems that are not in the store yet, then write the tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dovetail.errors import InputError
from measure import exit_when_terminated
from papers.store import Store
from side_by_side import side_by_side
from translation.report import write
from translation.running import finished, one_system, prepared, told
from translation.systems import ASKED_FOR, BASE, SLOWEST, SYSTEMS
from translation.thot import EVALUATIONS

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SETS = ("en-fr-hansards", "de-en-europarl")
TUNE, TEST = 200, 500  # sentences


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    sets, known = options.set or SETS, {system.name: system for system in SYSTEMS}
    later = [name for name in known if name in (options.system or {*known} - {ASKED_FOR}) and name != BASE]
    later.sort(key=lambda name: name != SLOWEST)
    at_once, options.threads = options.threads, 1  # most of the work is the translation system's, which has one
    try:
        store, status = Store.open(options.out / "cells.jsonl"), 0
    except InputError as error:
        return told(error)
    waiting = [(name, set_) for name in later for set_ in sets if not finished(store, name, set_, options)]
    needed = [set_ for set_ in sets if any(set_ == other for _, other in waiting) and not prepared(set_, options)]
    first = [(BASE, set_) for set_ in sets if set_ in needed or not finished(store, BASE, set_, options)]
    for names in (first, waiting):  # weights and models of the first are all systems'
        tasks = [(known[name], set_, options) for name, set_ in names if prepared(set_, options) or name == BASE]
        status = max(status, side_by_side(one_system, tasks, at_once))
    store = Store.open(options.out / "cells.jsonl")
    for name in sets:
        write(store, name, options.size, options.seed, options.out, options.tables or options.out)
    return status


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
