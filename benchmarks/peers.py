"""Dovetail beside its peers: the same text, the same threads, the same run.

    python benchmarks/peers.py --set en-fr-hansards:10000 --repeat 3 --output RESULTS.md --json results.json

The peers are installed from PyPI into environments of their own on first use.  The aligners take turns, round
after round, so that a machine that grows busy slows all of them; times are medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from aligners import PEERS, Aligner, Recipe
from commits import working_tree
from dovetail.errors import InputError
from measure import CommandError, exit_when_terminated, machine_facts
from report import Settings, facts, preamble, section
from results import Result
from texts import Task, Text, find_set, write_text

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
DEFAULT_PEERS = (
    "eflomal",
    "eflomal-stem",
    "systran-align",
    "sil-thot-hmm",
    "sil-thot-ibm4",
    "sil-thot-eflomal",
)
DEFAULT_RECIPES = ("default", "fast", "best")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        tasks = _tasks(options)
        aligners: list[Aligner] = [PEERS[name] for name in options.peers]
        recipes = [
            Recipe(name, options.dovetail, options.cold, options.retrain, options.only_own) for name in options.recipes
        ]
        aligners += recipes
        versions = {aligner.name: aligner.prepare(options.offline) for aligner in aligners}
        judge = options.judge or (options.recipes[0] if options.recipes else None)
        if judge is not None and judge not in options.recipes:
            raise InputError(f"--judge {judge} is not one of the recipes that run", remedy="Add it to --recipes.")
    except InputError as error:
        print(f"peers.py: {error}", file=sys.stderr)
        return 2
    settings = Settings(
        options.threads, options.repeat, options.timeout, judge and f"dovetail {judge}", options.retrain
    )
    machine = machine_facts()
    parts = [preamble(machine, versions, settings)]
    print(parts[0], flush=True)
    reports: list[dict[str, Any]] = []
    failed = False
    for task in tasks:
        try:
            text, results = compare_aligners(task, aligners, versions, settings, options.keep)
        except (InputError, OSError) as error:
            print(f"peers.py: {error}", file=sys.stderr)
            return 2
        failed = failed or any(result.failure for result in results)
        parts.append(section(task, text, results, settings))
        print("\n" + parts[-1], flush=True)
        reports.append(facts(task, text, results, settings))
        # After every task, so that a later one can't lose what the earlier ones took hours for.
        if options.output:
            options.output.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        if options.json:
            whole = {
                "machine": machine,
                "commit": working_tree(),
                "threads": settings.threads,
                "repeat": settings.repeat,
                "tasks": reports,
            }
            options.json.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if failed else 0


def compare_aligners(
    task: Task,
    aligners: Sequence[Aligner],
    versions: dict[str, str],
    settings: Settings,
    keep: Path | None = None,
) -> tuple[Text, list[Result]]:
    """Every aligner on the task's text, in turns; one that fails is left out of later rounds and says why."""
    with ExitStack() as stack:
        if keep is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dovetail-peers-")))
        else:
            folder = keep / f"{task.name}-{task.pairs or 'all'}"
            folder.mkdir(parents=True, exist_ok=True)
        text = write_text(task, folder)
        results = {aligner.name: Result(aligner.name, versions[aligner.name]) for aligner in aligners}
        for round_number in range(settings.repeat):
            for aligner in aligners:
                result = results[aligner.name]
                if result.failure:
                    continue
                prefix = f"{aligner.name.replace(' ', '-')}-{round_number + 1}-"
                place = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
                try:
                    if round_number == 0:
                        aligner.warm(text, settings.threads)
                    run = aligner.align(text, place, settings.threads, settings.timeout)
                except (CommandError, InputError) as error:
                    result.failure = str(error)
                    print(f"{aligner.name}: {error}", file=sys.stderr)
                    continue
                result.add(run, text.gold)
                seconds = f"{run.measurement.wall:.1f} s, CPU {run.measurement.cpu:.1f} s"
                print(f"round {round_number + 1}: {aligner.name}: {seconds}", file=sys.stderr)
    return text, list(results.values())


def _tasks(options: argparse.Namespace) -> list[Task]:
    files = (options.source, options.target, options.test_source, options.test_target, options.gold)
    if any(files) and not all(files):
        remedy = "Pass all of --source, --target, --test-source, --test-target and --gold."
        raise InputError("a text of your own needs five files", remedy=remedy)
    if bool(options.dev_source) != bool(options.dev_target):
        raise InputError("dev text has two sides", remedy="Pass both --dev-source and --dev-target.")
    tasks = [find_set(name, options.data, " Or pass --source, --target, ...") for name in options.set]
    if all(files):
        dev = (options.dev_source, options.dev_target) if options.dev_source else None
        train, test = (options.source, options.target), (options.test_source, options.test_target)
        tasks.append(Task(options.source.name, train, test, options.gold, dev, options.pairs))
    if not tasks:
        raise InputError("no text to align", remedy="Pass --set NAME:PAIRS, or --source and its companions.")
    return tasks


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    text = parser.add_argument_group("text")
    text.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME:PAIRS",
        help="a set of --data; may be given several times",
    )
    text.add_argument("--data", type=Path, default=DATA, help="folder of the sets (shared/data beside the repository)")
    for name in ("source", "target", "dev-source", "dev-target", "test-source", "test-target", "gold"):
        text.add_argument(f"--{name}", type=Path, metavar="FILE")
    text.add_argument("--pairs", type=int, help="the first so many pairs of --source and --target")
    which = parser.add_argument_group("aligners")
    which.add_argument("--peers", nargs="*", default=list(DEFAULT_PEERS), choices=list(PEERS), metavar="PEER")
    which.add_argument("--recipes", nargs="*", default=list(DEFAULT_RECIPES), metavar="RECIPE")
    which.add_argument("--judge", metavar="RECIPE", help="recipe tested against the peers (the first of --recipes)")
    which.add_argument("--dovetail", metavar="PROGRAM", help="the command dovetail (the one beside this Python)")
    how = parser.add_argument_group("runs")
    how.add_argument("--threads", type=int, default=2)
    how.add_argument("--repeat", type=int, default=1, metavar="N", help="rounds; times and scores are medians")
    how.add_argument("--timeout", type=float, metavar="SECONDS", help="stop an aligner that takes longer")
    how.add_argument("--cold", action="store_true", help="dovetail compiles its kernels anew in every run")
    how.add_argument("--retrain", action="store_true", help="train for each of dovetail's combinations, untimed")
    how.add_argument("--only-own", action="store_true", help="leave dovetail's combinations out, which cost time")
    how.add_argument("--offline", action="store_true", help="use the peers that are installed")
    out = parser.add_argument_group("results")
    out.add_argument("--output", type=Path, metavar="FILE", help="write the tables there too (Markdown)")
    out.add_argument("--json", type=Path, metavar="FILE", help="every round of every aligner")
    out.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the text and all links there")
    return parser


if __name__ == "__main__":
    exit_when_terminated()
    sys.exit(main())
