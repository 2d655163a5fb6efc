"""Chang et al.'s (2014) relaxation with some of its constraints put back: their Figure 6, over states that can still matter.

A constraint (i, j) in p says y(i, j) = sum over i' of y(i, i', j + 1).  The Viterbi state grows by a count for each: +1
when its link y(i, j) is chosen, -1 when a link in column j + 1 names it as the one before.  Rows are visited in order, so
that before row i the count is 0 or -1, and after it 0 or +1: one bit tells which, and 62 constraints fit in one integer.

An *entry* is a state with its counts.  NULLs of the reverse direction come first, one layer for each column, then one
layer for each row.  An entry whose value and best unconstrained completion do not exceed the ceiling is dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.bidirectional.records import Problem
from dovetail.kernels.laboratory.relaxation import Lattice, ReversePrices, follows, hosts, mirrored

MOST_CONSTRAINTS = 62
OVERFLOW = np.inf  # returned in place of a value when the entries don't fit


class Entries(NamedTuple):
    """Room for the same number of entries in each layer; layer n has first[n]:first[n + 1]."""

    first: np.ndarray  # int64 (layers + 1,)
    state: np.ndarray  # int64 (entries,): position * settings + setting
    counts: np.ndarray  # int64 (entries,): one bit per constraint
    value: np.ndarray  # float64 (entries,)
    before: np.ndarray  # int64 (entries,): the entry that it continues
    origins: np.ndarray  # int64 (entries, 3): i' of its reverse links, -1 if absent
    table: np.ndarray  # int64 (power of two,): where to find an entry by its state and counts


@kernel
def new_entries(layers, capacity):
    """Room for `capacity` entries per layer."""
    total = layers * capacity
    size = 4
    while size < 4 * capacity:
        size *= 2
    first, table = np.zeros(layers + 1, np.int64), np.full(size, -1, np.int64)
    numbers, origins = np.zeros((3, total), np.int64), np.zeros((total, 3), np.int64)
    return Entries(first, numbers[0], numbers[1], np.zeros(total), numbers[2], origins, table)


@kernel
def _insert(entries, layer, state, counts, value, before, origins):
    """Add an entry to the layer, or raise the one with the same state and counts.  False if there is no room."""
    first, table = entries.first, entries.table
    mask = len(table) - 1
    slot = (state * 0x9E3779B1 + counts * 0x85EBCA6B + (counts >> 31)) & mask
    while table[slot] >= first[layer]:  # what older layers left in the table counts as empty
        at = table[slot]
        if entries.state[at] == state and entries.counts[at] == counts:
            break
        slot = (slot + 1) & mask
    if table[slot] < first[layer]:
        at = first[layer + 1]
        if at - first[layer] >= len(entries.state) // (len(first) - 1):
            return False
        first[layer + 1] += 1
        table[slot] = at
        entries.state[at], entries.counts[at], entries.value[at] = state, counts, -np.inf
    if value > entries.value[at]:
        entries.value[at], entries.before[at] = value, before
        for n in range(3):
            entries.origins[at, n] = origins[n]
    return True


@leaf
def count_links(counts, plus, minus, here, later):
    """Counts after links that add to the constraints `plus` and take from `minus`, in a row whose own constraints are
    `here`; -1 if one of them can't come out even any more."""
    earlier = ~(here | later)
    if minus & later & counts or minus & earlier & ~counts:
        return -1
    if here & ((minus & ~plus) | (counts & ~plus) | (plus & minus & counts)):
        return -1
    return (counts & ~here & ~(minus & earlier)) | (minus & later) | (here & plus & ~minus & ~counts)


class Relaxed(NamedTuple):
    """The relaxed problem at the present multipliers.

    The lattice and `null_rho` do not know of constraints: they bound what is to come.
    """

    problem: Problem
    multipliers: np.ndarray  # float64 (I + 1, J): lambda
    lattice: Lattice  # turned
    null_rho: np.ndarray  # float64 (J + 1,): rho[0]
    prices: ReversePrices  # of reverse links that name no constraint
    own: np.ndarray  # int64 (I + 1, J + 1): the bit of the constraint (i, j), 0 if it is not put back


@leaf
def _option(relaxed, before, i, j):
    """Price, i' and bit of the reverse link (i, j) that names the link (before, j - 1); before = -1: the best free one."""
    if before < 0:
        return relaxed.prices.rho[i, j], relaxed.prices.origin[i, j], 0
    value = relaxed.problem.omega[j - 1, before, i] + relaxed.multipliers[before, j - 1]
    if j < relaxed.multipliers.shape[1]:
        value -= relaxed.multipliers[i, j]
    return value, before, relaxed.own[before, j - 1]


