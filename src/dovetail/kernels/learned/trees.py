"""Boosted trees: the sum of their leaves."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import _numba as octets
from dovetail.kernels import kernel, leaf

U = np.uint64
OCTET = U(8)
PATIENCE = 10  # trees between two looks at who is hopeless
MOVED = 0.6  # what moving a fact of a column costs, in trees that are asked about a column; chosen by trial
NEVER = np.float32(-np.inf)


@kernel
def log_odds(trees, facts, number, waiting, least, given_up, desk, sums):
    """The sum of the leaves that the `waiting` ones of the desk's first columns reach by their first `facts`, in `sums`.

    Most cells are no links, and a few trees see that: a column that is below `least` after ten trees, or ten later, becomes
    `given_up` and waits no more; once it pays, the others are moved together.  Every node is asked about a column, not only
    those on its path: that needs no jumps, and eight columns are asked about at once.
    """
    known, total, place = desk.told, desk.total, desk.place
    left = 0
    for k in range(number):
        place[k] = k
        total[k] = np.float32(0.0) if waiting[k] else NEVER
        sums[k] = given_up if waiting[k] else sums[k]
        left += waiting[k]
        waiting[k] = False
    for begin in range(0, len(trees.feature), PATIENCE):
        if left * facts * MOVED < (number - left) * (len(trees.feature) - begin):
            together(known, facts, number, desk)
            known, number = desk.known, left
        for tree in range(begin, min(begin + PATIENCE, len(trees.feature))):
            add_leaves(trees.feature[tree], trees.threshold[tree], trees.leaf[tree], known, number, total)
        left = hopeful(number, least, total)
    for k in range(number):
        if total[k] > NEVER:
            sums[place[k]] = total[k]
            waiting[place[k]] = True


@leaf
def hopeful(number, least, total):
    """Give up what is below `least`; returns how many are left."""
    left = 0
    for k in range(number):
        total[k] = total[k] if total[k] >= least else NEVER
        left += total[k] > NEVER
    return left


@leaf
def together(known, facts, number, desk):
    """Move the columns that are not given up together, to the front of the desk's."""
    left = 0
    for k in range(number):
        if desk.total[k] > NEVER:
            desk.total[left] = desk.total[k]
            desk.place[left] = desk.place[k]
            desk.kept[left] = k
            left += 1
    for fact in range(facts):
        here, there = known[fact], desk.known[fact]
        for k in range(left):
            there[k] = here[desk.kept[k]]


@leaf
def add_leaves(feature, threshold, leaves, known, number, total):
    """What a tree of four levels says of each column, in octets; those beyond `number` are nobody's."""
    at, than, end = places(feature, U(known.shape[1])), thresholds(threshold), ends(leaves)
    for k in range(U(0), U(number), OCTET):
        first = two_levels(known, k, at[3], at[7], at[8], than[3], than[7], than[8], end[0], end[1], end[2], end[3])
        second = two_levels(known, k, at[4], at[9], at[10], than[4], than[9], than[10], end[4], end[5], end[6], end[7])
        third = two_levels(
            known, k, at[5], at[11], at[12], than[5], than[11], than[12], end[8], end[9], end[10], end[11]
        )
        fourth = two_levels(
            known, k, at[6], at[13], at[14], than[6], than[13], than[14], end[12], end[13], end[14], end[15]
        )
        said = two_levels(known, k, at[0], at[1], at[2], than[0], than[1], than[2], first, second, third, fourth)
        octets.store(total, k, octets.plus(octets.load(total, k), said))


@leaf
def two_levels(known, k, at, at_left, at_right, than, than_left, than_right, first, second, third, fourth):
    """A node, the two below it, and what the four below those say."""
    left = octets.either(octets.at_least(than_left, octets.load(known, at_left + k)), first, second)
    right = octets.either(octets.at_least(than_right, octets.load(known, at_right + k)), third, fourth)
    return octets.either(octets.at_least(than, octets.load(known, at + k)), left, right)


@leaf
def places(feature, columns):
    """Where the facts that each node asks for begin."""
    return (
        U(feature[0]) * columns,
        U(feature[1]) * columns,
        U(feature[2]) * columns,
        U(feature[3]) * columns,
        U(feature[4]) * columns,
        U(feature[5]) * columns,
        U(feature[6]) * columns,
        U(feature[7]) * columns,
        U(feature[8]) * columns,
        U(feature[9]) * columns,
        U(feature[10]) * columns,
        U(feature[11]) * columns,
        U(feature[12]) * columns,
        U(feature[13]) * columns,
        U(feature[14]) * columns,
    )


@leaf
def thresholds(threshold):
    """What each node compares them with, eight times."""
    return (
        octets.spread(threshold[0]),
        octets.spread(threshold[1]),
        octets.spread(threshold[2]),
        octets.spread(threshold[3]),
        octets.spread(threshold[4]),
        octets.spread(threshold[5]),
        octets.spread(threshold[6]),
        octets.spread(threshold[7]),
        octets.spread(threshold[8]),
        octets.spread(threshold[9]),
        octets.spread(threshold[10]),
        octets.spread(threshold[11]),
        octets.spread(threshold[12]),
        octets.spread(threshold[13]),
        octets.spread(threshold[14]),
    )


@leaf
def ends(leaves):
    """What each leaf says, eight times."""
    return (
        octets.spread(leaves[0]),
        octets.spread(leaves[1]),
        octets.spread(leaves[2]),
        octets.spread(leaves[3]),
        octets.spread(leaves[4]),
        octets.spread(leaves[5]),
        octets.spread(leaves[6]),
        octets.spread(leaves[7]),
        octets.spread(leaves[8]),
        octets.spread(leaves[9]),
        octets.spread(leaves[10]),
        octets.spread(leaves[11]),
        octets.spread(leaves[12]),
        octets.spread(leaves[13]),
        octets.spread(leaves[14]),
        octets.spread(leaves[15]),
    )
