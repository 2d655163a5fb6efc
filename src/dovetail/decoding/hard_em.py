"""Hard EM: counts from the best alignment alone, found exactly (what Quirk 2013 hoped for in its last sentence).

A training that needs a decoder stands above both rooms, so it lives here; the aligner enters it in the list of trainings.
"""

from __future__ import annotations

from typing import Any

from dovetail.bitext.shards import Shard
from dovetail.decoding.exact_fertility import ExactFertility
from dovetail.engines import Threads
from dovetail.models.fertile import Sampling
from dovetail.training.monitor import Monitor
from dovetail.training.train import Start, train_monte_carlo_em

COUNT_AS_GIVEN = Sampling(samples=0, burn_in=0)


def fit(model: Any, shard: Shard, engine: Threads, iterations: int, monitor: Monitor, decoder: ExactFertility) -> Any:
    """Each iteration: the best alignment of every pair in both directions, then the M-step as if it were the truth."""
    work = shard.workspace()
    monitor.begin("hard", iterations, len(shard.pieces))
    for _ in range(iterations):
        counts = model.zero_counts(shard)
        for block in shard:
            view = block.view(work)
            model.lexicon.gather(shard, block, view, engine)
            best, _ = decoder.solve(model, shard, block, view, engine)
            model.sample(shard, block, view, engine, COUNT_AS_GIVEN, model.streams(block), best, counts=counts)
            monitor.worked(block.last - block.first)
        model = model.reestimate(counts, engine)
        if monitor.iterated(counts.log_likelihood).converged:
            break
    return model


def train_hard_em(model: str, shard: Shard, start: Start, options: Any, engine: Threads, monitor: Monitor) -> Any:
    soft = train_monte_carlo_em(model, shard, start, options, engine, monitor)
    return fit(soft, shard, engine, options.hard_iterations, monitor, ExactFertility.of(options))
