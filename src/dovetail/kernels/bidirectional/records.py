"""What the bidirectional kernels pass to each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FULL, DISAGREEMENT, ADJACENCY = 0, 1, 2
DEAD, LIVE, FORCED = 0, 1, 2


class Agreement(NamedTuple):
    """What the alignments x and y of the two directions owe each other.

    FULL          x_i = j if and only if y_j = i
    DISAGREEMENT  a link that the other direction lacks costs `cost`
    ADJACENCY     |y_j - i| <= 1 for every x_i = j, |x_i - j| <= 1 for every y_j = i; being off by one costs `cost`
    """

    kind: int  # FULL, DISAGREEMENT or ADJACENCY
    cost: float  # added to the score: 0 or negative


class Problem(NamedTuple):
    """Potentials of the two chains, and what their alignments owe each other."""

    theta: np.ndarray  # float64 (I, J + 1, J + 1): [i, j before, j], state 0 being NULL and the start
    omega: np.ndarray  # float64 (J, I + 1, I + 1): [j, i before, i]
    agreement: Agreement
    floor: float  # less than any finite score; -inf where all potentials are finite
    worst: float  # stands for -inf in local search: finite, and yet no gain elsewhere makes up for it


class HMMChain(NamedTuple):
    """One direction's HMM on a sentence pair: probabilities of R words, each at one of W positions or at NULL."""

    emission: np.ndarray  # float32 (R, W): of row r's word at each position
    null_emission: np.ndarray  # float32 (R,): of row r's word at NULL
    null: float  # of NULL
    moves: np.ndarray  # float32 (W, W): of position b after position a
    first: np.ndarray  # float32 (W,): of the first position
    last: np.ndarray  # float32 (W,): a weight for the last position
    forgets: bool = False  # whether what follows a NULL is as at the start


class Chain(NamedTuple):
    """One direction over its live states.  Row 0 is the start, row r has the states first[r]:first[r + 1].

    `moves` has one block per row r > 0: the potential from the a-th state of row r - 1 to the b-th of the n states of
    row r is at a * n + b of it.  One flat array, so that inner loops are dense.
    """

    sign: float  # 1: forward, x; -1: reverse, y
    fine: bool  # whether a state is a position with its claims; else it is a position, and its claims change with mu
    first: np.ndarray  # int64 (rows + 2,)
    position: np.ndarray  # int64 (states,): of the direction's own positions, 0 for NULL
    moves: np.ndarray  # float64 (moves,)
    claims: np.ndarray  # int64 (states, 3): events, 0 for none
    earned: np.ndarray  # float64 (states,): for the claims
    alpha: np.ndarray  # float64 (states,): best value of a path up to the state
    beta: np.ndarray  # float64 (states,): best value of what follows it


class Node(NamedTuple):
    """A part of the pairs: those whose events and NULLs all live.  Its multipliers, and how often events are claimed."""

    live: np.ndarray  # uint8 (2 * kind of agreement + 1, I + 2, J + 2): DEAD, LIVE or FORCED
    null_x: np.ndarray  # uint8 (I + 1,): DEAD or LIVE
    null_y: np.ndarray  # uint8 (J + 1,)
    mu: np.ndarray  # float64, like live
    average: np.ndarray  # float64, like live: running


class Incumbent(NamedTuple):
    """The best pair so far, and what else a search keeps from node to node."""

    x: np.ndarray  # int64 (I + 1,), x[0] = 0 the start
    y: np.ndarray  # int64 (J + 1,), y[0] = 0 the start
    seen: np.ndarray  # bool (I + 1, J + 1): links that any chain ever chose
    figures: np.ndarray  # float64 (8,): see SCORE and those after it


# Entries of Incumbent.figures.  The ceiling is a little above the score: pairs at or below it need not be looked for.
SCORE, CEILING, BOUND, ITERATIONS, GAMMA, STALL, PAUSE, UNTIL_SEARCH = range(8)
