"""Cells that a learned decoder judges, and what it is told of each."""

from __future__ import annotations

import unicodedata

import numpy as np

from dovetail.bitext.shards import Block
from dovetail.decoding.habits import Habits
from dovetail.kernels.learned import features as kernels
from dovetail.kernels.learned.features import BELIEFS, FEATURES
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
        lengths = np.fromiter(map(len, new), np.float32, len(new))
        # Most words have letters alone, which are quickly told.
        kinds = np.array([WORD if word.isalpha() else _kind(word) for word in new], np.float32)
        sides.append(np.stack([np.log1p(counts).astype(np.float32), lengths, kinds], axis=1))
    return WordFacts(sides[0], sides[1], words.twin, *habits.of_text(words))


def _kind(word: str) -> int:
    if any(letter.isdigit() for letter in word):
        return NUMBER
    return PUNCTUATION if all(unicodedata.category(letter)[0] in "PS" for letter in word) else WORD


def candidates(first: int, last: int, block: Block, work: Workspace) -> tuple[np.ndarray, np.ndarray]:
    """Of pieces first..last - 1: how many each has, and which cells they are."""
    found: tuple[np.ndarray, np.ndarray] = kernels.candidates(first, last, block.lines, work, np.float32(LEAST))
    return found


def describe(
    block: Block, facts: WordFacts, translations: Workspace, work: Workspace
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Candidates of a block: how many of each piece, which cells, and what is known of them, float32 (facts, candidates).

    `translations` is the workspace as it was before it held posteriors.  There is room for habits, and for beliefs that
    a second stage is told.
    """
    last = len(block.lines)
    numbers, cells = candidates(0, last, block, work)
    found = np.zeros((WIDTHS[1], len(cells)), np.float32)
    kernels.describe(0, last, block.pieces, facts, translations, work, numbers, cells, found)
    return numbers, cells, found
