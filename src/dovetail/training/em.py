"""Expectation-maximisation (Dempster et al. 1977): the only loop of training, whatever is expected and re-estimated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.bitext.sharding import Corpus
from dovetail.engines import Engine
from dovetail.models.model import Learner, Memory
from dovetail.training.monitor import Monitor

Schedule = Callable[[Any, int], Learner]
Watch = Callable[[Any], Learner | None]


def fit(
    model: Learner,
    corpus: Corpus,
    engine: Engine,
    iterations: int,
    monitor: Monitor,
    memory: Sequence[Memory] | None = None,
    schedule: Schedule = lambda model, iteration: model,
    watch: Watch = lambda model: None,
    to_the_end: bool = False,
) -> tuple[Any, Sequence[Memory]]:
    """Statistics from every shard, then each factor re-estimates itself.

    `memory` is what shards remember of earlier training.  `schedule` is asked before each iteration what it begins with,
    `watch` after it whether to end, and with which model; `to_the_end`: convergence ends nothing.  Returns the model, and
    what shards remember now; what kind of model that is the caller knows.
    """
    memory = [None] * len(corpus) if memory is None else memory
    pieces = len(corpus.pieces)
    history, keeper = [], monitor.keeper
    monitor.begin(model.name, iterations, pieces)
    known = keeper.begin() if keeper is not None else None
    if known is not None:
        model, memory, history = known["model"], known["memory"], known["history"]
        monitor.resume(history, pieces)
        if known["ended"]:
            return model, memory
    for iteration in range(len(history), iterations):
        model = schedule(model, iteration)
        statistics, memory = engine.sum(model, corpus, memory, monitor.worked)
        model = model.reestimate(statistics, engine.pool)
        history.append(statistics.log_likelihood)
        del statistics  # before the next ones are made
        better = watch(model)
        ended = (monitor.iterated(history[-1]).converged and not to_the_end) or better is not None
        model = better or model
        if keeper is not None:
            keeper.keep(model=model, memory=memory, history=history, ended=ended)
        if ended:
            break
    return model, memory
