"""From alignments, a position per token, to marks on cells."""

import numpy as np

from dovetail.decoding.evidence import Evidence
from dovetail.kernels.gibbs.alignments import mark
from dovetail.models.model import Alignments


def mark_alignments(evidence: Evidence, found: Alignments, marks: np.ndarray) -> None:
    """Mark the links of both directions' alignments."""
    lines = evidence.block.lines
    evidence.pool.map(lambda first, last: mark(first, last, lines, *found, marks), evidence.block.tasks)
