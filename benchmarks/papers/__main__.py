"""Run what is not in the store yet, then write the page, the Markdown and the CSV."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import syntax
from commits import working_tree
from dovetail.errors import InputError
from measure import exit_when_terminated
from papers import claims
from papers.running import PAPERS, SEEDS, measured_texts, named, run, told
from papers.shown import Section, Table, rows_of, write
from papers.store import SETS, Store
from side_by_side import side_by_side
from texts import find_set

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SIZES = (1000, 10000)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    sets, sizes = options.set or SETS, options.size or SIZES
    commit, texts = working_tree(), list(product(sets, sizes))
    try:  # what is wrong is told once, before anything is run
        _check_names([*options.only, *options.skip, *options.again])
        _check_sizes(sizes)
        store = Store.open(options.out / "cells.jsonl")
        if options.again:  # wherever they were measured
            texts = measured_texts(store, commit, options)
        for name in dict.fromkeys(name for name, _ in texts):
            find_set(name, options.data)
    except InputError as error:
        return told(error)
    largest_first = sorted(texts, key=lambda text: -text[1])  # they take longest
    tasks = [(*text, commit, options) for text in largest_first]
    if len(tasks) == 1:
        status = run(*tasks[0])
    else:
        at_once, options.threads = options.threads, 1  # few of the jobs keep two busy
        status = side_by_side(run, tasks, at_once)
    if status:
        return status
    store = Store.open(options.out / "cells.jsonl")
    if options.again and store.cells:
        store.tidy()
    trees = options.data / "pud"  # of Figure 10, which has texts of its own
    if trees.exists() and not (options.set or options.paper or options.only or options.again):
        asked = argparse.Namespace(data=trees, system=None, seed=1, threads=options.threads)
        for pair, more in product(syntax.PAIRS, syntax.MORE):
            syntax.run(store, pair, more, asked)
    about = claims.about(store)
    sections = [section for module in PAPERS.values() for section in _sections(module, store)]
    if any(cell.paper == "syntax" for cell in store.cells.values()):
        sections.append(syntax.section(store, syntax.PAIRS, seed=1))
    sections += missing(store, sets, sizes)
    write(sections, store, about, options.out)
    for table in claims.tables(store):
        name = table.title.split()[0].lower().replace("ç", "c")
        (options.out / f"claims-{name}.md").write_text(f"{about}\n\n{rows_of(table)}\n\n{table.made_at}\n", "utf-8")
    print(options.out / "index.html")
    return 0


def _check_names(names: Sequence[str]) -> None:
    known = {job.name for module in PAPERS.values() for job in module.JOBS}
    for name in names:
        if not any(named(system, [name]) for system in known):
            raise InputError(f"no system {name!r}", remedy=f"Choose from: {', '.join(map(repr, sorted(known)))}.")


def _check_sizes(sizes: Sequence[int]) -> None:
    for size in sizes:
        if size < 1:
            raise InputError(f"--size is {size}", remedy="Give a number of training pairs, at least 1.")


def _sections(module: ModuleType, store: Store) -> list[Section]:
    """Of all texts that were ever measured, not only of those that were asked for this time."""
    texts = store.texts(module.PAPER)
    return module.sections(store, texts) if texts else []


def missing(store: Store, sets: Sequence[str], sizes: Sequence[int]) -> list[Section]:
    """What is not measured yet, of the texts that are asked for: said, so that nobody takes a dash for a result."""
    rows = []
    for name, size in ((name, size) for size in sizes for name in sets):
        for module in PAPERS.values():
            lacks = []
            for job in module.JOBS:
                wanted, found = len(SEEDS) if job.samples else 1, len(store.of(job.paper, job.name, name, size))
                if found < wanted:
                    lacks.append(job.name if found == 0 else f"{job.name} ({found} of {wanted} seeds)")
            if lacks:
                said = "all" if not store.has(module.PAPER, name, size) else ", ".join(lacks)
                rows.append([f"{name}:{size}", module.PAPER, said])
    return (
        [Section("What is not measured", [Table("Missing cells", ["text", "paper", "systems"], rows)])] if rows else []
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__, allow_abbrev=False)
    parser.add_argument("--set", action="append", metavar="NAME", help="a set under the data folder (several times)")
    parser.add_argument("--size", action="append", type=int, metavar="N", help="training pairs (several times)")
    parser.add_argument("--paper", action="append", choices=PAPERS, help="only this paper (several times)")
    several: dict[str, Any] = {"action": "append", "default": [], "metavar": "SYSTEM"}
    parser.add_argument(
        "--only", **several, help="only jobs of this name, or pattern of names as 'IBM1F*' (several times)"
    )
    parser.add_argument("--skip", **several, help="not those (several times)")
    parser.add_argument(
        "--again",
        **several,
        help="measure the cells of this system again, if they are of another commit, and no others (several times); what "
        "peers wrote is kept in DIR/peers",
    )
    parser.add_argument("--seeds", type=int, choices=(1, 2, 3), default=3, help="of what samples")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the page, and the finished cells")
    return parser


if __name__ == "__main__":
    exit_when_terminated()
    sys.exit(main())
