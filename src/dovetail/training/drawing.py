"""How a large text is learned from: a part of it first, or nothing but a sample of bounded size, drawn evenly.

Which pairs a sample has depends on the pairs of the text alone: not on how they were cut into files, read or held.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.joining import picked
from dovetail.bitext.source import Aside, Held, TextSource, hold
from dovetail.options import Options, Settings, option
from dovetail.pool import Pool


@dataclass(frozen=True)
class SampleOptions(Options):
    """How a large text is learned from: a part of it first."""

    sample: int = option(
        8_000_000,
        at_least=0,
        help="cells of the part that is learned from first, of a text at least three times as large",
    )
    whole_iterations: int = option(2, at_least=0, help="the last iterations of the HMM, which see the whole text")
    whole_cells: int = option(
        30_000_000, at_least=0, help="a text of more cells (0: none) has a larger sample, and all iterations there"
    )
    # 1.13 million pairs of Hansards would have a sample of 37 million; what more adds is not worth its memory.
    largest_sample: int = option(
        28_000_000, at_least=1, help="cells that the sample of a text of more than `whole_cells` never exceeds"
    )

    def plan(self, iterations: int) -> tuple[int, int, int]:
        """Of a text that is looked at as a whole: cells of its sample, iterations of the HMM on it, and on all of it."""
        return self.sample, max(iterations - self.whole_iterations, 1), self.whole_iterations

    def over(self, cells: int) -> bool:
        """Whether a text of so many cells is too large for iterations on all of it."""
        return bool(self.sample and self.whole_cells) and cells > self.whole_cells

    def drawn(self, cells: int) -> int | None:
        """Cells of the sample that alone is learned from, of a text of so many; None if the whole text is looked at.

        It grows as the square root of the text.
        """
        if not self.over(cells):
            return None
        size = min(int(self.sample * (cells / self.whole_cells) ** 0.5), self.largest_sample)
        return size if cells // size > 2 else None

    @property
    def most_held(self) -> int | None:
        """Cells of a text that are held to draw a sample from; None where all of them are needed."""
        return max(self.whole_cells, 3 * self.largest_sample) if self.sample and self.whole_cells else None


@dataclass(frozen=True)
class Lesson:
    """What is learned from: all of a text, or a sample of it; `pairs` and `cells` count the whole text's.

    `shard_cells` are those of the shards that a large one is cut into, if not the usual ones.
    """

    text: Bitext | TextSource
    bitext: Bitext
    pairs: int
    cells: int
    sampled: bool
    shard_cells: int | None = None

    def part(self, first: int, last: int) -> Bitext:
        """Pairs first..last - 1 of the whole text."""
        if not self.sampled:
            return self.bitext.part(first, last)
        return self.text.part(first, last)


def lesson(
    text: Bitext | TextSource,
    settings: Settings,
    keep_text: bool = False,
    pool: Pool | None = None,
    aside: Aside | None = None,
) -> Lesson:
    """What a recipe with these settings learns from of a text.

    `keep_text` and `aside`, for what is too large for memory, matter if that is all of a text in files.
    """
    options = settings.of(SampleOptions) if "largest_sample" in settings else None
    most = None if options is None else options.most_held
    if isinstance(text, TextSource):
        held = text.held(most, keep_text, pool, aside)
    else:
        held = Held.of(text) if most is None else hold(text, most)
    size = None if options is None else options.drawn(held.cells)
    if size is None:
        return Lesson(text, held.bitext, held.pairs, held.cells, False)
    pairs = len(held.bitext)
    chosen = max(1, min(pairs, round(pairs * size * held.step / held.cells)))
    numbers = np.arange(chosen) * pairs // chosen
    return Lesson(text, picked(held.bitext, numbers, pool), held.pairs, held.cells, True)
