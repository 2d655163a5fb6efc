"""Models whose posteriors are projected onto constraints (Graça et al. 2010): every E-step and every decoder sees them.

The parameters are the plain model's; only `posteriors` differs.  A model must be bound to the text at hand
(`bound_to`) before it can project, since constraints speak of words.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import Block, Shard
from dovetail.engines import Threads
from dovetail.errors import InputError
from dovetail.kernels.projection import project as kernels
from dovetail.kernels.records import Workspace
from dovetail.models.bindings import Bound
from dovetail.models.constraints import Constraint, constraints, make_constraint
from dovetail.models.hmm import HMM, HMMCounts
from dovetail.models.ibm1 import IBM1, IBM1Counts
from dovetail.models.lexicon.table import Lexicon

CALLS = 200  # forward-backward passes after which a pair's projection is left as it is
# How much of the last iteration's multipliers is still needed: the M-step has put the rest of them into the parameters.  The
# first jumps make the largest difference (passes on 10,000 pairs were fewest at these shares).
SHARE, SHARE_AFTER_FLAT = 0.95, 0.45


@dataclass(frozen=True)
class Projection:
    """How far the dual is solved.

    `precision` bounds the gradient's length divided by the number of constraints (section 4.1); with `strict` every
    single constraint is met to within it.  `slack` is the violation allowed to a group of constraints, in Euclidean
    length (equation 6).  With `free_mass` a symmetric projection may give one direction more of the mass than the other, as
    equation 15 does; without it, and under other constraints on both directions, each keeps one half.
    """

    precision: float = 0.005
    slack: float = 0.0
    strict: bool = False
    free_mass: bool = True
    calls: int = CALLS


@dataclass
class Multipliers:
    """Where the last projection of every piece ended, so that the next one can start there; cells' ones are sparse.

    Keys are a block's first piece, for `sparse` with a shard's first piece.  `flat` says under which jumps it was.
    """

    flat: dict[int, bool] = field(default_factory=dict)
    dense: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=dict)
    sparse: dict[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=dict)


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
class _Constrained:
    """What the two constrained models have in common."""

    constraints: tuple[Constraint, ...] = ()
    projection: Projection = field(default_factory=Projection)
    bound: Bound | None = None
    multipliers: Multipliers | None = None  # None: every projection starts from 0
    effort: Effort = field(default_factory=Effort)

    def bound_to(self, bitext: Bitext, shard: Shard) -> Any:
        """This model for this text."""
        bindings = [constraint.bind(bitext, shard) for constraint in self.constraints]
        return replace(self, bound=Bound.of(bindings, shard), multipliers=None, effort=Effort())

    def for_decoding(self, bitext: Bitext, shard: Shard) -> Any:
        """This model for this text, every constraint met to within the precision.

        The expectation of a coupled feature is half the difference of two posteriors; what a decoder sees, the posteriors
        themselves, shall keep to the precision and the slack.  And they shall be posteriors within each direction, so the
        masses of both are held at one half.
        """
        bound = self.bound_to(bitext, shard)
        share = 0.5 if bound.bound.coupled else 1.0
        settings = self.projection
        return replace(
            bound,
            projection=replace(
                settings,
                strict=True,
                precision=share * settings.precision,
                slack=share * settings.slack,
                free_mass=False,
            ),
        )

    def at_rest(self) -> Any:
        """Without the text it was bound to and the multipliers that belong to it."""
        return replace(self, bound=None, multipliers=None)

    def _project(
        self,
        shard: Shard,
        block: Block,
        work: Workspace,
        engine: Threads,
        counting: bool,
        hmm: bool,
        null: float,
        weights: Sequence[np.ndarray],
    ) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
        if self.bound is None or self.bound.shard is not shard:
            raise ValueError("a constrained model must be bound to the text before it can project")
        bound, settings = self.bound, self.projection
        lexicon: Lexicon = self.lexicon  # type: ignore[attr-defined]
        scores = np.empty((len(block.lines), 2))
        longest = shard.longest
        rows, columns, *lists = bound.part(block)
        kept = self.multipliers
        dense = kept.dense.get(block.first) if kept is not None else None
        if dense is None:
            dense = (np.zeros(len(rows)), np.zeros(len(columns)), np.zeros(len(lists[1])))
        slack = np.full(3, settings.slack)
        jumps, starts = (np.stack(weights[k::2]) for k in range(2))
        flat = not (np.ptp(jumps, axis=1).any() or np.ptp(starts, axis=1).any())
        share = SHARE_AFTER_FLAT if kept is not None and kept.flat.get(block.first) else SHARE
        for multipliers in dense:
            multipliers *= share

        def task(first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            jump = np.zeros((2, 2, 2 * longest + 1 if counting and hmm else 0))
            start = np.zeros((2, 2, longest if counting and hmm else 0))
            tally = np.zeros(3)
            warm = kept.sparse.get((block.first, first)) if kept is not None else None
            if warm is None:
                warm = (np.zeros(last - first + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
            begin, cell, value = warm
            numbers, places, values = kernels.project(
                first,
                last,
                block.lines,
                shard.source_ids,
                shard.target_ids,
                lexicon.null_forward,
                lexicon.null_reverse,
                work.forward,
                work.reverse,
                work.null_forward,
                work.null_reverse,
                scores,
                hmm,
                flat,
                null,
                jumps,
                starts,
                jump,
                start,
                rows,
                columns,
                dense[0],
                dense[1],
                lists[0],
                lists[1],
                dense[2],
                *lists[2:],
                bound.symmetric,
                bound.coupled,
                settings.free_mass and bound.symmetric,
                slack,
                settings.precision,
                settings.strict,
                settings.calls,
                begin,
                cell,
                np.float32(share) * value,
                tally,
            )
            if kept is not None:
                begin = np.zeros(len(numbers) + 1, np.int64)
                np.cumsum(numbers, out=begin[1:])
                kept.sparse[block.first, first] = begin, places, values
            return jump, start, tally

        parts = engine.map(task, block.tasks)
        if kept is not None:
            kept.dense[block.first], kept.flat[block.first] = dense, flat
        for _, _, tally in parts:
            self.effort.pieces += int(tally[0])
            self.effort.passes += float(tally[1])
            self.effort.missed += int(tally[2])
        return scores, [(jump, start) for jump, start, _ in parts]

    def _description(self) -> np.ndarray:
        """Constraints and settings as JSON bytes, to lie among a model's arrays."""
        about = {
            "constraints": [{"name": c.name, "values": c.to_dict()} for c in self.constraints],
            "projection": asdict(self.projection),
        }
        return np.frombuffer(json.dumps(about, ensure_ascii=False).encode(), np.uint8)


