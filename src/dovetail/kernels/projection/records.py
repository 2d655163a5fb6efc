"""What the projection is given, what it works on, and its space; `T` words choose among `S` positions in a direction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels.hmm.dense import JumpWeights
from dovetail.kernels.records import JumpSums, Nulls


class PlainModel(NamedTuple):
    """The model whose posteriors are projected: IBM Model 1, which has no use for p0 and jumps, or the HMM."""

    hmm: bool
    nulls: Nulls
    null: float  # p0
    jumps: tuple[JumpWeights, JumpWeights]  # of both directions
    flat: bool  # all jumps weigh the same, and all starts


class ClassedSide(NamedTuple):
    """One side of all pieces of a text, and a class for each word type."""

    ids: np.ndarray  # int32 (tokens,)
    start: np.ndarray  # int64 (pieces,), in the ids
    length: np.ndarray  # int32 (pieces,)
    class_of: np.ndarray  # int64 (words,), or -1


class Listed(NamedTuple):
    """Listed constraints, piece after piece: sum over entries of weight * P_direction(cell) <= bound."""

    begin: (
        np.ndarray
    )  # int64 (2, pieces + 1): begin[0, piece]:begin[0, piece + 1] are its constraints; [1]: its entries
    bound: np.ndarray  # float64 (constraints,)
    entries: np.ndarray  # int32 (entries, 3): direction, cell i * J + j, constraint (counted from the piece's first)
    weight: np.ndarray  # float32 (entries,)


class Constraints(NamedTuple):
    """All constraints on the pieces of one block."""

    rows: np.ndarray  # float32 (rows,): most expected links of a source token, forward; inf: no bound; or empty
    columns: np.ndarray  # float32 (columns,): the same of a target token, reverse
    listed: Listed
    symmetric: bool  # equal posteriors of both directions in every cell
    coupled: bool  # some constraint speaks of both directions


class Settings(NamedTuple):
    """How far the dual is solved; see `models.constrained.Projection`."""

    precision: float
    slack: float
    strict: bool
    free_mass: bool
    calls: int
    kept: float  # a cell with a lower posterior in both directions does not need its multiplier again
    scored: bool  # scores are log p(x), not the dual's value


class CellMultipliers(NamedTuple):
    """The multipliers of a symmetric projection that are not 0; cell -1 stands for all cells of its piece together."""

    begin: np.ndarray  # int64 (pieces + 1,), of the pieces at hand: not those of the whole block
    cell: np.ndarray  # int32: i * J + j
    value: np.ndarray  # float32

    @classmethod
    def none(cls, pieces: int) -> CellMultipliers:
        return cls(np.zeros(pieces + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))


class BlockMultipliers(NamedTuple):
    """Where descent starts: all but those of cells are overwritten by where it ends."""

    rows: np.ndarray  # float64, one per bound of `Constraints`
    columns: np.ndarray  # float64
    listed: np.ndarray  # float64 (constraints,)
    cells: CellMultipliers


class Counted(NamedTuple):
    """What the projection leaves besides posteriors; all but the scores is added to."""

    scores: np.ndarray  # float64 (pieces, 2): the directions' parts of log p(x) - KL(Q || p) (equation 7)
    sums: JumpSums
    tally: np.ndarray  # float64 (3,): `planes.PIECES`, PASSES, MISSED


class Chains(NamedTuple):
    """Both directions of one piece, with room for the largest.

    Arrays of one type and shape are planes of one array: it compiles faster.
    """

    cells: np.ndarray  # float32 (direction, plane, (T + 1) * S)
    tables: np.ndarray  # float32 (direction, plane, S * S), empty without an HMM
    words: np.ndarray  # float32 (direction, plane, the longer of T and S, + 1)
    halves: np.ndarray  # float64 (plane, direction)


class Variables(NamedTuple):
    """Whose multiplier each variable of the dual is.

    They come in three groups: one per position; one per listed constraint; and, for symmetry, one of all cells together,
    then one for each of some cells.
    """

    ends: np.ndarray  # int64 (3,): where each group ends
    entries: np.ndarray  # int64 (entries, 3): direction, place t * S + s, variable
    weights: np.ndarray  # float64 (entries,)
    places: np.ndarray  # int64 (3, cells + 1): [d], places of the third group's cells; OF_CELL, a cell's variable or -1


class Search(NamedTuple):
    """Where descent on the dual is, and what quasi-Newton steps remember."""

    vectors: np.ndarray  # float64 (plane, variables)
    memory: np.ndarray  # float64 (2, MEMORY, variables): steps, and changes of the gradient
    heat: np.ndarray  # float64 (MEMORY,)


class Problem(NamedTuple):
    """One dual: those directions of a piece that are solved together, low..high - 1."""

    I: int
    J: int
    low: int
    high: int
    scale: float  # of posteriors, before their mass: 2 for halves of one distribution (equation 15)
    constraints: int  # how many
    rows: tuple[int, int]  # where the positions of each direction begin among the variables, or -1
    chains: Chains
    variables: Variables
    search: Search


class Scratch(NamedTuple):
    """The space of one call, for its largest piece."""

    chains: Chains
    variables: Variables
    search: Search
