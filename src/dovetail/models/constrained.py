"""Models whose posteriors are projected onto constraints (Graça et al. 2010): every E-step and every decoder sees them.

The parameters are the plain model's; only the posteriors differ.  A model must be bound to the text at hand (`ready_for`)
before it can project, since constraints speak of words.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.sharding import ManyShards
from dovetail.bitext.shards import Block, Shard
from dovetail.errors import InputError
from dovetail.kernels.projection import planes
from dovetail.kernels.projection import project as kernels
from dovetail.kernels.projection.records import BlockMultipliers, CellMultipliers, Counted, Settings
from dovetail.kernels.records import JumpSums, Workspace
from dovetail.models import tree
from dovetail.models.bindings import Bound
from dovetail.models.constraints import Constraint, constraints, make_constraint
from dovetail.models.hmm import HMM
from dovetail.models.ibm1 import IBM1, DenseStatistics
from dovetail.models.lexicon.table import TableLexicon
from dovetail.models.model import Worked
from dovetail.options import Options, option
from dovetail.options import Settings as RecipeSettings
from dovetail.pool import Pool

CALLS = 200  # forward-backward passes after which a pair's projection is left as it is
# How much of the last iteration's multipliers is still needed: the M-step has put the rest of them into the parameters.  The
# first jumps make the largest difference (passes on 10,000 pairs were fewest at these parts).
NEEDED, NEEDED_AFTER_FLAT = 0.95, 0.45

C = TypeVar("C", bound="Constrained")


@dataclass(frozen=True)
class DecodingOptions(Options):
    """Whether aligning keeps to the constraints, too."""

    project_decoding: bool = option(True, help="whether posteriors are projected when aligning, too")


@dataclass(frozen=True)
class Projection(Options):
    """How far the dual is solved.

    `precision` bounds the gradient's length divided by the number of constraints (section 4.1); with `strict` every
    single constraint is met to within it.  `slack` is the violation allowed to a group of constraints, in Euclidean
    length (equation 6).  With `free_mass` a symmetric projection may give one direction more of the mass than the other, as
    equation 15 does; without it, and under other constraints on both directions, each keeps one half.
    """

    precision: float = option(0.005, at_least=0.0, help="how far each projection is solved")
    slack: float = option(0.0, at_least=0.0, help="how much violation is allowed")
    strict: bool = option(False, help="whether every single constraint is met")
    free_mass: bool = option(True, help="whether one direction may get more of the mass than the other")
    calls: int = option(CALLS, at_least=1, help="passes at most")


@dataclass
class Multipliers:
    """Where the last projection of every piece of a shard ended, so that the next one can start there.

    Keys are a block's first piece, for `cells`, which are sparse, with a task's first piece.  `flat` says under which jumps
    it was.
    """

    flat: dict[int, bool] = field(default_factory=dict)
    dense: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=dict)
    cells: dict[tuple[int, int], CellMultipliers] = field(default_factory=dict)

    def arrays(self) -> dict[str, np.ndarray]:
        """For the store of a shard."""
        return tree.kept(self, {})

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Multipliers:
        return tree.taken(arrays, {})


@dataclass
class Effort:
    """What projections cost: pieces, forward-backward passes (both directions are one), pieces that missed the precision."""

    pieces: int = 0
    passes: float = 0.0
    missed: int = 0

    @property
    def mean_passes(self) -> float:
        return self.passes / max(1, self.pieces)


@dataclass(kw_only=True)
class Constrained(IBM1):
    """What the two constrained models have in common.  `warm`: shards remember multipliers between iterations."""

    constraints: tuple[Constraint, ...] = ()
    projection: Projection = field(default_factory=Projection)
    bound: Bound | None = None
    warm: bool = False
    effort: Effort = field(default_factory=Effort)

    decoding_options: ClassVar[tuple[type[Options], ...]] = (DecodingOptions,)
    kept: ClassVar[float] = 1e-3  # multipliers of cells with a lower posterior in both directions are not remembered

    def ready_for(self: C, bitext: Bitext, shard: Shard) -> C:
        """This model for this text."""
        bindings = [constraint.bind(bitext, shard) for constraint in self.constraints]
        return replace(self, bound=Bound.of(bindings, shard), effort=Effort())

    def ready_for_all(self: C, bitext: Bitext, shards: ManyShards) -> C:
        """This model for a text in many shards, each of which finds in the store what is asked of it."""
        for number in range(len(shards)):
            shards.store.put(_asked(number), tree.kept(self.ready_for(bitext, shards.in_place(number)).bound, {}))
        return replace(self, effort=Effort())

    def sent(self: C) -> C:
        return cast(C, replace(super().sent(), constraints=()))  # type: ignore[call-arg]

    def on(self: C, shard: Shard, pool: Pool) -> C:
        assert shard.place is not None
        bound = tree.taken(shard.place.store.get(_asked(shard.place.number)), {})
        return cast(C, replace(super().on(shard, pool), bound=bound))  # type: ignore[call-arg]

    def for_decoding(self, settings: RecipeSettings, seed: int, bitext: Bitext, shard: Shard) -> IBM1:
        """This model for this text, every constraint met to within the precision; or the plain one.

        The expectation of a coupled feature is half the difference of two posteriors; what a decoder sees, the posteriors
        themselves, shall keep to the precision and the slack.  And they shall be posteriors within each direction, so the
        masses of both are held at one half.
        """
        if not settings.of(DecodingOptions).project_decoding:
            return self.unconstrained()
        bound = self.ready_for(bitext, shard)
        half = 0.5 if bound.bound is not None and bound.bound.coupled else 1.0
        own = self.projection
        strict = replace(own, strict=True, precision=half * own.precision, slack=half * own.slack, free_mass=False)
        return replace(bound, projection=strict)

    def at_rest(self: C) -> C:
        """Without the text it was bound to."""
        return replace(self, bound=None)

    @abstractmethod
    def unconstrained(self) -> IBM1:
        """The same parameters, without projection."""

    def expect(
        self, shard: Shard, memory: Multipliers | None, pool: Pool, worked: Worked
    ) -> tuple[DenseStatistics, Multipliers | None]:
        return super().expect(shard, memory or (Multipliers() if self.warm else None), pool, worked)

    def infer(
        self,
        block: Block,
        work: Workspace,
        pool: Pool,
        statistics: DenseStatistics | None = None,
        memory: Multipliers | None = None,
    ) -> np.ndarray:
        """As the plain model's, projected; while it learns, log-likelihoods are log-likelihood - KL (equation 7)."""
        if self.bound is None:
            raise ValueError("a constrained model must be bound to the text before it can project")
        scores = np.empty((len(block.lines), 2))
        asked, plain, settings = self.bound.part(block), self.plain(block.longest), self.projection
        dense = memory.dense.get(block.first) if memory is not None else None
        if dense is None:
            dense = np.zeros(len(asked.rows)), np.zeros(len(asked.columns)), np.zeros(len(asked.listed.bound))
        needed = NEEDED_AFTER_FLAT if memory is not None and memory.flat.get(block.first) else NEEDED
        for multipliers in dense:
            multipliers *= needed
        how = Settings(
            float(settings.precision),
            float(settings.slack),
            settings.strict,
            settings.free_mass and asked.symmetric,
            settings.calls,
            self.kept,
            statistics is None,
        )
        counting = statistics is not None and len(statistics.blocks[-1].jumps) > 0

        def task(first: int, last: int) -> Counted:
            counted = Counted(scores, JumpSums.zeros(block.longest, counting), np.zeros(3))
            known = memory.cells.get((block.first, first)) if memory is not None else None
            cells = known or CellMultipliers.none(last - first)
            warm = cells._replace(value=np.float32(needed) * cells.value)
            start = BlockMultipliers(dense[0], dense[1], dense[2], warm)
            found = kernels.project(first, last, block.pieces, plain, work, asked, how, start, counted)
            if memory is not None:
                memory.cells[block.first, first] = found
            return counted

        parts = pool.map(task, block.tasks)
        if memory is not None:
            memory.dense[block.first], memory.flat[block.first] = dense, plain.flat
        for part in parts:
            self.effort.pieces += int(part.tally[planes.PIECES])
            self.effort.passes += float(part.tally[planes.PASSES])
            self.effort.missed += int(part.tally[planes.MISSED])
            if counting and statistics is not None:
                statistics.add_jumps(part.sums)
        return scores

    def settings(self) -> dict[str, Any]:
        return {
            **super().settings(),
            "constraints": [{"name": c.name, "values": c.to_dict()} for c in self.constraints],
            "projection": asdict(self.projection),
        }


