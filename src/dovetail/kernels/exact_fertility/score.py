"""What an alignment is worth under the fertility HMM, and when a bound proves it best."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel


@kernel
def alignment_score(problem, path, counts):
    """The objective (Quirk 2013, equation 1, as a logarithm) of `path` (J,), rows; fills `counts` (R,) on the way."""
    emission, transition, fertility = problem.emission, problem.transition, problem.fertility
    J, R = emission.shape
    counts[:] = 0
    score = 0.0
    position = 0
    for j in range(J):
        r = path[j]
        counts[r] += 1
        score += emission[j, r]
        if r == 0:
            score += problem.log_null
        else:
            score += transition[position, r - 1]
            position = r
    for r in range(R):
        score += fertility[r, counts[r]]
    return score


@kernel
def copy_path(source, target):
    for j in range(len(source)):
        target[j] = source[j]


@kernel
def aim_above(score, tolerance):
    """What an upper bound must exceed to leave room for a better alignment."""
    return score + tolerance * max(1.0, abs(score)) if score > -np.inf else score
