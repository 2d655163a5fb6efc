"""A few lines for the README: the preset `default` beside peers and beside the best of the papers' own systems.

    python benchmarks/headlines.py peers.json papers.json
    python benchmarks/headlines.py benchmarks/results/headline.json

Both files are from peers.py, of the same texts: of `default` and peers, and of the papers' systems with all their outputs.
`make tables` keeps both in one.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any

from overview import name_of, points

PEERS = {"eflomal": "eflomal", "sil-thot-fast-align": "fast_align's model (sil-thot)"}
OURS = "dovetail default"
# Without chang2014, whose search takes minutes: results/papers has it, on the test pairs alone.
SYSTEMS = (
    "quirk2013",
    "graca2010-bijective",
    "graca2010-symmetric",
    "zhao2010-ibm1f",
    "zhao2010-hmmf",
    "mermer2011",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", type=Path, metavar="JSON")
    parser.add_argument("papers", type=Path, metavar="JSON", nargs="?", help="left out where the first has them, too")
    options = parser.parse_args()
    peers = json.loads(options.peers.read_text("utf-8"))
    papers = json.loads(options.papers.read_text("utf-8")) if options.papers else peers.get("papers")
    if papers is None:
        parser.error(f"{options.peers} has no runs of the papers' systems: name a file of theirs, too")
    print(headlines(peers["tasks"], papers["tasks"]))


def headlines(tasks: list[dict[str, Any]], papers: list[dict[str, Any]]) -> str:
    """One line per text: AER, and CPU seconds in brackets."""
    head = ["AER in per cent (CPU s)", "`default`", *PEERS.values(), "best of the papers' own systems"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    systems = {(task["name"], task["train_pairs"]): best_system(task) for task in papers}
    for task in tasks:
        found = points(task)
        cells = [f"{found[name][1]:.1f} ({found[name][0]:.1f})" if name in found else "–" for name in (OURS, *PEERS)]
        best = systems.get((task["name"], task["train_pairs"]))
        cells.append(f"{best[0]:.1f} ({best[1]:.1f}, `{best[2]}`)" if best else "–")
        lines.append("| " + " | ".join([name_of(task), *cells]) + " |")
    return "\n".join(lines)


def best_system(task: dict[str, Any]) -> tuple[float, float, str] | None:
    """AER, CPU seconds and name of the papers' own system with the best of all outputs on a text, by its test set."""
    found = [
        (100 * median(output["aer"]), result["median"]["cpu"], result["name"].removeprefix("dovetail "))
        for result in task["aligners"]
        if result["median"] is not None
        for output in result["outputs"].values()
    ]
    return min(found, default=None)


if __name__ == "__main__":
    main()
