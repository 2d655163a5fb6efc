"""Searching sorted keys."""

from __future__ import annotations

from dovetail.kernels import leaf


@leaf
def place_of(key, keys, first, last):
    """Where `key` is among the sorted keys[first:last], -1 if it is not.

    numpy's searchsorted would bring half of numba's library into every start.
    """
    low = first
    high = last
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < last and keys[low] == key else -1
