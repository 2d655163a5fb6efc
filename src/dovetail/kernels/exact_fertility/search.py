"""Bounded dynamic program over what dual ascent has left: exact if it fits its width, else a beam with a valid bound.

A *free* column has more than one live row, the others are decided.  After column j all that matters of an alignment's
beginning is its position and the counts of the rows with free columns on both sides: few, once most cells are dead.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.exact_fertility.chain import backward, chain_scores, list_live
from dovetail.kernels.exact_fertility.rows import list_cells
from dovetail.kernels.exact_fertility.runs import list_runs, row_table, suffix_runs
from dovetail.kernels.exact_fertility.score import aim_above, alignment_score, copy_path

_MOST_NUMBERS = 10_000_000  # in the rows' tables: a problem this open needs more pruning or branches first
_MOST_CHILDREN = 5_000_000  # in all: keeps one search well under a second however long the sentences


@kernel
def search(
    emission,
    transition,
    jump,
    jump_to,
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
    runs,
    width,
):
    """Best alignment of the live cells, into `incumbent` if it beats `score`.

    A state is a position and the tracked counts.  Its value is the prefix's score plus what the rows can still get at best
    (`suffix_runs`), its bound adds the chain's best suffix.  Of equal states the better stays; those whose bound is not
    above the aim go; if more than `width` are left after a column, the worst go and the best of their bounds is remembered.
    `width` is cut where very many cells are live; where far too many are, nothing is tried and the bound is inf.

    Without `runs` the shares of both kinds of link must be the same, and `jump` must hold all transitions.
    Returns an upper bound on every live alignment, or the score if none is better, and the score.
    """
    J, R = emission.shape
    links = np.empty((J, R + 1), np.int32)
    nulls = np.empty((J, R + 1), np.int32)
    active = np.empty((J + 1, R + 1), np.int32)
    cells = np.empty((R, J + 1), np.int32)
    bond = np.empty((R, J + 1), np.uint8)
    beta = np.empty((J + 1, R))
    list_live(live_link, live_null, links, nulls, active)
    list_cells(links, nulls, cells)
    list_runs(live_null, links, nulls, cells, bond)
    offset = np.zeros(R + 1, np.int64)
    for r in range(R):
        high[r] = min(high[r], cells[r, 0])
        offset[r + 1] = offset[r] + 2 * (cells[r, 0] + 1) * (high[r] + 1)
    if offset[R] > _MOST_NUMBERS:
        return np.inf, score
    chain, stay = chain_scores(emission, transition, share, runs)
    backward(chain, stay, jump_to, log_null, links, nulls, active, beta)
    value = 0.0
    suffix = np.empty(offset[R])
    for r in range(R):
        table = row_table(suffix, offset[r], high, cells, r)
        suffix_runs(fertility, share, low, cells, bond, r, table)
        value += table[0, 0, 0]
    options, free = _list_options(links, nulls, R)
    slot, factor = _track(free, first)
    n_slots = len(factor) - 1

    aim = aim_above(score, tolerance)
    if not value + beta[0, 0] > aim:
        return score, score
    n_cells = 0
    most = 0
    for j in range(J):
        n_cells += options[j, 0]
        most = max(most, options[j, 0])

    width = max(1, min(width, _MOST_CHILDREN // n_cells))
    # States before and after a column, by turns.
    position = np.zeros((2, width), np.int32)
    values = np.empty((2, width))
    keys = np.zeros((2, width), np.uint64)
    counts = np.zeros((2, width, n_slots), np.int16)  # cells taken by each row with free columns, decided ones included
    # Their children, before the equal and the hopeless are taken out.
    parent = np.empty(width * most, np.int32)
    choice = np.empty(width * most, np.int32)
    child_values = np.empty(width * most)
    bounds = np.empty(width * most)
    child_keys = np.empty(width * most, np.uint64)
    # What led to each state, for the way back.
    parents = np.empty((J, width), np.int32)
    choices = np.empty((J, width), np.int32)
    passed = np.zeros(R, np.int32)  # cells of each row so far
    left = free.copy()  # free columns of each row from here on
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
            place = -1  # of the position's own row among the options
            keeps = 0.0  # what that row loses by a NULL that keeps its position
            for k in range(n_options):
                r = options[j, k + 1]
                own = 1 if r == p and r > 0 else 0
                size = high[r] + 1
                taken = counts[old, s, slot[r]] if slot[r] >= 0 else passed[r]
                at = offset[r] + 2 * passed[r] * size + taken
                now = suffix[at + own * size]
                take[k] = share[own, j, r] - now
                take[k] += suffix[at + 3 * size + 1] if taken < high[r] else -np.inf
                leave[k] = suffix[at + 2 * size] - now
                others[k + 1] = others[k] + leave[k]
                if own:
                    place = k
                    keeps = suffix[at + 3 * size] - now
            gone = 0.0  # what the position's row loses when the position goes elsewhere, if it has no cell here
            if place < 0 and p > 0:
                size = high[p] + 1
                taken = counts[old, s, slot[p]] if slot[p] >= 0 else passed[p]
                at = offset[p] + 2 * passed[p] * size + taken
                gone = suffix[at] - suffix[at + size]
            behind = 0.0  # what the rows after the k-th lose; never a difference of sums, which may hold -inf
            for k in range(n_options - 1, -1, -1):
                r = options[j, k + 1]
                if r > 0:
                    q = r
                    value = others[k] + behind + take[k] + gone
                    value += transition[p, r - 1] + (emission[j, r] - share[1 if r == p else 0, j, r])
                elif live_null[j, p]:
                    q = p
                    value = others[0] + take[0] + log_null + chain[j, 0]
                    for i in range(1, n_options):
                        value += keeps if i == place else leave[i]
                else:
                    continue
                behind += leave[k]
                if not value + beta[j + 1, q] > aim:
                    continue
                parent[m] = s
                choice[m] = r
                child_values[m] = value
                bounds[m] = value + beta[j + 1, q]
                child_keys[m] = keys[old, s] + (np.uint64(q) - np.uint64(p)) * factor[n_slots]
                if left[r] > 0 and slot[r] >= 0:
                    child_keys[m] += factor[slot[r]]
                m += 1

        for k in range(1, n_options + 1):
            r = options[j, k]
            passed[r] += 1
            if is_free:
                left[r] -= 1
                if left[r] == 0 and slot[r] >= 0:  # decided from here on: forget its count
                    for c in range(m):
                        taken = counts[old, parent[c], slot[r]] + (choice[c] == r)
                        child_keys[c] -= np.uint64(taken) * factor[slot[r]]
        unique = _unite(m, parent, choice, bounds, child_keys, position[old], counts[old], slot, left)
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
            if slot[r] >= 0:
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
    """Each column's live rows, NULL first (entry 0 counts), and how many free columns each row has."""
    J = links.shape[0]
    options = np.empty((J, R + 1), np.int32)
    free = np.zeros(R, np.int32)
    for j in range(J):
        n = 0
        if nulls[j, 0] > 0:
            n = 1
            options[j, 1] = 0
        for k in range(1, links[j, 0] + 1):
            n += 1
            options[j, n] = links[j, k]
        options[j, 0] = n
        if n > 1:
            for k in range(1, n + 1):
                free[options[j, k]] += 1
    return options, free


@kernel
def _track(free, first):
    """A slot for the count of each row with free columns (else -1), and factors that make a hash key of a state.

    Rows below `first` have no fertility: their count never matters.  The last factor is the position's.
    """
    R = len(free)
    slot = np.full(R, -1, np.int32)
    n = 0
    for r in range(first, R):
        if free[r] > 0:
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
def _unite(m, parent, choice, bounds, keys, position, counts, slot, left):
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
                    if slot[q] >= 0 and left[q] > 0:
                        same = same and counts[s, slot[q]] + (r == q) == counts[t, slot[q]] + (u == q)
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
