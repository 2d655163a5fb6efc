"""One text's jobs, those that are not in the store yet."""

from __future__ import annotations

import argparse
import sys
from time import monotonic
from types import ModuleType

from dovetail.errors import InputError
from measure import cpu_seconds
from papers import chang, graca, mermer, quirk, zhao
from papers.store import Cell, Store
from papers.trial import Job, Trial, open_trial

PAPERS: dict[str, ModuleType] = {"quirk": quirk, "graca": graca, "zhao": zhao, "mermer": mermer, "chang": chang}
SEEDS = (1, 2, 3)


def run(name: str, size: int, commit: str, options: argparse.Namespace) -> int:
    """The jobs of one text that are not finished."""
    jobs = [job for paper in options.paper or PAPERS for job in PAPERS[paper].JOBS if options.only in (None, job.name)]
    wanted = [
        (job, seed)
        for job in jobs
        if job.name not in options.skip
        for seed in (SEEDS[: options.seeds] if job.samples else SEEDS[:1])
    ]
    try:
        store = Store.open(options.out / "cells.jsonl")
        missing = [(job, seed) for job, seed in wanted if (job.paper, job.name, name, size, seed) not in store]
        if missing:
            with open_trial(name, size, options.data, options.threads, options.out / "peers") as trial:
                for number, (job, seed) in enumerate(missing, 1):
                    said = f"{name}:{size} {number}/{len(missing)} {job.paper}, {job.name}, seed {seed}"
                    _run_job(store, job, trial, (name, size, seed), commit, said)
    except InputError as error:
        return told(error)
    return 0


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
