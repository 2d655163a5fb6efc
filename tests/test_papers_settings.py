"""The papers' own systems have the papers' own numbers, which are taken from their texts, not from the code."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dovetail import Aligner, Bitext
from dovetail.decoding.bidirectional import bidirectional_map
from dovetail.decoding.bidirectional_problem import Budget, checked_problem
from dovetail.laboratory import fertility_subgradient, relaxation, zhao2010
from dovetail.laboratory.graca2010 import without_long_pairs
from dovetail.models.fertile import FertilityModel
from dovetail.recipes import find_recipe, paper_recipes
from dovetail.training.regularized import ConstraintOptions, chosen_constraints, projection_for
from test_bidirectional_map import potentials
from test_papers import PAIRS

# Where a number stands: its paper's section, equation or page element; then parts and options by name.
PRINTED = {
    "quirk2013": {
        "equation 1: the HMM with fertility, and no term for how many words are NULL's": {
            "model": "hmm-fertility",
            "null_counts": False,
        },
        "section 2.1: expectations are sampled": {"training": "monte-carlo-em", "soft_counts": False},
        "section 3: fertility from features of words": {"fertility": "features"},
        "section 5: 40 iterations of dual decomposition; Figure 1: and the last alignment": {
            "decoder": "exact",
            "exact_iterations": 40,
            "exact_method": "quirk2013",
        },
    },
    "graca2010-bijective": {
        "section 4.1": {"longest_pair": 40, "ibm1_iterations": 5, "hmm_iterations": 2, "constraints": "bijective"},
        "section 2: jumps within 5 words are told apart": {"jumps": "window", "window": 5},
        "Algorithm 1: multipliers begin at 0": {"warm_multipliers": False},
        "section 4.2: all comparisons by MBR decoding": {"decoder": "posterior"},
    },
    "graca2010-symmetric": {
        "section 4.1": {"longest_pair": 40, "ibm1_iterations": 5, "hmm_iterations": 2, "constraints": "symmetric"},
        "section 2: jumps within 5 words are told apart": {"jumps": "window", "window": 5},
        "Algorithm 1: multipliers begin at 0": {"warm_multipliers": False},
        "section 4.2: all comparisons by MBR decoding": {"decoder": "posterior"},
    },
    "zhao2010-ibm1": {"section 6": {"ibm1_iterations": 5, "decoder": "viterbi"}},
    "zhao2010-hmm": {
        "section 6": {"ibm1_iterations": 5, "hmm_iterations": 5, "decoder": "viterbi"},
        "section 2.2: jumps by the share of their distance": {"jumps": "counts"},
    },
    "zhao2010-ibm1f": {
        "section 6: begun with a uniform distribution, 5 iterations": {
            "parameter_start": "even",
            "fertility_iterations": 5,
        },
        "section 6: in training": {"samples": 10, "restarts": 3},
        "section 6: in testing": {"decoding_samples": 100, "decoding_restarts": 12, "decoder": "samples"},
        "section 5, Algorithm 1: chains begin with IBM Model 1, the first sweep counts, and counts are of draws": {
            "training": "zhao2010",  # which knows no other beginning
            "burn_in": 0,
            "soft_counts": False,
        },
        "section 3, equation 1: Poisson fertilities, I + 1 empty words": {
            "fertility": "poisson",
            "empty_words": True,
            "null_counts": True,
            "deficient": True,
        },
    },
    "zhao2010-hmmf": {
        "section 6: begun with the fifth iteration of IBM Model 1, 5 iterations": {
            "parameter_start": "ibm1",
            "ibm1_iterations": 5,
            "fertility_iterations": 5,
        },
        "section 6: in training; in testing the HMM's own Viterbi algorithm": {
            "samples": 30,
            "restarts": 1,
            "decoder": "viterbi",
        },
        "section 5, Algorithm 1": {"chain_start": "ibm1", "soft_counts": False},
        "section 4, equation 5": {"jumps": "counts"},
        "section 3, equation 2": {"fertility": "poisson", "null_counts": True},
    },
    "mermer2011": {
        "section 3: B, M and L of the smallest text (Turkish and English)": {"burn_in": 400, "samples": 100, "lag": 10},
        "section 3: GS-5 begins at EM-5's best alignments": {"ibm1_iterations": 5, "start": "em"},
        "section 2: the Dirichlet prior": {"alpha": 0.0001},
        "Table 1: one chain, one word after another, as many sweeps for any text": {
            "chains": 1,
            "shards": 1,
            "annealing": False,
            "adapt_sweeps": False,
        },
        "section 2: each word's most frequent value": {"decoder": "mode", "discount": 0.0},
    },
    "chang2014": {
        "section 4: adjacency; footnote 1: NULL is the state that chains start in": {
            "bidirectional_agreement": "adjacent",
            "bidirectional_null": "forgets",
        },
        "sections 5, 6 and 8: CONS": {"decoder": "bidirectional", "bidirectional_method": "chang2014"},
    },
}
PARTS = ("model", "training", "decoder")


def test_every_paper_has_its_numbers_here():
    assert set(PRINTED) == set(paper_recipes)


@pytest.mark.parametrize("name", paper_recipes)
def test_recipes_have_the_values_that_their_papers_print(name):
    recipe = find_recipe(name)
    for where, printed in PRINTED[name].items():
        found = {key: getattr(recipe, key) if key in PARTS else recipe.options[key] for key in printed}
        assert found == printed, where


def test_forty_steps_are_those_of_the_method_without_a_recipe_too():
    """Quirk 2013, section 5."""
    assert fertility_subgradient._ITERATIONS == 40


def test_every_parameter_is_raised_by_what_the_paper_adds():
    """Zhao and Gildea 2010, section 6: "a small value (10^-8)"."""
    assert zhao2010.SMOOTHING == 1e-8


# Graça, Ganchev and Taskar (2010)


@pytest.mark.parametrize(("kind", "precision", "slack"), [("bijective", 0.005, 0.0), ("symmetric", 0.001, 0.001)])
def test_projections_end_at_the_papers_precision(kind, precision, slack):
    """Section 4.1: "For bijective constraints, we set epsilon to 0.005 and used zero slack.  For symmetric constraints,
    epsilon and slack were set to 0.001." """
    options = find_recipe(f"graca2010-{kind}").options.of(ConstraintOptions)
    projection = projection_for(chosen_constraints(options.constraints), options)
    assert (projection.precision, projection.slack) == (precision, slack)


