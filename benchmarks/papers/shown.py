"""Tables and figures as papers have them, written as one HTML page that opens from disk, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

from papers.store import Store

Point = Sequence[float]
MOST_POINTS = 12  # of a line, where it stands as a table
STYLE = """
body { font: 16px/1.5 Georgia, serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.85rem; display: block; overflow-x: auto; }
th, td { padding: 0.2rem 0.6rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: white; }
.paper { background: #f6f1e4; }
.made { font-size: 0.8rem; color: #555; }
svg { max-width: 100%; height: auto; }
"""


@dataclass(frozen=True)
class Table:
    """`printed` columns, the last ones, hold the paper's own numbers; `made_at` tells the commits of the cells."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    printed: int = 0
    note: str = ""
    made_at: str = ""


@dataclass(frozen=True)
class Figure:
    """Lines through points, by name; or bars, by what they are of: groups of them stand side by side.

    `logarithmic`: the axis of y.
    """

    title: str
    x: str
    y: str
    lines: dict[str, Sequence[Point]]
    note: str = ""
    bars: dict[str, Sequence[tuple[str, float]]] = field(default_factory=dict)
    logarithmic: bool = False
    made_at: str = ""


@dataclass
class Section:
    title: str
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    @classmethod
    def of(cls, title: str, store: Store, parts: Iterable[Table | Figure]) -> Section:
        """Of parts that are made one after another: each tells the commits of the cells that it asked for."""
        section = cls(title)
        store.made_at()  # what was asked for before belongs to no part
        for part in parts:
            if isinstance(part, Table):
                section.tables.append(replace(part, made_at=store.made_at()))
            else:
                section.figures.append(replace(part, made_at=store.made_at()))
        return section


def shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def write(sections: Sequence[Section], store: Store, about: str, out: Path) -> None:
    """`index.html`, `papers.md`, `cells.csv`."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.html").write_text(page(sections, about), "utf-8")
    (out / "papers.md").write_text(markdown(sections, about), "utf-8")
    with (out / "cells.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["paper", "system", "set", "pairs", "seed", "number", "at", "value", "commit", "signature"])
        lines.writerows(store.rows())


def markdown(sections: Sequence[Section], about: str) -> str:
    parts = ["# The papers' tables", about]
    for section in sections:
        parts.append(f"## {section.title}")
        for part in (*section.tables, *section.figures):
            table = part if isinstance(part, Table) else points_of(part)
            parts += [told for told in (f"### {part.title}", part.note, rows_of(table), part.made_at) if told]
    return "\n\n".join(parts) + "\n"


def points_of(figure: Figure) -> Table:
    """The figure's bars; or points of its lines, in columns by x if all lines have the same, else with two rows a line."""
    if figure.bars:
        bars = {name: dict(own) for name, own in figure.bars.items()}
        groups = list(dict.fromkeys(group for own in bars.values() for group in own))
        rows = [[name, *(_fine(own.get(group)) for group in groups)] for name, own in bars.items()]
        return Table(figure.title, [figure.y, *groups], rows)
    lines = {name: dict(map(tuple, points)) for name, points in figure.lines.items() if points}
    places = sorted({x for points in lines.values() for x in points})
    longest = max(map(len, lines.values()), default=0)
    if len(places) == longest:
        places = _thinned(places)
        rows = [[name, *(_fine(points.get(x)) for x in places)] for name, points in lines.items()]
        return Table(figure.title, [figure.x, *map(_fine, places)], rows)
    number, rows = min(longest, MOST_POINTS), []
    for name, points in lines.items():
        few = _thinned(list(points))
        for axis, values in ((figure.x, few), (figure.y, [points[x] for x in few])):
            rows.append([f"{name}: {axis}", *map(_fine, values), *[""] * (number - len(few))])
    return Table(figure.title, ["", *(f"point {n}" for n in range(1, number + 1))], rows)


def _thinned(values: Sequence[float]) -> list[float]:
    """At most MOST_POINTS of them, evenly, with the first and the last."""
    number = min(len(values), MOST_POINTS)
    return [values[round(n * (len(values) - 1) / max(1, number - 1))] for n in range(number)]


def _fine(value: float | None) -> str:
    """As in tables, but for small parts of one, which curves and times are made of."""
    return f"{value:.3f}" if isinstance(value, float) and 0.0 < abs(value) < 1.0 else shown(value)


def rows_of(table: Table) -> str:
    """The table alone, in Markdown."""
    lines = [table.head, ["---"] * len(table.head), *([shown(cell) for cell in row] for row in table.rows)]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def page(sections: Sequence[Section], about: str) -> str:
    body = [f"<h1>The papers' tables</h1><p>{_html(about)}</p>"]
    for section in sections:
        body.append(f"<h2>{_html(section.title)}</h2>")
        body += [_table(table) for table in section.tables]
        for figure in section.figures:
            note = f"<p>{_html(figure.note)}</p>" if figure.note else ""
            body.append(f"<h3>{_html(figure.title)}</h3>{note}{drawn(figure)}{_made(figure)}")
    head = f'<meta charset="utf-8"><title>The papers\' tables</title><style>{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def _table(table: Table) -> str:
    last = len(table.head) - table.printed

    def row(cells: Sequence[Any], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=paper' if n >= last else ''}>{_html(shown(cell))}</{tag}>" for n, cell in enumerate(cells)
        )

    note = f"<p>{_html(table.note)}</p>" if table.note else ""
    rows = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in table.rows)
    return f"<h3>{_html(table.title)}</h3>{note}<table><tr>{row(table.head, 'th')}</tr>{rows}</table>{_made(table)}"


def _made(part: Table | Figure) -> str:
    return f"<p class=made>{part.made_at}</p>" if part.made_at else ""


def _html(text: str) -> str:
    """Text as HTML; what stands between backquotes, as in Markdown, is a name."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def drawn(figure: Figure) -> str:
    """The figure as SVG, the same bytes for the same points."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "dovetail"
    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
    from cycler import cycler
    from matplotlib import pyplot

    picture, axes = pyplot.subplots(figsize=(6.4, 3.6))
    # After ten colours lines are dashed: no two look alike.
    axes.set_prop_cycle(cycler(linestyle=["-", "--", ":"]) * pyplot.rcParamsDefault["axes.prop_cycle"])
    groups = list(dict.fromkeys(group for bars in figure.bars.values() for group, _ in bars))
    for n, (name, bars) in enumerate(figure.bars.items()):
        width = 0.8 / len(figure.bars)
        places = [groups.index(group) + (n + 0.5) * width - 0.4 for group, _ in bars]
        axes.bar(places, [value for _, value in bars], width, label=name)
    if groups:
        axes.set_xticks(range(len(groups)), groups, rotation=40, ha="right", fontsize=8)
    for name, points in figure.lines.items():
        if points:
            axes.plot(*zip(*points, strict=True), label=name, linewidth=1.2, marker="o" if len(points) < 15 else None)
    axes.set(xlabel=figure.x, ylabel=figure.y, yscale="log" if figure.logarithmic else "linear")
    axes.spines[["top", "right"]].set_visible(False)
    if any(figure.lines.values()) or any(figure.bars.values()):
        # outside: looking for the best place inside is slow
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    picture.tight_layout()
    text = io.StringIO()
    picture.savefig(text, format="svg", metadata={"Date": None})
    pyplot.close(picture)
    return text.getvalue()[text.getvalue().index("<svg") :]
