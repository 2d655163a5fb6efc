"""Scores are log-probabilities: those of all sentences of a length add up to one, or to less where a page says so."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dovetail import Aligner, Bitext
from dovetail.recipes import recipes

SOURCE, TARGET = "abc", "xyz"
# The joint HMM forgets improbable cells, and the Bayesian Model 1 leaves some mass to words it never saw.
NEARLY_ALL = ("joint", "joint-fast", "joint-best", "ibm1-bayes")
# The score of the best alignment among samples, a part of the sum over all.
BEST_ALIGNMENT = ("ibm1-fertility", "hmm-fertility", "hmm-fertility-features", "hmm-fertility-hard", "hmm-bayes")


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(0)
    made = []
    for _ in range(40):
        source = [SOURCE[k] for k in rng.integers(0, 3, rng.integers(1, 5))]
        target = [TARGET[SOURCE.index(word)] if rng.random() < 0.8 else TARGET[rng.integers(0, 3)] for word in source]
        if rng.random() < 0.3:
            target.append(TARGET[rng.integers(0, 3)])
        made.append((source, target[::-1] if rng.random() < 0.3 else target))
    return made


def summed(aligner, pairs, score):
    return sum(math.exp(alignment.details[score]) for alignment in aligner.align(Bitext.from_pairs(pairs)))


@pytest.mark.parametrize("recipe", list(recipes))
def test_scores_of_all_sentences_of_a_length_add_up_to_one(recipe, pairs):
    aligner = Aligner(recipe, seed=1, threads=1).fit(Bitext.from_pairs(pairs))
    for width, length in itertools.product((1, 2, 3), (1, 2, 3)):
        targets = map(list, itertools.product(TARGET, repeat=length))
        forward = summed(aligner, [(list(SOURCE[:width]), target) for target in targets], "score_forward")
        sources = map(list, itertools.product(SOURCE, repeat=length))
        reverse = summed(aligner, [(source, list(TARGET[:width])) for source in sources], "score_reverse")
        for total in (forward, reverse):
            assert 0.0 < total <= 1.0 + 1e-5
            if recipe in NEARLY_ALL:
                assert total > 0.85
            elif recipe not in BEST_ALIGNMENT:
                assert total == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("recipe", list(recipes))
def test_a_pair_has_the_same_score_alone_and_with_a_loaded_model(recipe, pairs, tmp_path):
    bitext = Bitext.from_pairs(pairs)
    aligner = Aligner(recipe, seed=1, threads=1).fit(bitext)
    together = [alignment.details["score_forward"] for alignment in aligner.align(bitext)]
    aligner.save(tmp_path / "model")
    loaded = Aligner.load(tmp_path / "model")
    assert [alignment.details["score_forward"] for alignment in loaded.align(bitext)] == together
    alone = [loaded.align(Bitext.from_pairs([pair]))[0].details["score_forward"] for pair in pairs[:5]]
    assert alone == together[:5]
