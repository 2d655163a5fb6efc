"""The only place with loops over words: numba functions of arrays and scalars, nothing else.

`kernel` is how every function here is compiled: lazily, without the interpreter's lock so that threads may run over
shards, and cached on disk between runs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use; division by zero gives inf or nan as in numpy, which keeps inner loops free of branches."""
    try:
        compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # nowhere to write a cache: compile in every process rather than fail
        return numba.njit(nogil=True, error_model="numpy")(function)
    _forgive_full_disk(compiled)
    _drop_stale(getattr(compiled.stats, "cache_path", None))
    return compiled


@cache
def _drop_stale(place: str | None) -> None:
    """Remove what was compiled before the newest source here was written.

    numba looks at a kernel's own file only, and would go on using an old copy of a kernel that it calls in another.
    """
    if place is None:
        return
    with suppress(OSError):
        newest = max(source.stat().st_mtime for source in Path(__file__).parent.glob("*.py"))
        for index in Path(place).glob("*.nbi"):
            if index.stat().st_mtime < newest:
                with suppress(OSError):
                    index.unlink()


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


def compiled_before() -> bool:
    """Whether an earlier run left compiled kernels, so that this one starts at once."""
    from dovetail.kernels import ibm1

    stats = getattr(ibm1.expect, "stats", None)
    place = getattr(stats, "cache_path", None)
    return place is not None and any(Path(place).glob("ibm1.expect-*.nbi"))
