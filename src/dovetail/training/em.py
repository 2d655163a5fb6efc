"""Expectation-maximisation (Dempster et al. 1977), both directions at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.bitext.shards import Block, Shard
from dovetail.engines import Threads
from dovetail.kernels.records import Workspace
from dovetail.training.monitor import Monitor

Coupling = Callable[[Block, Workspace, Threads], None]


def expect(
    model: Any, shard: Shard, work: Workspace, engine: Threads, monitor: Monitor, couple: Coupling | None = None
) -> Any:
    """E-step: the counts that the model's factors want, block after block, shards added in order.

    `couple` may change the posteriors of a block before they are counted.
    """
    counts = model.zero_counts(shard)
    for block in shard:
        view = block.view(work)
        model.lexicon.gather(shard, block, view, engine)
        scores, parts = model.posteriors(shard, block, view, engine, counting=True)
        if couple is not None:
            couple(block, view, engine)
        model.lexicon.scatter(shard, block, view, counts.lexicon, engine)
        for part in parts:
            counts.add_shard(part)
        counts.log_likelihood += scores.sum(axis=0)
        monitor.worked(block.last - block.first)
    return counts


def fit(
    model: Any,
    shard: Shard,
    engine: Threads,
    iterations: int,
    monitor: Monitor,
    couple: Coupling | None = None,
    watch: Callable[[Any], Any] | None = None,
) -> Any:
    """EM: counts from every block, then each factor re-estimates itself.

    `watch` sees the model after each iteration, and may end the training by returning the one to end with.
    """
    work = shard.workspace()
    monitor.begin(model.name, iterations, len(shard.pieces))
    for _ in range(iterations):
        counts = expect(model, shard, work, engine, monitor, couple)
        model = model.reestimate(counts, engine)
        ended = watch(model) if watch is not None else None
        if monitor.iterated(counts.log_likelihood).converged or ended is not None:
            return model if ended is None else ended
    return model
