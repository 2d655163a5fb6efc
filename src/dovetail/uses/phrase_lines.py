"""Phrase tables as text, thousands of lines at a time: what `Phrase` writes line by line, in a third of the time.

A line is a row of pieces: words, separators, and numbers, of which most come again and are written once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dovetail.kernels.links.phrases import joined
from dovetail.uses.phrase_table import Block, pharaoh

BAR, END = "||| ", "\n"


class _Pieces:
    """Pieces of text by number: the words of both sides, by rank and with a blank behind, then what is added."""

    def __init__(self, block: Block) -> None:
        self._words = [side.pool for side in block.sides]
        self._first = [0, len(self._words[0].sizes)]
        self._added: list[str] = []

    def words(self, side: int, ranks: np.ndarray) -> np.ndarray:
        return ranks.astype(np.int64) + self._first[side]

    def add(self, texts: list[str]) -> int:
        """The number of the first of these."""
        self._added += texts
        return sum(len(pool.sizes) for pool in self._words) + len(self._added) - len(texts)

    def column(self, text: str, rows: int) -> np.ndarray:
        return np.full(rows, self.add([text]))

    def numbers(self, values: np.ndarray, form: str) -> np.ndarray:
        """Numbers, a blank behind each, as in `"%.6g " % value`."""
        unique, kinds = np.unique(values, return_inverse=True)
        texts = (f"%{form} \n" * len(unique) % tuple(unique.tolist())).split("\n")[:-1]
        return self.add(texts) + kinds.reshape(values.shape)

    def links(self, block: Block) -> np.ndarray:
        unique, kinds = np.unique(block.links, return_inverse=True)
        return self.add([f"{pharaoh(links)} " for links in block.links_of(unique)]) + kinds

    def text(self, rows: np.ndarray) -> str:
        encoded = [piece.encode() for piece in self._added]
        sizes = np.concatenate([*(pool.sizes for pool in self._words), np.fromiter(map(len, encoded), np.int64)])
        pool = np.concatenate([*(pool.text for pool in self._words), np.frombuffer(b"".join(encoded), np.uint8)])
        return joined(rows.ravel(), pool, np.cumsum(sizes) - sizes, sizes).tobytes().decode("utf-8", "surrogatepass")


def moses(block: Block) -> str:
    """Lines as of `Phrase.moses`."""
    pieces, bar, end = _begun(block)
    times = block.times
    scores = np.column_stack(
        [times / block.target_times, block.lexical[:, 0], times / block.source_times, block.lexical[:, 1]]
    )
    counts = np.column_stack([block.target_times, block.source_times, times])
    rows = [
        *(pieces.words(0, block.source), bar, pieces.words(1, block.target), bar),
        *(pieces.numbers(scores, ".6g"), bar),
        *(pieces.links(block), bar),
        *(pieces.numbers(counts, "d"), end),
    ]
    return pieces.text(np.column_stack(rows)).replace(" \n", "\n")


def reordering(block: Block) -> str:
    """Lines as of `Phrase.reordering`."""
    pieces, bar, end = _begun(block)
    orientations = pieces.numbers(block.orientations, ".6f")
    words = pieces.words(0, block.source), bar, pieces.words(1, block.target)
    return pieces.text(np.column_stack([*words, bar, orientations, end])).replace(" \n", "\n")


def _begun(block: Block) -> tuple[_Pieces, np.ndarray, np.ndarray]:
    """Pieces, and columns of the two that every line has."""
    pieces = _Pieces(block)
    return pieces, pieces.column(BAR, len(block.times)), pieces.column(END, len(block.times))


def one_by_one(format_: str) -> Callable[[Block], str]:
    """Lines as a method of `Phrase` writes them."""
    return lambda block: "".join(f"{getattr(phrase, format_)()}\n" for phrase in block.phrases())


LINES: dict[str, Callable[[Block], str]] = {
    "moses": moses,
    "reordering": reordering,
    "thot": one_by_one("thot"),
    "tsv": one_by_one("tsv"),
}
