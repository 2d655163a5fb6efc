"""How alike the words of every slot are spelled."""

from __future__ import annotations

import numpy as np

from dovetail.bitext.shards import Slots
from dovetail.bitext.spelling import letters
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.engines import Threads
from dovetail.kernels.lexicon import spelling as kernels
from dovetail.models.lexicon.table import slot_runs


def compare_spellings(slots: Slots, source: Vocabulary, target: Vocabulary, engine: Threads) -> np.ndarray:
    """The spelling bin of every slot."""
    bins = np.empty(len(slots), np.uint8)
    one, other = letters(source), letters(target)
    codes, n_codes = _numbered(one.codes, other.codes)
    engine.map(
        lambda first, last: kernels.compare_spellings(
            first,
            last,
            slots.row_start,
            slots.target,
            codes[0],
            one.offsets,
            one.plain,
            codes[1],
            other.offsets,
            other.plain,
            n_codes,
            bins,
        ),
        slot_runs(slots.row_start),
    )
    return bins


def _numbered(one: np.ndarray, other: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], int]:
    """Letters by small numbers instead of code points, and how many there are."""
    present = np.zeros(max(one.max(initial=0), other.max(initial=0)) + 1, np.int32)
    present[one] = present[other] = 1
    number = np.cumsum(present, dtype=np.int32) - 1
    return (number[one], number[other]), int(present.sum())
