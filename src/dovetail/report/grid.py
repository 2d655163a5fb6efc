"""A pair's alignment as a grid of characters: one row a source word, one column a target word."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.cells import cell_len
from rich.text import Text

LINK, WRONG, MISSED, EMPTY = "●", "✗", "○", "·"
STYLES = {LINK: "bold green", WRONG: "bold red", MISSED: "yellow", EMPTY: "bright_black"}


def legend(with_gold: bool) -> Text:
    """What the marks mean."""
    text = Text()
    entries = [(LINK, "link")] if not with_gold else [(LINK, "right"), (WRONG, "wrong"), (MISSED, "sure link missed")]
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
) -> Text:
    """The grid, target words written downwards above their columns; with gold links, right and wrong are told apart."""
    width = max((cell_len(word) for word in source), default=0)
    height = max((len(word) for word in target), default=0)
    text = Text(no_wrap=True)
    for row in range(height):
        text.append(" " * (width + 1))
        for word in target:
            letter = word[row - height + len(word)] if row >= height - len(word) else " "
            text.append(letter + " " * (2 - cell_len(letter)))
        text.append("\n")
    chosen = set(links)
    right = None if sure is None else set(sure) | set(possible or ())
    for i, word in enumerate(source):
        text.append(" " * (width - cell_len(word)) + word + " ")
        for j in range(len(target)):
            mark = LINK if (i, j) in chosen else EMPTY
            if right is not None and sure is not None:
                if mark == LINK and (i, j) not in right:
                    mark = WRONG
                elif mark == EMPTY and (i, j) in sure:
                    mark = MISSED
            text.append(mark, STYLES[mark])
            text.append(" ")
        text.append("\n")
    return text
