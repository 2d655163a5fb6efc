"""A learned fertility table that a person can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.bitext.vocabulary import Vocabulary
from dovetail.errors import InputError

EXAMPLES = 4


@dataclass(frozen=True)
class FertilityEntry:
    """A word, the mean number of its links, how often it was seen in training, and its likeliest translations.

    The first entry of a table is NULL, whose mean is the number of its links for each word of this side.
    """

    word: str
    mean: float
    count: int
    examples: tuple[str, ...]


def fertility_table(
    model: Any, vocabularies: tuple[Vocabulary, Vocabulary], direction: str, minimum: int
) -> list[FertilityEntry]:
    """NULL, then words by falling count (source words if `direction` is forward, else target words)."""
    if direction not in ("forward", "reverse"):
        raise InputError(f"no direction {direction!r}", remedy="Choose forward or reverse.")
    if not hasattr(model, "fertility"):
        raise InputError(
            f"the model {model.name} has no fertility", remedy="Train a recipe such as hmm-fertility, then ask it."
        )
    side = 0 if direction == "forward" else 1
    fertility, own, other = model.fertility[side], vocabularies[side], vocabularies[1 - side]
    means, tokens = fertility.means(), fertility.tokens
    order = np.argsort(-tokens, kind="stable")
    order = order[tokens[order] >= minimum]
    partners, probabilities, starts = _by_word(model.lexicon, side)
    nulls = model.lexicon.null_forward if side == 0 else model.lexicon.null_reverse
    entries = [
        FertilityEntry("NULL", float(fertility.null), int(tokens.sum()), _best(np.arange(len(nulls)), nulls, other))
    ]
    for word in order:
        row = slice(starts[word], starts[word + 1])
        examples = _best(partners[row], probabilities[row], other)
        entries.append(FertilityEntry(own[int(word)], float(means[word]), int(tokens[word]), examples))
    return entries


def _by_word(lexicon: Any, side: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Partners and probabilities of each word's translations, and where each word's begin."""
    slots = lexicon.slots
    if side == 0:
        return slots.target, lexicon.table[:, 0], slots.row_start
    sources = np.repeat(np.arange(slots.n_sources), np.diff(slots.row_start))
    order = np.argsort(slots.target, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(slots.target, minlength=slots.n_targets))])
    return sources[order], lexicon.table[order, 1], starts


def _best(partners: np.ndarray, probabilities: np.ndarray, vocabulary: Vocabulary) -> tuple[str, ...]:
    first = np.argsort(-probabilities, kind="stable")[:EXAMPLES]
    return tuple(vocabulary[int(partners[k])] for k in first if probabilities[k] > 0.01)