@dataclass
class ConstrainedHMM(Constrained, HMM):
    """The HMM with projected posteriors."""

    name = "hmm-constrained"

    def unconstrained(self) -> HMM:
        return HMM(self.lexicon, self.jumps, self.null)

    @classmethod
    def from_arrays(
        cls, lexicon: TableLexicon, arrays: dict[str, np.ndarray], settings: dict[str, Any]
    ) -> ConstrainedHMM:
        plain = HMM.from_arrays(lexicon, arrays, settings)
        return cls(lexicon, plain.jumps, plain.null, **_described(settings))


@dataclass
class ConstrainedIBM1(Constrained):
    """IBM Model 1 with projected posteriors."""

    name = "ibm1-constrained"

    def unconstrained(self) -> IBM1:
        return IBM1(self.lexicon)

    @classmethod
    def from_arrays(
        cls, lexicon: TableLexicon, arrays: dict[str, np.ndarray], settings: dict[str, Any]
    ) -> ConstrainedIBM1:
        return cls(lexicon, **_described(settings))


def _asked(number: int) -> str:
    """The group in a store that tells what constraints ask of a shard."""
    return f"asked-{number:05d}"


def _described(settings: dict[str, Any]) -> dict[str, Any]:
    made = []
    for entry in settings["constraints"]:
        if entry["name"] not in constraints:
            raise InputError(
                f"the model was trained with the constraint {entry['name']!r}, which nobody has registered",
                remedy="Register its class with dovetail.constraints.register(name, description) before loading.",
            )
        if any(isinstance(entry["values"].get(side), str) for side in ("source", "target")):
            raise InputError(f"the model's constraint {entry['name']} names a file")  # which a stranger may have chosen
        made.append(make_constraint(entry["name"], entry["values"]))
    return {"constraints": tuple(made), "projection": Projection(**settings["projection"])}
