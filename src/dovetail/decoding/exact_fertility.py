"""Exact decoding of the fertility models: the best alignment of each direction, with its certificate (Quirk 2013)."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from dovetail.bitext.shards import Block
from dovetail.decoding.decoders import Decoder
from dovetail.decoding.details import Details
from dovetail.decoding.evidence import Evidence
from dovetail.decoding.fertility import fertility_map, methods
from dovetail.decoding.marking import mark_alignments
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET, Workspace
from dovetail.models.model import Alignments, Model, Potentials
from dovetail.options import Options, Settings, option
from dovetail.pool import Pool

MOVES = 5_000_000_000  # looked at for a sentence in one direction: some seconds' worth, for 100 words 5,000 iterations


@dataclass(frozen=True)
class ExactOptions(Options):
    """How long a proof is looked for, on each sentence in each direction."""

    exact_method: str = option("exact", choices=methods, help="how the best alignment is looked for")
    exact_iterations: int = option(1000, at_least=0, help="dual iterations at most (0: some seconds' worth)")
    exact_seconds: float = option(0.0, at_least=0.0, help="seconds at most (0: no limit); answers then depend on speed")


def potentials(model: Model, block: Block, work: Workspace, line: np.ndarray, direction: int) -> Potentials:
    """Those of one piece, while the workspace holds translation probabilities."""
    I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
    source = block.pieces.source_ids[line[SOURCE] : line[SOURCE] + I]
    target = block.pieces.target_ids[line[TARGET] : line[TARGET] + J]
    if direction == 0:
        emission = work.forward[cell : cell + I * J].reshape(I, J)
        return model.potentials(0, source, emission, model.lexicon.nulls.forward[target])
    emission = work.reverse[cell : cell + I * J].reshape(I, J).T
    return model.potentials(1, target, emission, model.lexicon.nulls.reverse[source])


class ExactFertility(Decoder):
    """The alignment of the highest probability in each direction, proved to be that wherever `certified` says so.

    At most `iterations` dual iterations (0: no limit but MOVES) and `seconds` (0: no limit) go to a sentence in one
    direction; then the best alignment found is taken, and the bound tells how far from the best it may be.  Seconds
    depend on the machine and on what else it does, so by default work is counted instead.
    """

    default_combination = "grow-diag-final-and"
    asks, kind_of_model, for_instance = "potentials", "a model with fertility", "hmm-fertility"
    options = (ExactOptions,)

    def __init__(
        self, iterations: int = 0, seconds: float = 0.0, method: str = "exact", direction: str | None = None
    ) -> None:
        self.iterations = iterations or sys.maxsize
        self.seconds = seconds or None
        self.method = method
        self.directions = [number for number, name in enumerate(("forward", "reverse")) if direction in (None, name)]
        self._found = Details(certified=bool, score=np.float64, bound=np.float64, iterations=np.int64)

    @classmethod
    def of(cls, settings: Settings, direction: str | None) -> ExactFertility:
        limits = settings.of(ExactOptions)
        return cls(limits.exact_iterations, limits.exact_seconds, limits.exact_method, direction)

    @property
    def details(self) -> dict[str, np.ndarray]:
        """For each piece decoded so far, both directions together: certified, score, bound, iterations."""
        return self._found.all()

    def solve(
        self, model: Model, block: Block, work: Workspace, pool: Pool
    ) -> tuple[Alignments, dict[str, np.ndarray]]:
        """The best alignments of the block's pieces, and details."""
        found = np.full(block.columns, -1, np.int16), np.full(block.rows, -1, np.int16)
        details = self._found.room(len(block.lines))
        details["certified"][:] = True

        def task(first: int, last: int) -> None:
            for piece in range(first, last):
                line = block.lines[piece]
                for direction in self.directions:
                    p = potentials(model, block, work, line, direction)
                    rows, J = p.emission.shape  # an iteration looks at about rows ** 2 J moves
                    allowed = max(1, min(self.iterations, MOVES // (rows * rows * max(J, 1))))
                    result = fertility_map(*p, method=self.method, iterations=allowed, time_limit=self.seconds)
                    start = line[COLUMN] if direction == 0 else line[ROW]
                    found[direction][start : start + len(result.alignment)] = result.alignment
                    details["certified"][piece] &= result.certified
                    details["score"][piece] += result.score
                    details["bound"][piece] += result.bound
                    details["iterations"][piece] += result.iterations

        pool.map(task, block.tasks)
        return found, details

    def mark(self, evidence: Evidence, marks: np.ndarray) -> None:
        found, details = self.solve(evidence.model, evidence.block, evidence.translations(), evidence.pool)
        self._found.add(details)
        mark_alignments(evidence, found, marks)
