"""A system on a set: its links, its phrase table, the translations made with it."""

from __future__ import annotations

import argparse
import shutil
import sys
from contextlib import closing
from pathlib import Path
from time import monotonic

from commits import working_tree
from dovetail import read_bitext
from dovetail.errors import InputError
from measure import CommandError, cpu_seconds
from papers.store import Cell, Store
from texts import find_set, read_pairs
from translation.scores import score
from translation.split import split, train_text, write_split
from translation.systems import System, links_of
from translation.thot import Thot, python


def one_system(system: System, name: str, options: argparse.Namespace) -> int:
    """A system on a set, if it is not finished; the first one also if what it makes for the others is not there."""
    try:
        store = Store.open(options.out / "cells.jsonl")
        if not (finished(store, system.name, name, options) and prepared(name, options)):
            _run(store, system, name, options)
    except (InputError, CommandError) as error:
        return told(error)
    return 0


def place_of(name: str, options: argparse.Namespace) -> Path:
    """Where a set's text is, and all that is learned from it."""
    return Path(options.out) / f"{name}-{options.size}"


def prepared(name: str, options: argparse.Namespace) -> bool:
    """Whether a set has the weights that are all systems', for which the first one ran."""
    return Thot(place_of(name, options), Path()).weights.exists()


def finished(store: Store, system: str, name: str, options: argparse.Namespace) -> bool:
    return ("translation", system, name, options.size, options.seed) in store


def told(error: Exception) -> int:
    print(f"translation: {error}", file=sys.stderr)
    return 2


def _run(store: Store, system: System, name: str, options: argparse.Namespace) -> None:
    place = place_of(name, options)
    if not place.exists():
        with closing(read_pairs(find_set(f"{name}:{options.size}", options.data).train)) as pairs:
            parts = split(pairs, options.size, options.tune, options.test)
        write_split(parts, place)
    interpreter, version = python()
    text, bitext = train_text(place), read_bitext(place / "train.source", place / "train.target")
    references = (place / "test.target").read_text("utf-8").splitlines()
    began, cpu = monotonic(), cpu_seconds()
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
    seconds = cpu_seconds() - cpu
    store.add(
        Cell("translation", system.name, name, options.size, options.seed, numbers, signature, working_tree(), seconds)
    )
    print(
        f"{name}:{options.size} {system.name}: BLEU {found.bleu:.2f}, chrF {found.chrf:.2f},"
        f" {phrases:,} phrase pairs, {monotonic() - began:.0f} s",
        file=sys.stderr,
        flush=True,
    )
