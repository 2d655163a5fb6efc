"""Intervals and tests against every resample and every swap of small corpora."""

from __future__ import annotations

import json
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_evaluation as naive
from dovetail.errors import InputError
from dovetail.evaluation import bootstrap, compare, evaluate, metrics, significance
from dovetail.evaluation.significance import resample

METRIC_NAMES = st.sampled_from(sorted(naive.METRICS))


@st.composite
def systems(draw, min_pairs=1, max_pairs=6):
    """Statistics of two systems on the same gold links."""
    pairs = draw(st.integers(min_pairs, max_pairs))

    def rows(sure):
        in_sure = [draw(st.integers(0, s)) for s in sure]
        in_possible = [x + draw(st.integers(0, 3)) for x in in_sure]
        return [(p + draw(st.integers(0, 3)), s, x, p) for s, x, p in zip(sure, in_sure, in_possible, strict=True)]

    sure = [draw(st.integers(0, 4)) for _ in range(pairs)]
    return rows(sure), rows(sure)


def made_up(pairs, seed, accuracy):
    """A larger corpus whose links are right with the given chance."""
    generator = np.random.default_rng(seed)
    sure = np.random.default_rng(0).integers(5, 15, pairs)
    in_sure = generator.binomial(sure, accuracy)
    return np.stack([sure, sure, in_sure, in_sure], axis=1)


@settings(deadline=None)
@given(systems(), st.integers(0, 2**32))
def test_resamples_are_sums_over_the_drawn_pairs(systems, seed):
    counts, _ = systems
    generator = np.random.Generator(np.random.Philox(seed))
    drawn = generator.integers(len(counts), size=(7, len(counts)))
    expected = [naive.totals([counts[n] for n in row]) for row in drawn.tolist()]
    assert [tuple(row) for row in resample(np.array(counts), 7, seed).tolist()] == expected


@settings(deadline=None, max_examples=25)
@given(systems(max_pairs=4), METRIC_NAMES)
def test_resampled_values_scatter_as_all_resamples_do(systems, metric):
    counts, _ = systems
    exact = naive.resampled_values(counts, metric)
    total = sum(exact.values())
    mean = float(sum(value * often for value, often in exact.items()) / total)
    deviation = sqrt(sum((float(value) - mean) ** 2 * often for value, often in exact.items()) / total)
    samples = 4000
    values = metrics[metric](resample(np.array(counts), samples, seed=1))
    assert values.mean() == pytest.approx(mean, abs=5 * deviation / sqrt(samples) + 1e-9)


@settings(deadline=None, max_examples=25)
@given(systems(max_pairs=4), METRIC_NAMES, st.sampled_from([0.5, 0.9, 0.95]))
def test_an_interval_lies_within_what_resamples_can_give_and_widens_with_confidence(systems, metric, confidence):
    counts, _ = systems
    possible = [float(value) for value in naive.resampled_values(counts, metric)]
    low, high = bootstrap(np.array(counts), metric, samples=200, confidence=confidence)
    assert min(possible) - 1e-9 <= low <= high <= max(possible) + 1e-9
    wider = bootstrap(np.array(counts), metric, samples=200, confidence=0.99)
    assert wider.low <= low
    assert high <= wider.high


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    # 400 corpora whose links are right with chance 0.8, so that AER is 0.2: about 380 intervals hold it.
    held = 0
    for seed in range(400):
        low, high = bootstrap(made_up(60, seed, 0.8), samples=400, seed=seed)
        held += low <= 0.2 <= high
    assert 360 <= held <= 396


@settings(deadline=None, max_examples=30)
@given(systems(), METRIC_NAMES, st.integers(0, 100))
def test_the_randomization_p_value_is_near_that_of_all_swaps(systems, metric, seed):
    first, second = systems
    exact = float(naive.randomization_p_value(first, second, metric))
    samples = 2000
    found = compare(np.array(first), np.array(second), metric, samples=samples, seed=seed).p_value
    assert found == pytest.approx(exact, abs=5 * sqrt(exact * (1 - exact) / samples) + 2 / samples)


