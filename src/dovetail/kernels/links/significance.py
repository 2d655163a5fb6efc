"""Whether two things meet more often than chance would have them meet: Dunning's ratio and Fisher's exact test."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel, leaf


@leaf
def log_choose(n, k):
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@kernel
def association(together, first, second, total):
    """Log-likelihood ratio (Dunning 1993) and -log10 of Fisher's one-sided p-value, float64 (N, 2).

    Of `total` places, `first[n]` have the one thing, `second[n]` the other and `together[n]` both.

    G2 = 2 sum over the four cells of O log(O / E), negative where they meet less often than expected;
    p = sum over k >= together of C(first, k) C(total - first, second - k) / C(total, second).
    """
    result = np.empty((len(together), 2))
    for n in range(len(together)):
        a, b, c = float(together[n]), float(first[n]), float(second[n])
        ratio = 0.0
        for observed, expected in (
            (a, b * c / total),
            (b - a, b * (total - c) / total),
            (c - a, (total - b) * c / total),
            (total - b - c + a, (total - b) * (total - c) / total),
        ):
            if observed > 0.0:
                ratio += 2.0 * observed * math.log(observed / expected)
        result[n, 0] = max(ratio, 0.0) if a * total >= b * c else -max(ratio, 0.0)
        # Terms fall off quickly behind the first: each is the last one times the ratio of two binomials.
        first_term = log_choose(b, a) + log_choose(total - b, c - a) - log_choose(total, c)
        term, tail, k = 1.0, 1.0, a
        while k < min(b, c):
            term *= (b - k) * (c - k) / ((k + 1.0) * (total - b - c + k + 1.0))
            tail += term
            k += 1.0
            if term < 1e-17 * tail:
                break
        result[n, 1] = max(0.0, -(first_term + math.log(tail)) / math.log(10.0))
    return result
