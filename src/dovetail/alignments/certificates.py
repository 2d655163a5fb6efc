"""How many alignments are proved to be the best ones, for a person."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dovetail.alignments.alignments import Alignments

WORK = ("iterations", "constraints", "pruned")


@dataclass
class Certificates:
    """What an exact decoder proved, added up over the parts of a text."""

    pairs: int = 0
    certified: int = 0
    gaps: int = 0
    gap: float = 0.0
    work: dict[str, float] = field(default_factory=dict)

    def add(self, alignments: Alignments) -> None:
        """Nothing happens where it was another decoder."""
        details = alignments.details
        if "certified" not in details:
            return
        certified = np.asarray(details["certified"], bool)
        gap = np.asarray(details["bound"])[~certified] - np.asarray(details["score"])[~certified]
        gap = gap[np.isfinite(gap)]  # where every pair is forbidden there is no score
        self.pairs += len(certified)
        self.certified += int(certified.sum())
        self.gaps += len(gap)
        self.gap += float(gap.sum())
        for name in WORK if "pruned" in details else ():
            self.work[name] = self.work.get(name, 0.0) + float(np.sum(details[name]))

    def join(self, other: Certificates) -> None:
        """Add those of further parts."""
        self.pairs += other.pairs
        self.certified += other.certified
        self.gaps += other.gaps
        self.gap += other.gap
        for name, value in other.work.items():
            self.work[name] = self.work.get(name, 0.0) + value

    def summary(self, seconds: float) -> str | None:
        """One line, with the time that it took; None where nothing was to be proved."""
        if not self.pairs:
            return None
        rest = f", mean gap of the rest {self.gap / self.gaps:.3g}" if self.gaps else ""
        work = f"; {self._work()}" if self.work else ""
        proved = f"{self.certified / self.pairs:.2%} proved optimal ({self.certified:,} of {self.pairs:,})"
        return f"{proved}{rest}{work}; {seconds:.1f} s"

    def _work(self) -> str:
        """What the bidirectional decoder did for it, pair by pair on average."""
        iterations, constraints, pruned = (self.work[name] / self.pairs for name in WORK)
        return f"a pair: {iterations:.1f} iterations, {constraints:.2f} constraints, {pruned:.0%} of the lattice pruned"
