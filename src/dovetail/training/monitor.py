"""Progress is an event, not a print: the monitor tells whoever is watching, and says when to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dovetail.kernels.compiled import worked_seconds


@dataclass(frozen=True)
class Progress:
    """What a `progress` callback is given.

    `stage` names the work ("ibm1", "hmm", "align" ...), of which `done` out of `total` units of `unit` are finished, in
    iteration `iteration` of `iterations`.  `objective` is the log-likelihood of the last full iteration, both
    directions together, or None; `seconds` the time since the stage began, without
    that of compiling.
    """

    stage: str
    done: int
    total: int
    unit: str
    iteration: int
    iterations: int
    objective: float | None
    seconds: float


Callback = Callable[[Progress], None]


class Monitor:
    """Counts what has been done, reports it, and decides about convergence.

    An exception raised by the callback stops the work: that is how a caller cancels.
    """

    def __init__(self, callback: Callback | None = None, tolerance: float = 0.0) -> None:
        self.callback = callback
        self.tolerance = tolerance
        self.history: list[tuple[str, np.ndarray]] = []
        self.converged = False
        self._stage, self._done, self._total, self._iteration, self._iterations = "", 0, 0, 0, 1
        self._objective: float | None = None
        self._began = worked_seconds()

    def begin(self, stage: str, iterations: int, pieces: int) -> None:
        self._stage, self._iteration, self._iterations = stage, 0, iterations
        self._done, self._total = 0, pieces * iterations
        self._objective, self.converged = None, False
        self._began = worked_seconds()
        self._report()

    def worked(self, pieces: int) -> None:
        self._done += pieces
        self._report()

    def iterated(self, log_likelihood: np.ndarray) -> Monitor:
        """One iteration is complete; with a tolerance, a relative gain below it means convergence."""
        objective = float(log_likelihood.sum())
        if self.tolerance > 0 and self._objective is not None:
            self.converged = objective - self._objective < self.tolerance * abs(objective)
        self._objective = objective
        self._iteration += 1
        self.history.append((self._stage, log_likelihood.copy()))
        self._report()
        return self

    def _report(self) -> None:
        if self.callback is not None:
            self.callback(
                Progress(
                    self._stage,
                    self._done,
                    self._total,
                    "pairs",
                    self._iteration,
                    self._iterations,
                    self._objective,
                    worked_seconds() - self._began,
                )
            )