def test_pairs_of_exactly_forty_words_stay_and_longer_ones_go():
    """Section 4.1: pairs are discarded "where one of the sentences contained more than 40 words"."""
    lengths = [(40, 3), (3, 40), (40, 40), (41, 3), (3, 41)]
    text = Bitext.from_pairs([(["e"] * I, ["f"] * J) for I, J in lengths])
    short = without_long_pairs(text, find_recipe("graca2010-bijective").options.longest_pair)
    kept = [tuple(map(len, short.tokens(n))) for n in range(len(short))]
    assert kept == [(40, 3), (3, 40), (40, 40), (0, 0), (0, 0)]
    assert without_long_pairs(text.part(0, 3), 40) is None


# Zhao and Gildea (2010)


def test_jumps_begin_even_unless_a_trained_model_brings_its_own():
    """Section 6: the fertility HMM begins with the parameters of IBM Model 1, where all jumps are alike."""
    text = Bitext.from_pairs(PAIRS[:40])
    before = Aligner("zhao2010-hmmf", seed=1, threads=1, fertility_iterations=0).fit(text)
    for jumps in before.model.jumps:
        for weights in jumps.expand(6):
            assert (weights == weights[0]).all()
    learned = Aligner("zhao2010-hmmf", seed=1, threads=1, samples=2, fertility_iterations=1).fit(text)
    after = Aligner("zhao2010-hmmf", seed=1, threads=1, fertility_iterations=0).fit(text, warm_start=learned)
    for jumps, own in zip(after.model.jumps, learned.model.jumps, strict=True):
        assert (jumps.expand(6)[0] == own.expand(6)[0]).all()
        assert np.ptp(jumps.expand(6)[0]) > 0


