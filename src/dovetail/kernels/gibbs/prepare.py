"""What sampling needs for many pieces, made once: room for the largest, weights of jumps, factors of fertility.

Plain numpy: in a kernel, making so many arrays would take as long to compile as a sweep.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels._numba import OCTET
from dovetail.kernels.gibbs import records
from dovetail.kernels.gibbs.layout import GROUP, padded
from dovetail.kernels.hmm.dense import running_sums
from dovetail.kernels.records import LENGTH_I, LENGTH_J


@kernel
def octets(size):
    """An array of float32 that is read by octets: numba's begin at a multiple of their size, numpy's of half of it."""
    return np.empty(size, np.float32)


@kernel
def layout_of(first_piece, last_piece, lines):
    """For the largest of the pieces; also the cells of that one, and the tokens of all."""
    longest = 0
    area = 0
    cells = 0
    tokens = 0
    for piece in range(first_piece, last_piece):
        I, J = lines[piece, LENGTH_I], lines[piece, LENGTH_J]
        longest = max(longest, I, J)
        area = max(area, padded(I) * J, I * padded(J))
        cells = max(cells, I * J)
        tokens += max(I, J)
    beside = 2 * longest + OCTET
    groups = (longest + GROUP - 1) // GROUP
    return (
        records.Layout(longest, padded(longest) + OCTET, area, groups, beside, beside + padded(longest)),
        cells,
        tokens,
    )


def tails(size: int, width: int, falling: bool, deficient: bool) -> np.ndarray:
    """By which factor `gain` differs from a word's first `width` ratios, for counts 0 .. size - 1.

    Beyond them, ratios stay the same or, if `falling`, go on as a Poisson's do: mean / (count + 1).  Without the deficiency,
    the (count + 1)! ways to order the links come in (section 3).
    """
    tail = np.ones(size, np.float32)
    following = np.arange(1, size + 1, dtype=np.float32)
    if falling:
        tail[width:] = np.float32(width) / following[width:]
    return tail if deficient else tail * following


def weights_of(layout: records.Layout, jumps: list[np.ndarray], rest: tuple[np.ndarray, ...] | None) -> np.ndarray:
    """Of each direction the weights of jumps -longest..longest, room for the last octet, and `rest` (or ones)."""
    weights = np.ones((2, layout.span), np.float32)
    for d in range(2):
        weights[d, : 2 * layout.longest + 1] = jumps[d]
        if rest is not None:
            weights[d, layout.beside : layout.beside + layout.longest] = rest[d][: layout.longest]
    return weights.reshape(-1)


def jump_weights_of(layout: records.Layout, jumps: records.Jumps) -> records.JumpWeights:
    """Weights of jumps as sweeps want them; sums for a length are still to be worked out (see `pieces.sum_jumps`)."""
    longest, room = layout.longest, layout.room
    middle = len(jumps.weights[0]) // 2
    near = [weights[middle - longest : middle + longest + 1] for weights in jumps.weights]
    lengths = 2 * (longest + 1)
    return records.JumpWeights(
        weights_of(layout, near, jumps.first_links),
        weights_of(layout, [weights[::-1] for weights in near], None),
        np.float32(max(jumps.p1, 1e-30)),  # so that p0 / p1 is a number
        (running_sums(near[0]), running_sums(near[1])),
        (running_sums(jumps.first_links[0][:longest]), running_sums(jumps.first_links[1][:longest])),
        np.empty(lengths * room, np.float32) if jumps.normalised else np.ones(room, np.float32),
        np.zeros(lengths, np.bool_),
        np.ones(2, np.float32),
    )


def rates_of(layout: records.Layout, fertility: records.Fertility) -> records.Rates:
    """Room for a pair's ratios, and what is beyond them."""
    size, width = layout.longest + 1, fertility.ratios[0].shape[1]
    null_tail = np.ones(size, np.float32)
    counts = np.arange(1, size + 1, dtype=np.float32)
    if fertility.deficient and fertility.null_counts:
        null_tail /= counts
    elif not (fertility.deficient or fertility.null_counts):
        null_tail *= counts
    tail = tails(size, width, fertility.falling, fertility.deficient)
    return records.Rates(np.empty((2 * layout.room, width), np.float32), tail, null_tail, fertility.empty_words)


def tally_of(layout: records.Layout, departures: int, credit: np.float32, likely: float) -> records.Tally:
    """Nothing counted yet; `departures` positions could be jumped from, and a sample counts `credit`."""
    limit = np.float32(likely) * credit
    posterior, limits = octets(2 * layout.area), octets(4 * layout.room)
    posterior.fill(0.0)
    by_word = limits.reshape(2, 2, -1)
    by_word[:, 0], by_word[:, 1] = np.inf, limit
    return records.Tally(
        posterior,
        np.zeros(2 * layout.room * layout.groups, np.uint64),
        np.empty(2 * layout.room, np.float32),
        np.zeros(2 * layout.room, np.bool_),
        limits,
        limit,
        credit,
        np.zeros(4 * layout.room, np.int64),
        np.zeros(departures, np.int64),
    )


def sampler_of(
    layout: records.Layout, jumps: records.Jumps, fertility: records.Fertility, credit: np.float32, likely: float
) -> records.Sampler:
    """All that sweeps need for pieces that fit in the layout."""
    words = 2 * layout.room
    emission, gains = octets(2 * layout.area), octets(2 * words)
    gains.fill(0.0)
    weights = jump_weights_of(layout, jumps)
    alignment, counts, after = np.empty((3, words), np.int64)
    pair = records.Pair(np.zeros(12, np.int64), alignment, counts, gains, after, np.empty(2, np.uint64))
    null_odds, sums = np.empty(words, np.float32), np.zeros(4 * OCTET, np.float32)
    candidates = records.Candidates(emission, emission.view(np.uint32), null_odds, octets(words), sums)
    tally = tally_of(layout, len(weights.exits), credit, likely)
    return records.Sampler(layout, pair, candidates, weights, rates_of(layout, fertility), tally)


def run_of(layout: records.Layout, cells: int) -> records.Run:
    """Room for what chains of one pair share, and for the slots of two pieces of so many `cells`."""
    begins, best = np.empty(2 * layout.room, np.int64), np.empty(2 * layout.room, np.int64)
    return records.Run(begins, best, np.empty(2), np.empty(2), (np.empty(cells, np.uint64), np.empty(cells, np.uint64)))


def links_of(size: int) -> records.Links:
    """No links yet, and room for so many in either direction."""
    slots, posteriors = (tuple(np.empty(size, kind) for _ in range(2)) for kind in (np.int64, np.float32))
    return records.Links(np.zeros(2, np.int64), slots, posteriors)


def with_room(links: records.Links, size: int) -> records.Links:
    """The same links, with room for so many."""
    longer = links_of(max(size, len(links.slots[0])))
    for d, number in enumerate(links.numbers):
        longer.numbers[d] = number
        longer.slots[d][:number] = links.slots[d][:number]
        longer.posteriors[d][:number] = links.posteriors[d][:number]
    return longer
