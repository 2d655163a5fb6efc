"""Trainings by name: each takes a laid-out bitext to a trained model.

What one training alone needs is imported when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import Shard, Slots
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.engines import Threads
from dovetail.models.constraints import Constraint
from dovetail.models.hmm import HMM
from dovetail.models.ibm1 import IBM1
from dovetail.models.jumps.distance import Jumps
from dovetail.models.lexicon.table import Lexicon, Smoothing
from dovetail.registry import Registry
from dovetail.training import em
from dovetail.training.agreement import agree
from dovetail.training.monitor import Monitor


@dataclass(frozen=True)
class Start:
    """Where training starts from: a lexicon for any slots of the text, and a trained model's jumps when there is one.

    The vocabularies are for models that look at words' letters; `constraints`, which speak of the words of `bitext`, are
    for those that project.  `watch` may end EM (see `em.fit`).  `warm` gives the trained model that training begins with, if
    there is one, as it is for the words of these cells.
    """

    lexicon: Callable[[Slots], Lexicon]
    vocabularies: tuple[Vocabulary, Vocabulary]
    jumps: tuple[Jumps, Jumps] | None = None
    bitext: Bitext | None = None
    constraints: tuple[Constraint, ...] = ()
    watch: Callable[[Any], Any] | None = None
    seed: int = 0
    warm: Callable[[], Any] | None = None

    def ibm1(self, shard: Shard, options: Any) -> IBM1:
        """IBM Model 1 as it is before training."""
        lexicon = self.lexicon(shard.slots)
        lexicon.smoothing = Smoothing(options.additive, options.variational)
        return IBM1(lexicon)


Training = Callable[[str, Shard, Start, Any, Threads, Monitor], Any]
trainings: Registry[Training] = Registry("training")


def _stages(
    model: str,
    shard: Shard,
    start: Start,
    options: Any,
    engine: Threads,
    monitor: Monitor,
    couple: em.Coupling | None = None,
) -> Any:
    """IBM Model 1 from the start, then the HMM from its lexicon.  A development set watches the model that was asked for."""
    watch = start.watch if model == "ibm1" else None
    ibm1 = em.fit(start.ibm1(shard, options), shard, engine, options.ibm1_iterations, monitor, couple, watch)
    if model == "ibm1":
        return ibm1
    hmm = HMM(ibm1.lexicon, _first_jumps(start, options), options.null)
    return em.fit(hmm, shard, engine, options.hmm_iterations, monitor, couple, start.watch)


def _first_jumps(start: Start, options: Any) -> tuple[Jumps, Jumps]:
    return start.jumps or (Jumps.uniform(options.window), Jumps.uniform(options.window))


@trainings.register("em", "expectation-maximisation: IBM Model 1, then the HMM from its lexicon")
def train_em(model: str, shard: Shard, start: Start, options: Any, engine: Threads, monitor: Monitor) -> Any:
    return _stages(model, shard, start, options, engine, monitor)


@trainings.register("agreement", "EM in which both directions learn from the product of their posteriors")
def train_agreement(model: str, shard: Shard, start: Start, options: Any, engine: Threads, monitor: Monitor) -> Any:
    return _stages(model, shard, start, options, engine, monitor, agree)


@trainings.register("constrained", "EM whose E-step projects the posteriors onto constraints")
def train_constrained(model: str, shard: Shard, start: Start, options: Any, engine: Threads, monitor: Monitor) -> Any:
    """IBM Model 1 by plain EM, then the HMM by EM with projection; for IBM Model 1 alone, that with projection."""
    from dovetail.training import regularized

    chosen = regularized.chosen_constraints(options.constraints, start.constraints)
    base: IBM1 | HMM = start.ibm1(shard, options)
    iterations = options.ibm1_iterations
    if model == "hmm":
        base = em.fit(base, shard, engine, iterations, monitor)
        base = HMM(base.lexicon, _first_jumps(start, options), options.null)
        iterations = options.hmm_iterations
    assert start.bitext is not None  # constraints speak of words
    bound = regularized.constrained(base, chosen, options, start.bitext, shard)
    return em.fit(bound, shard, engine, iterations, monitor, watch=start.watch).at_rest()


@trainings.register("joint", "IBM Model 1 by agreement, then both HMMs at once over a collapsed lexicon")
def train_joint(model: str, shard: Shard, start: Start, options: Any, engine: Threads, monitor: Monitor) -> Any:
    from dovetail.training import joint

    return joint.train_joint(shard, start.lexicon, start.vocabularies, options, engine, monitor)


@trainings.register("monte-carlo-em", "IBM Model 1 by EM, then EM with sampled expectations (models with fertility)")
def train_monte_carlo_em(
    model: str, shard: Shard, start: Start, options: Any, engine: Threads, monitor: Monitor
) -> Any:
    from dovetail.training import sampling

    ibm1 = em.fit(start.ibm1(shard, options), shard, engine, options.ibm1_iterations, monitor)
    return sampling.train(model, ibm1, start.jumps, start.vocabularies, shard, options, start.seed, engine, monitor)


@trainings.register("collapsed-gibbs", "IBM Model 1 by EM, then Gibbs sampling with parameters integrated out")
def train_collapsed_gibbs(
    model: str, shard: Shard, start: Start, options: Any, engine: Threads, monitor: Monitor
) -> Any:
    from dovetail.training import bayes

    ibm1 = em.fit(start.ibm1(shard, options), shard, engine, options.ibm1_iterations, monitor)
    warm = start.warm() if start.warm is not None else None
    return bayes.train(model, ibm1, shard, options, start.seed, engine, monitor, warm)
