"""The papers' own systems by name, as printed: which parts each is made of.

What differs from our own recipes, and why, is told on a page of each name under `docs/recipes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dovetail.models.fertility.factor import fertilities
from dovetail.models.jumps.distance import jump_factors
from dovetail.models.registry import models
from dovetail.training.train import trainings


class Paper(NamedTuple):
    """A recipe without its name."""

    description: str
    model: str
    training: str
    decoder: str
    combine: str | None  # None: what the decoder prefers; the paper judges directions
    values: Mapping[str, Any]


_GRACA = {"hmm_iterations": 2, "longest_pair": 40, "warm_multipliers": False}
_SAMPLED = {"soft_counts": False, "fertility_iterations": 5}

PAPERS = {
    "quirk2013": Paper(
        "the HMM with fertility from features, best alignments by 40 subgradient steps (Quirk 2013)",
        "hmm-fertility",
        "monte-carlo-em",
        "exact",
        None,
        {
            **_SAMPLED,
            "fertility": "features",
            "null_counts": False,
            "exact_method": "quirk2013",
            "exact_iterations": 40,
        },
    ),
    "graca2010-bijective": Paper(
        "the HMM with each word used at most once in expectation (Graça, Ganchev and Taskar 2010)",
        "graca2010",
        "graca2010",
        "posterior",
        None,
        {**_GRACA, "constraints": "bijective"},
    ),
    "graca2010-symmetric": Paper(
        "the HMM with equal link posteriors in both directions (Graça, Ganchev and Taskar 2010)",
        "graca2010",
        "graca2010",
        "posterior",
        None,
        {**_GRACA, "constraints": "symmetric"},
    ),
    "zhao2010-ibm1": Paper(
        "IBM Model 1 with I + 1 empty words, by EM: what IBM1F is compared with (Zhao and Gildea 2010)",
        "zhao2010-ibm1",
        "em",
        "viterbi",
        "grow-diag-final",
        {},
    ),
    "zhao2010-hmm": Paper(
        "the HMM from that IBM Model 1, by EM: what HMMF is compared with (Zhao and Gildea 2010)",
        "hmm",
        "zhao2010-hmm",
        "viterbi",
        "grow-diag-final",
        {"jumps": "counts"},
    ),
    "zhao2010-ibm1f": Paper(
        "IBM Model 1 with fertility and I + 1 empty words, by sampling from a uniform start (Zhao and Gildea 2010)",
        "ibm1-fertility",
        "zhao2010",
        "samples",
        "grow-diag-final",
        {
            **_SAMPLED,
            "parameter_start": "even",
            "empty_words": True,
            "samples": 10,
            "restarts": 3,
            "decoding_samples": 100,
            "decoding_restarts": 12,
            "burn_in": 0,
        },
    ),
    "zhao2010-hmmf": Paper(
        "the HMM with fertility, by 30 samples per word and equations 4 to 6 (Zhao and Gildea 2010)",
        "hmm-fertility",
        "zhao2010-hmmf",
        "viterbi",
        "grow-diag-final",
        {**_SAMPLED, "jumps": "counts", "samples": 30, "restarts": 1},
    ),
    "mermer2011": Paper(
        "Bayesian IBM Model 1, by one plain chain and each word's most frequent link (Mermer and Saraçlar 2011)",
        "mermer2011",
        "mermer2011",
        "mode",
        None,
        {
            "burn_in": 400,
            "samples": 100,
            "lag": 10,
            "discount": 0.0,
            "annealing": False,
            "adapt_sweeps": False,
            "shards": 1,
        },
    ),
    "chang2014": Paper(
        "two HMMs that may be off by one from each other, decoded by relaxation (Chang, Rush, DeNero and Collins 2014)",
        "hmm",
        "agreement",
        "bidirectional",
        None,
        {
            "bidirectional_agreement": "adjacent",
            "bidirectional_method": "chang2014",
            "bidirectional_null": "forgets",
        },
    ),
}

models.add_later(
    "graca2010", "dovetail.laboratory.graca2010:ProjectedHMM", "hmm-constrained, its best paths projected, too"
)
models.add_later("zhao2010-ibm1", "dovetail.laboratory.zhao2010:EmptyWordsIBM1", "ibm1 with I + 1 empty words")
models.add_later("mermer2011", "dovetail.laboratory.mermer2011:SampledIBM1", "ibm1-bayes that remembers its samples")
trainings.add_later("graca2010", "dovetail.laboratory.graca2010:train", "constrained, without pairs of long sentences")
trainings.add_later(
    "zhao2010-hmm", "dovetail.laboratory.zhao2010:train_hmm", "em from an IBM Model 1 with I + 1 empty words"
)
trainings.add_later("zhao2010", "dovetail.laboratory.zhao2010:train", "monte-carlo-em as Zhao and Gildea begin it")
trainings.add_later(
    "zhao2010-hmmf", "dovetail.laboratory.zhao2010:train_moving", "zhao2010, its chains from the HMM's best paths, too"
)
trainings.add_later("mermer2011", "dovetail.laboratory.mermer2011:train", "collapsed-gibbs that keeps its samples")
fertilities.add_later("none", "dovetail.laboratory.zhao2010:NoFertility", "any number of links is as good as any other")
fertilities.add_later(
    "unpooled", "dovetail.laboratory.quirk2013:Unpooled", "a probability for every count of every word, rare ones too"
)
jump_factors.add_later("counts", "dovetail.laboratory.zhao2010:CountedJumps", "each distance by its share of all jumps")
