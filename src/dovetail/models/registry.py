"""Models by name."""

from __future__ import annotations

from typing import Any

from dovetail.models.hmm import HMM
from dovetail.models.ibm1 import IBM1
from dovetail.registry import Registry

models: Registry[type[Any]] = Registry("model")
models.add("ibm1", IBM1, "IBM Model 1: a lexicon and NULL")
models.add("hmm", HMM, "the HMM: lexicon, NULL and jumps")
