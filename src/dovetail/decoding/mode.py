"""The mode of marginals: for each word the partner it has most often (Mermer and Saraçlar 2011, section 2)."""

import numpy as np

from dovetail.decoding.decoders import Decoder
from dovetail.decoding.evidence import Evidence
from dovetail.kernels.bayes.counts import mark_modes


class Mode(Decoder):
    """For each target word (in the reverse direction: source word) its likeliest partner, unless NULL is likelier."""

    default_combination = "grow-diag-final-and"

    def mark(self, evidence: Evidence, marks: np.ndarray) -> None:
        work, lines = evidence.posteriors(), evidence.block.lines
        evidence.pool.map(lambda first, last: mark_modes(first, last, lines, work, marks), evidence.block.tasks)
