"""Bounded dynamic program over what dual ascent has left: exact if it fits its width, else a beam with a valid bound.

A *free* column has more than one live row, the others are decided.  After column j all that matters of an alignment's
beginning is its position and the counts of the rows with free columns on both sides: few, once most cells are dead.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.exact_fertility.chain import backward, chain_scores
from dovetail.kernels.exact_fertility.lists import lists_of
from dovetail.kernels.exact_fertility.records import Ahead, Children, Counted, States, Trellis
from dovetail.kernels.exact_fertility.runs import row_table, suffix_runs
from dovetail.kernels.exact_fertility.score import aim_above, alignment_score, copy_path
from dovetail.kernels.gibbs.random import bits

_MOST_NUMBERS = 10_000_000  # in the rows' tables: a problem this open needs more pruning or branches first
_MOST_CHILDREN = 5_000_000  # in all: keeps one search well under a second however long the sentences


@kernel
def search(problem, node, known, width):
    """Best alignment of the live cells, into `known.path` if it beats `known.score`.

    A state is a position and the tracked counts.  Its value is the prefix's score plus what the rows can still get at best
    (`suffix_runs`), its bound adds the chain's best suffix.  Of equal states the better stays; those whose bound is not
    above the aim go; if more than `width` are left after a column, the worst go and the best of their bounds is remembered.
    `width` is cut where very many cells are live; where far too many are, nothing is tried and the bound is inf.

    Without `problem.runs` the prices of both kinds of link must be the same.
    Returns an upper bound on every live alignment, or the score if none is better, and the score.
    """
    J, R = problem.emission.shape
    score = known.score
    lists = lists_of(node, True)
    offset = np.zeros(R + 1, np.int64)
    for r in range(R):
        offset[r + 1] = offset[r] + 2 * (lists.cells[r, 0] + 1) * (node.high[r] + 1)
    if offset[R] > _MOST_NUMBERS:
        return np.inf, score
    trellis = Trellis(np.empty((J, R)), np.empty((J + 1, R)), np.empty((J + 1, R)))
    backward(chain_scores(problem, node.price), lists, trellis)
    value = 0.0
    suffix = np.empty(offset[R])
    for r in range(R):
        table = row_table(suffix[offset[r] :], lists.cells[r, 0], node.high[r])
        suffix_runs(problem.fertility, node, lists, r, table)
        value += table[0, 0, 0]
    aim = aim_above(score, known.tolerance)
    if not value + trellis.beta[0, 0] > aim:
        return score, score

    options, free = _list_options(lists)
    ahead = Ahead(options, trellis.beta, suffix, offset)
    counted = _track(free, problem.first)
    n_cells = 0
    most = 0
    for j in range(J):
        n_cells += options[j, 0]
        most = max(most, options[j, 0])
    width = max(1, min(width, _MOST_CHILDREN // n_cells))
    n_slots = len(counted.factor) - 1
    position = np.zeros((2, width), np.int32)
    keys = np.zeros((2, width), np.uint64)
    states = States(position, np.empty((2, width)), keys, np.zeros((2, width, n_slots), np.int16))
    size = width * most
    parent = np.empty(size, np.int32)
    choice = np.empty(size, np.int32)
    children = Children(parent, choice, np.empty(size), np.empty(size), np.empty(size, np.uint64))
    parents = np.empty((J, width), np.int32)  # what led to each state, for the way back
    choices = np.empty((J, width), np.int32)
    scratch = np.empty((3, R + 1))
    dropped = -np.inf
    n = np.int64(1)  # a plain 1 would have `_expand` compiled twice
    states.value[0, 0] = value
    for j in range(J):
        old = j % 2
        new = 1 - old
        m = _expand(problem, node, ahead, counted, states, children, scratch, aim, j, n)
        unique = _unite(counted, states, children, old, m)
        least = _kth_best(children, m, unique, width) if unique > width else -np.inf
        n = 0
        for c in range(m):
            r = children.choice[c]
            if r < 0:
                continue
            if children.bound[c] < least or n == width:
                dropped = max(dropped, children.bound[c])
                continue
            s = children.parent[c]
            states.position[new, n] = r if r > 0 else states.position[old, s]
            states.value[new, n] = children.value[c]
            states.key[new, n] = children.key[c]
            for k in range(n_slots):
                states.counts[new, n, k] = states.counts[old, s, k]
            if counted.slot[r] >= 0:
                states.counts[new, n, counted.slot[r]] += 1
            parents[j, n] = s
            choices[j, n] = r
            n += 1
        if n == 0:
            return max(score, dropped), score

    s = 0
    for m in range(n):
        if states.value[J % 2, m] > states.value[J % 2, s]:
            s = m
    path = np.empty(J, np.int32)
    for j in range(J - 1, -1, -1):
        path[j] = choices[j, s]
        s = parents[j, s]
    reached = alignment_score(problem, path, np.empty(R, np.int32))
    if reached > score:
        score = reached
        copy_path(path, known.path)
    return max(score, dropped), score


@kernel
def _list_options(lists):
    """Each column's live rows, NULL first (entry 0 counts), and how many free columns each row has."""
    links, nulls = lists.links, lists.nulls
    J = len(links)
    R = len(lists.cells)
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
    """Slots for the counts of the rows with free columns, and the factors of the keys, before the first column.

    Rows below `first` have no fertility: their count never matters.
    """
    R = len(free)
    slot = np.full(R, -1, np.int32)
    n = 0
    for r in range(first, R):
        if free[r] > 0:
            slot[r] = n
            n += 1
    factor = np.empty(n + 1, np.uint64)
    for k in range(n + 1):
        factor[k] = bits(np.uint64(0), k)
    return Counted(slot, factor, free, np.zeros(R, np.int32))


