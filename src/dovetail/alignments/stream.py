"""The links of a file beside a text that is read part by part: memory grows with neither."""

from __future__ import annotations

from os import PathLike

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.formats import open_alignments
from dovetail.bitext.text import display_name
from dovetail.errors import InputError


class LinkStream:
    """A file of links in any format, which is seen by itself unless named.

    `take` gives the next pairs' links; `end` makes sure that the file ends where the text does.
    """

    def __init__(self, path: str | PathLike[str], format: str | None = None) -> None:
        self.path = display_name(path)
        self._format, self._lines = open_alignments(path, format)
        self._read = self._pairs = 0  # lines, and the pairs they told of

    @property
    def in_order(self) -> bool:
        """Whether pair follows pair in this format; if not, all pairs must be taken at once."""
        return self._format.lines_per_pair > 0

    def take(self, lengths: np.ndarray) -> Alignments:
        """The links of the next pairs, whose (source, target) numbers of words are `lengths` (N, 2)."""
        if not self.in_order:
            return self._format.read(self._lines, self.path, lengths)
        before = self._read
        lines, pairs = self._next_lines(len(lengths))
        try:
            result = self._format.read(lines, self.path, lengths[:pairs])
        except InputError as error:
            line = None if error.line is None else error.line + before
            raise InputError(error.problem, path=error.path, line=line, remedy=error.remedy) from None
        self._pairs += pairs
        if pairs < len(lengths):
            raise InputError(
                f"the file ends after {self._pairs:,} pair{'' if self._pairs == 1 else 's'}, but the text goes on",
                path=self.path,
                line=self._read,
                remedy="It must hold every pair in order; a pair without links has an entry too, an empty one.",
            )
        return result

    def end(self) -> None:
        """InputError if links of more pairs follow."""
        lines, _ = self._next_lines(1) if self.in_order else ([], 0)
        if any(line.strip() for line in lines) or (lines and not self._format.skips_blanks):
            raise InputError(
                f"the file goes on after {self._pairs:,} pair{'' if self._pairs == 1 else 's'}, where the text ends",
                path=self.path,
                line=self._read,
                remedy="Is this the file of these sentences, all of them?",
            )

    def _next_lines(self, pairs: int) -> tuple[list[str], int]:
        """The lines of so many pairs, or as many as there are; and how many pairs they begin."""
        per_pair = self._format.lines_per_pair
        wanted, filled = pairs * per_pair, 0
        lines: list[str] = []
        while filled < wanted and (line := next(self._lines, None)) is not None:
            lines.append(line)
            filled += not self._format.skips_blanks or bool(line.strip())
        self._read += len(lines)
        return lines, -(-filled // per_pair)
