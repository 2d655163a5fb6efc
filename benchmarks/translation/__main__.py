"""Run the systems that are not in the store yet, then write the tables."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from time import monotonic, process_time

from commits import working_tree
from dovetail import read_bitext
from dovetail.errors import InputError
from measure import CommandError, exit_when_terminated
from papers.store import Cell, Store
from texts import find_set, read_pairs
from translation.report import write
from translation.scores import score
from translation.split import split, train_text, write_split
from translation.systems import BASE, SYSTEMS, System, links_of
from translation.thot import EVALUATIONS, Thot, python

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SETS = ("en-fr-hansards", "de-en-europarl")
TUNE, TEST = 200, 500  # sentences


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    sets = options.set or SETS
    return one_set(sets[0], options) if len(sets) == 1 else side_by_side(sets, options)


def side_by_side(sets: Sequence[str], options: argparse.Namespace) -> int:
    """A process for each set: most of the time goes to the translation system, which has one thread."""
    options.threads = max(1, options.threads // len(sets))
    processes = get_context("spawn")
    workers = [processes.Process(target=_worker, args=(name, options)) for name in sets]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
    finally:  # somebody ended this process
        for worker in workers:
            worker.terminate()
    return max(abs(worker.exitcode or 0) for worker in workers)


def _worker(name: str, options: argparse.Namespace) -> None:
    exit_when_terminated()
    sys.exit(one_set(name, options))


def one_set(name: str, options: argparse.Namespace) -> int:
    """Its systems, and its table."""
    known = {system.name: system for system in SYSTEMS}
    systems = [known[name] for name in dict.fromkeys([BASE, *(options.system or known)])]
    try:
        store = Store.open(options.out / "cells.jsonl")
        run(store, systems, name, options)
        write(store, name, options.size, options.seed, options.out, options.tables or options.out)
    except (InputError, CommandError) as error:
        print(f"translation: {error}", file=sys.stderr)
        return 2
    return 0


def run(store: Store, systems: Sequence[System], name: str, options: argparse.Namespace) -> None:
    """The systems of one set that are not finished; the one whose links are tuned on comes first."""
    place = options.out / f"{name}-{options.size}"
    missing = [
        system for system in systems if ("translation", system.name, name, options.size, options.seed) not in store
    ]
    if not missing:
        return
    if not (place / "test.source").exists():
        with closing(read_pairs(find_set(f"{name}:{options.size}", options.data).train)) as pairs:
            parts = split(pairs, options.size, options.tune, options.test)
        write_split(parts, place)
    interpreter, version = python()
    text, bitext = train_text(place), read_bitext(place / "train.source", place / "train.target")
    references = (place / "test.target").read_text("utf-8").splitlines()
    commit = working_tree()
    for number, system in enumerate(missing, 1):
        began, cpu = monotonic(), process_time()
        thot = Thot(place, interpreter, options.evaluations)
        thot.learn()
        folder = place / system.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        links, made = links_of(system, bitext, text, folder, options.seed, options.threads)
        table = thot.phrases(links, bitext, folder)
        tuned = thot.tune(table)
        hypotheses, phrases, kept = thot.translate(table, folder)
        table.unlink()
        found = score(hypotheses, references)
        numbers = {
            "BLEU": found.bleu,
            "chrF": found.chrf,
            "links": len(links.source),
            "phrases": phrases,
            "phrases kept": kept,
            "tuning BLEU": 100 * tuned["bleu"],
        }
        signature = f"{made}|sil-machine:{version}|evaluations:{options.evaluations}; {found.signature}"
        seconds = process_time() - cpu + thot.seconds
        store.add(
            Cell("translation", system.name, name, options.size, options.seed, numbers, signature, commit, seconds)
        )
        print(
            f"{name}:{options.size} {number}/{len(missing)} {system.name}: BLEU {found.bleu:.2f}, chrF {found.chrf:.2f},"
            f" {phrases:,} phrase pairs, {monotonic() - began:.0f} s",
            file=sys.stderr,
            flush=True,
        )


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