@kernel
def _null_layers(relaxed, entries, ceiling, best_path):
    """Entries after each choice of reverse NULLs.  False if they don't fit."""
    I, J = relaxed.own.shape[0] - 1, relaxed.own.shape[1] - 1
    rest = best_path
    for j in range(1, J + 1):
        rest += max(0.0, relaxed.null_rho[j])
    origins = np.full(3, -1, np.int64)
    entries.first[0], entries.first[1] = 0, 0
    _insert(entries, 0, 0, relaxed.own[0, 0], -relaxed.multipliers[0, 0], -1, origins)
    later = 0
    for i in range(I + 1):
        for j in range(J):
            later |= relaxed.own[i, j]
    later &= ~relaxed.own[0, 0]
    for j in range(1, J + 1):
        rest -= max(0.0, relaxed.null_rho[j])
        here = relaxed.own[0, j]
        later &= ~here
        entries.first[j + 1] = entries.first[j]
        for n in range(entries.first[j - 1], entries.first[j]):
            counts, value = entries.counts[n], entries.value[n]
            for before in range(-2, I + 1):  # -2: no NULL here
                if before >= 0 and relaxed.own[before, j - 1] == 0:
                    continue
                total, after = value, counts
                origins[0] = -1
                if before > -2:
                    price, origins[0], minus = _option(relaxed, before, 0, j)
                    total += price
                    after = count_links(counts, here, minus, here, later)
                if after >= 0 and total + rest > ceiling and not _insert(entries, j, 0, after, total, n, origins):
                    return False
    return True


@kernel
def _combinations(relaxed, i, j, z, found):
    """Ways to choose the reverse links of (i, j) in setting z: rows of `found` [plus, minus, three i'], and their values.

    NULL (j = 0) has one way: none.
    """
    I, J = relaxed.own.shape[0] - 1, relaxed.own.shape[1] - 1
    cost = relaxed.problem.agreement.cost
    values = np.zeros(len(found))
    count = 1
    for n in range(5):
        found[0, n] = 0 if n < 2 else -1
    values[0] = 0.0 if z % 3 == 0 else cost
    for beside in range(-1, 2):
        if j == 0 or not hosts(z, beside):
            continue
        column = j + beside
        known = count
        for before in range(I + 1):
            if relaxed.own[before, column - 1] == 0:
                continue
            price, origin, minus = _option(relaxed, before, i, column)
            for n in range(known):
                if count < len(found) and price > -np.inf:
                    values[count] = values[n] + price
                    for m in range(5):
                        found[count, m] = found[n, m]
                    found[count, 1] |= minus
                    found[count, 3 + beside] = origin
                    count += 1
        price, origin, minus = _option(relaxed, -1, i, column)
        for n in range(known):
            values[n] += price
            found[n, 3 + beside] = origin
        for n in range(count):
            found[n, 0] |= relaxed.own[i, column] if column < J else 0
            values[n] += 0.0 if beside == 0 else cost
    return values[:count]


@kernel
def constrained_best(relaxed, entries, ceiling, best_path, choice, left):
    """L(lambda; p), the value of the best path for which the constraints in p hold; its path, settings and reverse links.

    Returns (value, number of links); -inf where nothing exceeds the ceiling, OVERFLOW where the entries don't fit, or where
    no moves between entries are `left` (one number, from which they are taken).
    """
    theta, values, own = relaxed.problem.theta, relaxed.lattice.values, relaxed.own
    I, J, Z = theta.shape[0], theta.shape[1] - 1, values.shape[2]
    if not _null_layers(relaxed, entries, ceiling, best_path):
        return OVERFLOW, 0
    found = np.zeros((4096, 5), np.int64)
    later = 0
    for i in range(1, I + 1):
        for j in range(J):
            later |= own[i, j]
    for i in range(1, I + 1):
        here = 0
        for j in range(J):
            here |= own[i, j]
        later &= ~here
        layer = J + i
        entries.first[layer + 1] = entries.first[layer]
        for j in range(J + 1):
            for z in range(Z if j > 0 else 1):
                if values[i, j, z] == -np.inf:
                    continue
                completion = relaxed.lattice.turned_pi[I + 1 - i, j, mirrored(z)] - values[i, j, z]
                prices = _combinations(relaxed, i, j, z, found)
                left[0] -= (entries.first[layer] - entries.first[layer - 1]) * len(prices)
                if left[0] < 0:
                    return OVERFLOW, 0
                for n in range(entries.first[layer - 1], entries.first[layer]):
                    before, z_before = entries.state[n] // Z, entries.state[n] % Z
                    if not follows(before, z_before, j, z):
                        continue
                    value = entries.value[n] + theta[i - 1, before, j]
                    for m in range(len(prices)):
                        total = value + prices[m]
                        if total + completion > ceiling:
                            after = count_links(entries.counts[n], found[m, 0], found[m, 1], here, later)
                            if after >= 0 and not _insert(entries, layer, j * Z + z, after, total, n, found[m, 2:]):
                                return OVERFLOW, 0
    best, at = -np.inf, -1
    for n in range(entries.first[J + I], entries.first[J + I + 1]):
        if entries.counts[n] == 0 and entries.value[n] > best:
            best, at = entries.value[n], n
    return best, _trace(entries, at, choice, J, Z) if at >= 0 else 0


@kernel
def _trace(entries, at, choice, J, Z):
    """The path of entries that ends with the one at `at`, as a choice; returns its number of reverse links."""
    x, settings, links = choice
    count = 0
    for layer in range(len(entries.first) - 2, 0, -1):
        if layer > J:
            i = layer - J
            x[i], settings[i] = entries.state[at] // Z, entries.state[at] % Z
            for beside in range(-1, 2):
                if entries.origins[at, 1 + beside] >= 0:
                    links[count, 0], links[count, 1] = entries.origins[at, 1 + beside], i
                    links[count, 2] = x[i] + beside
                    count += 1
        elif entries.origins[at, 0] >= 0:
            links[count, 0], links[count, 1], links[count, 2] = entries.origins[at, 0], 0, layer
            count += 1
        at = entries.before[at]
    return count
