"""Models by name."""

from __future__ import annotations

from typing import Any

from dovetail.models.bayes import BayesHMM, BayesIBM1
from dovetail.models.constrained import ConstrainedHMM, ConstrainedIBM1
from dovetail.models.fertility_models import FertilityHMM, FertilityIBM1
from dovetail.models.hmm import HMM
from dovetail.models.ibm1 import IBM1
from dovetail.models.joint_hmm import JointHMM
from dovetail.registry import Registry

models: Registry[type[Any]] = Registry("model")
models.add("ibm1", IBM1, "IBM Model 1: a lexicon and NULL")
models.add("hmm", HMM, "the HMM: lexicon, NULL and jumps")
models.add("ibm1-fertility", FertilityIBM1, "IBM Model 1 with fertility")
models.add("hmm-fertility", FertilityHMM, "the HMM with fertility")
models.add("ibm1-constrained", ConstrainedIBM1, "IBM Model 1 with posteriors projected onto constraints")
models.add("hmm-constrained", ConstrainedHMM, "the HMM with posteriors projected onto constraints")
models.add("joint-hmm", JointHMM, "both HMMs over one collapsed lexicon, with word jumps and fertility")
models.add("ibm1-bayes", BayesIBM1, "IBM Model 1 with the lexicon integrated out")
models.add("hmm-bayes", BayesHMM, "the HMM with fertility, lexicon and fertilities integrated out")
