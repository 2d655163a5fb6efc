"""The best of many samples: how the fertility models were decoded at first (Zhao and Gildea 2010, section 5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.engines import Threads
from dovetail.errors import InputError
from dovetail.kernels.gibbs.alignments import mark
from dovetail.kernels.records import Workspace
from dovetail.models.fertile import FertilityHMM, FertilityIBM1


def require_fertility(model: Any, decoder: str) -> None:
    if not isinstance(model, (FertilityHMM, FertilityIBM1)):
        raise InputError(
            f"the decoder {decoder} needs a model with fertility, not {model.name}",
            remedy="Choose a recipe such as hmm-fertility, or the decoder posterior or viterbi.",
        )


class BestSample:
    """The alignment of the highest probability among `decoding_samples` from each of `decoding_restarts` chains."""

    default_combination = "grow-diag-final-and"

    @classmethod
    def of(cls, options: Any) -> BestSample:
        return cls()

    def before(
        self, model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads
    ) -> None:
        require_fertility(model, "samples")
        best = np.empty(block.columns, np.int16), np.empty(block.rows, np.int16)
        copy = work.copy()
        model.sample(shard, block, copy, engine, model.sampling, model.streams(block), best, keep_best=True)
        engine.map(
            lambda first, last: mark(first, last, block.lines, *best, marks),
            block.tasks,
        )

    def after(
        self, model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads
    ) -> None:
        pass
