"""What the Bayesian samplers are told and what they work with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels.records import SOURCE_SIDE, TARGET_SIDE, Pieces, Ranks, Side


class Direction(NamedTuple):
    """Pieces as one direction sees them: which words generate which."""

    pieces: Pieces
    ranks: Ranks
    given: Side  # of words that generate
    made: Side  # of words that are generated
    given_ids: np.ndarray  # int32 (tokens,)
    made_ids: np.ndarray  # int32 (tokens,)
    reverse: bool


def direction_of(pieces: Pieces, ranks: Ranks, reverse: bool) -> Direction:
    if reverse:
        return Direction(pieces, ranks, TARGET_SIDE, SOURCE_SIDE, pieces.target_ids, pieces.source_ids, True)
    return Direction(pieces, ranks, SOURCE_SIDE, TARGET_SIDE, pieces.source_ids, pieces.target_ids, False)


class LinkCounts(NamedTuple):
    """Links of word types in one direction, and tokens of words by their links."""

    links: np.ndarray  # float32 (slots,)
    totals: np.ndarray  # float64 (generating words + 1,): NULL's is the last
    nulls: np.ndarray  # float32 (generated words,)
    histogram: np.ndarray  # float32 (generating words, C + 1): the last column is for C links and more

    def copy(self) -> LinkCounts:
        return LinkCounts(*(part.copy() for part in self))


class Prior(NamedTuple):
    """The Dirichlet's parameters: of one translation, and of all that a word has."""

    alpha: float
    mass: float
    null_alpha: float
    null_mass: float


class MoveWeights(NamedTuple):
    """Weights of jumps by distance, of the first link by its distance from the start, of the last from the end."""

    jump: np.ndarray  # float32 (2 * longest + 1,)
    first: np.ndarray  # float32 (longest,)
    last: np.ndarray  # float32 (longest,)


class Collapsed(NamedTuple):
    """The distribution that training draws from (see `sweep`), with lexicon and fertilities integrated out."""

    prior: Prior
    p0: float  # NULL's weight, if jumps count
    moving: bool  # whether jumps count
    moves: MoveWeights
    fertile: bool  # whether fertility counts
    fertility: np.ndarray  # float64 (C + 1,): the Dirichlet's parameters
    tail: float  # what each further link is worth to a token that has C or more
    quarters: int  # draws are from the conditional's power quarters / 4, at temperature 4 / quarters


class Stream(NamedTuple):
    """Whose random numbers: piece p draws from the stream (seed, sweep, first + p)."""

    seed: int
    sweep: int
    first: int


class Marginals(NamedTuple):
    """Sums of the conditional probabilities that links were drawn from, unless they are empty."""

    cells: np.ndarray  # float32 (cells,)
    nulls: np.ndarray  # float32 (generated tokens,)
    weight: float  # of one sweep


class Frozen(NamedTuple):
    """The model that new text is sampled from: all parameters as they are."""

    p0: float
    moves: MoveWeights
    ratios: np.ndarray  # float32 (generating words, C): p(c + 1 | word) / p(c | word)
    zero: np.ndarray  # float64 (generating words,): log p(0 | word)
    tail: float
    nulls: np.ndarray  # float32 (generated words,): what NULL yields


class Chains(NamedTuple):
    """`restarts` chains, each of `burn_in` sweeps that do not count and `samples` that do."""

    seed: int
    restarts: int
    burn_in: int
    samples: int


class Reach(NamedTuple):
    """Moves as draws want them."""

    moves: MoveWeights
    backwards: np.ndarray  # float32 (2 * longest + 1,): jumps turned round
    ends: np.ndarray  # float32 (longest,): last links turned round
    link: np.float32  # 1 - p0


class Draws(NamedTuple):
    """What drawing the links of one piece needs: how, and room for its words."""

    reach: Reach
    moving: bool
    quarters: int
    scale: np.ndarray  # float32 (longest,): of generating words, what multiplies their translations
    links: np.ndarray  # int64 (longest,): of generating words
    after: np.ndarray  # int64 (longest,): the next link after each generated word
    weight: np.ndarray  # float32 (longest + 7,): of candidates
    sums: np.ndarray  # float32 (longest // 8 + 1,)


class Given(NamedTuple):
    """The generating words of the piece at hand."""

    ids: np.ndarray  # int32 (I,)
    twin: np.ndarray  # int16 (I,): the next token of the same word, round and round
    gains: np.ndarray  # float32 (longest,): what one more link is worth


class SweepRoom(NamedTuple):
    """What `sweep` needs for one piece."""

    draws: Draws
    gains: np.ndarray  # float32 (longest,)
    row: np.ndarray  # float32 (longest,)
    slots: np.ndarray  # int64 (cells,)


class Sentence(NamedTuple):
    """The piece at hand."""

    words: np.ndarray  # int32 (I,): those that generate
    emission: np.ndarray  # float32 (J, I)
    nulls: np.ndarray  # float32 (J,): what NULL yields
    mean: np.ndarray  # float32 (J, I): of the conditional probabilities
    null_mean: np.ndarray  # float32 (J,)
    alignment: np.ndarray  # int64 (J,)


class FrozenRoom(NamedTuple):
    """What `frozen.sample` needs for one piece."""

    draws: Draws
    emission: np.ndarray  # float32 (cells,)
    mean: np.ndarray  # float32 (cells,)
    nulls: np.ndarray  # float32 (longest,)
    null_mean: np.ndarray  # float32 (longest,)
    alignment: np.ndarray  # int64 (longest,)


class Occurrences(NamedTuple):
    """Tokens of every generated word f, by their number in the text: order[starts[f]:starts[f + 1]]."""

    order: np.ndarray  # int32 (tokens,)
    starts: np.ndarray  # int64 (words + 1,)
    piece: np.ndarray  # int32 (tokens,)


class ClimbRoom(NamedTuple):
    """What `climb` needs: the links of one generated word, and numbers of every generating word (NULL is the last)."""

    at: np.ndarray  # int64 (most,): which word each token is linked to
    links: np.ndarray  # float64 (words,): how often it is
    hits: np.ndarray  # int64 (words,): how many links would move there; zero between uses
    held: np.ndarray  # float64 (words,): what these are worth where they are
    lost: np.ndarray  # int64 (words,): links that have gone; zero between uses
    words: np.ndarray  # int64 (words,)
    met: np.ndarray  # int64 (words,): the number of the last token in whose piece the word was met
