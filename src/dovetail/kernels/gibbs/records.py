"""What the sampler is told and what it works with.  Pairs are (forward's, reverse's).

Arrays for both directions hold forward's entries and then reverse's: entry k of direction d is at d * room + k, row j of
its cells begins at d * area + j * padded(I).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels.records import Nulls, Pieces, Ranks, Workspace


class Translations(NamedTuple):
    """The lexicon, whose probabilities a caller may have gathered into a workspace before."""

    table: np.ndarray  # uint64 (slots,): two float32, t(f | e) in the lower half and t(e | f) in the upper one
    nulls: Nulls
    gathered: bool  # whether a workspace has the cells' probabilities, and wants posteriors in return


class Jumps(NamedTuple):
    """What positions are worth, given the one before."""

    weights: tuple  # pair of float32 (2 * most + 1,): of distances -most..most
    first_links: tuple  # pair of float32 (most,): of the first link's position
    p0: float  # of NULL
    p1: float  # of a link
    normalised: bool  # whether weights are divided by the sum of those that stay within the sentence


class Fertility(NamedTuple):
    """p(count | word), by ratios, and NULL's Poisson."""

    ratios: tuple  # pair of float32 (words, C): p(count + 1 | word) / p(count | word)
    zeros: tuple  # pair of float64 (words,): log p(0 | word)
    null_means: tuple  # pair of floats: lambda_0
    falling: bool  # whether ratios beyond C go on as a Poisson's do; else they stay
    deficient: bool  # whether the ways to order a word's links are left out
    null_counts: bool  # whether NULL's number of links has a probability, too
    empty_words: bool  # whether NULL stands for I + 1 empty words (of models without jumps)


class Model(NamedTuple):
    """The factors of the score (see `sweep`)."""

    translations: Translations
    jumps: Jumps
    fertility: Fertility


class Schedule(NamedTuple):
    """Every chain makes `burn_in` sweeps that do not count and `samples` that do; piece p draws from streams[p]."""

    seed: int
    first_sweep: int  # sweeps are numbered from here on
    streams: np.ndarray  # int64 (pieces,)
    restarts: int
    burn_in: int
    samples: int


class Ends(NamedTuple):
    """Where chains begin and what is left of them: one position per generated token, NULL -1."""

    alignments: tuple  # pair of int16 (generated tokens,)
    given: bool  # whether chains begin there; else at IBM Model 1's best alignment
    keep_best: bool  # whether the best alignment seen goes there


class Problem(NamedTuple):
    """What is to be sampled.  The workspace has the probabilities that were gathered, and gets posteriors."""

    pieces: Pieces
    ranks: Ranks
    model: Model
    work: Workspace
    schedule: Schedule
    ends: Ends


class Tallies(NamedTuple):
    """What sampling adds to unless it is empty, and which links count by their probabilities.

    Row 0 of moves and firsts counts them, row 1 is what they were exposed to, as differences still to be summed up.
    """

    moves: np.ndarray  # float64 (2, 2, distances + 1)
    firsts: np.ndarray  # float64 (2, 2, positions + 1)
    histograms: tuple  # pair of float32 (tokens, C): how often each had 0, 1 ... C - 1 or more links
    scores: np.ndarray  # float64 (pieces, 2): log-scores
    soft_words: tuple  # pair of bool (words,): whose links, on either side, are credited with their probability
    likely: float  # if that is at least this


class Links(NamedTuple):
    """The links that were sampled: the first numbers[d] of direction d's."""

    numbers: np.ndarray  # int64 (2,)
    slots: tuple  # pair of int64
    posteriors: tuple  # pair of float32


class Layout(NamedTuple):
    """Where entries of either direction lie."""

    longest: int  # words of the longest side
    room: int  # from forward's words to reverse's: whole octets, and one more so that distances fit in two of them
    area: int  # from forward's cells to reverse's
    groups: int  # numbers of 64 bits, one bit for each position
    beside: int  # where in a direction's weights of jumps something else begins (see `prepare.weights_of`)
    span: int  # how long these are


