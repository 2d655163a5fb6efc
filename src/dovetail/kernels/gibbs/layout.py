"""Words that the sampler's parts share on how its arrays are laid out (see `records.Layout`)."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import leaf
from dovetail.kernels._numba import OCTET

U = np.uint64  # indices without a sign are not looked at for it
GROUP = 64  # positions whose bits make one number

# Direction d's state, in entry I_ + d and so on: lengths, NULLs, the last link so far, the first one, and where `exits` for
# its length begin.
I_, J_, NULLS, BEFORE, FIRST, EXITS = range(0, 12, 2)


@leaf
def padded(I):
    """I, or what it takes to fill the last octet."""
    return (I + OCTET - 1) // OCTET * OCTET
