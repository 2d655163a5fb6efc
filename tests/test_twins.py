"""The second implementations: right on tiny sentences, where everything can be enumerated, and at one with Dovetail."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import product
from math import factorial
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from dovetail import Aligner, Bitext
from papers.twins import graca, hmm, zhao
from test_papers import PAIRS

E, F = np.array([1, 2, 1]), np.array([0, 1, 1])


def random_model(seed, words=4):
    random = np.random.default_rng(seed)
    return hmm.HMM(random.dirichlet(np.ones(words), words), random.random(9) + 0.1, random.random(4) + 0.1)


def joint(model, path):
    """p(f, a | e), by its definition."""
    b, moves, at, found = model.emissions(E, F), model.moves(len(E)), 0, 1.0
    for j, i in enumerate(path):
        found *= b[i, j] * (moves[at, i - 1] if i else hmm.P0)
        at = i or at
    return found


def enumerated(model):
    return {path: joint(model, path) for path in product(range(len(E) + 1), repeat=len(F))}


@pytest.mark.parametrize("seed", range(3))
def test_sums_and_the_best_path_are_the_enumerated_ones(seed):
    model = random_model(seed)
    every = enumerated(model)
    total = sum(every.values())
    links, nulls, moved, log_z = hmm.forward_backward(model.emissions(E, F), model.moves(len(E)))
    assert log_z == pytest.approx(np.log(total))
    for j in range(len(F)):
        for i in range(len(E)):
            wanted = sum(p for path, p in every.items() if path[j] == i + 1) / total
            assert links[j, i] == pytest.approx(wanted)
        assert nulls[j] == pytest.approx(sum(p for path, p in every.items() if path[j] == 0) / total)
    assert moved.sum() == pytest.approx(sum(p * sum(i > 0 for i in path) for path, p in every.items()) / total)
    assert tuple(hmm.best_path(model, E, F)) == max(every, key=every.__getitem__)


def test_sweeps_draw_from_equation_2():
    model = zhao.Fertile(random_model(5), np.array([0.0, 0.7, 1.6, 1.0]), 0.3)

    def weight(path):
        counts = np.bincount(path, minlength=len(E) + 1)
        means = np.concatenate([[len(E) * model.null_mean], model.means[E]])
        return joint(model.hmm, path) * np.prod([m**n / factorial(n) for m, n in zip(means, counts, strict=True)])

    every = {path: weight(path) for path in product(range(len(E) + 1), repeat=len(F))}
    total = sum(every.values())
    path, seen, sweeps = np.zeros(len(F), np.int64), Counter(), 15_000
    drawn = zhao.Sweeper(model, E, F, np.random.default_rng(1))
    for _ in range(sweeps):
        drawn.sweep(path)
        seen[tuple(path.tolist())] += 1
    for one, p in every.items():
        assert seen[one] / sweeps == pytest.approx(p / total, abs=0.02)


def test_the_dual_descends_to_where_both_directions_agree():
    models = random_model(1), random_model(2)
    dual = graca.Dual(models, E, F + 1)
    multipliers = np.random.default_rng(3).normal(size=(len(E), len(F)))
    point, step = dual.at(multipliers), 1e-5
    for i, j in product(range(len(E)), range(len(F))):
        moved = multipliers.copy()
        moved[i, j] += step
        assert (dual.at(moved).value - point.value) / step == pytest.approx(point.gradient[i, j], abs=1e-4)
    solved, _ = dual.solve(1e-4)
    (first, links, *_), (second, back, *_) = solved.halves
    assert np.abs(first * links.T - second * back).max() < 0.005
    assert dual.solve(1.0)[1] == 0


def test_dovetail_learns_what_the_twin_learns():
    bitext = Bitext.from_pairs(PAIRS[:40])
    sides = [np.split(side.ids.astype(np.int64), side.offsets[1:-1]) for side in (bitext.source, bitext.target)]
    sizes = len(bitext.source.vocabulary) + 1, len(bitext.target.vocabulary)
    text = hmm.Text([(e + 1, f) for e, f in zip(*sides, strict=True)], *sizes)
    t, options = hmm.ibm1(text), {"samples": 100, "fertility_iterations": 1}
    ours = [Aligner("zhao2010-hmmf", seed=seed, threads=1, **options).fit(bitext).model for seed in range(3)]
    twins = [zhao.fit_fertile(text, t, samples=100, iterations=1, seed=seed) for seed in range(3)]
    slots = ours[0].lexicon.slots
    by_us = np.array([own.lexicon.table[:, 0] for own in ours])
    by_twins = np.array([own.hmm.t[slots.source + 1, slots.target] for own in twins])
    chance = np.abs(by_twins[0] - by_twins[1]).mean()  # by which two chains of one implementation differ
    assert np.abs(by_us.mean(0) - by_twins.mean(0)).mean() < 0.7 * chance
    assert np.abs(by_us[0] - by_us[1]).mean() == pytest.approx(chance, rel=0.2)
    means = np.mean([own.means[1:] for own in twins], 0)
    assert np.mean([own.fertility[0].means() for own in ours], 0) == pytest.approx(means, abs=0.02)
    null = np.mean([own.null_mean for own in twins])
    assert np.mean([own.fertility[0].null for own in ours]) == pytest.approx(null, rel=0.1)
