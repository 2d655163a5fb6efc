"""The mode of marginals: for each word the partner it has most often (Mermer and Saraçlar 2011, section 2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.engines import Threads
from dovetail.kernels.bayes.counts import mark_modes
from dovetail.kernels.hmm.viterbi import FORWARD, REVERSE
from dovetail.kernels.records import Workspace


class Mode:
    """For each target word (in the reverse direction: source word) its likeliest partner, unless NULL is likelier."""

    default_combination = "grow-diag-final-and"

    @classmethod
    def of(cls, options: Any) -> Mode:
        return cls()

    def before(
        self, model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads
    ) -> None:
        pass

    def after(
        self, model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads
    ) -> None:
        engine.map(
            lambda first, last: mark_modes(
                first,
                last,
                block.lines,
                work.forward,
                work.reverse,
                work.null_forward,
                work.null_reverse,
                FORWARD,
                REVERSE,
                marks,
            ),
            block.tasks,
        )
