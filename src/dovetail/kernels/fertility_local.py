"""Score of an alignment under the fertility HMM, and local search from it: single moves, then swaps of near neighbours."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel

# Local search stands on forbidden terms as on very bad ones, so that it can walk out of them.
_WORST = -1e6
_GAIN = 1e-9
_ROUNDS = 20


@kernel
def alignment_score(path, emission, transition, log_null, fertility, counts):
    """The objective (Quirk 2013, equation 1, as a logarithm) of `path` (J,), rows; fills `counts` (R,) on the way."""
    J, R = emission.shape
    counts[:] = 0
    score = 0.0
    position = 0
    for j in range(J):
        r = path[j]
        counts[r] += 1
        score += emission[j, r]
        if r == 0:
            score += log_null
        else:
            score += transition[position, r - 1]
            position = r
    for r in range(R):
        score += fertility[r, counts[r]]
    return score


@kernel
def _at_least(x):
    return x if x > _WORST else _WORST


@kernel
def _around(transition, log_null, p, r, n):
    """Transitions into row r (0: NULL) from position p and on to row n (0: no link follows)."""
    if r == 0:
        x = _at_least(log_null)
        r = p
    else:
        x = _at_least(transition[p, r - 1])
    if n > 0:
        x += _at_least(transition[r, n - 1])
    return x


@kernel
def _move(path, emission, transition, log_null, fertility, links, nulls, counts):
    """Give each target word in turn its best live row, all others kept: O(1) for each row tried."""
    J = emission.shape[0]
    moved = False
    p = 0
    following = np.zeros(J, np.int32)  # row of the next link after j
    for j in range(J - 2, -1, -1):
        following[j] = path[j + 1] if path[j + 1] > 0 else following[j + 1]
    for j in range(J):
        n = following[j]
        old = path[j]
        c = counts[old]
        best = _at_least(emission[j, old]) + _around(transition, log_null, p, old, n) + _GAIN
        best += _at_least(fertility[old, c]) - _at_least(fertility[old, c - 1])
        new = old
        for k in range(links[j, 0] + 1):
            if k == 0 and nulls[j, 0] == 0:
                continue
            r = 0 if k == 0 else links[j, k]
            if r == old:
                continue
            x = _at_least(emission[j, r]) + _around(transition, log_null, p, r, n)
            x += _at_least(fertility[r, counts[r] + 1]) - _at_least(fertility[r, counts[r]])
            if x > best:
                best = x
                new = r
        if new != old:
            path[j] = new
            counts[old] -= 1
            counts[new] += 1
            moved = True
        if new > 0:
            p = new
    return moved


@kernel
def _stretch(path, emission, transition, p, j, k, first, last):
    """Score of columns j .. k and of the next link after k, with rows `first` at j and `last` at k, from position p.

    The number of NULLs is left out: it is the same for both orders of a swap.
    """
    J = emission.shape[0]
    x = 0.0
    for q in range(j, J):
        r = path[q]
        if q == j:
            r = first
        elif q == k:
            r = last
        if q <= k:
            x += _at_least(emission[q, r])
        if r > 0:
            x += _at_least(transition[p, r - 1])
            if q > k:
                break
            p = r
    return x


@kernel
def _swap(path, emission, transition, radius):
    """Exchange the rows of two target words at most `radius` apart wherever that helps; counts stay as they are."""
    J = emission.shape[0]
    swapped = False
    p = 0
    for j in range(J):
        for k in range(j + 1, min(J, j + radius + 1)):
            a = path[j]
            b = path[k]
            if a == b:
                continue
            if emission[j, b] + emission[k, a] < emission[j, a] + emission[k, b] - 30.0:
                continue  # no transition makes up for that
            now = _stretch(path, emission, transition, p, j, k, a, b)
            if _stretch(path, emission, transition, p, j, k, b, a) > now + _GAIN:
                path[j] = b
                path[k] = a
                swapped = True
        if path[j] > 0:
            p = path[j]
    return swapped


@kernel
def climb(path, emission, transition, log_null, fertility, links, nulls, counts, radius):
    """Improve `path` in place by moves to live rows, and by swaps once no move helps, until neither does.

    Returns its score, taken anew from the potentials.
    """
    alignment_score(path, emission, transition, log_null, fertility, counts)
    for _ in range(_ROUNDS):
        if _move(path, emission, transition, log_null, fertility, links, nulls, counts):
            continue
        if not _swap(path, emission, transition, radius):
            break
    return alignment_score(path, emission, transition, log_null, fertility, counts)