def _described(array: np.ndarray) -> tuple[tuple[Constraint, ...], Projection]:
    about = json.loads(array.tobytes())
    made = []
    for entry in about["constraints"]:
        if entry["name"] not in constraints:
            raise InputError(
                f"the model was trained with the constraint {entry['name']!r}, which nobody has registered",
                remedy="Register its class with dovetail.constraints.register(name, description) before loading.",
            )
        made.append(make_constraint(entry["name"], entry["values"]))
    return tuple(made), Projection(**about["projection"])


@dataclass
class ConstrainedHMM(HMM, _Constrained):
    """The HMM with projected posteriors."""

    name = "hmm-constrained"

    def posteriors(
        self, shard: Shard, block: Block, work: Workspace, engine: Threads, counting: bool = False
    ) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
        """As the HMM's, projected; in place of log-likelihoods, log-likelihood - KL (equation 7)."""
        weights = [array for jumps in self.jumps for array in jumps.expand(shard.longest)]
        return self._project(shard, block, work, engine, counting, True, self.null, weights)

    def reestimate(self, counts: HMMCounts, engine: Threads) -> ConstrainedHMM:
        plain = HMM.reestimate(self, counts, engine)
        return replace(self, lexicon=plain.lexicon, jumps=plain.jumps)

    def unconstrained(self) -> HMM:
        """The same parameters, without projection."""
        return HMM(self.lexicon, self.jumps, self.null)

    def arrays(self) -> dict[str, np.ndarray]:
        return {**HMM.arrays(self), "constraints": self._description()}

    @classmethod
    def from_arrays(cls, lexicon: Lexicon, arrays: dict[str, np.ndarray]) -> ConstrainedHMM:
        plain = HMM.from_arrays(lexicon, arrays)
        made, projection = _described(arrays["constraints"])
        return cls(lexicon, plain.jumps, plain.null, constraints=made, projection=projection)


@dataclass
class ConstrainedIBM1(IBM1, _Constrained):
    """IBM Model 1 with projected posteriors."""

    name = "ibm1-constrained"

    def posteriors(
        self, shard: Shard, block: Block, work: Workspace, engine: Threads, counting: bool = False
    ) -> tuple[np.ndarray, list[Any]]:
        """As IBM Model 1's, projected; in place of log-likelihoods, log-likelihood - KL (equation 7)."""
        none = np.ones(1, np.float32)
        return self._project(shard, block, work, engine, counting, False, 0.5, [none] * 4)

    def reestimate(self, counts: IBM1Counts, engine: Threads) -> ConstrainedIBM1:
        return replace(self, lexicon=self.lexicon.reestimate(counts.lexicon, engine))

    def unconstrained(self) -> IBM1:
        """The same parameters, without projection."""
        return IBM1(self.lexicon)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"constraints": self._description()}

    @classmethod
    def from_arrays(cls, lexicon: Lexicon, arrays: dict[str, np.ndarray]) -> ConstrainedIBM1:
        made, projection = _described(arrays["constraints"])
        return cls(lexicon, constraints=made, projection=projection)
