"""The only place with loops over words: numba functions of arrays, records of arrays and scalars, nothing else.

One room per algorithm; `records` has what several rooms pass to their kernels.  What goes beyond numba's public interface is
in `_numba`, which is imported with numba itself when the first kernel is called: a run without any imports neither.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from threading import Lock
from typing import Any

_LOCK = Lock()


class Kernel:
    """A function that numba compiles when it is first called, here or in a kernel that is being compiled.

    Compiled without the interpreter's lock, so that threads may run side by side, and kept on disk between runs.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._function = function
        self._dispatcher: Any = None

    @property
    def dispatcher(self) -> Any:
        """numba's own object for calls from Python, which knows the compiled versions."""
        if self._dispatcher is None:
            from dovetail.kernels import _numba

            with _LOCK:
                if self._dispatcher is None:
                    self._dispatcher = _numba.kernel(self._function)
        return self._dispatcher

    @cached_property
    def part(self) -> Any:
        """The same for calls from other kernels, of which it becomes a part."""
        from dovetail.kernels import _numba

        return _numba.part(self._function)

    def __call__(self, *arguments: Any) -> Any:
        try:
            return (self._dispatcher or self.dispatcher)(*arguments)
        except SystemError as error:
            # A signal came while results were handed over, and the interpreter wraps what its handler raised.
            cause: BaseException = error
            while isinstance(cause, SystemError) and cause.__cause__ is not None:
                cause = cause.__cause__
            raise cause from None


class Leaf(Kernel):
    """A kernel within kernels that makes no arrays, for the innermost loops."""

    @cached_property
    def part(self) -> Any:
        from dovetail.kernels import _numba

        return _numba.leaf(self._function)


kernel = Kernel
leaf = Leaf