@leaf
def _taken(counted, counts, s, r):
    """Cells of row r that state s has taken; where nothing is free, all."""
    return counts[s, counted.slot[r]] if counted.slot[r] >= 0 else counted.passed[r]


@leaf
def _expand(problem, node, ahead, counted, states, children, scratch, aim, j, n):
    """Children: every choice in column j of each of the n states before it, but the hopeless ones.  Returns how many."""
    price, high = node.price, node.high
    beta, suffix, offset = ahead.beta, ahead.suffix, ahead.offset
    slot, factor = counted.slot, counted.factor
    left, passed = counted.left, counted.passed
    options = ahead.options[j]
    counts = states.counts[j % 2]
    take, leave, others = scratch[0], scratch[1], scratch[2]
    position_factor = factor[len(factor) - 1]
    n_options = options[0]
    m = 0
    for s in range(n):
        p = states.position[j % 2, s]
        others[0] = states.value[j % 2, s]  # plus what the rows before the k-th lose by leaving this column
        place = -1  # of the position's own row among the options
        keeps = 0.0  # what that row loses by a NULL that keeps its position
        for k in range(n_options):
            r = options[k + 1]
            own = 1 if r == p and r > 0 else 0
            size = high[r] + 1
            taken = _taken(counted, counts, s, r)
            at = offset[r] + 2 * passed[r] * size + taken
            now = suffix[at + own * size]
            take[k] = price[own, j, r] - now
            take[k] += suffix[at + 3 * size + 1] if taken < high[r] else -np.inf
            leave[k] = suffix[at + 2 * size] - now
            others[k + 1] = others[k] + leave[k]
            if own:
                place = k
                keeps = suffix[at + 3 * size] - now
        gone = 0.0  # what the position's row loses when the position goes elsewhere, if it has no cell here
        if place < 0 and p > 0:
            size = high[p] + 1
            at = offset[p] + 2 * passed[p] * size + _taken(counted, counts, s, p)
            gone = suffix[at] - suffix[at + size]
        behind = 0.0  # what the rows after the k-th lose; never a difference of sums, which may hold -inf
        for k in range(n_options - 1, -1, -1):
            r = options[k + 1]
            if r > 0:
                q = r
                value = others[k] + behind + take[k] + gone
                value += problem.transition[p, r - 1] + (problem.emission[j, r] - price[1 if r == p else 0, j, r])
            elif node.live_null[j, p]:
                q = p
                value = others[0] + take[0] + problem.log_null + (problem.emission[j, 0] - price[0, j, 0])
                for i in range(1, n_options):
                    value += keeps if i == place else leave[i]
            else:
                continue
            behind += leave[k]
            if not value + beta[j + 1, q] > aim:
                continue
            children.parent[m] = s
            children.choice[m] = r
            children.value[m] = value
            children.bound[m] = value + beta[j + 1, q]
            children.key[m] = states.key[j % 2, s] + (np.uint64(q) - np.uint64(p)) * position_factor
            if left[r] > 0 and slot[r] >= 0:
                children.key[m] += factor[slot[r]]
            m += 1

    for k in range(1, n_options + 1):
        r = options[k]
        passed[r] += 1
        if n_options > 1:
            left[r] -= 1
            if left[r] == 0 and slot[r] >= 0:  # decided from here on: forget its count
                for c in range(m):
                    taken = counts[children.parent[c], slot[r]] + (children.choice[c] == r)
                    children.key[c] -= np.uint64(taken) * factor[slot[r]]
    return m


@kernel
def _unite(counted, states, children, old, m):
    """Of equal children keep the one with the best bound; the others' choice becomes -1.  Returns how many are left.

    Equal keys only suggest equal states: the positions and the counts of the rows still open decide.
    """
    slot, left = counted.slot, counted.left
    position, counts = states.position[old], states.counts[old]
    parent, choice = children.parent, children.choice
    bound, key = children.bound, children.key
    size = 16
    while size < 2 * m:
        size *= 2
    table = np.full(size, -1, np.int32)
    unique = 0
    for c in range(m):
        h = np.int64((key[c] ^ (key[c] >> np.uint64(32))) & np.uint64(size - 1))
        r = choice[c]
        s = parent[c]
        while True:
            other = table[h]
            if other < 0:
                table[h] = c
                unique += 1
                break
            if key[other] == key[c]:
                t = parent[other]
                u = choice[other]
                same = (r if r > 0 else position[s]) == (u if u > 0 else position[t])
                for q in range(len(slot)):
                    if slot[q] >= 0 and left[q] > 0:
                        same = same and counts[s, slot[q]] + (r == q) == counts[t, slot[q]] + (u == q)
                if same:
                    if bound[c] > bound[other]:
                        choice[other] = -1
                        table[h] = c
                    else:
                        choice[c] = -1
                    break
            h = (h + 1) & (size - 1)
    return unique


@kernel
def _kth_best(children, m, unique, k):
    """The k-th best bound of the children that are left."""
    ordered = np.empty(unique)
    n = 0
    for c in range(m):
        if children.choice[c] >= 0:
            ordered[n] = children.bound[c]
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