@settings(deadline=None)
@given(systems(), METRIC_NAMES)
def test_comparing_the_other_way_round_turns_the_sign_and_keeps_the_p_values(systems, metric):
    first, second = (np.array(system) for system in systems)
    one, other = (compare(*order, metric, samples=200) for order in ((first, second), (second, first)))
    assert one.difference == -other.difference
    assert one.interval == pytest.approx((-other.interval.high, -other.interval.low))
    assert one.p_value == other.p_value
    assert one.bootstrap_p_value == other.bootstrap_p_value


def test_a_system_does_not_differ_from_itself():
    statistics = made_up(50, 1, 0.8)
    comparison = compare(statistics, statistics, samples=500)
    assert (comparison.difference, comparison.interval, comparison.p_value) == (0, (0, 0), 1)


def test_a_clear_difference_is_significant_and_noise_mostly_is_not():
    better, worse = made_up(200, 1, 0.9), made_up(200, 2, 0.8)
    comparison = compare(better, worse, samples=1000)
    assert comparison.difference == pytest.approx(-0.1, abs=0.03)
    assert comparison.interval.high < 0
    assert comparison.p_value == comparison.bootstrap_p_value == pytest.approx(1 / 1001)
    noise = [compare(made_up(200, 2 * n, 0.8), made_up(200, 2 * n + 1, 0.8), samples=200) for n in range(2, 62)]
    assert sum(c.p_value < 0.05 for c in noise) <= 9
    assert sum(c.bootstrap_p_value < 0.05 for c in noise) <= 9


def test_the_numbers_drawn_do_not_depend_on_the_size_of_a_chunk(monkeypatch):
    first, second = made_up(50, 1, 0.8), made_up(50, 2, 0.75)
    whole = (bootstrap(first, samples=100, seed=4), compare(first, second, samples=100, seed=4))
    monkeypatch.setattr(significance, "CELLS", 1700)
    assert (bootstrap(first, samples=100, seed=4), compare(first, second, samples=100, seed=4)) == whole


def test_a_seed_fixes_the_outcome_and_another_seed_changes_it():
    statistics = made_up(50, 1, 0.8)
    assert bootstrap(statistics, seed=1) == bootstrap(statistics, seed=1) != bootstrap(statistics, seed=2)


@settings(deadline=None, max_examples=20)
@given(naive.corpora(min_pairs=1))
def test_a_score_carries_the_interval_of_every_metric(corpus):
    score = evaluate(corpus.alignments, corpus.gold, bootstrap=50, seed=7)
    counts = np.array(naive.statistics(corpus.links, corpus.sure, corpus.possible))
    for name in metrics:
        assert score.intervals[name] == bootstrap(counts, name, samples=50, seed=7)
    assert score.interval == score.intervals["aer"]
    assert evaluate(corpus.alignments, corpus.gold).interval is None


def test_a_comparison_reads_as_a_sentence_and_survives_json():
    comparison = compare(made_up(50, 1, 0.9), made_up(50, 2, 0.8), samples=100, seed=5)
    text = str(comparison)
    assert text.startswith(f"aer {100 * comparison.first:.2f} against {100 * comparison.second:.2f}: difference -")
    assert text.endswith("p = 0.0099 (approximate randomization, 100 samples, seed 5)")
    read = json.loads(json.dumps(comparison.to_dict()))
    assert read["difference"] == comparison.difference
    assert read["interval"] == list(comparison.interval)


def test_no_pairs_at_all_give_the_conventional_value():
    nothing = np.zeros((0, 4), np.int64)
    assert bootstrap(nothing, "aer", samples=10) == (0, 0)
    assert compare(nothing, nothing, samples=10).p_value == 1


def test_impossible_requests_are_refused():
    statistics = made_up(5, 1, 0.8)
    with pytest.raises(InputError, match=r"different gold links \(5 and 4 pairs\)"):
        compare(statistics, statistics[:4])
    with pytest.raises(InputError, match="different gold links"):
        compare(statistics, statistics + np.array([0, 1, 0, 0]))
    with pytest.raises(InputError, match="no metric 'bleu'"):
        bootstrap(statistics, "bleu")
    with pytest.raises(InputError, match="samples"):
        bootstrap(statistics, samples=0)
    with pytest.raises(InputError, match="confidence"):
        bootstrap(statistics, confidence=95)
