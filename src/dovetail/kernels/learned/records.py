"""What the kernels of the learned decoder are told."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class WordFacts(NamedTuple):
    """What is known of the words of a text: one row per word type, see COUNT to CODE."""

    source: np.ndarray  # float32 (source words, 4)
    target: np.ndarray  # float32 (target words, 4)
    twin: np.ndarray  # int32 (source words,): the target word spelled the same, -1 for none


class Survey(NamedTuple):
    """Of each row, then each column, of a matrix: best and second-best value, where they are (-1: none), and the sum."""

    best: np.ndarray  # float32 (rows + columns,), as all of them
    second: np.ndarray
    partner: np.ndarray  # int64
    other: np.ndarray  # int64
    sums: np.ndarray


class Trees(NamedTuple):
    """Complete binary trees of DEPTH levels, in order of boosting: node n's children are 2 n + 1 and 2 n + 2.

    x <= threshold goes to the first child.  The leaves that a row reaches add up to its log-odds.
    """

    feature: np.ndarray  # int32 (trees, INNER)
    threshold: np.ndarray  # float32 (trees, INNER)
    leaf: np.ndarray  # float32 (trees, LEAVES)


DEPTH = 4
INNER, LEAVES = 2**DEPTH - 1, 2**DEPTH


COUNT, LENGTH, KIND, CODE = range(4)  # logarithm of how often, letters, 0 word 1 number 2 punctuation, rank if common