class Pair(NamedTuple):
    """One sentence pair's two alignments as they are at the moment."""

    state: np.ndarray  # int64 (12,): see `layout`
    alignment: np.ndarray  # int64 (2 * room,): positions of generated words
    counts: np.ndarray  # int64 (2 * room,): links of generating words
    gains: np.ndarray  # float32 (4 * room,): what one more link is worth to them, and a room on that times `exits`
    after: np.ndarray  # int64 (2 * room,): the next link after each generated word
    keys: np.ndarray  # uint64 (2,): the streams of random numbers


class Candidates(NamedTuple):
    """What every link is worth by itself, and room for one draw's weights."""

    emission: np.ndarray  # float32 (2 * area,): t(f_j | e_i), zero where a position only fills an octet
    written: np.ndarray  # uint32 (2 * area,): the same memory
    null_odds: np.ndarray  # float32 (2 * room,): p0 / (1 - p0) I lambda_0 t(f_j | NULL)
    weight: np.ndarray  # float32 (2 * room,)
    sums: np.ndarray  # float32 (4 octets,)


class JumpWeights(NamedTuple):
    """Weights of jumps (see `prepare.weights_of`), and sums of them, worked out when the first sentence has a length."""

    into: np.ndarray  # float32 (2 * span,): to a position, by distance and for first links
    out: np.ndarray  # float32 (2 * span,): from a position, turned round, and ones for last links
    p1: np.float32  # of a link, never quite zero
    sums: tuple  # pair of float64 (2 * longest + 2,): running sums of weights
    first_sums: tuple  # pair of float64 (longest + 1,): of those of first links
    exits: np.ndarray  # float32 (2 * (longest + 1) * room,): by length, 1 / the sum of jumps from each position
    known: np.ndarray  # bool (2 * (longest + 1),): which lengths have theirs
    first_sum: np.ndarray  # float32 (2,): of the pair at hand


class Rates(NamedTuple):
    """What one more link is worth (see `sweep.gain`)."""

    ratios: np.ndarray  # float32 (2 * room, C): of the pair's generating words
    tail: np.ndarray  # float32 (longest + 1,): by how much that changes beyond C
    null_tail: np.ndarray  # float32 (longest + 1,): NULL's, in units of null_odds
    empty_words: bool  # whether these are odds of I + 1 empty words together


class Tally(NamedTuple):
    """Draws as they are counted: a pair's links, all pairs' jumps."""

    posterior: np.ndarray  # float32 (2 * area,): as `emission`
    bits: np.ndarray  # uint64 (2 * room * groups,): one bit for each link that was credited
    null_posterior: np.ndarray  # float32 (2 * room,)
    soft: np.ndarray  # bool (2 * room,): of generated words
    limits: np.ndarray  # float32 (4 * room,): two for each position, for words j that are not soft and those that are
    limit: np.float32  # from which on a probability is credited, where it is
    credit: np.float32  # what one sample counts
    distances: np.ndarray  # int64 (4 * room,): jumps, `longest` is distance 0
    departures: np.ndarray  # int64, as `exits`: jumps from each position


class Sampler(NamedTuple):
    """All that a sweep works with."""

    layout: Layout
    pair: Pair
    candidates: Candidates
    jumps: JumpWeights
    rates: Rates
    tally: Tally


class Ahead(NamedTuple):
    """The piece that comes next, whose slots are looked up while something else is calculated."""

    line: np.ndarray  # int64 (7,)
    slots: np.ndarray  # uint64 (cells,)
    pieces: Pieces
    ranks: Ranks
    table: np.ndarray  # uint64 (slots,), the lexicon's


class Run(NamedTuple):
    """What chains of one pair begin with, the best they have seen, and slots of this piece and the next."""

    begins: np.ndarray  # int64 (2 * room,)
    best: np.ndarray  # int64 (2 * room,)
    tops: np.ndarray  # float64 (2,): log-scores
    none_at_all: np.ndarray  # float64 (2,): those of no link and no NULL
    slots: tuple  # two of uint64 (cells,): by turns this piece's and the next one's
