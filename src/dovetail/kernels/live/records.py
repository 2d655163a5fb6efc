"""What the kernels of live cells are told, and what they leave."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class LiveCells(NamedTuple):
    """Cells worth a thought, by row: those of row r are start[r]:start[r + 1].  All others have probability zero.

    `count` is what a cell contributed to the lexicon in the last iteration, the messages are what its two words'
    fertilities told it.
    """

    start: np.ndarray  # int64 (rows + 1,)
    column: np.ndarray  # uint16: j within the piece
    slot: np.ndarray  # int32, or int64 for a lexicon that needs it
    count: np.ndarray  # float32
    to_forward: np.ndarray  # float32: the message to the forward direction
    to_reverse: np.ndarray  # float32


class Values(NamedTuple):
    """One number per live cell and direction: emissions, which an E-step turns into posteriors."""

    forward: np.ndarray  # float32
    reverse: np.ndarray  # float32


class Bins(NamedTuple):
    """How distances are told apart: the bin of each, 0 in the middle, and the lowest and highest distance of each bin."""

    of: np.ndarray  # int64 (2 * longest + 1,)
    low: np.ndarray  # int64 (bins,)
    high: np.ndarray  # int64 (bins,)


class WordWeights(NamedTuple):
    """Weights of one direction's jumps by the word jumped from; `sums` are those of all nearer jumps on the same side."""

    weights: np.ndarray  # float32 (words, bins)
    sums: np.ndarray  # float32 (words, bins)


class WideWeights(NamedTuple):
    """The same for those who count nothing: by bins, and by distances -reach..reach - 1."""

    weights: np.ndarray  # float32 (words, bins)
    wide: np.ndarray  # float32 (words * 2 reach + 1,): rows, and a place behind them
    reach: int


class Jumps(NamedTuple):
    """Jumps of both directions, p0, and below which probability a position of a short sentence is forgotten."""

    forward: WordWeights | WideWeights
    reverse: WordWeights | WideWeights
    bins: Bins
    ends: np.ndarray  # float32 (2 directions, start and end, positions)
    null: float
    negligible: np.float32


class TokenMoves(NamedTuple):
    """Expected moves out of each token of one side by bin, and exposure per unit of weight."""

    by_bin: np.ndarray  # float32 (tokens, bins)
    exposure: np.ndarray  # float32 (tokens,)


class Counts(NamedTuple):
    """What is counted of jumps: moves of source and of target tokens, first and last positions with their exposures."""

    rows: TokenMoves
    columns: TokenMoves
    ends: np.ndarray  # float64 (2 directions, start and end, counts and exposure, positions)


class Beliefs(NamedTuple):
    """Fertilities p(count | word), and each token's posterior over them; no rows where there is no fertility."""

    source: np.ndarray  # float64 (source words, K + 1)
    target: np.ndarray  # float64 (target words, K + 1)
    rows: np.ndarray  # float64 (source tokens, K + 1)
    columns: np.ndarray  # float64 (target tokens, K + 1)


class Sentence(NamedTuple):
    """One direction of one sentence: T words in turn pick one of S states; word t's live cells are begin[t]:begin[t + 1]."""

    T: int
    S: int
    begin: np.ndarray  # int64 (T + 1,) or more
    state: np.ndarray  # int64 (live cells,)
    emission: np.ndarray  # float32 (live cells,): overwritten by posteriors
    nulls: np.ndarray  # float32 (T,): likewise


class Chances(NamedTuple):
    """Jumps of one sentence: which word is at a position, 1 / the sum of its weights, first and last positions."""

    words: np.ndarray  # int32: packed ids
    first_word: int  # where the sentence's begin
    weights: np.ndarray  # float32 (words, bins)
    exits: np.ndarray  # float32 (S,) or more
    first: np.ndarray  # float32 (S,) or more
    last: np.ndarray  # float32 (S,) or more
    bins: np.ndarray  # int64 (2 * longest + 1,)


class Expected(NamedTuple):
    """Expected moves of one sentence: by state and bin, in all, first and last ones."""

    moves: np.ndarray  # float32 (S, bins)
    leaving: np.ndarray  # float32 (S,) or more
    first: np.ndarray  # float32 (S,) or more
    final: np.ndarray  # float32 (S,) or more


class Past(NamedTuple):
    """Word after word, the positions that are possible after it.

    Entry 0 (`chain.FORGOTTEN`) stands for all that are not listed, and one behind the last may be written and not kept:
    lists have room for all cells and two more.
    """

    begin: np.ndarray  # int64 (T + 1,): where each word's begin
    state: np.ndarray  # int64
    word: np.ndarray  # int64
    position: np.ndarray  # float32: probability
    beta: np.ndarray  # float32
    next: np.ndarray  # int64: where the same state stands on the next word's list, FORGOTTEN: nowhere
    where: np.ndarray  # int64 (S,): where each state stands on the last list


class Room(NamedTuple):
    """Scratch space for the chain of one sentence."""

    alpha: np.ndarray  # float32 (live cells,)
    place: np.ndarray  # int64 (live cells,)
    weight: np.ndarray  # float32 (live cells,)
    start_mass: np.ndarray  # float32 (T,)
    past: Past


class BothWays(NamedTuple):
    """Scratch space for both directions of one piece; arrays of one type and shape are planes of one."""

    chances: np.ndarray  # float32 (3, longest side): exits, first and last links
    of_tokens: np.ndarray  # float32 (6, longest side)
    places: np.ndarray  # int64 (3, longest side + 1)
    of_past: np.ndarray  # int64 (3, cells + 2)
    past_values: np.ndarray  # float32 (2, cells + 2)
    of_cells: np.ndarray  # int64 (3, live cells)
    cell_values: np.ndarray  # float32 (3, live cells)
    space: np.ndarray  # float32: what `rows` needs, if some piece is crowded
