"""Shards on the machines of a Ray cluster, or in several processes of one machine (extra `ray`).

Every worker is an actor that maps shards from the folder they are in, which all machines must see.  A model is put into
Ray's object store once per iteration; what a shard remembers, and its counts, go to the folder.  A worker that dies is
started again, and its shards are gone over again: whatever it had written is written over, to the same bytes.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from typing import Any, cast

import numpy as np

from dovetail.bitext.sharding import Corpus, ManyShards
from dovetail.engines.engine import A, B, Engine, expect
from dovetail.engines.threads import Threads
from dovetail.errors import InputError
from dovetail.models.model import Learner, Memory, Statistics, Worked
from dovetail.models.tree import kept, taken
from dovetail.pool import Pool, in_order, usable_cores

THREADS = 4  # of a worker, at most, unless somebody wants more: some work on a shard is not divided
AHEAD = 2  # tasks that wait for each worker, so that none of them ever waits for us
ENDING = 0.4  # seconds that workers have to end, who may be in the midst of a shard
# Ray tells of workers that died on standard output, whatever `log_to_driver` says, and there are our links: it skips
# lines that this matches, which is all of them, when it looks for repeated ones.  It reads both when it is imported.
SILENT = {"RAY_DEDUP_LOGS": "1", "RAY_DEDUP_LOGS_SKIP_REGEX": "^"}


class Ray(Engine):
    """Workers of a cluster.  `address` is Ray's (None: this machine alone, and one that RAY_ADDRESS names), `workers` their
    number (None: as many as have cores), `threads` those of each."""

    local = False

    def __init__(self, address: str | None = None, workers: int | None = None, threads: int | None = None) -> None:
        # What is not shared out (a sample, other views) has all cores of this machine, where workers wait meanwhile.
        self.pool = Pool()
        self._ray, self._begun = _connected(address, workers, threads)
        self.workers: list[Any] = []
        try:
            self.threads, asked, number = self._shared_out(workers, threads)
            lasting = self._ray.remote(num_cpus=asked, max_restarts=-1, max_task_retries=-1)(Worker)
            self.workers = [lasting.remote(self.threads) for _ in range(number)]
        except BaseException:  # an interruption, too
            self.close()
            raise
        self._corpus: Any = None  # what workers were told of, and the reference to it

    def _shared_out(self, workers: int | None, threads: int | None) -> tuple[int, int, int]:
        """Threads of a worker, cores that each asks for, and their number; InputError where there is no room for them."""
        cores = [int(node["Resources"].get("CPU", 0)) for node in self._ray.nodes() if node["Alive"]]
        largest = max(cores)
        threads = threads or max(min(THREADS, largest, sum(cores) // (workers or 1)), 1)
        # Who asks for more cores than any node has is waited for without end; threads may well be more than those.
        asked = max(min(threads, largest), 1)
        room = sum(count // asked for count in cores)
        number = workers or max(room, 1)
        if number > room:
            raise InputError(
                f"the Ray cluster has cores for {room} workers of {threads} threads, not for {number}",
                remedy="Ask for fewer workers or threads, or add nodes.",
            )
        return threads, asked, number

    def __reduce__(self) -> tuple[Any, ...]:
        """For a worker, the engine is the threads of its machine."""
        return Threads, (self.threads,)

    def sum(
        self, model: Learner, corpus: Corpus, memory: Sequence[Memory], worked: Worked
    ) -> tuple[Statistics, list[Memory]]:
        if corpus.only is not None:  # one shard is one machine's
            return Threads.sum(self, model, corpus, memory, worked)  # type: ignore[arg-type]
        many = cast(ManyShards, corpus)
        told, text, given = self._told(many, model)
        parameters = self._ray.put(kept(model.sent(), given))
        tasks = (([told], [parameters], number, known) for number, known in enumerate(memory))
        total: Statistics | None = None
        remembered: list[Memory] = []
        for number, arrays in enumerate(self._in_order("expect", tasks)):
            own = {name: values.copy() for name, values in arrays.items()}  # Ray's cannot be added to
            statistics, memory_of_shard = taken(own, {"corpus": text, "store": text.store})
            total = statistics if total is None else total + statistics
            remembered.append(memory_of_shard)
            worked(many.pieces_of(number))
        if total is None:
            raise ValueError("a corpus has at least one shard")
        return total, remembered

    def map(self, function: Callable[[A], B], parts: Iterable[A]) -> Iterator[B]:
        shared = [self._ray.put(function)]
        return self._in_order("apply", ((shared, part) for part in parts))

    def close(self) -> None:
        """Let the workers go, and Ray's own processes if they were begun for this engine."""
        workers, self.workers = self.workers, []
        if self._begun:
            self._begun = False
            _ended(self._ray)
            return
        for worker in workers:
            self._ray.kill(worker)
        # These fail as soon as the workers are gone; if they were tried again, Ray would tell of it.
        last = [worker.process.options(max_task_retries=0).remote() for worker in workers]
        if last:
            self._ray.wait(last, num_returns=len(last), timeout=ENDING)

    def _told(self, corpus: ManyShards, model: Any) -> tuple[Any, Any, dict[str, Any]]:
        """A reference to what workers need to know of a text, which is put once; the shards; what models share with it."""
        source, target = corpus.bitext.source.vocabulary, corpus.bitext.target.vocabulary
        priors = getattr(model.lexicon, "priors", ())
        known = (source, target, *priors)
        if self._corpus is None or self._corpus[0] is not corpus or len(self._corpus[3]) != len(known):
            text, given = corpus.stored(), {str(number): value for number, value in enumerate(known)}
            self._corpus = corpus, self._ray.put((text, given)), text, given
        return self._corpus[1:]

    def _in_order(self, method: str, tasks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Answers to all tasks, in their order.  No more are under way, or wait for an earlier one, than workers can do
        without waiting for us."""
        if not self.workers:
            raise ValueError("the engine was closed: its workers are gone")
        given: dict[Any, list[Future[Any]]] = {worker: [] for worker in self.workers}

        def begin(task: tuple[Any, ...]) -> Future[Any]:
            for worker, futures in given.items():
                given[worker] = [future for future in futures if not future.done()]
            worker = min(given, key=lambda worker: len(given[worker]))
            future: Future[Any] = getattr(worker, method).remote(*task).future()
            given[worker].append(future)
            return future

        try:
            yield from in_order(begin, tasks, AHEAD * len(self.workers))
        except self._ray.exceptions.RayTaskError as error:  # whose message is a traceback from the worker
            raise error.cause from error


class Worker:
    """One process that goes over shards, or applies a function to parts.  What is the same for many tasks comes as a
    reference in a list, and is fetched once."""

    def __init__(self, threads: int) -> None:
        self.pool = Pool(threads)
        self._fetched: dict[str, tuple[Any, Any]] = {}

    def expect(self, told: list[Any], parameters: list[Any], number: int, memory: Memory) -> dict[str, np.ndarray]:
        corpus, given = self._fetch("text", told[0])
        arrays = self._fetch("parameters", parameters[0])
        model = taken({name: _writable(values) for name, values in arrays.items()}, given)
        answer = expect(model, corpus, number, memory, self.pool, lambda pieces: None)
        return kept(answer, {"corpus": corpus, "store": corpus.store})

    def apply(self, function: list[Any], part: Any) -> Any:
        return self._fetch("function", function[0])(part)

    def process(self) -> int:
        return os.getpid()

    def _fetch(self, what: str, reference: Any) -> Any:
        import ray

        if what not in self._fetched or self._fetched[what][0] != reference:
            self._fetched.pop(what, None)
            self._fetched[what] = reference, ray.get(reference)
        return self._fetched[what][1]


class _Marked:
    """An array's memory, not marked as read-only."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values  # as long as anybody has this
        self.__array_interface__ = {**values.__array_interface__, "data": (values.ctypes.data, False)}


def _writable(values: np.ndarray) -> np.ndarray:
    """Kernels are compiled for arrays that can be written to, which Ray's cannot; an E-step only reads its model."""
    return np.asarray(_Marked(values)) if values.size else values.copy()


def _connected(address: str | None, workers: int | None, threads: int | None) -> tuple[Any, bool]:
    """Ray's interface, and whether its processes were begun now."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # what people align is theirs
    os.environ.update(SILENT)
    try:
        import ray
    except ImportError as error:
        raise InputError("the engine ray needs Ray", remedy='pip install "dovetail-align[ray]"') from error
    if ray.is_initialized():
        return ray, False
    where = address or os.environ.get("RAY_ADDRESS")
    try:
        with _own_signals():
            if where is None:
                asked = (workers or 1) * (threads or 1)
                cores = max(asked, usable_cores()) if asked > 1 else None
                ray.init(
                    address="local",
                    num_cpus=cores,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )
            else:
                _knock(where)
                ray.init(address=where, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError) as error:
        told = str(error).splitlines()[0]
        if where is None:
            raise InputError(
                f"Ray could not be started ({told})",
                remedy="Set RAY_TMPDIR to a folder with a short name, or choose the engine threads.",
            ) from error
        raise InputError(
            f"no Ray cluster answers at {where} ({told})",
            remedy="Start one with `ray start --head`, or leave --address out.",
        ) from error
    except BaseException:  # an interruption
        _ended(ray)
        raise
    return ray, where is None


@contextmanager
def _own_signals() -> Iterator[None]:
    """SIGTERM goes on to mean what it did: Ray would have it end the process with a status and a report of its own."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if current_thread() is main_thread():  # no other may set it, nor does Ray
            signal.signal(signal.SIGTERM, before)


def _ended(ray: Any) -> None:
    """End the session that this process began, or its part in one.

    Ray takes some tenths of a second for its workers and files, and another second for a process of its own that does not
    listen: on Linux we do not wait for that one, which the kernel ends with us.
    """
    if sys.platform != "linux":
        ray.shutdown()
        return
    atexit.unregister(ray.shutdown)
    ending = Thread(target=ray.shutdown, name="dovetail-ray-ends", daemon=True)
    ending.start()
    ending.join(ENDING)


def _knock(address: str) -> None:
    """OSError where nobody listens: Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()
