"""How many alignments are proved to be the best ones, for a person."""

from __future__ import annotations

import numpy as np

from dovetail.alignments.alignments import Alignments


def certificate_summary(alignments: Alignments, seconds: float) -> str | None:
    """One line about what an exact decoder proved, and in what time; None where it was another decoder."""
    if "certified" not in alignments.details or not len(alignments):
        return None
    certified = np.asarray(alignments.details["certified"], bool)
    gap = np.asarray(alignments.details["bound"])[~certified] - np.asarray(alignments.details["score"])[~certified]
    rest = f", mean gap of the rest {gap.mean():.3g}" if len(gap) else ""
    return f"{certified.mean():.2%} proved optimal ({certified.sum():,} of {len(certified):,}){rest}; {seconds:.1f} s"
