"""Bounded dynamic program over what dual ascent has left: exact if it fits its width, else a beam with a valid bound.

After column j all that matters of an alignment's beginning is its position and the counts of the rows that may still
change: few, once most cells are dead.  A *free* column has more than one live row, the others are decided; a row is
*tracked* while it has free columns on both sides.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.fertility_chain import backward, list_live
from dovetail.kernels.fertility_dual import aim_above


@kernel
def search(
    emission,
    transition,
    transition_to,
    log_null,
    fertility,
    first,
    low,
    high,
    live_link,
    live_null,
    share,
    incumbent,
    score,
    tolerance,
    width,
):
    """Best alignment of the live cells, into `incumbent` if it beats `score`, by states (position, tracked counts).

    A state's value is its prefix's exact score plus `completion`, what its rows can still get at best; its bound adds the
    chain's `beta`.  Of equal states the better stays; bounds not above the aim are dropped; if more than `width` states are
    left after a column, the worst go and the best bound among them is remembered.

    Returns an upper bound for all live alignments (not above the aim if the search was exhaustive) and the score.
    """
    J, R = emission.shape
    links = np.empty((J, R + 1), np.int32)
    nulls = np.empty((J, R + 1), np.int32)
    active = np.empty((J + 1, R + 1), np.int32)
    beta = np.empty((J + 1, R))
    list_live(live_link, live_null, links, nulls, active)
    chain = emission - share
    backward(chain, transition_to, log_null, links, nulls, active, beta)

    aim = aim_above(score, tolerance)
    free_cells, last_free, decided, value = _columns(links, nulls, share, first)
    offset, completion = _completions(fertility, low, high, share, free_cells, decided, first)
    for r in range(first, R):
        value += completion[offset[r]]
    if not value + beta[0, 0] > aim:
        return score, score
    slot, n_slots = _slots(free_cells, first)
    hash_of = _hash_factors(n_slots + 1)

    n = 1
    position = np.zeros(1, np.int32)
    values = np.full(1, value)
    counts = np.zeros((1, n_slots), np.int16)
    keys = np.zeros(1, np.uint64)
    passed = np.zeros(R, np.int64)  # free cells of each row in the columns done
    parents = np.empty((J, width), np.int32)
    choices = np.empty((J, width), np.int32)
    dropped = -np.inf
    room = 4 * width + R
    child_parent = np.empty(room, np.int32)
    child_row = np.empty(room, np.int32)
    child_value = np.empty(room)
    child_bound = np.empty(room)
    child_key = np.empty(room, np.uint64)
    options = np.empty(R, np.int32)
    skip = np.empty(R)
    untracked = np.zeros(R, np.int64)

    for j in range(J):
        n_options = 0
        if nulls[j, 0] > 0:
            options[0] = 0
            n_options = 1
        for k in range(1, links[j, 0] + 1):
            options[n_options] = links[j, k]
            n_options += 1
        free = n_options > 1
        n_children = 0
        for s in range(n):
            p = position[s]
            # Completions if every row leaves this column; rows that cannot leave it are counted, not added.
            rest = 0.0
            bound_rows = 0
            for k in range(n_options):
                r = options[k]
                skip[k] = 0.0
                if free and r >= first:
                    size = free_cells[r, 0] + 1
                    c = counts[s, slot[r]] if slot[r] >= 0 else untracked[r]
                    at = offset[r] + passed[r] * size + c
                    if completion[at + size] == -np.inf:
                        skip[k] = -np.inf
                        bound_rows += 1
                    else:
                        skip[k] = completion[at + size] - completion[at]
                        rest += skip[k]
            for k in range(n_options):
                r = options[k]
                if bound_rows > (1 if skip[k] == -np.inf else 0):
                    continue
                if r > 0:
                    q = r
                    x = values[s] + transition[p, r - 1]
                else:
                    if not live_null[j, p]:
                        continue
                    q = p
                    x = values[s] + log_null
                x += rest
                if free and r >= first:
                    size = free_cells[r, 0] + 1
                    c = counts[s, slot[r]] if slot[r] >= 0 else untracked[r]
                    at = offset[r] + passed[r] * size + c
                    # The share was part of the completion as long as the cell lay ahead; now it comes with the emission.
                    x += emission[j, r] + (completion[at + size + 1] - completion[at])
                    if skip[k] > -np.inf:
                        x -= skip[k]
                elif r >= first:
                    x += chain[j, r]
                else:
                    x += emission[j, r]
                bound = x + beta[j + 1, q]
                if not bound > aim:
                    continue
                if n_children == room:
                    room *= 2
                    child_parent = _grown(child_parent, room)
                    child_row = _grown(child_row, room)
                    child_value = _grown(child_value, room)
                    child_bound = _grown(child_bound, room)
                    child_key = _grown(child_key, room)
                child_parent[n_children] = s
                child_row[n_children] = r
                child_value[n_children] = x
                child_bound[n_children] = bound
                key = keys[s] + np.uint64(q) * hash_of[n_slots] - np.uint64(p) * hash_of[n_slots]
                if slot[r] >= 0 and free:
                    key += hash_of[slot[r]]
                child_key[n_children] = key
                n_children += 1
        if n_children == 0:
            return max(score, dropped), score
        if free:
            for k in range(n_options):
                r = options[k]
                passed[r] += 1
                if slot[r] >= 0 and last_free[r] == j:  # the row is decided: forget its count
                    for c in range(n_children):
                        taken = counts[child_parent[c], slot[r]] + (1 if child_row[c] == r else 0)
                        child_key[c] -= np.uint64(taken) * hash_of[slot[r]]
        # The key already says which states are equal but for collisions; the counts themselves decide.
        n_unique = _unite(
            n_children, child_parent, child_row, child_bound, child_key, position, counts, slot, last_free, j, free
        )
        cut = -np.inf
        if n_unique > width:
            bounds = np.empty(n_unique)
            m = 0
            for c in range(n_children):
                if child_row[c] >= 0:
                    bounds[m] = child_bound[c]
                    m += 1
            bounds.sort()
            cut = bounds[n_unique - width]
        n = min(n_unique, width)
        new_position = np.empty(n, np.int32)
        new_counts = np.empty((n, n_slots), np.int16)
        new_values = np.empty(n)
        new_keys = np.empty(n, np.uint64)
        m = 0
        for c in range(n_children):
            r = child_row[c]
            if r < 0:
                continue
            if child_bound[c] < cut or m == n:
                dropped = max(dropped, child_bound[c])
                continue
            parent = child_parent[c]
            new_position[m] = r if r > 0 else position[parent]
            new_counts[m] = counts[parent]
            if slot[r] >= 0 and free:
                new_counts[m, slot[r]] += 1
            new_values[m] = child_value[c]
            new_keys[m] = child_key[c]
            parents[j, m] = parent
            choices[j, m] = r
            m += 1
        position = new_position
        counts = new_counts
        values = new_values
        keys = new_keys

    s = 0
    for m in range(n):
        if values[m] > values[s]:
            s = m
    if values[s] > score:
        score = values[s]
        for j in range(J - 1, -1, -1):
            incumbent[j] = choices[j, s]
            s = parents[j, s]
    return max(score, dropped), score


@kernel
def _grown(values, room):
    larger = np.empty(room, values.dtype)
    larger[: len(values)] = values
    return larger
