"""Trainings by name: each takes a task to a trained model.

A training is a function of a `Task` with `options`, the dataclasses it reads; the model that is trained brings its own.
What one training alone needs is imported when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.sharding import Corpus
from dovetail.bitext.shards import Shard, Slots
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.engines import Engine
from dovetail.models.hmm import HMMStage
from dovetail.models.ibm1 import IBM1, IBM1Stage
from dovetail.models.jumps.distance import JumpFactor, JumpOptions
from dovetail.models.lexicon.lexicon import Prior
from dovetail.models.lexicon.table import Smoothing, TableLexicon
from dovetail.models.model import Model
from dovetail.models.null import Null
from dovetail.models.registry import models
from dovetail.options import Options, Settings, option
from dovetail.pool import Pool
from dovetail.registry import Registry
from dovetail.training import em
from dovetail.training.monitor import Monitor

if TYPE_CHECKING:
    from dovetail.models.constraints import Constraint


@dataclass(frozen=True)
class Convergence(Options):
    """When a stage of EM ends early."""

    tolerance: float = option(
        0.0, at_least=0.0, help="a stage ends when the log-likelihood gains less than this part of itself"
    )


def uniform(slots: Slots, table: np.ndarray | None, pool: Pool) -> TableLexicon:
    return TableLexicon.uniform(slots, table=table, pool=pool)


@dataclass(frozen=True)
class Start:
    """Where training starts from: a lexicon for any slots of the text, and what a trained model brings, if there is one.

    `lexicon` writes its entries to the table that it is given, if it is. `jumps` are that model's, where it has some;
    `warm` is the model itself for some slots.
    """

    lexicon: Callable[[Slots, np.ndarray | None, Pool], TableLexicon] = uniform
    jumps: tuple[JumpFactor, JumpFactor] | None = None
    warm: Callable[[Slots], Model] | None = None


@dataclass(frozen=True)
class Task:
    """What is to be learned, from what, and by whose hands.

    `constraints`, which speak of the words of `bitext`, are for trainings that project.  `watch` may end EM (see `em.fit`).
    `sampled` says that the corpus is a sample of a larger text.
    """

    model: str
    corpus: Corpus
    bitext: Bitext
    settings: Settings
    engine: Engine
    monitor: Monitor
    start: Start
    seed: int = 0
    constraints: tuple[Constraint, ...] = ()
    priors: tuple[Prior, ...] = ()
    watch: em.Watch = field(default=lambda model: None)
    sampled: bool = False

    @property
    def vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        return self.bitext.source.vocabulary, self.bitext.target.vocabulary

    @property
    def shard(self) -> Shard:
        """The only shard, for trainings that cannot go from one to the next."""
        assert self.corpus.only is not None
        return self.corpus.only

    @property
    def kind(self) -> Any:
        """The class of the model."""
        return models[self.model]

    def on(self, bitext: Bitext) -> Task:
        """The same task on less of its text, for the same vocabularies."""
        corpus = self.corpus.of(bitext, self.engine.pool)
        if self.monitor.keeper is not None:
            self.monitor.keeper.knows(slots=corpus.slots)
        return replace(self, bitext=bitext, corpus=corpus)

    def lexicon(self) -> TableLexicon:
        """The lexicon as it is before training."""
        lexicon = self.start.lexicon(self.corpus.slots, self.room(), self.engine.pool)
        lexicon = replace(lexicon, smoothing=self.settings.of(Smoothing))
        return lexicon.with_priors(self.priors, self.vocabularies)

    def room(self) -> np.ndarray | None:
        """For the entries of the lexicon, if it should not be in memory."""
        return self.corpus.table("lexicon", (len(self.corpus.slots), 2), np.float32)

    def fit(self, model: Any, iterations: int, **arguments: Any) -> Any:
        """EM on this task's corpus, by its engine; the trained model."""
        return em.fit(model, self.corpus, self.engine, iterations, self.monitor, **arguments)[0]

    def ibm1(self, kind: type[IBM1] = IBM1, **arguments: Any) -> IBM1:
        """IBM Model 1, or a `kind` of it, trained: where the other models begin."""
        return self.fit(kind(self.lexicon(), **arguments), self.settings.of(IBM1Stage).ibm1_iterations)

    def untrained(self, lexicon: TableLexicon, **arguments: Any) -> Any:
        """A model of the wanted kind with this lexicon, before it is trained."""
        if not self.kind.moving:
            return self.kind(lexicon, **arguments)
        jumps = self.start.jumps or self.settings.of(JumpOptions).uniform()
        return self.kind(lexicon, jumps, self.settings.of(Null).null, **arguments)

    def fit_dense(self, first: type[IBM1] = IBM1, **arguments: Any) -> Any:
        """The wanted model, which sums over all alignments: IBM Model 1, or the HMM from the lexicon of a `first`, by EM.

        A development set watches the model that was asked for.
        """
        if self.kind.moving:
            agreement = arguments.get("agreement", False)
            model = self.untrained(self.ibm1(first, agreement=agreement).lexicon, **arguments)
            iterations = self.settings.of(HMMStage).hmm_iterations
        else:
            model = self.untrained(self.lexicon(), **arguments)
            iterations = self.settings.of(IBM1Stage).ibm1_iterations
        if self.corpus.only is not None:
            model = model.ready_for(self.bitext, self.corpus.only)
        else:
            model = model.ready_for_all(self.bitext, self.corpus)
        return self.fit(model, iterations, watch=self.watch)


