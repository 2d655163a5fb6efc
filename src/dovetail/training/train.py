"""Trainings by name: each takes a laid-out bitext to a trained model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dovetail.bitext.cells import Cells
from dovetail.engines import Threads
from dovetail.models.hmm import HMM
from dovetail.models.ibm1 import IBM1
from dovetail.models.jumps import Jumps
from dovetail.models.lexicon import Lexicon, Smoothing
from dovetail.registry import Registry
from dovetail.training import em
from dovetail.training.agreement import agree
from dovetail.training.monitor import Monitor


@dataclass(frozen=True)
class Start:
    """Where training starts from: a lexicon for these cells, and a trained model's jumps when there is one."""

    lexicon: Lexicon
    jumps: tuple[Jumps, Jumps] | None = None


Training = Callable[[str, Cells, Start, Any, Threads, Monitor], Any]
trainings: Registry[Training] = Registry("training")


def _stages(
    model: str,
    cells: Cells,
    start: Start,
    options: Any,
    engine: Threads,
    monitor: Monitor,
    couple: em.Coupling | None = None,
) -> Any:
    """IBM Model 1 from the start, then the HMM from its lexicon."""
    start.lexicon.smoothing = Smoothing(options.additive, options.variational)
    ibm1 = em.fit(IBM1(start.lexicon), cells, engine, options.ibm1_iterations, monitor, couple)
    if model == "ibm1":
        return ibm1
    jumps = start.jumps or (Jumps.uniform(options.window), Jumps.uniform(options.window))
    return em.fit(HMM(ibm1.lexicon, jumps, options.null), cells, engine, options.hmm_iterations, monitor, couple)


@trainings.register("em", "expectation-maximisation: IBM Model 1, then the HMM from its lexicon")
def train_em(model: str, cells: Cells, start: Start, options: Any, engine: Threads, monitor: Monitor) -> Any:
    return _stages(model, cells, start, options, engine, monitor)


@trainings.register("agreement", "EM in which both directions learn from the product of their posteriors")
def train_agreement(model: str, cells: Cells, start: Start, options: Any, engine: Threads, monitor: Monitor) -> Any:
    return _stages(model, cells, start, options, engine, monitor, agree)
