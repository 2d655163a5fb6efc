"""Which links of one packed set stand in another."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel


@kernel
def match(offsets, source, target, other_offsets, other_source, other_target):
    """Entry of the other set that holds each link, -1 where none does: one merge a pair, O(links of both).

    Both sets cover the same pairs; within a pair links are sorted by (i, j), each of them once.
    """
    found = np.full(len(source), -1, np.int64)
    for n in range(len(offsets) - 1):
        m = other_offsets[n]
        end = other_offsets[n + 1]
        for k in range(offsets[n], offsets[n + 1]):
            i = source[k]
            j = target[k]
            while m < end and (other_source[m] < i or (other_source[m] == i and other_target[m] < j)):
                m += 1
            if m < end and other_source[m] == i and other_target[m] == j:
                found[k] = m
    return found
