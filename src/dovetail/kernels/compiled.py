"""What this process has compiled so far and how long that took, for those who tell it apart from work."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic


class Compilation:
    """Counts kernels that were compiled, not those found on disk, and the time in which threads waited for them.

    `when_begun` is called before the next one, once.  A kernel that is compiled within another's compilation is part of it.
    """

    def __init__(self) -> None:
        self.kernels = 0
        self.when_begun: Callable[[], None] | None = None
        self._depth = 0
        self._began = 0.0
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        return self._seconds + (monotonic() - self._began if self._depth else 0.0)

    def begin(self) -> None:
        if self._depth == 0:
            if self.when_begun is not None:
                tell, self.when_begun = self.when_begun, None
                tell()
            self._began = monotonic()
        self._depth += 1

    def end(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.kernels += 1
            self._seconds += monotonic() - self._began


compilation = Compilation()  # numba compiles one kernel at a time, whoever asks


def worked_seconds() -> float:
    """A clock that stands still while kernels are compiled."""
    return monotonic() - compilation.seconds
