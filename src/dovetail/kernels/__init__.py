"""The only place with loops over words: numba functions of arrays and scalars, nothing else.

`kernel` is how every function here is compiled: lazily, without the interpreter's lock so that threads may run over
shards, and cached on disk between runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache, update_wrapper
from pathlib import Path
from threading import Lock
from typing import Any

# Versions of numba whose cache has been seen to load kernels by itself; any other does it in its own, slower way.
QUICK_LOADING = ((0, 68),)


class Kernel:
    """A function that numba compiles when it is first called, here or in a kernel that is being compiled.

    Most runs need few kernels: the others cost nothing, and a run without any does not import numba.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._function = function
        self._dispatcher: Any = None

    @property
    def dispatcher(self) -> Any:
        """numba's own object, which knows the compiled versions."""
        if self._dispatcher is None:
            with _LOCK:
                if self._dispatcher is None:
                    self._dispatcher = self._jit(_numba())
        return self._dispatcher

    def _jit(self, numba: Any) -> Any:
        """numba's object for the function; division by zero gives inf or nan as in numpy: no branches in inner loops."""
        try:
            compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(self._function)
        except RuntimeError:  # nowhere to write a cache: compile in every process rather than fail
            return numba.njit(nogil=True, error_model="numpy")(self._function)
        _forgive_full_disk(compiled)
        if numba.version_info.short in QUICK_LOADING:
            _load_quickly(compiled)
        _drop_stale(getattr(compiled.stats, "cache_path", None))
        return compiled

    def __call__(self, *arguments: Any) -> Any:
        try:
            return (self._dispatcher or self.dispatcher)(*arguments)
        except SystemError as error:
            # A signal came while results were handed over, and the interpreter wraps what its handler raised.
            cause: BaseException = error
            while isinstance(cause, SystemError) and cause.__cause__ is not None:
                cause = cause.__cause__
            raise cause from None


kernel = Kernel
_LOCK = Lock()


@cache
def _numba() -> Any:
    """numba, which from now on takes a `Kernel` that another one calls for what it compiles to."""
    import numba
    from numba.extending import typeof_impl

    @typeof_impl.register(Kernel)
    def _(value: Kernel, context: Any) -> Any:
        return typeof_impl(value.dispatcher, context)

    return numba


@cache
def _drop_stale(place: str | None) -> None:
    """Remove what was compiled before the newest source here was written.

    numba looks at a kernel's own file only, and would go on using an old copy of a kernel that it calls in another.
    """
    if place is None:
        return
    with suppress(OSError):
        newest = max(source.stat().st_mtime for source in _files(Path(__file__).parent, ".py"))
        for index in _files(place, ".nbi"):
            if index.stat().st_mtime < newest:
                with suppress(OSError):
                    os.unlink(index)


def _files(place: str | Path, suffix: str) -> list[os.DirEntry[str]]:
    with os.scandir(place) as entries:
        return [entry for entry in entries if entry.name.endswith(suffix)]


def _forgive_full_disk(compiled: Any) -> None:
    """A compiled kernel that cannot be saved still runs: the cache only saves time."""
    store = getattr(compiled, "_cache", None)
    save = getattr(store, "save_overload", None)
    if save is None:  # numba keeps its cache elsewhere by now
        return

    def save_if_possible(*arguments: Any) -> None:
        with suppress(OSError):
            save(*arguments)

    store.save_overload = save_if_possible


def _load_quickly(compiled: Any) -> None:
    """Load what was compiled before without preparing numba's compiler, which takes longer than a small text."""
    store = compiled._cache
    load = store.load_overload

    def load_quickly(signature: Any, context: Any) -> Any:
        _name_runtime()
        with store._guard_against_spurious_io_errors():
            found = store._load_overload(signature, context)
            if found is not None:
                return found
        return load(signature, context)

    store.load_overload = load_quickly


@cache
def _name_runtime() -> None:
    """Tell LLVM where numba's runtime is, as numba does before it compiles what else a compiler needs."""
    from llvmlite.binding import add_symbol
    from numba.core.runtime import _nrt_python

    for name, address in _nrt_python.c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def compiled_before() -> bool:
    """Whether an earlier run left compiled kernels, so that this one starts at once."""
    from dovetail.kernels import ibm1

    place = getattr(ibm1.expect.dispatcher.stats, "cache_path", None)
    return place is not None and any(Path(place).glob("ibm1.expect-*.nbi"))
