"""Threads within a shard, and over parts of a text.  Kernels hold no interpreter lock: threads are enough for all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from numbers import Integral
from queue import SimpleQueue
from threading import Event, Semaphore, Thread, local
from typing import Any, TypeVar

from dovetail.errors import InputError

P = TypeVar("P")
T = TypeVar("T")

_thread = local()  # `working`: this thread is one of a pool's; `stopped`: whether nobody wants the part it works on


class Pool:
    """Runs one function over many tasks; answers come back in the order of the tasks, whoever ran them.

    What a task is never depends on the number of threads: that is what keeps the answer the same for any number.
    """

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and (isinstance(threads, bool) or not isinstance(threads, Integral) or threads < 1):
            raise InputError(f"threads is {threads!r}", remedy="It must be a whole number, at least 1.")
        self.threads = int(threads) if threads is not None else usable_cores()
        self._executor: ThreadPoolExecutor | None = None
        self._process = 0
        self._parts: set[object] = set()  # of streams: those worked on, by a thread each, and those that wait

    def __getstate__(self) -> dict[str, Any]:
        """Without the threads, which a copy makes for itself: neither they nor their locks can be copied or pickled."""
        return {**self.__dict__, "_executor": None, "_parts": set()}

    @property
    def executor(self) -> ThreadPoolExecutor:
        """Made in each process anew: a fork has none of its parent's threads."""
        if self._executor is None or self._process != os.getpid():
            self._executor, self._process = ThreadPoolExecutor(self.threads, "dovetail", _begin), os.getpid()
        return self._executor

    def map(self, function: Callable[..., T], tasks: Iterable[Sequence[Any]], *shared: Any) -> list[T]:
        """[function(*task, *shared) for task in tasks], in parallel.  The first exception stops the rest and is raised.

        Within a task all threads have work: there, it is done in turn; at the end of a stream with the help of threads that
        have no part any more.

        Even a single thread is not the caller's: a signal's handler runs in the main thread, and what it raises in the
        midst of a kernel's return can bring the interpreter down.
        """
        work = [(*task, *shared) for task in tasks]
        answers: list[Any] = [None] * len(work)
        waiting, ended = iter(range(len(work))), False
        stopped = getattr(_thread, "stopped", None)

        def run() -> None:
            nonlocal ended
            try:
                for number in waiting:  # which all threads share: each number comes to one of them
                    if ended:
                        return
                    if stopped is not None and stopped():
                        raise CancelledError
                    answers[number] = function(*work[number])
            except BaseException:
                ended = True
                raise

        within = getattr(_thread, "working", False)
        number = min(self._helpers, len(work) - 1) if within else min(self.threads, len(work))
        finished: SimpleQueue[BaseException | None] = SimpleQueue()  # far cheaper to wait for than futures

        def told() -> None:
            try:
                run()
                finished.put(None)
            except BaseException as problem:
                finished.put(problem)
                raise

        # One future per thread and not per task: there are many short tasks.  What they call is let go in the end: a future
        # that was cancelled stays in line until some thread is free.
        held = [run if within else told]
        futures = [self.executor.submit(_each, held) for _ in range(number)]
        try:
            if within:
                run()
            else:
                for _ in range(number):
                    problem = finished.get()
                    if problem is not None:
                        raise problem
        finally:
            ended = True  # nothing is left to stop unless a task failed or the user interrupted
            helping = [future for future in futures if within and not future.cancel()]  # a part may have come first
            held.clear()
        for future in helping:
            future.result()
        return answers

    @property
    def _helpers(self) -> int:
        """Threads that have no part of a stream, or will have no further one: none waits."""
        return self.threads - 1 if 0 < len(self._parts) <= self.threads else 0

    def stream(self, function: Callable[[P], T], parts: Iterable[P]) -> Iterator[T]:
        """function(part) for each part, in their order, as many at a time as there are threads.

        Who has one thread only gets one thing done after the other; so does a task, which else would wait for a thread that
        waits too.
        """
        if self.threads == 1 or getattr(_thread, "working", False):
            yield from map(function, parts)
            return
        stopped = Event()

        def work(part: P) -> T:
            _thread.stopped = stopped.is_set
            try:
                return function(part)
            finally:
                _thread.stopped = None

        def begin(part: P) -> Future[T]:
            known = object()
            self._parts.add(known)  # before a thread has it and looks for others
            future = self.executor.submit(work, part)
            future.add_done_callback(lambda future: self._parts.discard(known))
            return future

        try:
            # One part more than is worked on: no thread waits for the reader of answers.
            yield from in_order(begin, parts, self.threads + 1)
        finally:
            stopped.set()

    def side_by_side(self, function: Callable[[P], T], parts: Iterable[P]) -> Iterator[T]:
        """function(part) for each part, in their order, few at a time, each of which hands tasks to `map`.

        For parts that keep all threads busy but for some work of their own: meanwhile threads have the other parts' tasks.
        Each part has a thread besides those of the pool.  Who has one thread only gets one part done after the other, as in
        `stream`; when nobody wants further answers, parts end with the task that they are at.
        """
        if self.threads == 1 or getattr(_thread, "working", False):
            yield from map(function, parts)
            return
        stopped, at_once, _ = Event(), side_by_side(self.threads), self.executor  # made before others ask for it

        def work(part: P) -> T:
            _thread.stopped = stopped.is_set  # a thread has no other work before or after
            if stopped.is_set():
                raise CancelledError
            return function(part)

        with ThreadPoolExecutor(at_once, "dovetail-side") as executor:
            try:
                yield from in_order(lambda part: executor.submit(work, part), parts, at_once)
            finally:
                stopped.set()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.threads})"


def in_order(begin: Callable[[P], Future[T]], parts: Iterable[P], most: int) -> Iterator[T]:
    """The answers to all parts, in their order; at most so many parts are begun and not yet answered.

    Parts are taken in a thread of their own, so that an answer need not wait for the next part to come.
    """
    begun: SimpleQueue[Future[T] | None] = SimpleQueue()
    room = Semaphore(most)
    stopped = False

    def feed() -> None:
        try:
            for part in parts:
                room.acquire()
                if stopped:
                    return
                begun.put(begin(part))
        except BaseException as problem:  # raised in the thread that can tell it, behind the answers before
            failed: Future[T] = Future()
            failed.set_exception(problem)
            begun.put(failed)
        finally:
            begun.put(None)

    Thread(target=feed, name="dovetail-parts", daemon=True).start()
    future: Future[T] | None = None
    try:
        while (future := begun.get()) is not None:
            answer = future.result()
            room.release()
            yield answer
    finally:
        stopped = True
        while future is not None:  # only after an exception, or when nobody wants the rest
            future.cancel()
            room.release()
            future = begun.get_nowait() if not begun.empty() else None


def _each(held: list[Callable[[], None]]) -> None:
    """Call what is still held."""
    for call in tuple(held):
        call()


def _begin() -> None:
    _thread.working, _thread.stopped = True, None


def side_by_side(threads: int) -> int:
    """How many parts `Pool.side_by_side` works on at a time: few, for a shard, say, takes hundreds of megabytes."""
    return 1 if threads == 1 else min(max(threads // 8, 2), 4)


def usable_cores() -> int:
    """Cores this process may run on, which a container may have made fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
