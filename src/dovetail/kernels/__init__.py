"""The only place with loops over words: numba functions of arrays and scalars, nothing else.

`kernel` is how every function here is compiled: lazily, without the interpreter's lock so that threads may run over
shards, and cached on disk between runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use; division by zero gives inf or nan as in numpy, which keeps inner loops free of branches."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
