"""Models by name; each is imported when it is asked for."""

from __future__ import annotations

from typing import Any

from dovetail.registry import Registry

models: Registry[type[Any]] = Registry("model")
for _name, _where, _description in (
    ("ibm1", "ibm1:IBM1", "IBM Model 1: a lexicon and NULL"),
    ("hmm", "hmm:HMM", "the HMM: lexicon, NULL and jumps"),
    ("ibm1-fertility", "fertile:FertilityIBM1", "IBM Model 1 with fertility"),
    ("hmm-fertility", "fertile:FertilityHMM", "the HMM with fertility"),
    ("ibm1-constrained", "constrained:ConstrainedIBM1", "IBM Model 1 with posteriors projected onto constraints"),
    ("hmm-constrained", "constrained:ConstrainedHMM", "the HMM with posteriors projected onto constraints"),
    ("joint-hmm", "joint:JointHMM", "both HMMs over one collapsed lexicon, with word jumps and fertility"),
    ("ibm1-bayes", "bayes:BayesIBM1", "IBM Model 1 with the lexicon integrated out"),
    ("hmm-bayes", "bayes:BayesHMM", "the HMM with fertility, lexicon and fertilities integrated out"),
):
    models.add_later(_name, f"dovetail.models.{_where}", _description)
