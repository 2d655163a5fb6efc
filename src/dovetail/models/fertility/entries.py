"""A learned fertility table that a person can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dovetail.bitext.vocabulary import Vocabulary
from dovetail.errors import InputError

if TYPE_CHECKING:
    from dovetail.models.lexicon.lexicon import Lexicon

EXAMPLES = 4
DIRECTIONS = ("forward", "reverse")


class FertilityMeans(NamedTuple):
    """Expected links of each word of one side, how often it was seen, and NULL's links for each of its tokens."""

    means: np.ndarray
    tokens: np.ndarray
    null: float


@dataclass(frozen=True)
class FertilityEntry:
    """A word, the mean number of its links, how often it was seen in training, and its likeliest translations.

    The first entry of a table is NULL, whose mean is the number of its links for each word of this side.
    """

    word: str
    mean: float
    count: int
    examples: tuple[str, ...]


def side_of(direction: str) -> int:
    """Whose fertilities a direction speaks of: 0 source words, 1 target words."""
    if direction not in DIRECTIONS:
        raise InputError(f"no direction {direction!r}", remedy="Choose forward or reverse.")
    return DIRECTIONS.index(direction)


def fertility_table(
    found: FertilityMeans, lexicon: Lexicon, vocabularies: tuple[Vocabulary, Vocabulary], side: int, minimum: int
) -> list[FertilityEntry]:
    """NULL, then the words of a side by falling count."""
    means, tokens, null = found
    own, other = vocabularies[side], vocabularies[1 - side]
    order = np.argsort(-tokens, kind="stable")
    order = order[tokens[order] >= minimum]
    partners, probabilities, starts = _by_word(lexicon, side)
    nulls = lexicon.nulls[side]
    entries = [FertilityEntry("NULL", float(null), int(tokens.sum()), _best(np.arange(len(nulls)), nulls, other))]
    for word in order:
        row = slice(starts[word], starts[word + 1])
        examples = _best(partners[row], probabilities[row], other)
        entries.append(FertilityEntry(own[int(word)], float(means[word]), int(tokens[word]), examples))
    return entries


def _by_word(lexicon: Lexicon, side: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Partners and probabilities of each word's translations, and where each word's begin."""
    from dovetail.pool import Pool

    slots, table = lexicon.slots, lexicon.entries(Pool(1))
    if side == 0:
        return slots.target, table[:, 0], slots.row_start
    order = np.argsort(slots.target, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(slots.target, minlength=slots.n_targets))])
    return slots.source[order], table[order, 1], starts


def _best(partners: np.ndarray, probabilities: np.ndarray, vocabulary: Vocabulary) -> tuple[str, ...]:
    first = np.argsort(-probabilities, kind="stable")[:EXAMPLES]
    return tuple(vocabulary[int(partners[k])] for k in first if probabilities[k] > 0.01)
