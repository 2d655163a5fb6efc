"""The headline figures of README.md, all of RESULTS.md's tables and results/peers.md, made anew by one command.

    python -m benchmarks.tables --work build/tables

`make tables`.  Runs peers.py on the sets below, two runs at a time, each with one thread; one that is finished, of this
commit, is not run again.  Tables go between the marks `<!-- NAME -->` and `<!-- end -->` of the pages, plots into the folder
of images; words around them are written by hand.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

from commits import working_tree
from dovetail.errors import InputError
from headlines import SYSTEMS, headlines
from measure import exit_when_terminated
from overview import draw_all, merged, table
from papers import chang
from papers.store import Store
from report import machine_line
from side_by_side import side_by_side

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
HEADLINE = "benchmarks/results/headline.json"
END = "<!-- end -->"
SOURCES = """`make tables`, from runs of [`peers.py`](benchmarks/RESULTS.md). Peers and the
[papers' systems](docs/papers.md) by the best of their outputs, chosen on the test set; `default` by its own."""
PUBLISHED = """`eflomal-stem` is eflomal at its strongest: words cut to 5 letters. Published for the whole of the Hansards
are an AER of 5.9 for GIZA++'s Model 4 and of 8.1 for eflomal."""
FRENCH, GERMAN, CZECH, JAPANESE = "en-fr-hansards", "de-en-europarl", "en-cs-czenali", "ja-en-kftt"
PRESETS = ("fast", "default", "best")
SOME = ("ibm1", "hmm", "hmm-agreement", "hmm-fertility", "hmm-bijective", "hmm-symmetric", "ibm1-bayes", "hmm-bayes")
OTHERS = (
    "ibm1-agreement",
    "ibm1-bijective",
    "ibm1-symmetric",
    "ibm1-fertility",
    "hmm-fertility-features",
    "hmm-fertility-hard",
)


class Plan(NamedTuple):
    """What peers.py is asked for, set by set."""

    sets: tuple[str, ...]
    peers: tuple[str, ...]
    recipes: tuple[str, ...]
    judge: str
    only_own: bool = True  # or Dovetail's other combinations, too

    def words(self, sets: Sequence[str]) -> list[str]:
        each = [word for one in sets for word in ("--set", one)]
        only = ["--only-own"] if self.only_own else []
        asked = ["--threads", "1", *only, "--judge", self.judge, *each, "--peers", *self.peers]
        return [*asked, "--recipes", *self.recipes]


PLANS = {
    "headline": Plan(
        tuple(f"{name}:1000" for name in (FRENCH, GERMAN, CZECH, JAPANESE)),
        ("eflomal", "sil-thot-fast-align"),
        PRESETS,
        "default",
    ),
    "papers": Plan(
        tuple(f"{name}:1000" for name in (FRENCH, GERMAN, CZECH, JAPANESE)), (), SYSTEMS, SYSTEMS[0], only_own=False
    ),
    "presets": Plan(
        (f"{FRENCH}:1000", f"{FRENCH}:10000", JAPANESE, f"{GERMAN}:20000", CZECH, f"{FRENCH}:100000"),
        ("eflomal", "eflomal-stem"),
        PRESETS,
        "best",
    ),
    "whole": Plan((FRENCH,), ("eflomal",), PRESETS, "best"),
    "recipes": Plan(
        (f"{FRENCH}:1000", f"{FRENCH}:10000", f"{JAPANESE}:30000", f"{GERMAN}:20000"),
        ("systran-align", "sil-thot-fast-align", "sil-thot-hmm"),
        SOME + OTHERS,
        "hmm",
    ),
    "recipes-large": Plan((f"{FRENCH}:100000", CZECH), ("systran-align", "sil-thot-fast-align"), SOME, "hmm"),
}

# What peers.md tells of, under these titles.
DETAILS = {
    "presets": "Presets",
    "whole": "Presets, all pairs",
    "recipes": "Recipes",
    "recipes-large": "Recipes, more pairs",
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    commit = working_tree()
    # The whole of the Hansards first, which takes longest.
    names = sorted(options.plan or PLANS, reverse=True)
    tasks = [(name, number) for name in names for number in range(len(PLANS[name].sets))]
    missing = [(*task, options.work) for task in tasks if _report(options.work, *task).get("commit") != commit]
    if missing:
        status = side_by_side(run, missing, options.at_once)
        if status:
            return status
    fill_pages(options.work, ROOT, names)
    return 0


def run(name: str, number: int, work: Path) -> int:
    """One set of a plan, into `work`: its JSON and its page."""
    plan, place = PLANS[name], work / f"{name}-{number}"
    kept = ["--json", place.with_suffix(".json"), "--output", place.with_suffix(".md")]
    command = [sys.executable, HERE / "peers.py", *plan.words([plan.sets[number]]), *kept]
    status = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    print(f"{name}, {plan.sets[number]}: status {status}", file=sys.stderr, flush=True)
    return status


def _report(work: Path, name: str, number: int) -> dict[str, Any]:
    """What a run wrote; nothing where there is none."""
    path = work / f"{name}-{number}.json"
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def fill_pages(work: Path, root: Path, names: Sequence[str] = tuple(PLANS)) -> None:
    """Everything that is made of the runs of these plans in `work`; the rest stays as it is."""
    runs = {name: [_report(work, name, n) for n in range(len(PLANS[name].sets))] for name in names}
    tasks = {name: [task for one in reports for task in one["tasks"]] for name, reports in runs.items()}

    def commits(*own: str) -> str:
        return ", ".join(sorted({one["commit"] for name in own for one in runs[name]}))

    def about(*own: str) -> str:
        used = dict.fromkeys(aligner["version"] for name in own for task in tasks[name] for aligner in task["aligners"])
        machine = machine_line(runs[own[0]][0]["machine"])
        return f"Commit {commits(*own)}; {machine}; {'; '.join(used)}. One round, two runs at a time."

    results = root / "benchmarks" / "RESULTS.md"
    keep_headlines(root / HEADLINE, runs)
    if {"headline", "papers"} <= set(names):
        made = f"Made at commit {commits('headline', 'papers')} by {SOURCES}{slow_system(root)}"
        put(root / "README.md", {"headlines": f"{headlines(tasks['headline'], tasks['papers'])}\n\n{made}"})
    if "headline" in names:
        own = tables(tasks["headline"], PLANS["headline"].peers)
        put(results, {"small": "\n\n".join([about("headline"), typed("headline"), own])})
    if {"presets", "whole"} <= set(names):
        own = tables(merged(tasks["presets"] + tasks["whole"]), PLANS["presets"].peers)
        put(results, {"large": "\n\n".join([about("presets", "whole"), typed("presets", "whole"), own])})
    if set(DETAILS) <= set(names):
        every = merged([task for name in DETAILS for task in tasks[name]])
        glance = tables(every, PLANS["presets"].peers), draw_all(every, root / "benchmarks" / "images", "../images")
        page = details(work, about(*DETAILS), glance)
        (root / "benchmarks" / "results" / "peers.md").write_text(page, "utf-8")


def keep_headlines(place: Path, runs: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    """All that README's table is made of: runs beside peers, and under `papers` those of the papers' own systems.

    What was not run this time stays; each part has its own commit.
    """
    kept: dict[str, Any] = dict(json.loads(place.read_text("utf-8"))) if place.exists() else {}
    parts = {
        name: {**runs[name][0], "tasks": [task for report in runs[name] for task in report["tasks"]]}
        for name in ("headline", "papers")
        if name in runs
    }
    if not parts:
        return
    papers = parts.get("papers") or kept.get("papers")
    kept = {**parts.get("headline", kept), **({"papers": papers} if papers else {})}
    place.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")


def slow_system(root: Path) -> str:
    """What chang2014, which is not among the others, has on the test pairs that its paper's tables are made of."""
    store = Store.open(root / "benchmarks" / "results" / "papers" / "cells.jsonl")
    found = [
        store.mean(chang.PAPER, "accuracy", *text.split(":")[:1], 1000, "CONS AER") for text in PLANS["headline"].sets
    ]
    if None in found:
        return ""
    told = ", ".join(f"{aer:.1f}" for aer in found)
    why = "Not among them is `chang2014`, whose search takes minutes"
    return f"\n{why}: on at most {chang.JUDGED} test pairs of each text it has {told}."


def details(work: Path, about: str, glance: Sequence[str]) -> str:
    """Every set's own tables, as peers.py wrote them."""
    pages = {
        name: [(work / f"{name}-{n}.md").read_text("utf-8") for n in range(len(PLANS[name].sets))] for name in DETAILS
    }
    first = pages["presets"][0]
    how_to_read = first[first.index("Text to links") : first.index("\n- ")].strip()
    parts = [
        "# Beside other aligners",
        about,
        typed(*DETAILS),
        PUBLISHED,
        how_to_read,
        "## All sets at a glance",
        *glance,
    ]
    for name, title in DETAILS.items():
        parts += [f"## {title}", *(f"#{page[page.index('## ') :]}".strip() for page in pages[name])]
    return "\n\n".join(parts) + "\n"


def typed(*names: str) -> str:
    """The runs as somebody would type them, line by line."""
    lines = []
    for name in names:
        words = ["python benchmarks/peers.py", *PLANS[name].words(PLANS[name].sets)]
        lines.append(
            fill(
                " ".join(words).replace("--set ", "--set\u00a0"), 130, subsequent_indent="    ", break_on_hyphens=False
            )
            .replace("\n", " \\\n")
            .replace("\u00a0", " ")
        )
    return "```sh\n" + "\n".join(lines) + "\n```"


def tables(tasks: list[dict[str, Any]], peers: Sequence[str]) -> str:
    return "\n\n".join(table(tasks, peer) for peer in peers)


def put(page: Path, parts: Mapping[str, str]) -> None:
    """Write the parts between their marks."""
    text = page.read_text("utf-8")
    for name, part in parts.items():
        before, mark, after = text.partition(f"<!-- {name} -->\n")
        if not mark:
            raise InputError(f"no place for {name!r}", path=page, remedy=f"Put <!-- {name} --> and <!-- end --> there.")
        text = f"{before}{mark}{part}\n{after[after.index(END) :]}"
    page.write_text(text, "utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__, allow_abbrev=False)
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="what the runs write")
    parser.add_argument("--plan", action="append", choices=PLANS, help="only this part of them (several times)")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="runs side by side")
    return parser


if __name__ == "__main__":
    exit_when_terminated()
    sys.exit(main())
