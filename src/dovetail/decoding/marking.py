"""From alignments, a position per token, to marks on cells."""

from __future__ import annotations

import numpy as np

from dovetail.decoding.evidence import Evidence
from dovetail.kernels.gibbs.alignments import mark
from dovetail.models.model import Alignments


def mark_alignments(evidence: Evidence, found: Alignments, marks: np.ndarray) -> None:
    """Mark the links of both directions' alignments."""
    evidence.pool.map(mark, evidence.block.tasks, evidence.block.lines, *found, marks)
