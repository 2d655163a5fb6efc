"""What saved arrays must keep to before a kernel sees them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.bitext.shards import Slots
from dovetail.bitext.vocabulary import Vocabulary


def check_shapes(*wanted: tuple[np.ndarray, Any, tuple[int, ...]]) -> None:
    """ValueError unless every array has the type and shape it should have."""
    for values, kind, shape in wanted:
        if values.dtype != kind or values.shape != shape:
            raise ValueError("the arrays of the model do not fit together")


def check_rows(starts: np.ndarray, partners: np.ndarray, limit: int) -> None:
    """ValueError unless `starts` cut `partners` into rows in order, and all partners are below the limit."""
    sound = (
        (starts[0], starts[-1]) == (0, len(partners))
        and (np.diff(starts) >= 0).all()
        and ((partners >= 0) & (partners < limit)).all()
    )
    if not sound:
        raise ValueError("the rows of the model do not fit together")


def saved_slots(arrays: dict[str, np.ndarray], source: Vocabulary, target: Vocabulary) -> Slots:
    """The slots of a saved lexicon, checked: rows in order, words within the vocabularies."""
    row_start, partners = arrays["lexicon.row_start"], arrays["lexicon.target"]
    check_shapes((row_start, np.int64, (len(source) + 1,)), (partners, np.int32, (len(partners),)))
    check_rows(row_start, partners, len(target))
    return Slots(row_start, partners, len(target))
