"""Bounded dynamic program over what dual ascent has left: exact if it fits its width, else a beam with a valid bound.

A *free* column has more than one live row, the others are decided.  After column j all that matters of an alignment's
beginning is its position and the counts of the rows with free columns on both sides: few, once most cells are dead.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.fertility_chain import backward, chain_scores, list_live
from dovetail.kernels.fertility_score import aim_above, alignment_score, copy_path

_MOST_PAIRS = 10_000_000  # of free columns of one row: a problem this open needs more pruning or branches first
_MOST_CHILDREN = 5_000_000  # in all: keeps one search well under a second however long the sentences


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
    """Best alignment of the live cells, into `incumbent` if it beats `score`.

    A state is a position and the tracked counts.  Its value is the prefix's score plus what the rows can still get at best
    (`_completions`), its bound adds the chain's best suffix.  Of equal states the better stays; those whose bound is not
    above the aim go; if more than `width` are left after a column, the worst go and the best of their bounds is remembered.
    `width` is cut where very many cells are live; where far too many are, nothing is tried and the bound is inf.

    Returns an upper bound on every live alignment, or the score if none is better, and the score.
    """
    J, R = emission.shape
    links = np.empty((J, R + 1), np.int32)
    nulls = np.empty((J, R + 1), np.int32)
    active = np.empty((J + 1, R + 1), np.int32)
    beta = np.empty((J + 1, R))
    list_live(live_link, live_null, links, nulls, active)
    chain = chain_scores(emission, share)
    backward(chain, transition_to, log_null, links, nulls, active, beta)
    options, free, decided = _list_options(links, nulls, R)
    n_pairs = 0
    for r in range(R):
        n_pairs += free[r, 0] * free[r, 0]
    if n_pairs > _MOST_PAIRS:
        return np.inf, score
    offset, completion = _completions(fertility, low, high, share, free, decided)
    slot, factor = _track(free, first)
    n_slots = len(factor) - 1

    aim = aim_above(score, tolerance)
    value = 0.0
    for r in range(R):
        value += completion[offset[r]]
    n_cells = 0
    most = 0
    for j in range(J):
        n_cells += options[j, 0]
        most = max(most, options[j, 0])
        if options[j, 0] == 1:
            value += share[j, options[j, 1]]
    if not value + beta[0, 0] > aim:
        return score, score

    width = max(1, min(width, _MOST_CHILDREN // n_cells))
    # States before and after a column, by turns.
    position = np.zeros((2, width), np.int32)
    values = np.empty((2, width))
    keys = np.zeros((2, width), np.uint64)
    counts = np.zeros((2, width, n_slots), np.int32)
    # Their children, before the equal and the hopeless are taken out.
    parent = np.empty(width * most, np.int32)
    choice = np.empty(width * most, np.int32)
    child_values = np.empty(width * most)
    bounds = np.empty(width * most)
    child_keys = np.empty(width * most, np.uint64)
    # What led to each state, for the way back.
    parents = np.empty((J, width), np.int32)
    choices = np.empty((J, width), np.int32)
    passed = np.zeros(R, np.int32)  # free columns of each row so far
    take = np.empty(R)
    leave = np.empty(R)
    others = np.empty(R + 1)
    dropped = -np.inf
    n = 1
    values[0, 0] = value
    for j in range(J):
        old = j % 2
        new = 1 - old
        n_options = options[j, 0]
        is_free = n_options > 1
        m = 0
        for s in range(n):
            p = position[old, s]
            others[0] = values[old, s]  # plus what the rows before the k-th lose by leaving this column
            for k in range(n_options):
                take[k] = leave[k] = 0.0
                if is_free:
                    r = options[j, k + 1]
                    taken = counts[old, s, slot[r]] if slot[r] >= 0 else 0
                    at = offset[r] + passed[r] * (free[r, 0] + 1) + taken
                    take[k] = completion[at + free[r, 0] + 2] - completion[at] + share[j, r]
                    leave[k] = completion[at + free[r, 0] + 1] - completion[at]
                others[k + 1] = others[k] + leave[k]
            behind = 0.0  # what the rows after the k-th lose; never a difference of sums, which may hold -inf
            for k in range(n_options - 1, -1, -1):
                r = options[j, k + 1]
                value = others[k] + behind + take[k]
                behind += leave[k]
                if r > 0:
                    q = r
                    value += transition[p, r - 1] + chain[j, r]
                elif live_null[j, p]:
                    q = p
                    value += log_null + chain[j, 0]
                else:
                    continue
                if not value + beta[j + 1, q] > aim:
                    continue
                parent[m] = s
                choice[m] = r
                child_values[m] = value
                bounds[m] = value + beta[j + 1, q]
                child_keys[m] = keys[old, s] + (np.uint64(q) - np.uint64(p)) * factor[n_slots]
                if is_free and slot[r] >= 0:
                    child_keys[m] += factor[slot[r]]
                m += 1

        for k in range(1, n_options + 1):
            r = options[j, k]
            if is_free:
                passed[r] += 1
                if slot[r] >= 0 and passed[r] == free[r, 0]:  # decided from here on: forget its count
                    for c in range(m):
                        taken = counts[old, parent[c], slot[r]] + (choice[c] == r)
                        child_keys[c] -= np.uint64(taken) * factor[slot[r]]
        unique = _unite(m, parent, choice, bounds, child_keys, position[old], counts[old], slot, passed, free, is_free)
        least = _kth_best(m, choice, bounds, unique, width) if unique > width else -np.inf
        n = 0
        for c in range(m):
            r = choice[c]
            if r < 0:
                continue
            if bounds[c] < least or n == width:
                dropped = max(dropped, bounds[c])
                continue
            s = parent[c]
            position[new, n] = r if r > 0 else position[old, s]
            values[new, n] = child_values[c]
            keys[new, n] = child_keys[c]
            for k in range(n_slots):
                counts[new, n, k] = counts[old, s, k]
            if is_free and slot[r] >= 0:
                counts[new, n, slot[r]] += 1
            parents[j, n] = s
            choices[j, n] = r
            n += 1
        if n == 0:
            return max(score, dropped), score

    s = 0
    for m in range(n):
        if values[J % 2, m] > values[J % 2, s]:
            s = m
    path = np.empty(J, np.int32)
    for j in range(J - 1, -1, -1):
        path[j] = choices[j, s]
        s = parents[j, s]
    reached = alignment_score(path, emission, transition, log_null, fertility, np.empty(R, np.int32))
    if reached > score:
        score = reached
        copy_path(path, incumbent)
    return max(score, dropped), score


@kernel
def _list_options(links, nulls, R):
    """Each column's live rows, each row's free columns (entry 0 counts), and how many cells of each row are decided."""
    J = links.shape[0]
    options = np.empty((J, R + 1), np.int32)
    free = np.zeros((R, J + 1), np.int32)
    decided = np.zeros(R, np.int32)
    for j in range(J):
        n = 0
        if nulls[j, 0] > 0:
            n = 1
            options[j, 1] = 0
        for k in range(1, links[j, 0] + 1):
            n += 1
            options[j, n] = links[j, k]
        options[j, 0] = n
        for k in range(1, n + 1):
            r = options[j, k]
            if n > 1:
                free[r, 0] += 1
                free[r, free[r, 0]] = j
            else:
                decided[r] += 1
    return options, free, decided


@kernel
def _completions(fertility, low, high, share, free, decided):
    """The best that row r can still get once m of its n free columns are passed and c of them taken.

    completion[m, c] = max(share of the next + completion[m + 1, c + 1], completion[m + 1, c]),
    completion[n, c] = fertility[r, decided[r] + c], -inf if that count is not allowed.

    Row r's table starts at offset[r] and has n + 1 entries for each m.
    """
    R = free.shape[0]
    offset = np.zeros(R + 1, np.int64)
    for r in range(R):
        offset[r + 1] = offset[r] + (free[r, 0] + 1) * (free[r, 0] + 1)
    completion = np.empty(offset[R])
    for r in range(R):
        n = free[r, 0]
        at = offset[r] + n * (n + 1)
        for c in range(n + 1):
            count = decided[r] + c
            completion[at + c] = fertility[r, count] if low[r] <= count <= high[r] else -np.inf
        for m in range(n - 1, -1, -1):
            at -= n + 1
            gain = share[free[r, m + 1], r]
            for c in range(m + 1):
                completion[at + c] = max(gain + completion[at + n + 2 + c], completion[at + n + 1 + c])
    return offset, completion


@kernel
def _track(free, first):
    """A slot for the count of each row with several free columns (else -1), and factors that make a hash key of a state.

    Rows below `first` have no fertility: their count never matters.  The last factor is the position's.
    """
    R = free.shape[0]
    slot = np.full(R, -1, np.int32)
    n = 0
    for r in range(first, R):
        if free[r, 0] > 1:
            slot[r] = n
            n += 1
    factor = np.empty(n + 1, np.uint64)
    x = np.uint64(0)
    for k in range(n + 1):  # splitmix64 (Steele et al. 2014)
        x += np.uint64(0x9E3779B97F4A7C15)
        z = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        factor[k] = z ^ (z >> np.uint64(31))
    return slot, factor


@kernel
def _unite(m, parent, choice, bounds, keys, position, counts, slot, passed, free, is_free):
    """Of equal children keep the one with the best bound; the others' choice becomes -1.  Returns how many are left.

    Equal keys only suggest equal states: the positions and the counts of the rows still open decide.
    """
    size = 16
    while size < 2 * m:
        size *= 2
    table = np.full(size, -1, np.int32)
    R = len(slot)
    unique = 0
    for c in range(m):
        h = np.int64((keys[c] ^ (keys[c] >> np.uint64(32))) & np.uint64(size - 1))
        r = choice[c]
        s = parent[c]
        while True:
            other = table[h]
            if other < 0:
                table[h] = c
                unique += 1
                break
            if keys[other] == keys[c]:
                t = parent[other]
                u = choice[other]
                same = (r if r > 0 else position[s]) == (u if u > 0 else position[t])
                for q in range(R):
                    if slot[q] >= 0 and passed[q] < free[q, 0]:
                        mine = counts[s, slot[q]] + (is_free and r == q)
                        same = same and mine == counts[t, slot[q]] + (is_free and u == q)
                if same:
                    if bounds[c] > bounds[other]:
                        choice[other] = -1
                        table[h] = c
                    else:
                        choice[c] = -1
                    break
            h = (h + 1) & (size - 1)
    return unique


@kernel
def _kth_best(m, choice, bounds, unique, k):
    """The k-th best bound of the children that are left."""
    ordered = np.empty(unique)
    n = 0
    for c in range(m):
        if choice[c] >= 0:
            ordered[n] = bounds[c]
            n += 1
    low = 0
    high = unique - 1
    while low < high:  # quickselect (Hoare 1961), best first
        pivot = ordered[(low + high) // 2]
        a = low
        b = high
        while a <= b:
            while ordered[a] > pivot:
                a += 1
            while ordered[b] < pivot:
                b -= 1
            if a <= b:
                ordered[a], ordered[b] = ordered[b], ordered[a]
                a += 1
                b -= 1
        if k - 1 <= b:
            high = b
        elif k - 1 >= a:
            low = a
        else:
            break
    return ordered[k - 1]
