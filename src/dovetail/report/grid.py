"""A pair's alignment as a grid of characters: one row per source word, one column per target word."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

LINK, WRONG, MISSED, EMPTY = "●", "✗", "○", "·"
FAINT = "◌"  # a cell that is no link, but has some probability
STYLES = {
    LINK: "bold green",
    WRONG: "bold red",
    MISSED: "yellow",
    EMPTY: "bright_black",
    FAINT: "cyan",
    "◕": "green",
    "◑": "green",
    "◔": "cyan",
}


def shade(probability: float) -> str:
    """A circle as full as a link is probable."""
    return LINK if probability >= 0.875 else "◕" if probability >= 0.625 else "◑" if probability >= 0.375 else "◔"


def legend(with_gold: bool, shaded: bool = False) -> Text:
    """What the marks mean."""
    text = Text()
    entries = [(LINK, "link")] if not with_gold else [(LINK, "right"), (WRONG, "wrong"), (MISSED, "sure link missed")]
    if shaded:
        entries += [("◕", "◑ ◔ less and less probable"), (FAINT, "no link, but over 0.05")]
    for mark, meaning in entries:
        text.append(mark, STYLES[mark])
        text.append(f" {meaning}   ")
    return text


def grid(
    source: Sequence[str],
    target: Sequence[str],
    links: Collection[tuple[int, int]],
    sure: Collection[tuple[int, int]] | None = None,
    possible: Collection[tuple[int, int]] | None = None,
    probabilities: Mapping[tuple[int, int], float] | None = None,
    width: int | None = None,
) -> Text:
    """The grid, target words written downwards above their columns; with gold links, right and wrong are told apart.

    With `probabilities` of cells, right links are shaded by them and doubtful cells are shown.  A grid that is wider than
    `width` columns goes on below, so many target words at a time.
    """
    rows = [visible(word) for word in source]
    columns = [letters(visible(word)) for word in target]
    margin = max((cell_len(word) for word in rows), default=0)
    room = len(target) if width is None else max(1, (width - margin - 1) // 2)
    chosen = set(links)
    right = None if sure is None else set(sure) | set(possible or ())
    text = Text(no_wrap=True)
    for first in range(0, max(1, len(target)), max(1, room)):
        part = range(first, min(first + room, len(target)))
        height = max((len(columns[j]) for j in part), default=0)
        if first:
            text.append("\n")
        for row in range(height):
            text.append(" " * (margin + 1))
            for j in part:
                down = columns[j]
                letter = down[row - height + len(down)] if row >= height - len(down) else " "
                text.append(letter + " " * (2 - cell_len(letter)))
            text.append("\n")
        for i, word in enumerate(rows):
            text.append(" " * (margin - cell_len(word)) + word + " ")
            for j in part:
                mark = _mark((i, j), chosen, sure, right, probabilities)
                text.append(mark, STYLES[mark])
                text.append(" ")
            text.append("\n")
    return text


def _mark(
    cell: tuple[int, int],
    chosen: set[tuple[int, int]],
    sure: Collection[tuple[int, int]] | None,
    right: set[tuple[int, int]] | None,
    probabilities: Mapping[tuple[int, int], float] | None,
) -> str:
    if cell in chosen:
        if right is not None and cell not in right:
            return WRONG
        return LINK if probabilities is None else shade(probabilities.get(cell, 1.0))
    if sure is not None and cell in sure:
        return MISSED
    return FAINT if probabilities is not None and probabilities.get(cell, 0.0) > 0.05 else EMPTY


def visible(word: str) -> str:
    """The word without what would move the terminal's cursor or turn its text round: such characters become �."""
    return "".join(
        "\ufffd" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in "\u200c\u200d" else c
        for c in word
    )


def letters(word: str) -> list[str]:
    """The word's letters, each with the marks that stand on it."""
    result: list[str] = []
    for character in word:
        if result and (unicodedata.category(character) in ("Mn", "Me") or character in "\u200c\u200d"):
            result[-1] += character
        else:
            result.append(character)
    return result
