"""All sets at a glance, from the JSON that peers.py wrote: error and cost relative to a peer, and a plot for each set.

    python benchmarks/overview.py one.json two.json --plots benchmarks/images --output FILE

A peer counts with its best output, chosen on the test set; a recipe with its own.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import mean, median
from typing import Any

OWN = "own"
PRESETS = ("fast", "default", "best")
HEIGHTS = (3, -9, 10, -16, 17, -23)  # of names above and below their points, in points, best first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=Path, metavar="JSON")
    parser.add_argument("--against", nargs="+", default=["eflomal", "eflomal-stem"], metavar="PEER")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="write one SVG a set there (needs matplotlib)")
    parser.add_argument("--output", type=Path, metavar="FILE")
    options = parser.parse_args()
    tasks = merged([task for path in options.reports for task in json.loads(path.read_text(encoding="utf-8"))["tasks"]])
    page = "\n\n".join(table(tasks, peer) for peer in options.against) + "\n"
    if options.plots is not None:
        page += f"\n{draw_all(tasks, options.plots, options.plots.name)}\n"
    print(page)
    if options.output is not None:
        options.output.write_text(page, encoding="utf-8")


def merged(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One task a text: what several runs measured on the same text stands together, the first run of an aligner counts."""
    found: dict[str, dict[str, Any]] = {}
    for task in tasks:
        whole = found.setdefault(name_of(task), {**task, "aligners": []})
        known = {result["name"] for result in whole["aligners"]}
        whole["aligners"] += [result for result in task["aligners"] if result["name"] not in known]
    return list(found.values())


def name_of(task: dict[str, Any]) -> str:
    return f"{task['name']}, {task['train_pairs']:,} pairs"


def draw_all(tasks: list[dict[str, Any]], folder: Path, link: str) -> str:
    """A plot for each set, and the lines that show them in a page from which `link` leads to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for task in tasks:
        name = f"{name_of(task).replace(', ', '-').replace(' ', '-').replace(',', '')}.svg"
        draw(task, folder / name)
        lines.append(f"![AER against CPU seconds, {name_of(task)}]({link}/{name})")
    return "\n\n".join(lines)


def points(task: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """(CPU seconds, AER in per cent) of every aligner that came to an end."""
    found = {}
    for result in task["aligners"]:
        if result["median"] is None or not result["outputs"]:
            continue
        output = OWN if OWN in result["outputs"] else result["best"]
        found[result["name"]] = result["median"]["cpu"], 100 * median(result["outputs"][output]["aer"])
    return found


def table(tasks: list[dict[str, Any]], peer: str) -> str:
    """Share of the peer's error that each preset takes away, and its share of the peer's CPU seconds."""
    head = ["set", f"{peer}: AER", "CPU s"]
    for preset in PRESETS:
        head += [f"{preset}: AER", "less error", "of its CPU"]
    lines = [f"Against {peer}:", "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    gains: dict[str, list[tuple[float, float]]] = {preset: [] for preset in PRESETS}
    for task in tasks:
        found = points(task)
        if peer not in found:
            continue
        cpu, aer = found[peer]
        row = [name_of(task), f"{aer:.1f}", f"{cpu:.1f}"]
        for preset in PRESETS:
            if f"dovetail {preset}" not in found:
                row += ["–", "–", "–"]
                continue
            own_cpu, own_aer = found[f"dovetail {preset}"]
            gains[preset].append((1 - own_aer / aer, own_cpu / cpu))
            row += [f"{own_aer:.1f}", f"{1 - own_aer / aer:.0%}", f"{own_cpu / cpu:.2f}"]
        lines.append("| " + " | ".join(row) + " |")
    row = ["mean", "", ""]
    for preset in PRESETS:
        if gains[preset]:
            less, share = (mean(column) for column in zip(*gains[preset], strict=True))
            row += ["", f"**{less:.0%}**", f"**{share:.2f}**"]
        else:
            row += ["", "–", "–"]
    lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def draw(task: dict[str, Any], file: Path) -> None:
    """AER against CPU seconds: the nearer to the lower left corner the better."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "dovetail"  # the same picture for the same numbers
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, axes = plt.subplots(figsize=(8, 5))
    found = points(task)
    for name, (cpu, aer) in found.items():
        ours = name.startswith("dovetail ")
        axes.scatter(cpu, aer, marker="o" if ours else "s", color="#1b6ca8" if ours else "#c2571a", s=34, zorder=3)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.12, y=0.08)
    axes.set_xlabel("CPU seconds, text to links (log scale)")
    axes.set_ylabel("AER, per cent")
    axes.set_title(f"{name_of(task)}: dovetail's recipes (circles) and peers (squares)", fontsize=10)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.canvas.draw()
    _label(axes, found)
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def _label(axes: Any, found: dict[str, tuple[float, float]]) -> None:
    """Names beside their points, each on the first side where it covers no point and no other name."""
    from matplotlib.transforms import Bbox

    taken = [
        Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in (axes.transData.transform(place) for place in found.values())
    ]
    for name, place in found.items():
        label = name.removeprefix("dovetail ")
        bold = "bold" if label in PRESETS and name != label else "normal"
        for x, y in ((side, height) for height in HEIGHTS for side in (6, -6)):
            text = axes.annotate(
                label,
                place,
                xytext=(x, y),
                textcoords="offset points",
                fontsize=8,
                fontweight=bold,
                horizontalalignment="left" if x > 0 else "right",
            )
            box = text.get_window_extent()
            inside = axes.bbox.x0 < box.x0 and box.x1 < axes.bbox.x1
            if inside and not any(box.overlaps(other) for other in taken):
                break
            text.remove()
        else:  # no side is free: better over another than not at all
            text = axes.annotate(label, place, xytext=(6, 3), textcoords="offset points", fontsize=8, fontweight=bold)
            box = text.get_window_extent()
        taken.append(box)


if __name__ == "__main__":
    main()
