"""Progress is an event, not a print: the monitor tells whoever is watching, and says when to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dovetail.kernels.compiled import worked_seconds
from dovetail.training.keeping import Keeper
from dovetail.training.notebook import bars_in_a_notebook


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
Watch = Callback | Literal[False] | None  # None: bars where this is a notebook; False: nobody watches


class Monitor:
    """Counts what has been done, reports it, and decides about convergence.

    An exception raised by the callback stops the work: that is how a caller cancels.  A `keeper` keeps every iteration.
    """

    def __init__(self, callback: Watch = None, tolerance: float = 0.0, keeper: Keeper | None = None) -> None:
        self.callback: Callback | None = (bars_in_a_notebook() if callback is None else callback) or None
        self.tolerance = tolerance
        self.keeper = keeper
        self.history: list[tuple[str, np.ndarray]] = []
        self.converged = False
        self._now = Progress("", 0, 0, "pairs", 0, 1, None, 0.0)
        self._began = worked_seconds()

    def begin(self, stage: str, iterations: int, pieces: int) -> None:
        self.converged = False
        self._began = worked_seconds()
        self._report(Progress(stage, 0, pieces * iterations, "pairs", 0, iterations, None, 0.0))

    def worked(self, pieces: int) -> None:
        self._report(replace(self._now, done=self._now.done + pieces))

    def iterated(self, log_likelihood: np.ndarray) -> Monitor:
        """One iteration is complete; with a tolerance, a relative gain below it means convergence."""
        objective, before = float(log_likelihood.sum()), self._now.objective
        if self.tolerance > 0 and before is not None:
            self.converged = objective - before < self.tolerance * abs(objective)
        self.history.append((self._now.stage, log_likelihood.copy()))
        self._report(replace(self._now, objective=objective, iteration=self._now.iteration + 1))
        return self

    def resume(self, history: Sequence[np.ndarray], pieces: int) -> None:
        """The stage that just began has been through these iterations already."""
        for log_likelihood in history:
            self.worked(pieces)
            self.iterated(log_likelihood)

    def _report(self, now: Progress) -> None:
        self._now = replace(now, seconds=worked_seconds() - self._began)
        if self.callback is not None:
            self.callback(self._now)
