"""Cells that a learned decoder judges, and what it is told of each."""

from __future__ import annotations

import unicodedata

import numpy as np

from dovetail.bitext.shards import Block
from dovetail.decoding.habits import Habits
from dovetail.kernels.learned import features as kernels
from dovetail.kernels.learned.features import BELIEFS, FEATURES, OBSERVED
from dovetail.kernels.learned.habits import recall_pairs, recall_words
from dovetail.kernels.learned.records import WordFacts
from dovetail.kernels.records import Workspace
from dovetail.models.lexicon.words import WordMap

WIDTHS = len(FEATURES), len(FEATURES) + len(BELIEFS)  # facts of a cell that one stage is told, and two
LEAST = 0.001  # posteriors below this make no candidate
WORD, NUMBER, PUNCTUATION = range(3)


def word_facts(words: WordMap, habits: Habits) -> WordFacts:
    """What is known of the words of a text."""
    sides = []
    for known, new, place in zip(words.known, words.vocabularies, (words.source, words.target), strict=True):
        counts = np.append(known.counts, 0)[place]  # the last is that of words that the model never saw
        lengths = np.array([len(word) for word in new], np.float32)
        kinds = np.array([_kind(word) for word in new], np.float32)
        sides.append(np.stack([np.log1p(counts).astype(np.float32), lengths, kinds], axis=1))
    return WordFacts(sides[0], sides[1], words.twin, *habits.of_text(words))


def _kind(word: str) -> int:
    if any(letter.isdigit() for letter in word):
        return NUMBER
    return PUNCTUATION if all(unicodedata.category(letter)[0] in "PS" for letter in word) else WORD


def describe(
    first: int, last: int, block: Block, facts: WordFacts, translations: Workspace, work: Workspace, stages: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Candidates of pieces first..last - 1: how many of each piece, which cells, and what is known of them.

    `translations` is the workspace as it was before it held posteriors.  There is room for the beliefs that a second of
    `stages` is told.
    """
    numbers, cells = kernels.candidates(first, last, block.lines, work, np.float32(LEAST))
    found = np.zeros((len(cells), WIDTHS[stages - 1]), np.float32)
    kernels.describe(first, last, block.pieces, facts, translations, work, numbers, cells, found)
    source, target, pairs = facts.source_habits, facts.target_habits, facts.pairs
    recall_words(first, last, block.pieces, source, target, numbers, cells, len(OBSERVED), found)
    recall_pairs(first, last, block.pieces, pairs, numbers, cells, len(FEATURES) - 2, found)
    return numbers, cells, found
