"""Links out: the Alignments type, combination of directions, file formats, gold links."""

from __future__ import annotations

from dovetail.alignments.alignments import Alignment, Alignments

__all__ = ["Alignment", "Alignments"]
