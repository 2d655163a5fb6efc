"""Phrase pairs that an alignment allows (Och, Tillmann and Ney 1999; Koehn, Och and Marcu 2003)."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel


@kernel
def extract(source, target, I, J, longest):
    """All pairs of spans with at least one link inside and none that leaves either span, unaligned edges included.

    `source` and `target` are the links' positions.  Returns rows (first i, last i, first j, last j), both ends
    inclusive, spans of at most `longest` words.
    """
    free = np.ones(J, np.bool_)
    low = np.full(I, J, np.int64)  # the outermost target words linked to each source word, and back
    high = np.full(I, -1, np.int64)
    back_low = np.full(J, I, np.int64)
    back_high = np.full(J, -1, np.int64)
    for k in range(len(source)):
        i, j = source[k], target[k]
        free[j] = False
        low[i], high[i] = min(low[i], j), max(high[i], j)
        back_low[j], back_high[j] = min(back_low[j], i), max(back_high[j], i)
    room = 64
    found = np.empty((room, 4), np.int32)
    n = 0
    for first in range(I):
        begin = J
        end = -1
        for last in range(first, min(first + longest, I)):
            begin, end = min(begin, low[last]), max(end, high[last])
            if end < 0:
                continue
            if end - begin + 1 > longest:
                break
            inside = True
            for j in range(begin, end + 1):
                if back_high[j] >= 0 and (back_low[j] < first or back_high[j] > last):
                    inside = False
                    break
            if not inside:
                continue
            left = begin
            while True:
                right = end
                while right - left < longest:
                    if n == room:
                        room *= 2
                        larger = np.empty((room, 4), np.int32)
                        larger[:n] = found
                        found = larger
                    found[n, 0], found[n, 1], found[n, 2], found[n, 3] = first, last, left, right
                    n += 1
                    right += 1
                    if right >= J or not free[right]:
                        break
                left -= 1
                if left < 0 or not free[left] or end - left >= longest:
                    break
    return found[:n]
