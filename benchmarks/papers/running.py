"""One text's jobs: those that are not in the store yet, or those that are asked for again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from time import monotonic
from types import ModuleType

from dovetail.errors import InputError
from measure import cpu_seconds
from papers import chang, graca, mermer, quirk, zhao
from papers.store import Cell, Key, Store
from papers.trial import Job, Numbers, Trial, open_trial

PAPERS: dict[str, ModuleType] = {"quirk": quirk, "graca": graca, "zhao": zhao, "mermer": mermer, "chang": chang}
SEEDS = (1, 2, 3)
CHANGED = "changed"  # in the name of a commit: which changes, nobody knows


def run(name: str, size: int, commit: str, options: argparse.Namespace) -> int:
    """The jobs of one text that are not finished, or were asked for again."""
    try:
        store = Store.open(options.out / "cells.jsonl")
        wanted = [
            (job, seed)
            for job in jobs(options)
            for seed in (SEEDS[: options.seeds] if job.samples else SEEDS[:1])
            if _is_wanted(store, (job.paper, job.name, name, size, seed), commit, options)
        ]
        if wanted:
            with open_trial(name, size, options.data, options.threads, options.out / "peers") as trial:
                trial.known.update(_known(store, name, size))
                for number, (job, seed) in enumerate(wanted, 1):
                    said = f"{name}:{size} {number}/{len(wanted)} {job.paper}, {job.name}, seed {seed}"
                    _run_job(store, job, trial, (name, size, seed), commit, said)
    except InputError as error:
        return told(error)
    return 0


def _known(store: Store, name: str, size: int) -> dict[str, Numbers]:
    """Scores of peers in finished cells of a text."""
    cells = {peer: store.cells.get((graca.PAPER, job, name, size, SEEDS[0])) for job, peer in graca.PEERS.items()}
    return {peer: cell.numbers for peer, cell in cells.items() if cell is not None}


def jobs(options: argparse.Namespace) -> Iterator[Job]:
    """Those that may be run: of the papers and systems that were asked for."""
    for paper in options.paper or PAPERS:
        for job in PAPERS[paper].JOBS:
            if (not options.only or named(job.name, options.only)) and not named(job.name, options.skip):
                yield job


def named(system: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(system, pattern) for pattern in patterns)


def measured_texts(store: Store, commit: str, options: argparse.Namespace) -> list[tuple[str, int]]:
    """Texts, of those that were asked for, that have a cell to be measured again."""
    known = {(job.paper, job.name) for job in jobs(options)}
    again = (cell for key, cell in store.cells.items() if key[:2] in known and _is_wanted(store, key, commit, options))
    texts = dict.fromkeys((cell.set, cell.size) for cell in again)
    return [text for text in texts if text[0] in (options.set or text) and text[1] in (options.size or text)]


def _is_wanted(store: Store, key: Key, commit: str, options: argparse.Namespace) -> bool:
    """Whether it is missing; of systems asked for again, whether its cell is of another commit, or of a changed tree."""
    if not options.again:
        return key not in store
    return named(key[1], options.again) and key in store and (store.cells[key].commit != commit or CHANGED in commit)


def told(error: InputError) -> int:
    print(f"papers: {error}", file=sys.stderr)
    return 2


def _run_job(store: Store, job: Job, trial: Trial, text: tuple[str, int, int], commit: str, said: str) -> None:
    began, cpu = monotonic(), cpu_seconds()
    seed = text[-1]
    numbers = job.run(trial, seed)
    signature = f"{numbers.pop('signature')}|seed:{seed}"
    values = {key: value for key, value in numbers.items() if not key.endswith("signature")}
    store.add(Cell(job.paper, job.name, *text, values, signature, commit, cpu_seconds() - cpu))
    print(f"{said}: {monotonic() - began:.1f} s", file=sys.stderr, flush=True)
