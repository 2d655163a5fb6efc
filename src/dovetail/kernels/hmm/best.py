"""The best partner of a word, unless NULL is better."""

from __future__ import annotations

from dovetail.kernels import leaf


@leaf
def best_partner(values, first, step, n, null):
    """Which of the n values[first], values[first + step] ... is largest, -1 if none exceeds `null`; of a tie the first."""
    best = -1
    value = null
    for k in range(n):
        if values[first + k * step] > value:
            value = values[first + k * step]
            best = k
    return best
