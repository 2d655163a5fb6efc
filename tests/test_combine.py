"""Combination of two directions: against the naive twin, on known examples, and at size."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_combine as naive
from dovetail.alignments.alignments import Alignments
from dovetail.alignments.combine import combiners, lookup_probabilities
from dovetail.errors import InputError

CHANCES = st.integers(0, 16).map(lambda k: k / 16)  # exact in float32, so that means can be compared with ==


@st.composite
def pairs(draw, max_source=7, max_target=7):
    """One pair: its lengths and, for each direction, links with their probabilities."""
    I, J = draw(st.integers(0, max_source)), draw(st.integers(0, max_target))
    if I == 0 or J == 0:
        return (I, J), {}, {}
    cells = st.tuples(st.integers(0, I - 1), st.integers(0, J - 1))
    # Unrestricted sets, not functions of a word: the combiners must not rely on directional links.
    size = draw(st.sampled_from([I + J, I * J]))
    links = st.dictionaries(cells, CHANCES, max_size=size)
    return (I, J), draw(links), draw(links)


def pack(lengths, directions) -> Alignments:
    return Alignments.from_links(
        [list(links) for links in directions], [list(links.values()) for links in directions], lengths
    )


@pytest.mark.parametrize("name", list(combiners))
@given(corpus=st.lists(pairs() | pairs(3, 40), max_size=4))  # in long rows the kernel bisects
@settings(deadline=None, max_examples=150)
def test_every_combiner_agrees_with_its_naive_twin(name, corpus):
    lengths = [pair[0] for pair in corpus]
    forward, reverse = (
        pack(lengths, [pair[1] for pair in corpus]),
        pack(lengths, [pair[2] for pair in corpus]),
    )
    result = combiners[name](forward, reverse)
    assert len(result) == len(corpus)
    for n, ((I, J), f, r) in enumerate(corpus):
        expected = naive.combine(name, set(f), set(r), I, J)
        assert result[n].links == sorted(expected)
        assert (result[n].source_length, result[n].target_length) == (I, J)
        for link, probability in zip(result[n].links, result[n].probabilities, strict=True):
            mean = {"forward": f.get(link), "reverse": r.get(link)}.get(name, (f.get(link, 0) + r.get(link, 0)) / 2)
            assert probability == mean


@pytest.mark.parametrize("name", list(combiners))
@given(pair=pairs(4, 4), posteriors=st.data())
@settings(deadline=None, max_examples=60)
def test_dense_posteriors_give_every_link_the_opinion_of_both_directions(name, pair, posteriors):
    (I, J), f, r = pair
    cells = [(i, j) for i in range(I) for j in range(J)]
    dense = [{cell: posteriors.draw(CHANCES) for cell in cells} for _ in range(2)]
    packed = tuple(pack([(I, J)], [direction]) for direction in dense)
    result = combiners[name](pack([(I, J)], [f]), pack([(I, J)], [r]), packed)
    assert result[0].links == sorted(naive.combine(name, set(f), set(r), I, J))
    for link, probability in zip(result[0].links, result[0].probabilities, strict=True):
        values = [direction[link] for direction in dense]
        assert probability == {"forward": values[0], "reverse": values[1]}.get(name, sum(values) / 2)


@given(corpus=st.lists(pairs(), max_size=4))
@settings(deadline=None, max_examples=60)
def test_looked_up_probabilities_are_means_with_zero_for_what_is_missing(corpus):
    lengths = [pair[0] for pair in corpus]
    forward, reverse = (
        pack(lengths, [pair[1] for pair in corpus]),
        pack(lengths, [pair[2] for pair in corpus]),
    )
    cells = Alignments.from_links([[(i, j) for i in range(I) for j in range(J)] for I, J in lengths], lengths=lengths)
    expected = [(f.get(c, 0) + r.get(c, 0)) / 2 for n, (_, f, r) in enumerate(corpus) for c in cells[n].links]
    assert lookup_probabilities(cells, forward, reverse).tolist() == expected


def one(name: str, forward: str, reverse: str, lengths=None) -> str:
    def parse(line):
        return [tuple(map(int, field.split("-"))) for field in line.split()]

    both = [Alignments.from_links([parse(line)], lengths=lengths) for line in (forward, reverse)]
    return str(combiners[name](*both)[0])


def test_the_worked_example_shows_what_each_rule_adds():
    # Intersection 0-0 2-2; 0-1 and 3-3 touch it; 5-5 touches nothing and both its words are free; 6-2 and
    # 0-6 touch nothing and have one free word.
    forward, reverse = "0-0 0-1 2-2 3-3 6-2", "0-0 2-2 5-5 0-6"
    assert one("intersection", forward, reverse) == "0-0 2-2"
    assert one("union", forward, reverse) == "0-0 0-1 0-6 2-2 3-3 5-5 6-2"
    assert one("grow-diag", forward, reverse) == "0-0 0-1 2-2 3-3"
    assert one("grow-diag-final", forward, reverse) == "0-0 0-1 0-6 2-2 3-3 5-5 6-2"
    assert one("grow-diag-final-and", forward, reverse) == "0-0 0-1 2-2 3-3 5-5"


def test_growing_goes_on_from_added_links_in_both_directions_of_the_scan():
    chain = " ".join(f"{k}-{k}" for k in range(10))
    assert one("grow-diag", chain, "9-9") == chain  # against the order of the scan: one pass a link
    assert one("grow-diag", chain, "0-0") == chain


def test_sides_are_taken_before_diagonals_when_they_compete():
    # Source words 1 and 2 have links; 1-2 (beside 1-1) and 2-2 (diagonal to it) both want target word 2.
    assert one("grow-diag", "1-1 1-2 2-5", "1-1 2-2 2-5") == "1-1 1-2 2-5"
    assert one("grow-diag", "1-1 2-2 2-5", "1-1 1-2 2-5") == "1-1 1-2 2-5"


def test_final_takes_forward_links_before_reverse_ones():
    # 3-0 (forward) and 3-1 (reverse) compete for source word 3; so do 3-1 and 4-1 for target word 1.
    assert one("grow-diag-final-and", "3-0 4-1", "3-1") == "3-0 4-1"
    assert one("grow-diag-final-and", "3-1", "3-0 4-1") == "3-1"


def test_lengths_are_those_of_the_direction_that_saw_more():
    forward, reverse = Alignments.from_links([[(0, 4)]]), Alignments.from_links([[(3, 0)]])
    for name in combiners:
        result = combiners[name](forward, reverse)[0]
        assert (result.source_length, result.target_length) == (4, 5), name


def test_details_of_both_directions_survive():
    forward, reverse = Alignments.from_links([[(0, 0)]]), Alignments.from_links([[(0, 0)]])
    forward.details = {"score_forward": [-1.0], "certified": [True], "bound": [1.0]}
    reverse.details = {"score_reverse": [-2.0], "certified": [False]}
    for name in combiners:
        assert combiners[name](forward, reverse)[0].details == {
            "score_forward": -1.0,
            "score_reverse": -2.0,
            "certified_forward": True,
            "certified_reverse": False,
            "bound": 1.0,
        }, name


def test_different_numbers_of_pairs_are_refused():
    two, one_pair = Alignments.from_links([[(0, 0)], []]), Alignments.from_links([[(0, 0)]])
    for name in combiners:
        with pytest.raises(InputError, match="2 pairs cannot be combined with alignments of 1"):
            combiners[name](two, one_pair)


@pytest.mark.parametrize("links", [[(1, 0), (0, 0)], [(0, 0), (0, 0)], [(0, 5)], [(7, 0)], [(-1, 0)]])
def test_links_out_of_order_or_bounds_are_refused_instead_of_read_as_memory(links):
    good = Alignments.from_links([[(1, 1)], [(1, 1)]], lengths=[(2, 2), (2, 2)])
    bad = Alignments.from_links([[(1, 1)], []], lengths=[(2, 2), (2, 2)])
    bad.offsets = np.array([0, 1, 1 + len(links)])
    bad.source = np.array([1] + [i for i, _ in links], np.int32)
    bad.target = np.array([1] + [j for _, j in links], np.int32)
    bad.probability = np.ones(1 + len(links), np.float32)
    for name in ("intersection", "grow-diag-final-and"):
        for both in ((good, bad), (bad, good)):
            with pytest.raises(ValueError, match="pair 1"):
                combiners[name](*both)


def test_enormous_pairs_take_time_and_memory_by_their_links():
    size = 20_000
    diagonal = np.arange(size, dtype=np.int32)

    def pair(source, target):
        length = np.array([size], np.int32)
        offsets = np.array([0, len(source)])
        return Alignments(offsets, source, target, np.ones(len(source), np.float32), length, length)

    seed = pair(diagonal[-1:], diagonal[-1:])  # growing runs backwards through the whole diagonal
    block = pair(np.zeros(size, np.int32), diagonal)  # one row that holds every target word
    combiners["grow-diag"](seed, seed)  # compiles
    start = time.perf_counter()
    assert len(combiners["grow-diag"](pair(diagonal, diagonal), seed)[0]) == size
    assert len(combiners["grow-diag-final"](pair(diagonal, diagonal), block)[0]) == 2 * size - 1
    assert time.perf_counter() - start < 5
