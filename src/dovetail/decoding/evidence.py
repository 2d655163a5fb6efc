"""What a decoder may ask of a model about one block.  Everything is computed once, and only when somebody asks for it."""

from __future__ import annotations

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.kernels.records import Workspace
from dovetail.models.model import Alignments, Model
from dovetail.pool import Pool


class Evidence:
    """One workspace holds translation probabilities first and posteriors then, so whoever needs both asks in that order."""

    def __init__(self, model: Model, shard: Shard, block: Block, work: Workspace, pool: Pool) -> None:
        self.model, self.shard, self.block, self.pool = model, shard, block, pool
        self._work = work
        self._holds = ""
        self._scores: np.ndarray | None = None

    def translations(self) -> Workspace:
        """t(f | e) and t(e | f) of every cell."""
        if self._holds != "translations":
            self.model.lexicon.gather(self.block, self._work, self.pool)
            self._holds = "translations"
        return self._work

    def posteriors(self) -> Workspace:
        """P(a_j = i) and P(b_i = j) of every cell, NULL's of every token."""
        if self._holds != "posteriors":
            self._scores = self.model.posteriors(self.block, self.translations(), self.pool)
            self._holds = "posteriors"
        return self._work

    def samples(self) -> Alignments:
        """The best alignments among the samples that the posteriors are estimated from."""
        found, self._scores = self.model.samples(self.block, self.translations(), self.pool)
        self._holds = "posteriors"
        return found

    @property
    def scores(self) -> np.ndarray:
        """What the model thinks of each piece in both directions (pieces, 2)."""
        if self._scores is None:
            self.posteriors()
        assert self._scores is not None
        return self._scores
