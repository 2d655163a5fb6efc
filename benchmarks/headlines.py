"""A few lines for the README: the preset `default` beside peers and beside the best of the papers' own systems.

    python benchmarks/headlines.py peers.json benchmarks/results/papers/cells.jsonl

The first file is from peers.py, the second from benchmarks.papers, of the same texts.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from overview import name_of, points
from papers import graca, mermer, quirk, zhao
from papers.store import Store

PEERS = {"eflomal": "eflomal", "sil-thot-fast-align": "fast_align's model (sil-thot)"}
OURS = "dovetail default"
# What a paper's own system is judged by: the better direction, or both put together where the paper does that.
SYSTEMS = (
    ("quirk2013", quirk.PAPER, "quirk2013", ("dual forward AER", "dual reverse AER")),
    ("graca2010-bijective", graca.PAPER, "graca2010-bijective", ("soft-union AER",)),
    ("graca2010-symmetric", graca.PAPER, "graca2010-symmetric", ("soft-union AER",)),
    ("zhao2010-hmmf", zhao.PAPER, "HMMF-30", ("forward AER", "reverse AER")),
    ("mermer2011", mermer.PAPER, "GS-80", ("forward AER", "reverse AER")),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", type=Path, metavar="JSON")
    parser.add_argument("cells", type=Path, metavar="JSONL")
    options = parser.parse_args()
    print(headlines(json.loads(options.peers.read_text("utf-8")), Store.open(options.cells)))


def headlines(run: dict[str, Any], store: Store) -> str:
    """One line per text: AER, and CPU seconds in brackets."""
    head = ["AER in per cent (CPU s)", "`default`", *PEERS.values(), "best of the papers' own systems"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for task in run["tasks"]:
        found = points(task)
        cells = [f"{found[name][1]:.1f} ({found[name][0]:.1f})" if name in found else "–" for name in (OURS, *PEERS)]
        best = best_system(store, (task["name"], task["train_pairs"]))
        cells.append(f"{best[0]:.1f} (`{best[1]}`)" if best else "–")
        lines.append("| " + " | ".join([name_of(task), *cells]) + " |")
    return "\n".join(lines)


def best_system(store: Store, text: tuple[str, int]) -> tuple[float, str] | None:
    """AER and name of the papers' own system that is best on a text, chosen by its test set."""
    found = [
        (value, name)
        for name, paper, job, numbers in SYSTEMS
        for number in numbers
        if (value := store.mean(paper, job, *text, number)) is not None
    ]
    return min(found, default=None)


if __name__ == "__main__":
    main()
