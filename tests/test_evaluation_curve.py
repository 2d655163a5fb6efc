"""Precision/recall curves and reliability diagrams against filters over sets of links, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_evaluation as naive
from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold
from dovetail.errors import InputError
from dovetail.evaluation import evaluate, precision_recall_curve, reliability_diagram


def example():
    """Sure 0-0, 1-1, 2-2, 3-3, possible 0-1; 3-3 is no candidate, 1-1 and 1-2 tie."""
    gold = Gold.from_links([[(0, 0), (1, 1), (2, 2), (3, 3)]], [[(0, 1)]])
    candidates = {(0, 0): 0.875, (0, 1): 0.75, (1, 1): 0.5, (1, 2): 0.5, (2, 2): 0.25, (2, 0): 0.125}
    return Alignments.from_links([candidates], [candidates.values()]), gold


def test_curve_by_hand():
    curve = precision_recall_curve(*example())
    assert curve.threshold.tolist() == [math.inf, 0.875, 0.75, 0.5, 0.25, 0.125]
    assert curve.links.tolist() == [0, 1, 2, 4, 5, 6]
    assert curve.precision == pytest.approx(np.array([1, 1, 1, 3 / 4, 4 / 5, 4 / 6]))
    assert curve.recall == pytest.approx(np.array([0, 1, 1, 2, 3, 3]) / 4)
    assert curve.area == pytest.approx((1 + 3 / 4 + 4 / 5) / 4)
    assert curve.values("aer") == pytest.approx(np.array([1, 1 - 2 / 5, 1 - 3 / 6, 1 - 5 / 8, 1 - 7 / 9, 1 - 7 / 10]))
    assert (curve.precision_at(0.25), curve.precision_at(0.26), curve.precision_at(0.76)) == (1, 3 / 4, 0)
    assert curve.threshold_at(0.5) == (0.5 + 0.25) / 2
    assert curve.best_threshold() == (0.25 + 0.125) / 2
    assert curve.best_threshold("precision") == math.inf
    assert curve.best_threshold("recall") == (0.25 + 0.125) / 2


@settings(deadline=None)
@given(naive.corpora())
def test_every_point_of_the_curve_is_the_score_of_the_links_above_its_threshold(corpus):
    curve = precision_recall_curve(corpus.alignments, corpus.gold)
    points = naive.curve(corpus.candidates, corpus.sure, corpus.possible)
    assert curve.threshold.tolist() == [threshold for threshold, _ in points]
    assert [tuple(row) for row in curve.counts.tolist()] == [counts for _, counts in points]
    for name, metric in naive.METRICS.items():
        assert curve.values(name) == pytest.approx(np.array([float(metric(counts)) for _, counts in points]))


@settings(deadline=None)
@given(naive.corpora())
def test_recall_never_falls_and_the_area_stays_under_it(corpus):
    curve = precision_recall_curve(corpus.alignments, corpus.gold)
    assert np.all(np.diff(curve.recall) >= 0)
    assert np.all(np.diff(curve.links) > 0)
    assert -1e-12 <= curve.area <= curve.recall[-1] + 1e-12


@settings(deadline=None)
@given(naive.corpora())
def test_the_area_is_the_integral_of_precision_at_each_recall(corpus):
    curve = precision_recall_curve(corpus.alignments, corpus.gold)
    sure = sum(map(len, corpus.sure))
    # Between n/|S| and (n + 1)/|S| the precision is constant: one value in the middle of each step is exact.
    steps = max(1, sure)
    integral = sum(curve.precision_at((n + 0.5) / steps) for n in range(steps)) / steps
    assert curve.area == pytest.approx(integral)


@settings(deadline=None)
@given(naive.corpora())
def test_right_links_before_wrong_ones_have_an_area_of_one(corpus):
    wrong = [links - possible for links, possible in zip(corpus.links, corpus.possible, strict=True)]
    links = [[*s, *w] for s, w in zip(corpus.sure, wrong, strict=True)]
    probabilities = [[0.75] * len(s) + [0.5] * len(w) for s, w in zip(corpus.sure, wrong, strict=True)]
    assert precision_recall_curve(Alignments.from_links(links, probabilities), corpus.gold).area == pytest.approx(1)


@settings(deadline=None)
@given(naive.corpora(), st.sampled_from(sorted(naive.METRICS)), st.sampled_from(["at least", "more than"]))
def test_the_best_threshold_gives_the_best_score_whether_a_decoder_keeps_at_least_or_more_than_it(corpus, metric, rule):
    positive = [{link: p for link, p in cells.items() if p > 0} for cells in corpus.candidates]
    alignments = Alignments.from_links(positive, [cells.values() for cells in positive])
    threshold = precision_recall_curve(alignments, corpus.gold).best_threshold(metric)
    kept = [
        [link for link, p in cells.items() if (p >= threshold if rule == "at least" else p > threshold)]
        for cells in positive
    ]
    value = getattr(evaluate(Alignments.from_links(kept), corpus.gold), metric)
    values = [float(naive.METRICS[metric](counts)) for _, counts in naive.curve(positive, corpus.sure, corpus.possible)]
    assert value == pytest.approx(min(values) if metric == "aer" else max(values))


@settings(deadline=None)
@given(naive.corpora(), st.floats(0, 1))
def test_threshold_at_a_recall_keeps_as_few_links_as_reach_it(corpus, recall):
    curve = precision_recall_curve(corpus.alignments, corpus.gold)
    points = naive.curve(corpus.candidates, corpus.sure, corpus.possible)
    reached = [(threshold, counts) for threshold, counts in points if float(naive.recall(counts)) >= recall]
    if reached:
        threshold, counts = reached[0]
        assert curve.precision_at(recall) == pytest.approx(float(naive.precision(counts)))
        below = [t for t, _ in points if t < threshold]
        cut = curve.threshold_at(recall)
        assert (threshold == cut == math.inf) or threshold >= cut >= max(below, default=0)
    else:
        assert curve.precision_at(recall) == 0
        with pytest.raises(InputError, match="out of reach"):
            curve.threshold_at(recall)


def test_no_candidates_leave_one_point():
    curve = precision_recall_curve(Alignments.from_links([[]]), Gold.from_links([[(0, 0)]]))
    assert (curve.threshold.tolist(), curve.area, curve.best_threshold()) == ([math.inf], 0, math.inf)


@pytest.mark.parametrize("make", [precision_recall_curve, reliability_diagram])
@pytest.mark.parametrize("bad", [math.nan, -0.5, 1.5])
def test_what_is_no_probability_is_refused(make, bad):
    with pytest.raises(InputError, match="not in"):
        make(Alignments.from_links([[(0, 0), (1, 1)]], [[0.5, bad]]), Gold.from_links([[(0, 0)]]))


def test_reliability_by_hand():
    diagram = reliability_diagram(*example(), bins=2)
    # Without the possible link: 0.125 wrong, 0.25 right | 0.5 right, 0.5 wrong, 0.875 right
    assert diagram.edges.tolist() == [0, 0.5, 1]
    assert diagram.count.tolist() == [2, 3]
    assert diagram.confidence == pytest.approx(np.array([0.1875, 0.625]))
    assert diagram.accuracy == pytest.approx(np.array([1 / 2, 2 / 3]))
    assert diagram.expected_error == pytest.approx((2 * 0.3125 + 3 * (2 / 3 - 0.625)) / 5)
    assert diagram.maximum_error == pytest.approx(0.3125)
    counted = reliability_diagram(*example(), bins=2, possible_is_right=True)
    assert counted.count.tolist() == [2, 4]
    assert counted.accuracy == pytest.approx(np.array([1 / 2, 3 / 4]))


@settings(deadline=None)
@given(naive.corpora(), st.integers(1, 11), st.sampled_from(["width", "mass"]), st.booleans())
def test_reliability_is_that_of_the_candidates_between_the_edges(corpus, bins, binning, possible_is_right):
    diagram = reliability_diagram(corpus.alignments, corpus.gold, bins, binning, possible_is_right)
    outcomes = list(naive.settled(corpus.candidates, corpus.sure, corpus.possible, possible_is_right))
    expected, error = naive.calibration(outcomes, diagram.edges.tolist())
    assert diagram.count.tolist() == [count for count, _, _ in expected]
    for b, (count, confidence, accuracy) in enumerate(expected):
        if count:
            assert (diagram.confidence[b], diagram.accuracy[b]) == pytest.approx((confidence, accuracy))
        else:
            assert math.isnan(diagram.confidence[b])
            assert math.isnan(diagram.accuracy[b])
    assert diagram.expected_error == pytest.approx(error)
    assert diagram.expected_error <= diagram.maximum_error + 1e-12
    if binning == "width":
        assert diagram.edges == pytest.approx(np.arange(bins + 1) / bins)


def test_bins_of_equal_mass_hold_equally_many_and_keep_ties_together():
    cells = {(i, 0): (i + 1) / 16 for i in range(12)}
    gold = Gold.from_links([[(0, 0)]])
    diagram = reliability_diagram(Alignments.from_links([cells], [cells.values()]), gold, bins=4, binning="mass")
    assert diagram.count.tolist() == [3, 3, 3, 3]
    ties = Alignments.from_links([cells], [[0.25] * 9 + [0.5, 0.75, 1.0]])
    assert reliability_diagram(ties, gold, bins=4, binning="mass").count.tolist() == [9, 3]


def test_sure_of_everything_and_right_is_perfectly_calibrated():
    links = [[(0, 0), (1, 1)]]
    assert reliability_diagram(Alignments.from_links(links), Gold.from_links(links)).expected_error == 0
    assert reliability_diagram(Alignments.from_links(links), Gold.from_links([[]])).expected_error == 1
    assert reliability_diagram(Alignments.from_links([[]]), Gold.from_links(links)).expected_error == 0


@pytest.mark.parametrize("choices", [{"bins": 0}, {"binning": "height"}])
def test_impossible_bins_are_refused(choices):
    with pytest.raises(InputError):
        reliability_diagram(*example(), **choices)
