"""How many links words take in a text, as a model's posteriors have it: an answer for models that have no fertility."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dovetail.bitext.shards import Shard
from dovetail.models.fertility.entries import FertilityMeans
from dovetail.models.lexicon.table import LexiconCounts
from dovetail.pool import Pool

if TYPE_CHECKING:
    from dovetail.models.model import Model


@dataclass
class ExpectedLinks:
    """Links of the parts of a text: of source words in the forward direction, of target words in the reverse one.

    In each direction a word of the other side has one link, or NULL has it.
    """

    links: tuple[np.ndarray, np.ndarray]  # float64 (source words,), (target words,)
    tokens: tuple[np.ndarray, np.ndarray]  # int64, likewise
    nulls: np.ndarray  # float64 (2,)

    @classmethod
    def zeros(cls, sources: int, targets: int) -> ExpectedLinks:
        sizes = sources, targets
        links, tokens = (tuple(np.zeros(size, kind) for size in sizes) for kind in (np.float64, np.int64))
        return cls((links[0], links[1]), (tokens[0], tokens[1]), np.zeros(2))

    def add(self, model: Model, shard: Shard, pool: Pool) -> None:
        """A part of the text, with the model as decoders see it."""
        counts, work = LexiconCounts.zeros(shard.slots), shard.workspace()
        for block in shard:
            view = block.view(work)
            model.lexicon.gather(block, view, pool)
            model.posteriors(block, view, pool)
            counts.add(block, view, pool)
        for tokens, more in zip(self.tokens, shard.token_counts(), strict=True):
            tokens += more
        for direction, words in enumerate((shard.slots.source, shard.slots.target)):
            sums = np.bincount(words, counts.slots[:, direction], len(self.links[direction]))
            self.links[direction][:] += sums
        self.nulls += counts.null_forward.sum(), counts.null_reverse.sum()

    def means(self, side: int, numbers: np.ndarray, words: int) -> FertilityMeans:
        """Of a model's words, so many; `numbers` are the text's words' numbers there, -1 for those it does not know."""
        known = numbers >= 0
        links, tokens = (
            np.bincount(numbers[known], values[known], words) for values in (self.links[side], self.tokens[side])
        )
        null = self.nulls[side] / max(self.tokens[side].sum(), 1)
        return FertilityMeans(links / np.maximum(tokens, 1), tokens.astype(np.int64), float(null))
