"""The contract that every model keeps: how it learns from shards, and what it tells decoders.

Learning is one loop (training.em.fit): `expect` on every shard, the statistics added up, `reestimate`.  Nothing passes
between shards but the model, which an E-step only reads, and the statistics.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import Block, Shard, Slots
from dovetail.errors import InputError
from dovetail.kernels.records import Workspace
from dovetail.models.fertility.entries import FertilityMeans
from dovetail.models.lexicon.lexicon import Lexicon
from dovetail.models.lexicon.words import WordMap
from dovetail.options import Options, Settings
from dovetail.pool import Pool

S = TypeVar("S", bound="Statistics")
M = TypeVar("M", bound="Model")
# What a shard keeps from one iteration to the next: live cells, multipliers, starts of chains; its model knows.
Memory = Any
Worked = Callable[[int], None]  # called with the number of pieces done


class Statistics(Protocol):
    """What an E-step leaves for the M-step.  Those of several shards are added in the order of the shards.

    A model that goes over many shards leaves statistics with `apart(corpus, number, pool)`, too: the same, with what is
    large put aside in the corpus's store.
    """

    log_likelihood: np.ndarray  # float64 (2,): of both directions

    def __add__(self: S, other: S) -> S: ...


class Moves(NamedTuple):
    """How positions of one sentence follow each other in one direction."""

    table: np.ndarray  # float32 (I, I): p(i | i') at [i', i]
    first: np.ndarray  # float32 (I,)
    last: np.ndarray  # float32 (I,): weights of last positions


class Potentials(NamedTuple):
    """Logarithms of the factors for one sentence pair in one direction, as `decoding.fertility_map` takes them."""

    emission: np.ndarray  # (I + 1, J), NULL first
    transition: np.ndarray  # (I + 1, I), the start first
    null: float
    fertility: np.ndarray  # (I, J + 1)
    null_fertility: np.ndarray  # (J + 1,)


Alignments = tuple[np.ndarray, np.ndarray]  # int16: a position per target token, and one per source token; -1 is NULL


class Learner(Protocol):
    """What learns: all that the loop of training asks for."""

    name: str

    @abstractmethod
    def expect(self, shard: Shard, memory: Memory, pool: Pool, worked: Worked) -> tuple[Any, Memory]:
        """E-step over one shard: the Statistics that the factors want, and what the shard is to remember."""

    @abstractmethod
    def reestimate(self, statistics: Any, pool: Pool) -> Learner:
        """M-step: every factor re-estimates itself from the statistics of all shards."""

    def sent(self) -> Learner:
        """What `on` needs of this learner, for other machines."""
        return self

    def on(self, shard: Shard, pool: Pool) -> Learner:
        """What `expect` needs of this learner on one of many shards, whose slots are its own."""
        raise ValueError(f"the model {self.name} does not go from shard to shard")


L = TypeVar("L", bound="Around")


@dataclass
class Around(Learner):
    """What learns a model in a way of its own."""

    model: Any

    @property
    def lexicon(self) -> Lexicon:
        return self.model.lexicon

    def sent(self: L) -> L:
        return replace(self, model=self.model.sent())

    def on(self: L, shard: Shard, pool: Pool) -> L:
        return replace(self, model=self.model.on(shard, pool))


class Model(Learner, Protocol):
    """A model of both directions.  What a model cannot do, it refuses with an InputError that says who can."""

    lexicon: Lexicon
    moving: ClassVar[bool] = False  # whether it has jumps, and p0
    lexicon_type: ClassVar[type[Lexicon]]
    options: ClassVar[tuple[type[Options], ...]]  # what its trainings read of a recipe's options
    decoding_options: ClassVar[tuple[type[Options], ...]] = ()  # what `for_decoding` reads

    @abstractmethod
    def posteriors(self, block: Block, work: Workspace, pool: Pool) -> np.ndarray:
        """Turn the workspace's probabilities into posteriors; returns scores (pieces, 2)."""

    @abstractmethod
    def with_lexicon(self: M, lexicon: Any) -> M:
        """With another lexicon; one that was transferred brings parameters of its words along."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Parameters besides the lexicon, by name, for saving."""

    # What follows has an answer for every model.

    def settings(self) -> dict[str, Any]:
        """What is no array, for saving."""
        return {}

    def for_words(self, words: WordMap) -> Model:
        """For the words of another text: parameters of words, besides the lexicon's, come along."""
        return self

    @property
    def jumps_to_start(self) -> Any:
        """Jumps of both directions that another HMM may begin with, if there are any."""
        return None

    @property
    def counts_to_start(self) -> Any:
        """Counts that a Bayesian model may begin with, if there are any."""
        return None

    def for_decoding(self: M, settings: Settings, seed: int, bitext: Bitext, shard: Shard) -> Model:
        """The model as decoders see it, for this text."""
        return self

    def mark_best_paths(self, block: Block, work: Workspace, marks: np.ndarray, pool: Pool) -> None:
        """Mark the links of each direction's best path, while the workspace holds translation probabilities."""
        raise refused(self, "has no best path", "Choose the decoder posterior.")

    def moves(self, longest: int) -> Callable[[int, np.ndarray], Moves]:
        """The function of a direction and of the ids of the words it jumps between that gives their positions' moves."""
        raise refused(self, "has no jumps", "Choose a recipe such as hmm-agreement.")

    @property
    def null(self) -> float:
        """p0, where a model has it."""
        raise refused(self, "has no p0", "Choose a recipe with an HMM.")

    def samples(self, block: Block, work: Workspace, pool: Pool) -> tuple[Alignments, np.ndarray]:
        """The best alignments among samples, and scores; the workspace's probabilities become posteriors."""
        raise refused(self, "has no samples", "Choose a recipe such as hmm-fertility.")

    def potentials(self, direction: int, words: np.ndarray, emission: np.ndarray, nulls: np.ndarray) -> Potentials:
        """For a pair whose generating words are `words` (I,), with t(f_j | e_i) in `emission` (I, J), NULL's in `nulls`."""
        raise refused(self, "has no fertility", "Choose a recipe such as hmm-fertility.")

    def fertility_means(self, side: int) -> FertilityMeans | None:
        """How many links the words of a side take, by the model's own parameters; None if it has none for that."""
        return None


def refused(model: Model, what: str, remedy: str) -> InputError:
    return InputError(f"the model {model.name} {what}", remedy=remedy)


def moved(compact: Model, slots: Slots, words: WordMap, pool: Pool) -> Model:
    """A compact model for the slots of another text, whose words it has at `words`."""
    return compact.with_lexicon(compact.lexicon.transfer(slots, words, pool)).for_words(words)
