"""From a model and cells to links: block after block, one decoder, the wanted sets of links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.bitext.shards import Shard
from dovetail.decoding.marks import Decoder
from dovetail.engines import Threads
from dovetail.kernels.links import collect as kernels
from dovetail.training.monitor import Monitor


@dataclass(frozen=True)
class Wanted:
    """A set of links to collect: cells that carry `mark`, with probability (1 - weight) forward + weight reverse."""

    mark: np.uint8
    weight: float


@dataclass
class Links:
    """Links of all pieces in order: `numbers` of each piece, positions relative to the piece, probabilities."""

    numbers: np.ndarray
    source: np.ndarray
    target: np.ndarray
    probability: np.ndarray

    @classmethod
    def concatenate(cls, parts: list[tuple[np.ndarray, ...]]) -> Links:
        if not parts:
            return cls(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32))
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def decode(
    model: Any, shard: Shard, decoder: Decoder, wanted: Sequence[Wanted], engine: Threads, monitor: Monitor
) -> tuple[list[Links], np.ndarray]:
    """The wanted sets of links, and log-likelihoods (pieces, 2)."""
    work = shard.workspace()
    marks = np.empty(max((block.cells for block in shard), default=0), np.uint8)
    found: list[list[tuple[np.ndarray, ...]]] = [[] for _ in wanted]
    scores = []
    for block in shard:
        view, marked = block.view(work), marks[: block.cells]
        marked[:] = 0
        model.lexicon.gather(shard, block, view, engine)
        decoder.before(model, shard, block, view, marked, engine)
        scores.append(model.posteriors(shard, block, view, engine)[0])
        decoder.after(model, shard, block, view, marked, engine)
        source_core = shard.pieces.source_core[block.first : block.last]
        target_core = shard.pieces.target_core[block.first : block.last]
        for want, parts in zip(wanted, found, strict=True):

            def task(first: int, last: int, want: Wanted = want) -> tuple[np.ndarray, ...]:
                return kernels.collect(
                    first,
                    last,
                    block.lines,  # noqa: B023 (the tasks end before the next block)
                    source_core,  # noqa: B023
                    target_core,  # noqa: B023
                    marked,  # noqa: B023
                    want.mark,
                    view.forward,  # noqa: B023
                    view.reverse,  # noqa: B023
                    want.weight,
                )

            parts.extend(engine.map(task, block.tasks))
        monitor.worked(block.last - block.first)
    return [Links.concatenate(parts) for parts in found], np.concatenate(scores) if scores else np.zeros((0, 2))
