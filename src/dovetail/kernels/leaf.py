"""Kernels within kernels, for loops so short that counting references would show.

numba counts the references to every array that a function takes, by instructions that all processors have to agree to:
two dozen arrays cost as much as drawing a few words, and so does handing them over.  A leaf takes its arrays for granted,
cannot make any, and becomes a part of the kernel that calls it.
"""

from __future__ import annotations

from typing import Any

from dovetail.kernels import Kernel


class Leaf(Kernel):
    """A kernel that makes no arrays; saved on disk only as a part of those that call it."""

    def _jit(self, numba: Any) -> Any:
        return numba.njit(nogil=True, error_model="numpy", _nrt=False, forceinline=True)(self._function)


leaf = Leaf
