"""Exact decoding of the fertility models: the best alignment of each direction, with its certificate (Quirk 2013)."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.decoding.fertility import fertility_map
from dovetail.decoding.samples import require_fertility
from dovetail.engines import Threads
from dovetail.kernels.gibbs.alignments import mark
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET, Workspace
from dovetail.models.fertile import Potentials

MOVES = 5_000_000_000  # looked at for a sentence in one direction: some seconds' worth, for 100 words 5,000 iterations


def potentials(model: Any, shard: Shard, work: Workspace, line: np.ndarray, direction: int) -> Potentials:
    """Those of one piece, while the workspace holds translation probabilities."""
    I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
    source = shard.source_ids[line[SOURCE] : line[SOURCE] + I]
    target = shard.target_ids[line[TARGET] : line[TARGET] + J]
    if direction == 0:
        emission = work.forward[cell : cell + I * J].reshape(I, J)
        return model.potentials(0, source, emission, model.lexicon.null_forward[target])
    emission = work.reverse[cell : cell + I * J].reshape(I, J).T
    return model.potentials(1, target, emission, model.lexicon.null_reverse[source])


class ExactFertility:
    """The alignment of the highest probability in each direction, proved to be that wherever `certified` says so.

    At most `iterations` dual iterations (0: no limit but MOVES) and `seconds` (0: no limit) go to a sentence in one
    direction; then the best alignment found is taken, and the bound tells how far from the best it may be.  Seconds
    depend on the machine and on what else it does, so by default work is counted instead.  `only` names the one
    direction wanted.
    """

    default_combination = "grow-diag-final-and"

    def __init__(
        self, iterations: int = 0, seconds: float = 0.0, method: str = "exact", only: str | None = None
    ) -> None:
        self.iterations = iterations or sys.maxsize
        self.seconds = seconds or None
        self.method = method
        self.only = only
        self._details: list[dict[str, np.ndarray]] = []

    @classmethod
    def of(cls, options: Any) -> ExactFertility:
        return cls(options.exact_iterations, options.exact_seconds)

    @property
    def details(self) -> dict[str, np.ndarray]:
        """For each piece decoded so far, both directions together: certified, score, bound, iterations."""
        kinds = {"certified": bool, "score": np.float64, "bound": np.float64, "iterations": np.int64}
        return {
            name: np.concatenate([np.zeros(0, kind), *(part[name] for part in self._details)])
            for name, kind in kinds.items()
        }

    def _allowed(self, shape: tuple[int, ...]) -> int:
        """Iterations for potentials of I + 1 rows and J columns, each of which looks at about (I + 1) ** 2 J moves."""
        rows, J = shape
        return max(1, min(self.iterations, MOVES // (rows * rows * max(J, 1))))

    def solve(
        self, model: Any, shard: Shard, block: Block, work: Workspace, engine: Threads
    ) -> tuple[tuple[np.ndarray, np.ndarray], dict[str, np.ndarray]]:
        """The best alignments of the block's pieces (a position a target token, a position a source token), and details."""
        require_fertility(model, "exact")
        found = np.full(block.columns, -1, np.int16), np.full(block.rows, -1, np.int16)
        pieces = len(block.lines)
        details = {
            "certified": np.ones(pieces, bool),
            "score": np.zeros(pieces),
            "bound": np.zeros(pieces),
            "iterations": np.zeros(pieces, np.int64),
        }
        directions = [d for d, name in enumerate(("forward", "reverse")) if self.only in (None, name)]

        def task(first: int, last: int) -> None:
            for piece in range(first, last):
                line = block.lines[piece]
                for direction in directions:
                    p = potentials(model, shard, work, line, direction)
                    result = fertility_map(
                        p.emission,
                        p.transition,
                        p.null,
                        p.fertility,
                        p.null_fertility,
                        method=self.method,
                        iterations=self._allowed(p.emission.shape),
                        time_limit=self.seconds,
                    )
                    start = line[COLUMN] if direction == 0 else line[ROW]
                    found[direction][start : start + len(result.alignment)] = result.alignment
                    details["certified"][piece] &= result.certified
                    details["score"][piece] += result.score
                    details["bound"][piece] += result.bound
                    details["iterations"][piece] += result.iterations

        engine.map(task, block.tasks)
        return found, details

    def before(
        self, model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads
    ) -> None:
        found, details = self.solve(model, shard, block, work, engine)
        self._details.append(details)
        engine.map(
            lambda first, last: mark(first, last, block.lines, *found, marks),
            block.tasks,
        )

    def after(
        self, model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads
    ) -> None:
        pass
