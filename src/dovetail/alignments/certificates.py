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
    gap = gap[np.isfinite(gap)]  # where every pair is forbidden there is no score
    rest = f", mean gap of the rest {gap.mean():.3g}" if len(gap) else ""
    work = f"; {_work(alignments)}" if "pruned" in alignments.details else ""
    proved = f"{certified.mean():.2%} proved optimal ({certified.sum():,} of {len(certified):,})"
    return f"{proved}{rest}{work}; {seconds:.1f} s"


def _work(alignments: Alignments) -> str:
    """What the bidirectional decoder did for it, pair by pair on average."""
    iterations, constraints, pruned = (
        np.mean(alignments.details[name]) for name in ("iterations", "constraints", "pruned")
    )
    return f"a pair: {iterations:.1f} iterations, {constraints:.2f} constraints, {pruned:.0%} of the lattice pruned"
