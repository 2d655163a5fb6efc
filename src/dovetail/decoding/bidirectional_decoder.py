"""The decoder `bidirectional`: one alignment from both directions' HMMs, proved to be their best (Chang et al. 2014)."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.decoding.bidirectional import BidirectionalMap, bidirectional_map
from dovetail.engines import Threads
from dovetail.errors import InputError
from dovetail.kernels.bidirectional.potentials import chain_best, chain_potentials, chain_score
from dovetail.kernels.bidirectional.search import ADJACENCY, DISAGREEMENT, FULL, link_cost, repair
from dovetail.kernels.gibbs.alignments import mark
from dovetail.kernels.hmm.dense import running_sums, transitions
from dovetail.kernels.hmm.word_jumps import word_transitions
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET, Workspace
from dovetail.models.hmm import HMM
from dovetail.models.joint import JointHMM
from dovetail.models.jumps.word import bins_of

Moves = tuple[np.ndarray, np.ndarray, np.ndarray]  # p(b | a) (W, W), of first positions (W,), weights of last ones (W,)

# What the search may cost when nobody sets a limit, counted and not timed, so that the answer is the same everywhere:
# moves of the two chains, I J (I + J) an iteration before pruning.  Some seconds; real pairs need a thousandth of it.
MOVES = 5e9
# Potentials of longer pieces, of 250 x 250 words or so, are not written out: such a piece is not searched.
LARGEST = 3e7

DETAILS = {
    "certified": bool,
    "score": np.float64,
    "bound": np.float64,
    "iterations": np.int64,
    "constraints": np.int64,
    "pruned": np.float64,
}


class _Piece:
    """The chains of one piece: theta's over source words (our reverse direction), omega's over target words (forward)."""

    def __init__(self, model: Any, moves: Callable[[int, np.ndarray], Moves], shard: Shard, work: Workspace, line: Any):
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        source = shard.source_ids[line[SOURCE] : line[SOURCE] + I]
        target = shard.target_ids[line[TARGET] : line[TARGET] + J]
        null = model.null
        reverse = work.reverse[cell : cell + I * J].reshape(I, J)
        forward = np.ascontiguousarray(work.forward[cell : cell + I * J].reshape(I, J).T)
        self.theta = reverse, model.lexicon.null_reverse[source], null, *moves(1, target)
        self.omega = forward, model.lexicon.null_forward[target], null, *moves(0, source)
        self.moves = I * J * (I + J)

    def best(self, settings: dict[str, Any], iterations: int) -> BidirectionalMap:
        if self.moves > LARGEST:
            return self.unsearched(settings)
        if not iterations and settings["method"] == "exact" and settings["time_limit"] is None:
            iterations = max(1, int(MOVES / self.moves))
        # where dual decomposition does not converge, the two directions stay apart: combining them comes later
        return bidirectional_map(
            chain_potentials(*self.theta),
            chain_potentials(*self.omega),
            iterations=iterations or None,
            combination="union",
            **settings,
        )

    def unsearched(self, settings: dict[str, Any]) -> BidirectionalMap:
        """Each direction's best path without the links that the agreement does not allow; the paths' sum is the bound."""
        agreement, cost = _agreement(settings)
        x, y = (np.zeros(len(chain[0]) + 1, np.int64) for chain in (self.theta, self.omega))
        bound = float(chain_best(*self.theta, x) + chain_best(*self.omega, y))
        repair(agreement, cost, x, y)
        score = float(chain_score(*self.theta, x) + chain_score(*self.omega, y))
        for side, other in ((x, y), (y, x)):
            score += sum(link_cost(agreement, cost, n, other[side[n]]) for n in np.flatnonzero(side).tolist())
        return BidirectionalMap(x[1:] - 1, y[1:] - 1, score, max(bound, score), bound <= score, 0)


def piece_potentials(model: Any, shard: Shard, work: Workspace, line: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """theta and omega of one piece for `bidirectional_map`, while the workspace holds translation probabilities."""
    piece = _Piece(model, _moves_of(model, shard), shard, work, line)
    return chain_potentials(*piece.theta), chain_potentials(*piece.omega)


def _agreement(settings: dict[str, Any]) -> tuple[int, float]:
    if settings["adjacency"] is not None:
        return ADJACENCY, settings["adjacency"]
    return (FULL, 0.0) if settings["disagreement"] is None else (DISAGREEMENT, settings["disagreement"])


@singledispatch
def _moves_of(model: Any, shard: Shard) -> Callable[[int, np.ndarray], Moves]:
    """The function of a direction and the ids of the words it jumps between that gives the moves among their positions.

    A model of another family takes part if its `moves` of each direction have `weights`: of every distance, and of first and
    last positions by their distance from that end.
    """
    if all(hasattr(moves, "weights") for moves in getattr(model, "moves", [None])):
        weights = [moves.weights(shard.longest) for moves in model.moves]
        middle = shard.longest

        def moves_of(direction: int, words: np.ndarray) -> Moves:
            jumps, first, last = weights[direction]
            place = np.arange(len(words))
            return jumps[middle + place - place[:, None]], first[: len(words)], last[: len(words)][::-1].copy()

        return moves_of
    raise InputError(
        f"the decoder bidirectional needs a pair of HMMs, which {type(model).__name__} is not",
        remedy="Train with --recipe hmm-agreement, say, or choose another decoder.",
    )


@_moves_of.register
def _(model: HMM, shard: Shard) -> Callable[[int, np.ndarray], Moves]:
    weights = [jumps.expand(shard.longest) for jumps in model.jumps]
    tables = [(jump, jump[::-1].copy(), running_sums(jump), start) for jump, start in weights]

    def moves(direction: int, words: np.ndarray) -> Moves:
        width = len(words)
        table, first, last = _room(width)
        transitions(width, *tables[direction], table, np.empty_like(table), first, np.empty(width + 1, np.float32))
        return table, first, last

    return moves


@_moves_of.register
def _(model: JointHMM, shard: Shard) -> Callable[[int, np.ndarray], Moves]:
    bins = bins_of(shard.longest)
    ends = np.array([[jumps.start, jumps.end] for jumps in model.jumps], np.float32)

    def moves(direction: int, words: np.ndarray) -> Moves:
        width = len(words)
        table, first, last = _room(width)
        word_transitions(
            words,
            0,
            width,
            model.jumps[direction].weights,
            bins,
            *ends[direction],
            table,
            np.empty_like(table),
            first,
            last,
            np.empty(width + 2, np.float32),
        )
        return table, first, last

    return moves


def _room(width: int) -> Moves:
    return np.ones((width, width), np.float32), np.ones(width, np.float32), np.ones(width, np.float32)


class Bidirectional:
    """The pair of alignments, one in each direction, that agrees and is worth most to both models together.

    `agreement` "full": both pick the same links; "adjacent": a link may also be answered by a neighbour, which costs
    `penalty` (the paper's alpha); "soft": a link that the other direction lacks costs `penalty`.  At most `iterations` and
    `seconds` go to a pair (0: no such limit; without either, about MOVES moves); then the best pair of alignments found is
    taken, and the bound tells how far from the best it may be.
    """

    default_combination = "union"

    def __init__(
        self,
        agreement: str = "full",
        penalty: float = -1.0,
        method: str = "exact",
        iterations: int = 0,
        seconds: float = 0.0,
    ) -> None:
        self.settings: dict[str, Any] = {
            "adjacency": penalty if agreement == "adjacent" else None,
            "disagreement": penalty if agreement == "soft" else None,
            "method": method,
            "time_limit": seconds or None,
        }
        self.iterations = iterations
        self._details: list[dict[str, np.ndarray]] = []

    @classmethod
    def of(cls, options: Any) -> Bidirectional:
        return cls(
            options.bidirectional_agreement,
            options.bidirectional_penalty,
            options.bidirectional_method,
            options.bidirectional_iterations,
            options.bidirectional_seconds,
        )

    @property
    def details(self) -> dict[str, np.ndarray]:
        """For each piece decoded so far, what DETAILS names; `pruned` in proportion to the piece's share of its pair."""
        return {
            name: np.concatenate([np.zeros(0, kind), *(part[name] for part in self._details)])
            for name, kind in DETAILS.items()
        }

    def before(
        self, model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads
    ) -> None:
        moves = _moves_of(model, shard)
        found = np.full(block.columns, -1, np.int16), np.full(block.rows, -1, np.int16)
        details = {name: np.zeros(len(block.lines), kind) for name, kind in DETAILS.items()}

        def task(first: int, last: int) -> None:
            for piece in range(first, last):
                line = block.lines[piece]
                result = _Piece(model, moves, shard, work, line).best(self.settings, self.iterations)
                found[0][line[COLUMN] : line[COLUMN] + line[LENGTH_J]] = result.backward
                found[1][line[ROW] : line[ROW] + line[LENGTH_I]] = result.forward
                for name, values in details.items():
                    values[piece] = getattr(result, name)
            mark(first, last, block.lines, *found, marks)

        engine.map(task, block.tasks)
        details["pruned"] *= _shares(shard)[block.first : block.last]
        self._details.append(details)

    def after(
        self, model: Any, shard: Shard, block: Block, work: Workspace, marks: np.ndarray, engine: Threads
    ) -> None:
        pass


def _shares(shard: Shard) -> np.ndarray:
    """How much of its pair each piece is: 1, unless the pair was cut."""
    pieces = shard.pieces
    size = pieces.source_length * pieces.target_length
    return size / np.bincount(pieces.pair, size)[pieces.pair]
