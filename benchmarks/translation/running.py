"""One set's systems, those that are not in the store yet, and then its table."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from contextlib import closing
from time import monotonic, process_time

from commits import working_tree
from dovetail import read_bitext
from dovetail.errors import InputError
from measure import CommandError
from papers.store import Cell, Store
from texts import find_set, read_pairs
from translation.report import write
from translation.scores import score
from translation.split import split, train_text, write_split
from translation.systems import BASE, SYSTEMS, System, links_of
from translation.thot import Thot, python


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
