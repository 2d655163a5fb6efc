"""The NULL factor: a word that no word of the other side generates.

NULL keeps the position (Och and Ney 2003, section 2.2): what follows depends on the last linked word alone.  Its
parameter is p0; which words it yields is the lexicon's business (`Lexicon.nulls`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.models.checks import Array, checked_arrays
from dovetail.options import Options, option


@dataclass(frozen=True)
class Null(Options):
    """How often."""

    null: float = option(0.2, above=0.0, below=1.0, help="p0, the probability that a word is NULL's")


def saved_null(arrays: dict[str, np.ndarray]) -> float:
    """A model's saved p0, or ValueError."""
    (null,) = checked_arrays(arrays, "", {"null": Array(np.float64, (1,), most=1.0)}, {})
    return Null(float(null[0])).null
