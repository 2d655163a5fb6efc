"""Searching sorted keys."""

from __future__ import annotations

from dovetail.kernels import leaf


@leaf
def place_of(key, keys, first, last):
    """Where `key` is among the sorted keys[first:last], -1 if it is not.

    numpy's searchsorted would bring half of numba's library into every start.
    """
    low = first
    size = last - first
    while size > 0:  # as many steps for any key, and no branch to guess wrong
        half = (size + 1) >> 1
        low += half if keys[low + half - 1] < key else 0
        size -= half
    return low if low < last and keys[low] == key else -1
