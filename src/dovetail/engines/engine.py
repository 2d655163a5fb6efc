"""What an engine is: it runs over shards.  Nothing else in the package knows where work runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from dovetail.bitext.shards import Shard
from dovetail.models.model import Learner, Memory, Statistics, Worked
from dovetail.pool import Pool

A = TypeVar("A")
B = TypeVar("B")


class Engine(Protocol):
    """Runs E-steps over all shards of a corpus, and functions over parts of a text."""

    pool: Pool  # the threads of this process: for what is not divided into shards, and within each shard

    def sum(
        self, model: Learner, corpus: Sequence[Shard], memory: Sequence[Memory], worked: Worked
    ) -> tuple[Statistics, list[Memory]]:
        """One E-step: the statistics of all shards, added in their order, and what each remembers."""

    def map(self, function: Callable[[A], B], parts: Iterable[A]) -> Iterator[B]:
        """The function's answers for all parts, in their order; no more parts are held than are worked on."""
