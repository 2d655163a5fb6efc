"""Threads on this machine.  Kernels hold no interpreter lock, so threads are enough to use every core."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")


class Threads:
    """Runs one function over many tasks; answers come back in the order of the tasks, whoever ran them.

    What a task is never depends on the number of threads: that is what keeps the answer the same for any number.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = max(1, threads if threads is not None else usable_cores())
        self._pool = ThreadPoolExecutor(self.threads, "dovetail") if self.threads > 1 else None

    def map(self, function: Callable[..., T], tasks: Iterable[Sequence[Any]]) -> list[T]:
        """[function(*task) for task in tasks], in parallel.  The first exception stops the rest and is raised."""
        work = list(tasks)
        if self._pool is None or len(work) < 2:
            return [function(*task) for task in work]
        futures = [self._pool.submit(function, *task) for task in work]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            for future in futures:  # nothing left to cancel unless a task failed or the user interrupted
                future.cancel()
        return [future.result() for future in futures]

    def __repr__(self) -> str:
        return f"Threads({self.threads})"


def usable_cores() -> int:
    """Cores this process may run on, which a container may have made fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
