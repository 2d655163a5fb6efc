"""The only place with loops over words: numba functions of arrays and scalars, nothing else.

`kernel` is how every function here is compiled: lazily, without the interpreter's lock so that threads may run over
shards, and cached on disk between runs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
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
    return compiled


def _forgive_full_disk(compiled: Any) -> None:
    """A compiled kernel that cannot be saved still runs: the cache only saves time."""
    cache = getattr(compiled, "_cache", None)
    save = getattr(cache, "save_overload", None)
    if save is None:  # numba keeps its cache elsewhere by now
        return

    def save_if_possible(*arguments: Any) -> None:
        with suppress(OSError):
            save(*arguments)

    cache.save_overload = save_if_possible


def compiled_before() -> bool:
    """Whether an earlier run left compiled kernels, so that this one starts at once."""
    from dovetail.kernels import ibm1

    stats = getattr(ibm1.expect, "stats", None)
    place = getattr(stats, "cache_path", None)
    return place is not None and any(Path(place).glob("ibm1.expect-*.nbi"))
