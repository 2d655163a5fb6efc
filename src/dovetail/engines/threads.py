"""Shards one after another on this machine, threads within each; parts of a text side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from dovetail.bitext.shards import Shard
from dovetail.engines.engine import A, B, Engine, expect
from dovetail.models.model import Learner, Memory, Statistics, Worked
from dovetail.pool import Pool


class Threads(Engine):
    local = True

    def __init__(self, threads: int | None = None) -> None:
        self.pool = Pool(threads)

    def sum(
        self, model: Learner, corpus: Sequence[Shard], memory: Sequence[Memory], worked: Worked
    ) -> tuple[Statistics, list[Memory]]:
        total: Statistics | None = None
        kept = []
        for number, known in enumerate(memory):
            statistics, remembered = expect(model, corpus, number, known, self.pool, worked)
            total = statistics if total is None else total + statistics
            kept.append(remembered)
        if total is None:
            raise ValueError("a corpus has at least one shard")
        return total, kept

    def map(self, function: Callable[[A], B], parts: Iterable[A]) -> Iterator[B]:
        return self.pool.stream(function, parts)