class Training(Protocol):
    """A function of a task; `options` are the dataclasses that it reads.

    `many_shards` says whether it can go over a text of so many cells shard by shard; else the text is one, all in memory.
    One that `resumes` goes on after its last iteration when it was killed; the others begin again.
    """

    options: tuple[type[Options], ...]
    takes_constraints: bool
    many_shards: Callable[[Settings, int], bool]
    resumes: bool

    def __call__(self, task: Task) -> Any:
        """A trained Model."""


trainings: Registry[Training] = Registry("training")


def reads(
    *options: type[Options],
    takes_constraints: bool = False,
    many_shards: Callable[[Settings, int], bool] = lambda settings, cells: False,
    resumes: bool = False,
) -> Callable[[Callable[[Task], Model]], Training]:
    """Say of a training which options it reads, besides those of its model, and what it can do."""

    def told(function: Any) -> Training:
        function.options = (Convergence, *options)
        function.takes_constraints = takes_constraints
        function.many_shards = many_shards
        function.resumes = resumes
        return function

    return told


@trainings.register("em", "expectation-maximisation: IBM Model 1, then the HMM from its lexicon")
@reads(many_shards=lambda settings, cells: True, resumes=True)
def train_em(task: Task) -> Model:
    return task.fit_dense()


@trainings.register("agreement", "EM in which both directions learn from the product of their posteriors")
@reads(many_shards=lambda settings, cells: True, resumes=True)
def train_agreement(task: Task) -> Model:
    return task.fit_dense(agreement=True)


for _name, _where, _description in (
    ("constrained", "training.regularized:train", "EM whose E-step projects the posteriors onto constraints"),
    ("joint", "training.joint:train", "IBM Model 1 by agreement, then both HMMs at once over a counted lexicon"),
    ("monte-carlo-em", "training.sampling:train", "IBM Model 1 by EM, then EM with sampled expectations (fertility)"),
    (
        "collapsed-gibbs",
        "training.bayes:train",
        "IBM Model 1 by EM, then Gibbs sampling with parameters integrated out",
    ),
    # a training that needs a decoder stands above both rooms
    ("hard-em", "decoding.hard_em:train", "Monte Carlo EM, then EM that counts only the best alignment, found exactly"),
):
    trainings.add_later(_name, f"dovetail.{_where}", _description)
