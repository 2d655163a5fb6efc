"""Run what is not in the store yet, then write the page, the Markdown and the CSV."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, process_time
from types import ModuleType

from commits import working_tree
from dovetail.errors import InputError
from papers import chang, claims, graca, mermer, quirk, zhao
from papers.shown import Section, Table, rows_of, write
from papers.store import Cell, Store
from papers.trial import Job, open_trial

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SETS = ("en-fr-hansards", "de-en-europarl", "en-cs-czenali", "ja-en-kftt")
PAPERS: dict[str, ModuleType] = {"quirk": quirk, "graca": graca, "zhao": zhao, "mermer": mermer, "chang": chang}
SIZES = (1000, 10000)
SEEDS = (1, 2, 3)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        store = Store.open(options.out / "cells.jsonl")
        modules = [PAPERS[name] for name in options.paper or PAPERS]
        texts = [(name, size) for name in options.set or SETS for size in options.size or SIZES]
        commit = working_tree()
        for name, size in texts:
            jobs = [job for module in modules for job in module.JOBS if options.only in (None, job.name)]
            jobs = [job for job in jobs if job.name not in options.skip]
            run(store, jobs, name, size, commit, options)
    except InputError as error:
        print(f"papers: {error}", file=sys.stderr)
        return 2
    commits = ", ".join(sorted({cell.commit for cell in store.cells.values()})) or "nothing yet"
    about = f"Made by `python -m benchmarks.papers`; commits {commits}. Numbers of samplers are means over seeds."
    sections = [section for module in PAPERS.values() for section in _sections(module, store)]
    sections.append(missing(store, options.set or SETS, options.size or SIZES))
    write(sections, store, about, options.out)
    for table in claims.tables(store):
        name = table.title.split()[0].lower().replace("ç", "c")
        (options.out / f"claims-{name}.md").write_text(f"{about}\n\n{rows_of(table)}\n", "utf-8")
    print(options.out / "index.html")
    return 0


def _sections(module: ModuleType, store: Store) -> list[Section]:
    """Of all texts that were ever measured, not only of those that were asked for this time."""
    texts = store.texts(module.PAPER)
    return module.sections(store, texts) if texts else []


def missing(store: Store, sets: Sequence[str], sizes: Sequence[int]) -> Section:
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
    return Section("What is not measured", [Table("Missing cells", ["text", "paper", "systems"], rows)])


def run(store: Store, jobs: Sequence[Job], name: str, size: int, commit: str, options: argparse.Namespace) -> None:
    """The jobs of one text that are not finished."""
    wanted = [(job, seed) for job in jobs for seed in (SEEDS[: options.seeds] if job.samples else SEEDS[:1])]
    missing = [(job, seed) for job, seed in wanted if (job.paper, job.name, name, size, seed) not in store]
    if not missing:
        return
    with open_trial(name, size, options.data, options.threads) as trial:
        for number, (job, seed) in enumerate(missing, 1):
            began, cpu = monotonic(), process_time()
            numbers = job.run(trial, seed)
            signature = f"{numbers.pop('signature')}|seed:{seed}"
            values = {key: value for key, value in numbers.items() if not key.endswith("signature")}
            store.add(Cell(job.paper, job.name, name, size, seed, values, signature, commit, process_time() - cpu))
            print(
                f"{name}:{size} {number}/{len(missing)} {job.paper}, {job.name}, seed {seed}: {monotonic() - began:.1f} s",
                file=sys.stderr,
                flush=True,
            )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__, allow_abbrev=False)
    parser.add_argument("--set", action="append", metavar="NAME", help="a set under the data folder (several times)")
    parser.add_argument("--size", action="append", type=int, metavar="N", help="training pairs (several times)")
    parser.add_argument("--paper", action="append", choices=PAPERS, help="only this paper (several times)")
    parser.add_argument("--only", metavar="SYSTEM", help="only the job of this name")
    parser.add_argument("--skip", action="append", default=[], metavar="SYSTEM", help="not the job of this name")
    parser.add_argument("--seeds", type=int, choices=(1, 2, 3), default=3, help="of what samples")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the page, and the finished cells")
    return parser


if __name__ == "__main__":
    sys.exit(main())
