"""From translation probabilities to posteriors, piece by piece: all that a trained model does before links are chosen.

One piece's live cells stay in the cache from their choice to the end.  Same steps as an E-step's, see kernels.live.cells,
.chain and .settle, but nothing is counted.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels._numba import fetch
from dovetail.kernels.hmm.dense import largest, total_of
from dovetail.kernels.live.cells import enough_in_columns, live_in_row
from dovetail.kernels.live.chain import both_ways, word_chances
from dovetail.kernels.live.records import Beliefs, BothWays, Values
from dovetail.kernels.live.settle import MessageRoom, talk
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J, SOURCE, TARGET

LINE = 16  # float32 that are brought into the cache at once


@kernel
def posteriors(first, last, pieces, nulls, jumps, fertility, generous, share, counts, work, log_likelihood):
    """Posteriors of both directions in place of the probabilities in `work`, for pieces first..last - 1.

    Cells with the part `generous` of their column's or row's probability live.  A first pass gives `log_likelihood`
    (pieces, 2); then cells that have lost the part `share` of the posteriors die, the words' fertilities (two tables, empty
    ones for none) speak to the others, and a second pass heeds them.  `counts` are empty: nobody counts moves here.
    """
    lines = pieces.lines
    longest, area = largest(first, last, lines)
    K = fertility[0].shape[1]
    of_tokens, places = np.empty((6, longest), np.float32), np.empty((3, longest + 1), np.int64)
    of_past, past_values = np.empty((3, area + 2), np.int64), np.empty((2, area + 2), np.float32)
    of_cells, cell_values = np.empty((3, area), np.int64), np.empty((3, area), np.float32)
    space = np.empty(3 * longest * longest + 2 * area, np.float32)
    chances, scales = np.empty((2, 3, longest), np.float32), np.empty((2, 2))
    room = BothWays(chances, scales, of_tokens, places, of_past, past_values, of_cells, cell_values, space)
    message_values = np.empty((2, area), np.float32)
    messages = MessageRoom(
        places[2], of_cells[0], of_cells[1], message_values[0], message_values[1], np.empty(area), np.empty(K)
    )
    nobody_asks = np.empty((longest, 0))
    beliefs = Beliefs(fertility[0], fertility[1], nobody_asks, nobody_asks)
    start, column = np.empty(longest + 1, np.int64), np.empty(area + longest, np.uint16)
    planes = np.empty((6, area), np.float32)
    emissions, told = Values(planes[0], planes[1]), Values(planes[4], planes[5])
    enough = of_tokens[0]
    unused = np.empty(2)
    for piece in range(first, last):
        line = lines[piece]
        if piece + 1 < last:
            at, width = lines[piece + 1, SOURCE], lines[piece + 1, LENGTH_I]
            fetch_words(pieces.source_ids[at : at + width], jumps.forward, fertility[0])
            at, width = lines[piece + 1, TARGET], lines[piece + 1, LENGTH_J]
            fetch_words(pieces.target_ids[at : at + width], jumps.reverse, fertility[1])
        enough_in_columns(line, work.forward, generous, enough)
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        n = 0
        start[0] = 0
        for i in range(I):
            own = cell + i * J, J, work.forward, work.reverse
            n = live_in_row(*own, generous, enough, n, column, emissions.forward, emissions.reverse)
            start[i + 1] = n
        values = Values(planes[2][:n], planes[3][:n])
        for k in range(n):
            values.forward[k] = emissions.forward[k]
            values.reverse[k] = emissions.reverse[k]
        word_chances(line, pieces, jumps, room)
        for heeding in range(2 if len(fertility[0]) > 0 else 1):
            if heeding:
                n = narrow(I, J, start, column, planes, share, enough)
                for k in range(n):
                    told.forward[k] = told.reverse[k] = np.float32(1.0)
                talk(line, 0, 0, pieces, start, column, values, told.forward, told.reverse, beliefs, messages)
                for k in range(n):
                    values.forward[k] = emissions.forward[k] * told.forward[k]
                    values.reverse[k] = emissions.reverse[k] * told.reverse[k]
            # Messages are no probabilities: what the second pass says of the piece does not count.
            scores = unused if heeding else log_likelihood[piece]
            both_ways(line, 0, pieces, (start, column), nulls, values, work, scores, jumps, counts, False, room)
        work.forward[cell : cell + I * J] = np.float32(0.0)
        work.reverse[cell : cell + I * J] = np.float32(0.0)
        for i in range(I):
            for k in range(start[i], start[i + 1]):
                work.forward[cell + i * J + column[k]] = values.forward[k]
                work.reverse[cell + i * J + column[k]] = values.reverse[k]


@leaf
def fetch_words(words, jumps, fertility):
    """Have jumps and fertilities of some words brought into the cache while another piece is worked on."""
    bins, counts = jumps.weights.shape[1], fertility.shape[1]
    for word in words:
        for b in range(0, bins, LINE):
            fetch(jumps.weights, np.uint64(word * bins + b))
            fetch(jumps.sums, np.uint64(word * bins + b))
        if len(fertility) > 0:
            fetch(fertility, np.uint64(word * counts))


@leaf
def narrow(I, J, start, column, planes, share, enough):
    """Drop live cells that have lost their share, as kernels.live.cells.narrow does, and close up; returns how many stay.

    Planes are their emissions and their posteriors, of both directions.
    """
    forward, reverse = planes[2], planes[3]
    enough[:J] = np.float32(0.0)
    for k in range(start[I]):
        enough[column[k]] += forward[k]
    for j in range(J):
        enough[j] *= share
    used = 0
    k = 0
    for i in range(I):
        end = start[i + 1]
        enough_in_row = share * total_of(reverse[k:end])
        while k < end:  # written always, kept if alive: no branch to guess wrong
            alive = (forward[k] >= enough[column[k]]) | (reverse[k] >= enough_in_row)
            column[used] = column[k]
            for plane in range(4):
                planes[plane, used] = planes[plane, k]
            used += alive
            k += 1
        start[i + 1] = used
    return used
