"""What the kernels of the learned decoder are told."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class PairHabits(NamedTuple):
    """How pairs of words of a text fared in gold pairs: a row for each source word that was there, sorted by target word."""

    row: np.ndarray  # int32 (source words,): -1 for words that were in no gold pair, as in `column`
    column: np.ndarray  # int32 (target words,)
    offsets: np.ndarray  # int64 (rows + 1,)
    columns: np.ndarray  # int32 (met pairs,), rising within a row
    values: np.ndarray  # float32 (met pairs, 2): links beyond the model's belief, how often met


class WordFacts(NamedTuple):
    """What is known of the words of a text: one row per word type, see COUNT to KIND, and what gold pairs taught of it."""

    source: np.ndarray  # float32 (source words, 3)
    target: np.ndarray  # float32 (target words, 3)
    twin: np.ndarray  # int32 (source words,): the target word spelled the same, -1 for none
    source_habits: np.ndarray  # float32 (source words, HABITS_OF_WORDS)
    target_habits: np.ndarray  # float32 (target words, HABITS_OF_WORDS)
    pairs: PairHabits


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


class Stages(NamedTuple):
    """Both stages of trees; a second of no trees is none.  `facts` is how many of a candidate they are told."""

    first: Trees
    second: Trees
    facts: int


class Limits(NamedTuple):
    """Log-odds, float32, at which trees are asked no more."""

    hopeless: np.float32  # below this a cell is given up,
    given_up: np.float32  # and gets this
    doubt: np.float32  # from here on the first stage's word is final


class Desk(NamedTuple):
    """Room for what is known of some candidates, a column each, and for what is worked out of it."""

    told: np.ndarray  # float32 (facts, columns); columns are a multiple of eight
    known: np.ndarray  # float32 (facts, columns): of those that more trees are asked about
    total: np.ndarray  # float32 (columns,)
    place: np.ndarray  # int64 (columns,): which candidate a column of `known` is
    kept: np.ndarray  # int64 (columns,)
    waiting: np.ndarray  # bool (columns,)
    belief: np.ndarray  # float32 (columns,)


DEPTH = 4
INNER, LEAVES = 2**DEPTH - 1, 2**DEPTH


COUNT, LENGTH, KIND = range(3)  # logarithm of how often, letters, 0 word 1 number 2 punctuation

# A word's habits: means over its occurrences in gold pairs.
HABITS_OF_WORDS = ("links", "linked", "linked with the word before", "linked with the word behind")
