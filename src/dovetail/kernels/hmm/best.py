"""The best partner of one word, unless NULL is better: where chains begin, and what is marked of IBM Model 1."""

from __future__ import annotations

from dovetail.kernels import leaf

NULL = -1  # the position of a word without a partner


@leaf
def best_partner(scores, start, step, n, null):
    """Which of scores[start], scores[start + step] ... (n of them) is best; NULL if none is above NULL's, `null`.

    Ties go to the lower position.
    """
    best = NULL
    value = null
    for k in range(n):
        if scores[start + k * step] > value:
            value = scores[start + k * step]
            best = k
    return best
