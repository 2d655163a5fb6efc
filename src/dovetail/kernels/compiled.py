"""Whether kernels were compiled before."""

from __future__ import annotations

from pathlib import Path

from dovetail.kernels.hmm import ibm1


def compiled_before() -> bool:
    """Whether an earlier run left compiled kernels, so that this one starts at once."""
    place = getattr(ibm1.expect.dispatcher.stats, "cache_path", None)
    return place is not None and any(Path(place).glob("ibm1.expect-*.nbi"))
