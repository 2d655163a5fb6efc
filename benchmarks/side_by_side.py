"""Processes of their own for long jobs that have one thread each: as many at a time as there are cores."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from typing import Any

from measure import exit_when_terminated


def side_by_side(function: Callable[..., int], tasks: Sequence[Sequence[Any]], at_once: int) -> int:
    """The worst of the statuses that function(*task) returns; whoever ends this process ends them all.

    One at a time needs no further process.
    """
    if at_once == 1:
        return max((function(*task) for task in tasks), default=0)
    processes, started = get_context("spawn"), []

    def status(task: Sequence[Any]) -> int:
        worker: SpawnProcess = processes.Process(target=_work, args=(function, task))
        started.append(worker)
        worker.start()
        worker.join()
        return abs(worker.exitcode or 0)

    pool = ThreadPoolExecutor(at_once)
    try:
        return max(pool.map(status, tasks), default=0)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in started:
            worker.terminate()


def _work(function: Callable[..., int], task: Sequence[Any]) -> None:
    exit_when_terminated()
    sys.exit(function(*task))
