"""Tempered probabilities: the same order, the same links, and thresholds that speak of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import Aligner, Bitext
from dovetail.decoding.tempering import temper, untemper

PAIRS = Bitext.from_pairs(
    [
        ("the house", "la maison"),
        ("the blue house", "la maison bleue"),
        ("the flower", "la fleur"),
        ("a blue flower", "une fleur bleue"),
        ("a house", "une maison"),
    ]
)


@given(values=st.lists(st.floats(0, 1, width=32), min_size=1, max_size=9), power=st.floats(0.1, 3.0))
def test_tempering_keeps_the_order_and_leaves_what_is_not_above_one_half(values, power):
    values = np.array(sorted(values), np.float32)
    found = temper(values, power)
    assert found.dtype == np.float32
    assert (np.diff(found) >= -1e-6).all()
    assert (found[values <= 0.5] == values[values <= 0.5]).all()
    assert (found[values > 0.5] >= 0.5).all()


@pytest.mark.parametrize(
    ("raw", "power", "expected"), [(0.9, 0.5, 0.75), (0.8, 0.5, 2 / 3), (0.3, 0.5, 0.3), (1, 0.5, 1)]
)
def test_odds_are_raised_to_the_power_and_back(raw, power, expected):
    assert temper(np.array([raw]), power)[0] == pytest.approx(expected)
    assert untemper(expected, power) == pytest.approx(raw)


def test_thresholds_speak_of_the_tempered_probabilities():
    aligner = Aligner("hmm", temper=0.5, threshold=0.0, grow=1.0).fit(PAIRS)
    everything = aligner.align(PAIRS)
    for threshold in (0.2, 0.5, 0.7, 0.85):
        aligner.recipe = aligner.recipe.with_options({"threshold": threshold})
        for pair, whole in zip(aligner.align(PAIRS), everything, strict=True):
            assert pair.links == [
                link for link, p in zip(whole.links, whole.probabilities, strict=True) if p > threshold
            ]


def test_a_matrix_of_probabilities_is_as_sure_as_the_links():
    aligner = Aligner("joint").fit(PAIRS)
    pair, matrix = (
        aligner.align_pair("the blue house", "la maison bleue"),
        aligner.posteriors("the blue house", "la maison bleue"),
    )
    for (i, j), probability in zip(pair.links, pair.probabilities, strict=True):
        assert matrix[i, j] == pytest.approx(probability, abs=1e-5)
    forward, reverse = aligner.directional_posteriors("the blue house", "la maison bleue")
    assert (matrix <= np.maximum((forward + reverse) / 2, 0.5) + 1e-6).all()


def test_a_rounding_above_one_is_one():
    assert temper(np.array([np.nextafter(np.float32(1), np.float32(2))]), 0.5).tolist() == [1.0]
