"""Several views of a text: the mean of what a model over words and models over other views of it say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from dovetail.alignments.assemble import assemble
from dovetail.bitext.shards import Block, Shard
from dovetail.bitext.views import Seen
from dovetail.bitext.windows import Windows
from dovetail.decoding.decode import Wanted, decode
from dovetail.decoding.decoders import EITHER, PosteriorThreshold
from dovetail.kernels.links import mix as kernels
from dovetail.kernels.records import Workspace
from dovetail.models.model import Model
from dovetail.pool import Pool

LEAST = 0.01  # a view's posteriors below this count as zero


class Cells(NamedTuple):
    """Probabilities of some word cells, those of each pair sorted by (i, j)."""

    offsets: np.ndarray  # int64 (pairs + 1,)
    source: np.ndarray  # int32 (cells,)
    target: np.ndarray  # int32 (cells,)
    forward: np.ndarray  # float32 (cells,)
    reverse: np.ndarray  # float32 (cells,)

    @classmethod
    def concatenate(cls, parts: Sequence[Cells]) -> Cells:
        """The cells of one text after another's."""
        if len(parts) == 1:
            return parts[0]
        counts = np.concatenate([np.diff(part.offsets) for part in parts])
        rest = (np.concatenate(columns) for columns in list(zip(*parts, strict=True))[1:])
        return cls(np.append(0, np.cumsum(counts)), *rest)


def cells_of(model: Model, seen: Seen, shard: Shard, pool: Pool) -> Cells:
    """What a view's model says of the words of a text, which `shard` is the view's layout of.

    Two words are as sure of each other as the surest two of their tokens: on the development set of ja-en that was better
    than their sum or mean.
    """
    both = [Wanted(EITHER, 0.0), Wanted(EITHER, 0.5)]
    found, _ = decode(model, shard, PosteriorThreshold(LEAST), both, pool, lambda _: None)
    sides = seen.bitext.source, seen.bitext.target
    forward, mean = (assemble(links, shard.pieces, sides[0].lengths, sides[1].lengths) for links in found)
    pair = np.repeat(np.arange(len(seen.bitext)), np.diff(mean.offsets))
    source = seen.words[0][mean.source + sides[0].offsets[pair]]
    target = seen.words[1][mean.target + sides[1].offsets[pair]]
    order = np.lexsort((target, source, pair))
    pair, source, target = pair[order], source[order], target[order]
    new = np.ones(len(pair), bool)
    new[1:] = (np.diff(pair) != 0) | (np.diff(source) != 0) | (np.diff(target) != 0)
    starts = np.flatnonzero(new)
    reverse = 2 * mean.probability - forward.probability
    surest = [
        np.maximum.reduceat(values[order], starts) if len(starts) else values
        for values in (forward.probability, reverse)
    ]
    offsets = np.append(0, np.cumsum(np.bincount(pair[starts], minlength=len(seen.bitext))))
    return Cells(offsets, source[starts], target[starts], surest[0], surest[1])


class Mixed:
    """A model whose posteriors are the mean of its own and of those of other views; all else is the model's."""

    def __init__(self, model: Model, pieces: Windows, views: Sequence[Cells]) -> None:
        self._model, self._pieces, self._views = model, pieces, views

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def posteriors(self, block: Block, work: Workspace, pool: Pool) -> np.ndarray:
        """As every model's."""
        scores = self._model.posteriors(block, work, pool)
        run, pieces = slice(block.first, block.last), self._pieces
        where = pieces.pair[run], pieces.source_offset[run], pieces.target_offset[run]
        for number, cells in enumerate(self._views, start=2):
            pool.map(kernels.mix, block.tasks, block.lines, *where, cells, np.float32(1 / number), work)
        return scores


def mixed(model: Model, pieces: Windows, views: Sequence[Cells]) -> Model:
    """The model as decoders see it when there are other views of the text."""
    return cast(Model, Mixed(model, pieces, views))
