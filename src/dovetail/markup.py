"""Small pieces of HTML and SVG made of plain lists: what alignments and scores show of themselves in a notebook.

This stands at the bottom of the house, like `errors`, and knows nothing of its types: so `Alignment` and `Score` can show
themselves (`_repr_html_`) without a way up to `report`, which the contract of imports forbids.  No script, no style sheet
and no network are needed: notebooks often strip them.  Every word is escaped.
"""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Mapping, Sequence

Link = tuple[int, int]

CELL, LETTER, LONGEST = 20, 7.2, 16  # pixels of a cell and of a letter; letters of a word that are shown
TALLEST = 520  # pixels of a picture; a higher or wider one scrolls
GROUND = (
    "var(--jp-layout-color0,var(--vscode-editor-background,Canvas))"  # what labels stand on, so that cells pass below
)
INK, SOFT, LINE, RIGHT = "currentColor", "#7c8797", "#8884", "#3b8ed0"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """A table of texts; the first column is the rows' name."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{_isolated(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    title = f"<caption style='text-align:left;caption-side:top'>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def matrix(
    source: Sequence[str],
    target: Sequence[str],
    probabilities: Mapping[Link, float],
    links: Sequence[Link] | None = None,
) -> str:
    """The matrix of a pair: a circle's area is the probability of its cell; `links` are filled, other cells pale."""
    left, top = _room(source), _room(target, slanted=True)
    width, height = CELL * len(target) + top, CELL * len(source) + 4
    chosen = None if links is None else set(links)
    mirrored = _from_the_right(target)  # columns run as the target sentence does
    columns = [CELL * (len(target) - 1 - j if mirrored else j) for j in range(len(target))]
    lines = [f"M0,{i * CELL + 0.5}h{CELL * len(target)}" for i in range(len(source) + 1)]
    lines += [f"M{j * CELL + 0.5},0v{CELL * len(source)}" for j in range(len(target) + 1)]
    cells = [f"<path d='{''.join(lines)}' stroke='{LINE}' fill='none'/>"]
    rows = [
        _text(word, f"x='{left - 6}' y='{CELL * (i + 0.68):.1f}' text-anchor='end'") for i, word in enumerate(source)
    ]
    heads = [
        _text(word, f"transform='translate({columns[j] + 0.62 * CELL:.1f},{top - 5}) rotate(-50)'")
        for j, word in enumerate(target)
    ]
    for (i, j), probability in sorted(probabilities.items()):
        radius = (CELL - 4) / 2 * math.sqrt(_share(probability))
        fill = RIGHT if chosen is None or (i, j) in chosen else SOFT
        cells.append(
            f"<circle cx='{columns[j] + 0.5 * CELL}' cy='{CELL * (i + 0.5)}' r='{radius:.2f}' fill='{fill}'>"
            f"<title>{_escaped(source[i])} – {_escaped(target[j])} {probability:.3f}</title></circle>"
        )
    # Four parts, so that the words stay in sight when the cells are scrolled.
    label = f"matrix of {len(source)} source and {len(target)} target words"
    parts = [
        f"<div style='position:sticky;top:0;left:0;z-index:2;background:{GROUND}'></div>",
        _svg(width, top, heads, "target words", f"position:sticky;top:0;z-index:1;background:{GROUND}"),
        _svg(left, height, rows, "source words", f"position:sticky;left:0;z-index:1;background:{GROUND}"),
        _svg(width, height, cells, label),
    ]
    grid = f"display:grid;grid-template-columns:{left}px {math.ceil(width)}px"
    return _scrolling(f"<div style='{grid}'>{''.join(parts)}</div>", left + width, mirrored)


def curves(source: Sequence[str], target: Sequence[str], probabilities: Mapping[Link, float]) -> str:
    """The two sentences with curves between the words that are linked."""
    gap, heights = 12, (18, 92)
    places: list[list[float]] = []
    width = 0.0
    for words in (source, target):
        x, centres = 4.0, []
        for word in words:
            size = _width(word)
            centres.append(x + size / 2)
            x += size + gap
        places.append(centres)
        width = max(width, x)
    for side, words in enumerate((source, target)):
        if _from_the_right(words):
            places[side] = [width - x for x in places[side]]
    shapes = []
    for (i, j), probability in sorted(probabilities.items()):
        a, b, y, v = places[0][i], places[1][j], heights[0] + 6, heights[1] - 16
        bend = (v - y) * 0.55
        strength = _share(probability)
        shapes.append(
            f"<path d='M{a:.1f},{y}C{a:.1f},{y + bend:.1f} {b:.1f},{v - bend:.1f} {b:.1f},{v}' fill='none' stroke='{RIGHT}' "
            f"stroke-width='{1 + strength:.2f}' stroke-opacity='{0.35 + 0.65 * strength:.2f}'/>"
        )
    for words, centres, y in zip((source, target), places, heights, strict=True):
        for word, x in zip(words, centres, strict=True):
            shapes.append(_text(word, f"x='{x:.1f}' y='{y}' text-anchor='middle'"))
    picture = _svg(width, heights[1] + 8, shapes, f"{len(probabilities)} links")
    return _scrolling(picture, width, _from_the_right(source))


def _scrolling(picture: str, width: float, mirrored: bool) -> str:
    """What is too large scrolls within the cell, from the right where the sentence begins there."""
    frame = f"overflow:auto;max-width:100%;max-height:{TALLEST}px;margin:4px 0;direction:{'rtl' if mirrored else 'ltr'}"
    inner = f"direction:ltr;width:{math.ceil(width)}px;margin-right:auto"
    return f"<div style='{frame}'><div style='{inner}'>{picture}</div></div>"


def _svg(width: float, height: float, shapes: Sequence[str], label: str, style: str = "") -> str:
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{math.ceil(width)}' height='{math.ceil(height)}' role='img' "
        f"aria-label='{html.escape(label)}' style='display:block;max-width:none;{style}'>{''.join(shapes)}</svg>"
    )


def _text(word: str, place: str) -> str:
    # unicode-bidi: whatever a word does to the direction of letters ends with it.
    style = "unicode-bidi:isolate;font:13px system-ui,sans-serif"
    return f"<text {place} fill='{INK}' style='{style}'>{_escaped(_short(word))}</text>"


def _room(words: Sequence[str], slanted: bool = False) -> int:
    longest = max(map(_width, words), default=0.0)
    return math.ceil(longest * math.sin(math.radians(50)) + 18 if slanted else longest + 12)


def _from_the_right(words: Sequence[str]) -> bool:
    """A sentence runs as its first letter does."""
    kinds = (unicodedata.bidirectional(letter) for word in words for letter in word)
    return next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L"


def _short(word: str) -> str:
    return word if len(word) <= LONGEST else word[: LONGEST - 1] + "…"


def _width(word: str) -> float:
    """Nearly the pixels that a word takes: letters beyond the scripts of Europe and the Near East are twice as wide."""
    return sum(LETTER if ord(letter) < 0x1100 else 2 * LETTER for letter in _short(word))


def _share(probability: float) -> float:
    return min(1.0, max(0.0, probability)) if math.isfinite(probability) else 1.0


def _escaped(word: str) -> str:
    return html.escape(word.encode("utf-8", "replace").decode("utf-8"))


def _isolated(word: str) -> str:
    return f"<bdi>{_escaped(word)}</bdi>"
