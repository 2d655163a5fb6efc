"""The best of many samples: how the fertility models were decoded at first (Zhao and Gildea 2010, section 5)."""

from __future__ import annotations

import numpy as np

from dovetail.decoding.decoders import Decoder
from dovetail.decoding.evidence import Evidence
from dovetail.decoding.marking import mark_alignments


class BestSample(Decoder):
    """The alignment of the highest probability among `decoding_samples` from each of `decoding_restarts` chains."""

    default_combination = "grow-diag-final-and"
    asks, kind_of_model, for_instance = "samples", "a model with fertility", "hmm-fertility"

    def mark(self, evidence: Evidence, marks: np.ndarray) -> None:
        mark_alignments(evidence, evidence.samples(), marks)
