"""What the kernels of the learned decoder are told."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class WordFacts(NamedTuple):
    """What is known of the words of a text: one row per word type, see COUNT to CODE."""

    source: np.ndarray  # float32 (source words, 4)
    target: np.ndarray  # float32 (target words, 4)
    twin: np.ndarray  # int32 (source words,): the target word spelled the same, -1 for none


class Trees(NamedTuple):
    """Complete binary trees of one depth d, in order of boosting: node n's children are 2 n + 1 and 2 n + 2.

    x <= threshold goes to the first child.  The leaves that a row reaches add up to its log-odds.
    """

    feature: np.ndarray  # int32 (trees, 2 ** d - 1)
    threshold: np.ndarray  # float32 (trees, 2 ** d - 1)
    leaf: np.ndarray  # float32 (trees, 2 ** d)


COUNT, LENGTH, KIND, CODE = range(4)  # logarithm of how often, letters, 0 word 1 number 2 punctuation, rank if common