@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        ("zhao2010-ibm1f", {}),
        ("zhao2010-hmmf", {}),
        ("zhao2010-hmmf", {"chain_start": "hmm"}),
        ("zhao2010-hmmf", {"updates": 3}),
        ("zhao2010-hmmf", {"updates": 3, "chain_start": "hmm"}),
    ],
)
def test_no_two_iterations_use_the_same_random_numbers(recipe, options, monkeypatch):
    """Numbers are drawn by (seed, sweep, pair): of a pair no sweep may come twice."""
    drawn, sample = [], FertilityModel.sample

    def spy(self, block, work, pool, sampling, streams, *rest):
        sweeps = range(sampling.first_sweep, sampling.first_sweep + sampling.restarts * sampling.samples)
        assert sampling.burn_in == 0
        drawn.extend((pair, sweep) for pair in streams.tolist() for sweep in sweeps)
        return sample(self, block, work, pool, sampling, streams, *rest)

    monkeypatch.setattr(FertilityModel, "sample", spy)
    text, small = Bitext.from_pairs(PAIRS[:12]), {"samples": 3, "restarts": 2, "fertility_iterations": 3}
    Aligner(recipe, seed=1, threads=1, **small, **options).fit(text)
    assert len(drawn) == 12 * 3 * 2 * 3
    assert len(set(drawn)) == len(drawn)


# Chang, Rush, DeNero and Collins (2014)


@pytest.fixture
def watched(monkeypatch):
    """What a relaxation does: iterations before each greedy search, iterations and constraints at each putting back,
    and the size of every step."""
    seen = {"greedy": [], "put back": [], "sizes": []}
    greedy, put_back, step = relaxation._Relaxation.greedy, relaxation._Relaxation.put_back, relaxation.kernels.step

    def watched_greedy(self):
        seen["greedy"].append(self.iterations)
        greedy(self)

    def watched_put_back(self):
        before = self.constraints
        put_back(self)
        seen["put back"].append((self.iterations, self.constraints - before))

    def watched_step(links, count, rate, *rest):
        seen["sizes"].append(rate)
        return step(links, count, rate, *rest)

    monkeypatch.setattr(relaxation._Relaxation, "greedy", watched_greedy)
    monkeypatch.setattr(relaxation._Relaxation, "put_back", watched_put_back)
    monkeypatch.setattr(relaxation.kernels, "step", watched_step)
    return seen


# Relaxation alone proves nothing about this pair, and its directions never agree by themselves.
HARD = potentials(25, 4, 5)


def test_the_greedy_search_runs_every_ten_iterations(watched):
    """Section 8: "Every 10 iterations we run the greedy decoder"."""
    found = relaxation.solve(checked_problem(*HARD), Budget(iterations=95), from_zero=True)
    assert found.iterations == 95
    assert watched["greedy"] == list(range(1, 95, 10))


def test_five_constraints_come_back_every_25_iterations_after_400(watched):
    """Section 8: 400 iterations, then "400 more iterations and incrementally add the 5 most violated constraints every 25
    iterations"."""
    bidirectional_map(*HARD, method="chang2014")
    at = [iterations for iterations, _ in watched["put back"]]
    assert at[0] == 400
    assert len(at) > 3
    assert {after - before for before, after in pairwise(at)} == {25}
    assert max(added for _, added in watched["put back"]) == 5


def test_the_papers_steps_only_shrink_and_ours_may_grow_again(watched):
    """Section 8: 0.95 to the count of updates for which the dual value did not improve, in both halves of CONS."""
    grew = {}
    for method in ("chang2014", "relaxation+constraints"):
        watched["sizes"].clear()
        found = bidirectional_map(*HARD, method=method)
        assert found.iterations > 430
        sizes = watched["sizes"]
        assert sizes[0] == 1.0
        shrinks = {round(float(after / before), 12) for before, after in pairwise(sizes)}
        assert shrinks >= {0.95, 1.0}
        grew[method] = max(shrinks) > 1.0
    assert grew == {"chang2014": False, "relaxation+constraints": True}
