"""Decoders: each marks, on every cell of a block, which links it takes.

A decoder is called twice for a block: `before` while the workspace holds translation probabilities, `after` once it
holds posteriors.  It marks links of the forward direction, of the reverse direction, and (where it can) of the two
taken together.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.decoding.tempering import untemper
from dovetail.engines import Threads
from dovetail.kernels.hmm import viterbi as viterbi_kernels
from dovetail.kernels.hmm.viterbi import EITHER, FORWARD, REVERSE
from dovetail.kernels.links import collect as links_kernels
from dovetail.kernels.links import grow as grow_kernels
from dovetail.kernels.records import Workspace
from dovetail.models.jumps.word import bins_of
from dovetail.registry import Registry

__all__ = ["EITHER", "FORWARD", "REVERSE", "Decoder", "PosteriorThreshold", "Viterbi", "decoders"]


class Decoder(Protocol):
    """Marks links; `default_combination` names how its two directions become one when nobody says.

    A decoder is made by its classmethod `of` from a recipe's options.  One that knows more of a pair than its links has
    `details`: arrays by name with an entry for each piece decoded so far; flags of a pair's pieces must all hold, numbers
    are added up.  One that can save itself a direction has `only`, which is set to the name of the one that is wanted.
    """

    default_combination: str

    def before(
        self, model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads
    ) -> None:
        """Look at translation probabilities."""

    def after(
        self, model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads
    ) -> None:
        """Look at posteriors."""


decoders: Registry[Any] = Registry("decoder")


class PosteriorThreshold:
    """Links whose posterior exceeds the threshold: minimum Bayes risk, with the threshold as the knob (Graça, sec. 2.3).

    The links of both directions together may grow: cells above `grow` that touch a link, and whose row or column has
    none yet, are added, best first.  Words that translate several others are found that way.
    """

    default_combination = "soft-union"

    def __init__(self, threshold: float = 0.5, grow: float = 1.0) -> None:
        self.threshold = np.float32(threshold)
        self.grow = np.float32(grow)

    @classmethod
    def of(cls, options: Any) -> PosteriorThreshold:
        return cls(untemper(options.threshold, options.temper), untemper(options.grow, options.temper))

    def before(
        self, model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads
    ) -> None:
        pass

    def after(
        self, model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads
    ) -> None:
        engine.map(
            lambda first, last: links_kernels.mark_threshold(
                first, last, block.lines, work.forward, work.reverse, self.threshold, marks
            ),
            block.tasks,
        )
        if self.grow < self.threshold:
            engine.map(
                lambda first, last: grow_kernels.grow(
                    first, last, block.lines, work.forward, work.reverse, self.grow, marks
                ),
                block.tasks,
            )


class Viterbi:
    """The single best path of each direction; the threshold does not apply."""

    default_combination = "grow-diag-final-and"

    @classmethod
    def of(cls, options: Any) -> Viterbi:
        return cls()

    def before(
        self, model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads
    ) -> None:
        _BEST_PATHS[model.path](model, shard, block, work, marks, engine)

    def after(
        self, model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads
    ) -> None:
        pass


decoders.add("posterior", PosteriorThreshold, "links whose posterior probability exceeds a threshold")
decoders.add("viterbi", Viterbi, "the best path of each direction")
for _name, _where, _description in (
    ("mode", "bayes_mode:Mode", "the likeliest partner of each word in each direction"),
    ("samples", "samples:BestSample", "the best of many samples of each direction (models with fertility)"),
    ("exact", "exact_fertility:ExactFertility", "the best alignment of each direction, proved (models with fertility)"),
    ("bidirectional", "bidirectional_decoder:Bidirectional", "the best pair of alignments that agree, proved (HMMs)"),
):
    decoders.add_later(_name, f"dovetail.decoding.{_where}", _description)


def _mark_ibm1(model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads) -> None:
    engine.map(
        lambda first, last: viterbi_kernels.mark_ibm1(
            first,
            last,
            block.lines,
            shard.source_ids,
            shard.target_ids,
            model.lexicon.null_forward,
            model.lexicon.null_reverse,
            work.forward,
            work.reverse,
            marks,
        ),
        block.tasks,
    )


def _mark_hmm(model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads) -> None:
    weights = [array for jumps in model.jumps for array in jumps.expand(shard.longest)]
    engine.map(
        lambda first, last: viterbi_kernels.mark_hmm(
            first,
            last,
            block.lines,
            shard.source_ids,
            shard.target_ids,
            model.lexicon.null_forward,
            model.lexicon.null_reverse,
            work.forward,
            work.reverse,
            model.null,
            *weights,
            marks,
        ),
        block.tasks,
    )


def _mark_joint(model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads) -> None:
    bins = bins_of(shard.longest)
    ends = np.array([[jumps.start, jumps.end] for jumps in model.jumps], np.float32)
    engine.map(
        lambda first, last: viterbi_kernels.mark_joint(
            first,
            last,
            block.lines,
            shard.source_ids,
            shard.target_ids,
            model.lexicon.null_forward,
            model.lexicon.null_reverse,
            work.forward,
            work.reverse,
            model.null,
            model.jumps[0].weights,
            model.jumps[1].weights,
            bins,
            ends,
            marks,
        ),
        block.tasks,
    )


# By the kind of path that a model says it has: models need not be imported to be told apart.
_BEST_PATHS = {"ibm1": _mark_ibm1, "hmm": _mark_hmm, "joint": _mark_joint}
