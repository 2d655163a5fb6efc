"""Shards on this machine, few at a time, threads within each; parts of a text side by side."""

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
        if len(memory) == 1:
            statistics, remembered = expect(model, corpus, 0, memory[0], self.pool, worked)
            return statistics, [remembered]

        def one(number: int) -> tuple[Statistics, Memory, list[int]]:
            done: list[int] = []  # progress is told in the caller's thread
            return *expect(model, corpus, number, memory[number], self.pool, done.append), done

        total: Statistics | None = None
        kept = []
        for statistics, remembered, done in self.pool.side_by_side(one, range(len(memory))):
            total = statistics if total is None else total + statistics
            kept.append(remembered)
            for pieces in done:
                worked(pieces)
        if total is None:
            raise ValueError("a corpus has at least one shard")
        return total, kept

    def map(self, function: Callable[[A], B], parts: Iterable[A]) -> Iterator[B]:
        return self.pool.stream(function, parts)
