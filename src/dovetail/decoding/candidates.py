"""Cells that a learned decoder judges, and what it is told of each."""

from __future__ import annotations

import unicodedata

import numpy as np

from dovetail.bitext.shards import Block
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.kernels.learned import features as kernels
from dovetail.kernels.learned.features import BELIEFS, FEATURES
from dovetail.kernels.learned.records import WordFacts
from dovetail.kernels.records import Workspace
from dovetail.models.lexicon.words import WordMap

WIDTHS = len(FEATURES), len(FEATURES) + len(BELIEFS)  # facts of a cell that one stage is told, and two
COMMON = 60  # words of each side that are known one by one
LEAST = 0.001  # posteriors below this make no candidate
WORD, NUMBER, PUNCTUATION = range(3)


def commonest(vocabulary: Vocabulary) -> list[str]:
    """The commonest words, commonest first: those that a learned decoder knows one by one."""
    order = np.argsort(-vocabulary.counts, kind="stable")[:COMMON]
    return [vocabulary[int(k)] for k in order]


def word_facts(words: WordMap, common: tuple[list[str], list[str]]) -> WordFacts:
    """What is known of the words of a text."""
    sides = []
    for known, new, place, codes in zip(
        words.known, words.vocabularies, (words.source, words.target), common, strict=True
    ):
        counts = np.append(known.counts, 0)[place]  # the last is that of words that the model never saw
        code_of = np.zeros(len(known) + 1, np.float32)
        code_of[[known.id(word) for word in codes]] = np.arange(1, len(codes) + 1)
        code_of[-1] = 0.0
        lengths = np.array([len(word) for word in new], np.float32)
        kinds = np.array([_kind(word) for word in new], np.float32)
        sides.append(np.stack([np.log1p(counts).astype(np.float32), lengths, kinds, code_of[place]], axis=1))
    return WordFacts(sides[0], sides[1], words.twin)


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
    return numbers, cells, found
