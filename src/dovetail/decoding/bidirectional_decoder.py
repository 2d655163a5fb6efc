"""The decoder `bidirectional`: one alignment from both directions' HMMs, proved to be their best (Chang et al. 2014)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.decoding.bidirectional import BidirectionalMap, bidirectional_map, methods
from dovetail.decoding.decoders import FORWARD, REVERSE, Decoder
from dovetail.decoding.details import Details
from dovetail.decoding.evidence import Evidence
from dovetail.decoding.marking import mark_alignments
from dovetail.kernels.bidirectional.potentials import chain_best, chain_potentials, chain_score
from dovetail.kernels.bidirectional.records import ADJACENCY, DISAGREEMENT, FULL, Agreement, HMMChain
from dovetail.kernels.bidirectional.search import penalties, repair
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET, Workspace
from dovetail.models.model import Model, Moves
from dovetail.options import Options, Settings, option

# What the search may cost when nobody sets a limit, counted and not timed, so that the answer is the same everywhere:
# moves of the two chains, I J (I + J) an iteration before pruning.  Some seconds; real pairs need a thousandth of it.
MOVES = 5e9
# Potentials of longer pieces, of 250 x 250 words or so, are not written out: such a piece is not searched.
LARGEST = 3e7


@dataclass(frozen=True)
class BidirectionalOptions(Options):
    """What agreement means, and how it is searched for."""

    bidirectional_agreement: str = option(
        "full",
        choices=("full", "adjacent", "soft"),
        help="both pick the same links, or neighbours for the penalty, or any, each link of one side alone for it",
    )
    bidirectional_penalty: float = option(
        -1.0, at_most=0.0, help="added to the score for each link that is not answered"
    )
    bidirectional_method: str = option("exact", choices=methods, help="how the best pair of alignments is found")
    bidirectional_null: str = option(
        "keeps",
        choices=("keeps", "forgets"),
        help="whether NULL keeps the position of the last link, in expectation, or is as the start (the paper's way)",
    )
    bidirectional_iterations: int = option(0, at_least=0, help="iterations at most on a pair (0: some seconds' worth)")
    bidirectional_seconds: float = option(
        0.0, at_least=0.0, help="seconds at most on a pair (0: no limit); answers then depend on speed"
    )


class _Piece:
    """The chains of one piece: theta's over source words (our reverse direction), omega's over target words (forward)."""

    def __init__(
        self,
        model: Model,
        moves: Callable[[int, np.ndarray], Moves],
        block: Block,
        work: Workspace,
        line: np.ndarray,
        forgets: bool = False,
    ) -> None:
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        source = block.pieces.source_ids[line[SOURCE] : line[SOURCE] + I]
        target = block.pieces.target_ids[line[TARGET] : line[TARGET] + J]
        null, nulls = model.null, model.lexicon.nulls
        reverse = work.reverse[cell : cell + I * J].reshape(I, J)
        forward = np.ascontiguousarray(work.forward[cell : cell + I * J].reshape(I, J).T)
        self.theta = HMMChain(reverse, nulls.reverse[source], null, *moves(1, target), forgets)
        self.omega = HMMChain(forward, nulls.forward[target], null, *moves(0, source), forgets)
        self.moves = I * J * (I + J)

    def best(self, settings: dict[str, Any], iterations: int) -> BidirectionalMap:
        if self.moves > LARGEST:
            return self.unsearched(settings)
        if not iterations and settings["method"] == "exact" and settings["time_limit"] is None:
            iterations = max(1, int(MOVES / self.moves))
        # where dual decomposition does not converge, the two directions stay apart: combining them comes later
        found = bidirectional_map(
            chain_potentials(self.theta),
            chain_potentials(self.omega),
            iterations=iterations or None,
            combination="union",
            **settings,
        )
        if found.score > -math.inf:
            return found
        # apart they have no score: the gap is that of the links which the agreement allows
        score = self.repaired_score(settings, found.forward + 1, found.backward + 1)
        return replace(found, score=score, bound=max(found.bound, score))

    def repaired_score(self, settings: dict[str, Any], forward: np.ndarray, backward: np.ndarray) -> float:
        """What the two are worth without the links that the agreement does not allow; states count from 1, 0 is NULL."""
        agreement = _agreement(settings)
        x, y = np.concatenate([[0], forward]), np.concatenate([[0], backward])
        repair(agreement, x, y)
        score = float(chain_score(self.theta, x) + chain_score(self.omega, y))
        return score + penalties(agreement, x, y) + penalties(agreement, y, x)

    def unsearched(self, settings: dict[str, Any]) -> BidirectionalMap:
        """Each direction's best path without the links that the agreement does not allow; the paths' sum is the bound."""
        agreement = _agreement(settings)
        x, y = (np.zeros(len(chain.emission) + 1, np.int64) for chain in (self.theta, self.omega))
        bound = float(chain_best(self.theta, x) + chain_best(self.omega, y))
        repair(agreement, x, y)
        score = self.repaired_score(settings, x[1:], y[1:])
        return BidirectionalMap(x[1:] - 1, y[1:] - 1, score, max(bound, score), bound <= score, 0)


def piece_potentials(
    model: Model, block: Block, work: Workspace, line: np.ndarray, forgets: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """theta and omega of one piece for `bidirectional_map`, while the workspace holds translation probabilities."""
    piece = _Piece(model, model.moves(block.longest), block, work, line, forgets)
    return chain_potentials(piece.theta), chain_potentials(piece.omega)


def _agreement(settings: dict[str, Any]) -> Agreement:
    if settings["adjacency"] is not None:
        return Agreement(ADJACENCY, settings["adjacency"])
    if settings["disagreement"] is not None:
        return Agreement(DISAGREEMENT, settings["disagreement"])
    return Agreement(FULL, 0.0)


class Bidirectional(Decoder):
    """The pair of alignments, one in each direction, that agrees and is worth most to both models together.

    `agreement` "full": both pick the same links; "adjacent": a link may also be answered by a neighbour, which costs
    `penalty` (the paper's alpha); "soft": a link that the other direction lacks costs `penalty`.  At most `iterations` and
    `seconds` go to a pair (0: no such limit; without either, about MOVES moves); then the best pair of alignments found is
    taken, and the bound tells how far from the best it may be.  Where dual decomposition does not converge, the two
    directions are combined as for any decoder (unless `direction` is wanted alone), and the score is that of the links
    that the agreement allows.
    """

    default_combination = "union"
    asks, kind_of_model, for_instance = "moves", "a pair of HMMs", "hmm-agreement"
    options = (BidirectionalOptions,)

    def __init__(
        self,
        agreement: str = "full",
        penalty: float = -1.0,
        method: str = "exact",
        iterations: int = 0,
        seconds: float = 0.0,
        direction: str | None = None,
        null: str = "keeps",
    ) -> None:
        self.direction = direction
        self.forgets = null == "forgets"
        self.settings: dict[str, Any] = {
            "adjacency": penalty if agreement == "adjacent" else None,
            "disagreement": penalty if agreement == "soft" else None,
            "method": method,
            "time_limit": seconds or None,
        }
        self.iterations = iterations
        self._found = Details(
            certified=bool,
            score=np.float64,
            bound=np.float64,
            iterations=np.int64,
            constraints=np.int64,
            pruned=np.float64,
        )

    @classmethod
    def of(cls, settings: Settings, direction: str | None) -> Bidirectional:
        chosen = settings.of(BidirectionalOptions)
        return cls(
            chosen.bidirectional_agreement,
            chosen.bidirectional_penalty,
            chosen.bidirectional_method,
            chosen.bidirectional_iterations,
            chosen.bidirectional_seconds,
            direction,
            chosen.bidirectional_null,
        )

    @property
    def details(self) -> dict[str, np.ndarray]:
        """For each piece decoded so far; `pruned` in proportion to the piece's part of its pair."""
        return self._found.all()

    def mark(self, evidence: Evidence, marks: np.ndarray) -> None:
        model, block = evidence.model, evidence.block
        moves, work = model.moves(block.longest), evidence.translations()
        found = np.full(block.columns, -1, np.int16), np.full(block.rows, -1, np.int16)
        details = self._found.room(len(block.lines))

        def task(first: int, last: int) -> None:
            for piece in range(first, last):
                line = block.lines[piece]
                result = _Piece(model, moves, block, work, line, self.forgets).best(self.settings, self.iterations)
                found[0][line[COLUMN] : line[COLUMN] + line[LENGTH_J]] = result.backward
                found[1][line[ROW] : line[ROW] + line[LENGTH_I]] = result.forward
                for name, values in details.items():
                    values[piece] = getattr(result, name)

        evidence.pool.map(task, block.tasks)
        details["pruned"] *= _parts(evidence.shard)[block.first : block.last]
        self._found.add(details)
        mark_alignments(evidence, found, marks)
        if self.settings["method"] == "dual-decomposition" and self.direction is None:
            _settle(block, details["certified"], marks)


def _settle(block: Block, certified: np.ndarray, marks: np.ndarray) -> None:
    """Give both directions all links of proved pieces, so that combinations change the other ones only."""
    for line in block.lines[certified]:
        cells = slice(line[CELL], line[CELL] + line[LENGTH_I] * line[LENGTH_J])
        marks[cells][marks[cells] > 0] = FORWARD | REVERSE


def _parts(shard: Shard) -> np.ndarray:
    """How much of its pair each piece is: 1, unless the pair was cut."""
    pieces = shard.pieces
    size = pieces.source_length * pieces.target_length
    return size / np.bincount(pieces.pair, size)[pieces.pair]
