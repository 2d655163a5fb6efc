"""What saved arrays must keep to before a kernel sees them: a model may come from a stranger.

Each factor says in a table of `Array`s what its arrays are; what several arrays must agree on is a size with a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dovetail.bitext.shards import Slots
from dovetail.bitext.store import release
from dovetail.bitext.vocabulary import Vocabulary

LARGEST = 2.0**40  # more than any text can count
TINY = 1e-20  # less than any parameter that must not be zero; products of several still are none


class Unsound(ValueError):
    """A saved array that no training can have left."""


class Array(NamedTuple):
    """The type of a saved array, its shape in numbers and names of sizes, and the range of its values.

    `sums`: each row is a distribution, or flat, all ones, which is how nothing learned is written.
    """

    kind: Any
    shape: tuple[str | int, ...]
    least: float = 0.0
    most: float = LARGEST
    sums: bool = False


def checked_arrays(
    arrays: Mapping[str, np.ndarray], prefix: str, wanted: Mapping[str, Array], sizes: dict[str, int]
) -> list[np.ndarray]:
    """The wanted arrays in order; Unsound names the first that is not what it must be.

    A size that nobody knows yet is that of the first array that has it, and joins `sizes`: those after it must agree.
    """
    found = []
    for name, about in wanted.items():
        if f"{prefix}{name}" not in arrays:
            raise Unsound(f"{prefix}{name} is missing")
        found.append(arrays[f"{prefix}{name}"])
        _check(f"{prefix}{name}", found[-1], about, sizes)
    return found


def _check(name: str, values: np.ndarray, about: Array, sizes: dict[str, int]) -> None:
    fits = values.dtype == about.kind and values.ndim == len(about.shape)
    shape = [
        sizes.setdefault(size, length) if isinstance(size, str) else size
        for size, length in zip(about.shape, values.shape, strict=False)
    ]
    if not fits or list(values.shape) != shape:
        raise Unsound(f"{name} is {values.dtype} {list(values.shape)}, not {np.dtype(about.kind)} {shape}")
    if not values.size or values.dtype == np.bool_:
        return
    low, high = float(values.min()), float(values.max())  # both are NaN if any is
    if not (about.least <= low and high <= about.most):
        raise Unsound(f"{name} has values from {low:g} to {high:g}, allowed are {about.least:g} to {about.most:g}")
    if about.sums:
        others = values[np.abs(values.sum(axis=-1) - 1.0) > 1e-4]
        if not (others == 1.0).all():
            raise Unsound(f"{name} has a row that does not sum to one")
    release(values)  # which is all in memory now, if it is in a file


def check_rows(name: str, starts: np.ndarray, partners: np.ndarray) -> None:
    """Unsound unless `starts` cut `partners` into rows, each of them rising: it is searched."""
    rising = np.diff(partners) > 0
    inner = starts[1:-1]
    sound = (starts[0], starts[-1]) == (0, len(partners)) and bool((np.diff(starts) >= 0).all())
    if sound:
        rising[inner[(inner > 0) & (inner < len(partners))] - 1] = True  # from one row to the next
    if not (sound and rising.all()):
        raise Unsound(f"{name} are not rows in order")


def check_totals(name: str, slots: Slots, counts: tuple[np.ndarray, np.ndarray], totals: tuple[Any, Any]) -> None:
    """Unsound unless the totals by source and by target word are the sums of the two directions' counts."""
    sums = (
        np.bincount(slots.source, counts[0], slots.n_sources),
        np.bincount(slots.target, counts[1], slots.n_targets),
    )
    if not all(np.allclose(total, own, rtol=1e-4, atol=1e-3) for total, own in zip(totals, sums, strict=True)):
        raise Unsound(f"the totals of {name} are not their sums")


def saved_slots(arrays: dict[str, np.ndarray], source: Vocabulary, target: Vocabulary) -> tuple[Slots, dict[str, int]]:
    """The slots of a saved lexicon, checked: rows in order, words within the vocabularies; and all sizes known by then."""
    sizes = {"starts": len(source) + 1, "source": len(source), "target": len(target)}
    wanted = {
        "row_start": Array(np.int64, ("starts",)),
        "target": Array(np.int32, ("slots",), most=len(target) - 1),
    }
    row_start, partners = checked_arrays(arrays, "lexicon.", wanted, sizes)
    check_rows("lexicon.row_start and lexicon.target", row_start, partners)
    return Slots(row_start, partners, len(target)), sizes
