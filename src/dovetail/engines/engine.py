"""What an engine is: it runs over shards.  Nothing else in the package knows where work runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from dovetail.bitext.sharding import Corpus
from dovetail.bitext.shards import Shard
from dovetail.bitext.store import Store, give_back
from dovetail.models.model import Learner, Memory, Statistics, Worked
from dovetail.pool import Pool

A = TypeVar("A")
B = TypeVar("B")


def expect(
    model: Learner, corpus: Sequence[Shard], number: int, memory: Memory, pool: Pool, worked: Worked
) -> tuple[Statistics, Memory]:
    """The E-step over one shard of a corpus: its statistics, and what it remembers."""
    shard = corpus[number]
    if shard.place is None:
        return model.expect(shard, memory, pool, worked)
    give_back()
    store = shard.place.store
    known = None if memory is None else memory.loaded(store)
    statistics, remembered = model.on(shard, pool).expect(shard, known, pool, worked)
    if remembered is not None:
        remembered = Stored.put(remembered, number, memory, store, pool)
    return statistics.apart(corpus, number, pool), remembered


@dataclass(frozen=True)
class Stored:
    """What one of many shards remembers, in the store: of which kind it is, and how many there were before it.

    The last but one is still there while the next is written, for a training that begins an iteration again.
    """

    kind: Any
    number: int
    generation: int

    @classmethod
    def put(cls, remembered: Any, number: int, before: Stored | None, store: Store, pool: Pool) -> Stored:
        stored = cls(type(remembered), number, before.generation + 1 if before is not None else 0)
        store.remove(replace(stored, generation=stored.generation - 2).name)
        store.put(stored.name, remembered.arrays(), pool)
        return stored

    def loaded(self, store: Store) -> Memory:
        return self.kind.from_arrays(store.get(self.name))

    @property
    def name(self) -> str:
        return f"memory-{self.number:05d}-{self.generation}"


class Engine(Protocol):
    """Runs E-steps over all shards of a corpus, and functions over parts of a text."""

    pool: Pool  # the threads of this process: for what is not divided into shards, and within each shard
    local: bool  # whether all work is done in this process, which can then be told of it as it is done

    def sum(
        self, model: Learner, corpus: Corpus, memory: Sequence[Memory], worked: Worked
    ) -> tuple[Statistics, list[Memory]]:
        """One E-step: the statistics of all shards, added in their order, and what each remembers."""

    def map(self, function: Callable[[A], B], parts: Iterable[A]) -> Iterator[B]:
        """The function's answers for all parts, in their order; no more parts are held than are worked on."""

    def close(self) -> None:
        """Let whoever works elsewhere go: the engine is needed no more."""
        return
