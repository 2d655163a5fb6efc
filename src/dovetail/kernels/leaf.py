"""Kernels within kernels, for loops so short that counting references would show.

numba counts the references to every array that a function takes, by instructions that all processors have to agree to:
two dozen arrays cost as much as drawing a few words, and so does handing them over.  A leaf takes its arrays for granted,
cannot make any, and becomes a part of the kernel that calls it.
"""

from __future__ import annotations

from typing import Any

from dovetail.kernels import _LOCK, Kernel, _numba


class Leaf(Kernel):
    """A kernel that makes no arrays; saved on disk only as a part of those that call it."""

    @property
    def dispatcher(self) -> Any:
        if self._dispatcher is None:
            numba = _numba()
            with _LOCK:
                if self._dispatcher is None:
                    options = {"nogil": True, "error_model": "numpy", "_nrt": False, "forceinline": True}
                    self._dispatcher = numba.njit(**options)(self._function)
        return self._dispatcher


leaf = Leaf
