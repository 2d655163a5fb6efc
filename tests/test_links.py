"""From posteriors to lists of links: thresholds, growing and collecting against slow twins."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.kernels.hmm.viterbi import EITHER, FORWARD, REVERSE
from dovetail.kernels.links.collect import collect, mark_threshold
from dovetail.kernels.links.grow import grow
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J, Workspace


@st.composite
def blocks(draw, longest=4, pieces=3):
    """Lines of some pieces, and posteriors of their cells, many of them alike."""
    sizes = draw(st.lists(st.tuples(st.integers(1, longest), st.integers(1, longest)), min_size=1, max_size=pieces))
    lines = np.zeros((len(sizes), 7), np.int64)
    lines[:, [LENGTH_I, LENGTH_J]] = sizes
    areas = lines[:, LENGTH_I] * lines[:, LENGTH_J]
    lines[:, CELL] = np.cumsum(areas) - areas
    values = st.lists(st.integers(0, 8), min_size=(cells := int(areas.sum())), max_size=cells)
    forward, reverse = (np.array(draw(values), np.float32) / np.float32(8) for _ in range(2))
    return lines, Workspace(forward, reverse, np.empty(0, np.float32), np.empty(0, np.float32))


def planes(lines, work, marks):
    """(forward, reverse, marks) of each piece as matrices, which share their memory with the block."""
    for line in lines:
        cells = slice(line[CELL], line[CELL] + line[LENGTH_I] * line[LENGTH_J])
        yield tuple(flat[cells].reshape(line[LENGTH_I], line[LENGTH_J]) for flat in (work.forward, work.reverse, marks))


def naive_grow(forward, reverse, marks, least):
    """One link after another: the best cell beside a link whose row or column has none; of equals the first."""
    mean = (forward + reverse) / 2
    while True:
        linked = marks & EITHER > 0
        best = None
        for i, j in product(*map(range, mean.shape)):
            free = not linked[i, j] and not (linked[i].any() and linked[:, j].any())
            beside = linked[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2].any()
            if free and beside and mean[i, j] > least and (best is None or mean[i, j] > mean[best]):
                best = i, j
        if best is None:
            return
        marks[best] |= EITHER


@settings(deadline=None)
@given(blocks(), st.integers(0, 7))
def test_cells_above_the_threshold_are_marked_and_no_others(block, eighths):
    lines, work = block
    threshold = np.float32(eighths) / np.float32(8)
    marks = np.zeros(len(work.forward), np.uint8)
    mark_threshold(0, len(lines), lines, work, threshold, marks)
    mean = (work.forward + work.reverse) / 2
    for mark, values in ((FORWARD, work.forward), (REVERSE, work.reverse), (EITHER, mean)):
        assert ((marks & mark > 0) == (values > threshold)).all()


@settings(deadline=None)
@given(blocks(), st.integers(1, 7), st.data())
def test_links_grow_best_first_beside_links_for_words_without_one(block, eighths, data):
    lines, work = block
    threshold = np.float32(eighths) / np.float32(8)
    least = np.float32(data.draw(st.integers(0, eighths - 1))) / np.float32(8)
    marks = np.zeros(len(work.forward), np.uint8)
    mark_threshold(0, len(lines), lines, work, threshold, marks)
    expected = marks.copy()
    for forward, reverse, own in planes(lines, work, expected):
        naive_grow(forward, reverse, own, least)
    grow(0, len(lines), lines, work, least, marks)
    assert (marks == expected).all()


@settings(deadline=None)
@given(blocks(), st.sampled_from([0.0, 0.5, 1.0]), st.data())
def test_marked_links_of_the_cores_are_collected_in_order_with_their_probabilities(block, weight, data):
    lines, work = block
    marks = np.array(data.draw(st.lists(st.integers(0, 7), min_size=(n := len(work.forward)), max_size=n)), np.uint8)
    wanted = np.uint8(data.draw(st.integers(1, 7)))
    cores = [
        np.array(
            [
                sorted(data.draw(st.tuples(st.integers(0, size), st.integers(0, size))))
                for size in lines[:, side].tolist()
            ]
        )
        for side in (LENGTH_I, LENGTH_J)
    ]
    numbers, source, target, probability = collect(0, len(lines), lines, *cores, marks, wanted, work, weight)
    expected = []
    for piece, (forward, reverse, own) in enumerate(planes(lines, work, marks)):
        low, high = cores[0 if weight == 1.0 else 1][piece]
        links = [
            (i, j, (1 - weight) * forward[i, j] + weight * reverse[i, j])
            for i, j in product(*map(range, own.shape))
            if own[i, j] & wanted and low <= (i if weight == 1.0 else j) < high
        ]
        assert numbers[piece] == len(links)
        expected += links
    assert list(zip(source, target, probability, strict=True)) == expected
