"""Local search under the fertility HMM: one target word at a time."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.exact_fertility.score import alignment_score

# Local search stands on forbidden terms as on very bad ones, so that it can walk out of them.
_WORST = -1e6
_GAIN = 1e-9
_ROUNDS = 20


@leaf
def _at_least(x):
    return x if x > _WORST else _WORST


@kernel
def climb(problem, lists, path, counts):
    """Improve `path` in place: each target word in turn goes to its best live row, until none moves.

    A move changes one emission, the transitions around j and two counts: O(1) for each row tried.  Returns the score, taken
    anew from the potentials; `counts` (R,) are the path's.
    """
    emission, transition, fertility = problem.emission, problem.transition, problem.fertility
    links, nulls = lists.links, lists.nulls
    J = emission.shape[0]
    alignment_score(problem, path, counts)
    following = np.empty(J, np.int32)  # row of the next link, 0 if none follows
    for _ in range(_ROUNDS):
        moved = False
        n = 0
        for j in range(J - 1, -1, -1):
            following[j] = n
            if path[j] > 0:
                n = path[j]
        p = 0
        for j in range(J):
            n = following[j]
            now = path[j]
            best_gain = 0.0
            best = now
            for k in range(-1, links[j, 0] + 1):  # first what the present row is worth, then NULL, then the links
                if k == 0 and nulls[j, 0] == 0:
                    continue
                r = now if k < 0 else 0 if k == 0 else links[j, k]
                if k >= 0 and r == now:
                    continue
                c = counts[r] if k < 0 else counts[r] + 1
                gain = _at_least(emission[j, r]) + _at_least(fertility[r, c]) - _at_least(fertility[r, c - 1])
                gain += _at_least(problem.log_null if r == 0 else transition[p, r - 1])
                if n > 0:
                    gain += _at_least(transition[r if r > 0 else p, n - 1])
                if k < 0:
                    best_gain = gain + _GAIN
                elif gain > best_gain:
                    best_gain = gain
                    best = r
            if best != now:
                path[j] = best
                counts[now] -= 1
                counts[best] += 1
                moved = True
            if best > 0:
                p = best
        if not moved:
            break
    return alignment_score(problem, path, counts)
