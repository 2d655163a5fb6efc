"""The mode of marginals: for each word the partner it has most often (Mermer and Saraçlar 2011, section 2)."""

from __future__ import annotations

import numpy as np

from dovetail.decoding.decoders import Decoder
from dovetail.decoding.evidence import Evidence
from dovetail.decoding.marking import mark_alignments
from dovetail.kernels.bayes.counts import modes


class Mode(Decoder):
    """For each target word (in the reverse direction: source word) its likeliest partner, unless NULL is likelier."""

    default_combination = "grow-diag-final-and"

    def mark(self, evidence: Evidence, marks: np.ndarray) -> None:
        block = evidence.block
        found = np.empty(block.columns, np.int16), np.empty(block.rows, np.int16)
        evidence.pool.map(modes, block.tasks, block.lines, evidence.posteriors(), *found)
        mark_alignments(evidence, found, marks)
