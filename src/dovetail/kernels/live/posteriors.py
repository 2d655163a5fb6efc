"""From translation probabilities to posteriors, piece by piece: all that a trained model does before links are chosen.

One piece's cells stay in the cache from the first pass to the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels._numba import chosen, fetch, first_of, load, nothing, store, transpose
from dovetail.kernels.hmm.dense import largest
from dovetail.kernels.live.chain import by_column, end_chances
from dovetail.kernels.live.messages import NOTABLE, distribution, ratio, ratio_of_lump, speak_to_others
from dovetail.kernels.live.octets import OCTET, WORD, Chain, both_chains, lay_out_jumps, own_bits, width_of
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET

LINE = 16  # float32 that are brought into the cache at once


class Links(NamedTuple):
    """Cells of a piece that live, by row: those of row i are start[i]:start[i + 1]."""

    start: np.ndarray  # int64 (I + 1,)
    row: np.ndarray  # int64
    column: np.ndarray  # int64
    emission: np.ndarray  # float32 (2 directions, cells)
    posterior: np.ndarray  # float32 (2, cells): of the first pass
    message: np.ndarray  # float32 (2, cells): what fertilities say


class Speech(NamedTuple):
    """Scratch space for the messages of one piece's words."""

    begin: np.ndarray  # int64 (longest side + 1,)
    order: np.ndarray  # int64 (cells,)
    notable: np.ndarray  # int64 (cells,)
    chances: np.ndarray  # float64 (cells,)
    others: np.ndarray  # float64 (K + 1,)


@kernel
def posteriors(first, last, pieces, nulls, jumps, fertility, share, work, log_likelihood):
    """Posteriors of both directions in place of the probabilities in `work`, for pieces first..last - 1.

    A first pass over all cells gives `log_likelihood` (pieces, 2).  Cells live that have the part `share` of their column's
    or row's posteriors; to these the words' fertilities (two tables, empty ones for none) speak, and a second pass over
    them heeds that.  All others have probability zero.
    """
    lines = pieces.lines
    longest, area = largest(first, last, lines)
    width = width_of(longest)
    room = (width + 1) * width  # a row more for nobody's
    of_cells, entries = np.empty((2, 4, room), np.float32), np.empty((2, 2, room), np.int64)
    of_tokens, numbers = np.zeros((2, 8, width + OCTET), np.float32), np.empty((2, 2, width + OCTET), np.int64)
    a, b, c, d = of_cells[0], entries[0], of_tokens[0], numbers[0]
    forward = Chain(a[0], a[1], a[2], d[0], c[0], c[1], c[2], d[1], b[0], b[1], a[3], c[3], c[4], c[5], c[6], c[7])
    a, b, c, d = of_cells[1], entries[1], of_tokens[1], numbers[1]
    reverse = Chain(a[0], a[1], a[2], d[0], c[0], c[1], c[2], d[1], b[0], b[1], a[3], c[3], c[4], c[5], c[6], c[7])
    chains = forward, reverse
    planes = np.zeros((2, room), np.float32)  # posteriors by source and target position; empty between pieces
    alive = np.zeros((width + 1, width // WORD + 1), np.uint64)
    by_length = np.empty((2, 2, longest + 1, width + OCTET), np.float32)
    ends = by_length.reshape(-1), np.zeros((2, longest + 1), np.bool_), np.empty((2, 2), np.int64)
    places, values = np.empty((2, area), np.int64), np.empty((3, 2, area), np.float32)
    links = Links(np.empty(longest + 1, np.int64), places[0], places[1], values[0], values[1], values[2])
    spoken = np.empty((2, area), np.int64)
    others = np.empty(fertility[0].shape[1])
    speech = Speech(np.empty(longest + 1, np.int64), spoken[0], spoken[1], np.empty(area + 1), others)
    unused = np.empty(2)
    for piece in range(first, last):
        line = lines[piece]
        I, J = line[LENGTH_I], line[LENGTH_J]
        if piece + 1 < last:
            coming = lines[piece + 1]
            fetch_words(pieces.source_ids, coming[SOURCE], coming[LENGTH_I], jumps.forward, fertility[0])
            fetch_words(pieces.target_ids, coming[TARGET], coming[LENGTH_J], jumps.reverse, fertility[1])
        lay_out(line, pieces, nulls, jumps, work, chains, ends)
        both_chains(I, J, chains, jumps, ends[0], ends[2], log_likelihood[piece])
        keep(I, J, chains, share, planes, alive)
        links_of(I, J, chains, planes, alive, links)
        if len(fertility[0]) > 0:
            talk(line, pieces, links, fertility, speech)
            tell(I, J, links, chains)
            # Messages are no probabilities: what the second pass says of the piece does not count.
            both_chains(I, J, chains, jumps, ends[0], ends[2], unused)
            take(I, J, chains, planes)
            believe(I, J, links, planes)
        write(line, links, chains, work)


@leaf
def fetch_words(ids, first, n, jumps, fertility):
    """Have jumps and fertilities of some words brought into the cache while another piece is worked on."""
    wide, reach, counts = jumps.wide, jumps.reach, fertility.shape[1]
    n = min(n, reach)
    for k in range(n):
        word = np.int64(ids[first + k])
        place = (2 * word + 1) * reach - k
        fetch(wide, np.uint64(place))
        fetch(wide, np.uint64(place + LINE))
        fetch(wide, np.uint64(place + n))
        if len(fertility) > 0:
            fetch(fertility, np.uint64(word * counts))


@leaf
def lay_out(line, pieces, nulls, jumps, work, chains, ends):
    """All that the chains of a piece are told."""
    forward, reverse = chains
    I, J, source, target = line[LENGTH_I], line[LENGTH_J], line[SOURCE], line[TARGET]
    lay_out_emissions(I, J, line[CELL], work, forward.emission, reverse.emission)
    lay_out_ends(I, 0, jumps, ends)
    lay_out_ends(J, 1, jumps, ends)
    p1 = np.float32(1.0 - jumps.null)
    lay_out_jumps(pieces.source_ids, source, I, jumps.forward, jumps.bins.of, p1, forward)
    lay_out_jumps(pieces.target_ids, target, J, jumps.reverse, jumps.bins.of, p1, reverse)
    for t in range(J):
        forward.null[t] = nulls.forward[pieces.target_ids[target + t]]
    for t in range(I):
        reverse.null[t] = nulls.reverse[pieces.source_ids[source + t]]


@leaf
def lay_out_emissions(I, J, cell, work, forward, reverse):
    """Emissions by the words that pick, a row each: the forward direction's the other way round."""
    WI, WJ = width_of(I), width_of(J)
    if cell + WI * J + OCTET <= len(work.forward):  # what lies behind a row is loaded, too, and left out
        for i in range(0, I, OCTET):
            for j in range(0, J, OCTET):
                there, here = np.uint64(cell + i * J + j), np.uint64(j * WI + i)
                transpose(work.forward, there, np.uint64(J), np.uint64(I - i), forward, here, np.uint64(WI))
        for i in range(I):
            at = cell + i * J
            for k in range(0, WJ - OCTET, OCTET):
                store(reverse, np.uint64(i * WJ + k), load(work.reverse, np.uint64(at + k)))
            some = chosen(load(work.reverse, np.uint64(at + WJ - OCTET)), own_bits(J))
            store(reverse, np.uint64(i * WJ + WJ - OCTET), some)
        return
    for j in range(J):
        store(forward, np.uint64(j * WI + WI - OCTET), nothing())
    for i in range(I):
        store(reverse, np.uint64(i * WJ + WJ - OCTET), nothing())
        for j in range(J):
            forward[j * WI + i] = work.forward[cell + i * J + j]
            reverse[i * WJ + j] = work.reverse[cell + i * J + j]


@leaf
def lay_out_ends(S, direction, jumps, ends):
    """Where the chances of first and last links are, which all sentences of a length share."""
    chances, known, places = ends
    lengths = known.shape[1]
    width = len(chances) // (4 * lengths)
    for end in range(2):
        place = ((2 * direction + end) * lengths + S) * width
        places[direction, end] = place
        if not known[direction, S]:
            end_chances(S, jumps.ends[direction, end], end == 1, chances[place : place + width])
            for k in range(S, width):
                chances[place + k] = np.float32(0.0)
    known[direction, S] = True


@leaf
def take(I, J, chains, planes):
    """Posteriors from the lists of both chains to where they belong."""
    forward, reverse = chains
    width = width_of(J)
    for j in range(J):
        for a in range(forward.begin[j + 1], forward.begin[j + 2]):
            planes[0, forward.state[a] * width + j] = forward.value[a]
    for i in range(I):
        for a in range(reverse.begin[i + 1], reverse.begin[i + 2]):
            planes[1, i * width + reverse.state[a]] = reverse.value[a]


@leaf
def keep(I, J, chains, share, planes, alive):
    """`take`, and mark which cells have their share."""
    forward, reverse = chains
    zero = np.float32(0.0)
    width = width_of(J)
    for i in range(I):
        for word in range(alive.shape[1]):
            alive[i, word] = np.uint64(0)
    for j in range(J):
        enough = share * forward.linked[j]
        for a in range(forward.begin[j + 1], forward.begin[j + 2]):
            i, value = forward.state[a], forward.value[a]
            planes[0, i * width + j] = value
            alive[i, j // WORD] |= np.uint64((value >= enough) & (value > zero)) << np.uint64(j % WORD)
    for i in range(I):
        enough = share * reverse.linked[i]
        for a in range(reverse.begin[i + 1], reverse.begin[i + 2]):
            j, value = reverse.state[a], reverse.value[a]
            planes[1, i * width + j] = value
            alive[i, j // WORD] |= np.uint64((value >= enough) & (value > zero)) << np.uint64(j % WORD)


@leaf
def links_of(I, J, chains, planes, alive, links):
    """The cells that are marked; empties the planes."""
    start, row, column, emission, posterior, _ = links
    forward, reverse = chains
    WI, WJ = width_of(I), width_of(J)
    n = 0
    start[0] = 0
    for i in range(I):
        for word in range((J + WORD - 1) // WORD):
            bits = alive[i, word]
            while bits:
                row[n] = i
                column[n] = np.int64(first_of(bits)) + word * WORD
                bits &= bits - np.uint64(1)
                n += 1
        start[i + 1] = n
    for k in range(n):
        i, j = row[k], column[k]
        posterior[0, k], posterior[1, k] = planes[0, i * WJ + j], planes[1, i * WJ + j]
        emission[0, k], emission[1, k] = forward.emission[j * WI + i], reverse.emission[i * WJ + j]
    clear(planes[0], I * WJ)
    clear(planes[1], I * WJ)


@leaf
def clear(values, size):
    """Zeros in whole octets."""
    for k in range(0, size, OCTET):
        store(values, np.uint64(k), nothing())


@leaf
def talk(line, pieces, links, fertility, speech):
    """What all words' fertilities say to the cells, as kernels.live.settle.talk where nothing has been said before."""
    I, J = line[LENGTH_I], line[LENGTH_J]
    start, order = links.start, speech.order
    by_column(0, I, J, start, links.column, speech.begin, order, speech.notable)
    words = pieces.target_ids[line[TARGET] : line[TARGET] + J]
    speak_first(words, speech.begin, links.posterior[1], links.message[1], fertility[1], speech)
    for k in range(start[I]):
        order[k] = k
    words = pieces.source_ids[line[SOURCE] : line[SOURCE] + I]
    speak_first(words, start, links.posterior[0], links.message[0], fertility[0], speech)


@leaf
def speak_first(words, begin, posterior, message, fertility, speech):
    """Messages of one side's words to their cells: word w's are order[begin[w]:begin[w + 1]] (see kernels.live.messages)."""
    order, notable, chances, others = speech.order, speech.notable, speech.chances, speech.others
    zero = np.float32(0.0)
    for w in range(len(words)):
        low, high = begin[w], begin[w + 1]
        n = 0
        lump = zero
        for m in range(low, high):  # written always, kept if notable: no branch to guess wrong
            p = posterior[order[m]]
            alone = p > NOTABLE
            chances[n] = min(p, np.float32(1.0 - 1e-6))
            notable[n] = order[m]
            n += alone
            lump += zero if alone else p
        lump = min(np.float64(lump), 0.5)
        phi = fertility[words[w]]
        if n < high - low:
            told = speak_to_others(chances, n, lump, phi, others, others[:0])
            for m in range(low, high):
                message[order[m]] = told
        if n == 1:  # as most words: no others but the lump
            message[notable[0]] = ratio_of_lump(lump, phi)
        else:
            for m in range(n):
                distribution(chances, n, m, lump, others)
                message[notable[m]] = ratio(others, phi)


@leaf
def tell(I, J, links, chains):
    """Emissions of the living cells with what they have been told, and of no others."""
    _, row, column, emission, _, message = links
    forward, reverse = chains
    WI, WJ = width_of(I), width_of(J)
    clear(forward.emission, J * WI)
    clear(reverse.emission, I * WJ)
    for k in range(links.start[I]):
        i, j = row[k], column[k]
        forward.emission[j * WI + i] = emission[0, k] * message[0, k]
        reverse.emission[i * WJ + j] = emission[1, k] * message[1, k]


@leaf
def believe(I, J, links, planes):
    """The second pass's posteriors of the living cells; empties the planes."""
    WJ = width_of(J)
    for k in range(links.start[I]):
        at = links.row[k] * WJ + links.column[k]
        links.posterior[0, k], links.posterior[1, k] = planes[0, at], planes[1, at]
    clear(planes[0], I * WJ)
    clear(planes[1], I * WJ)


@leaf
def write(line, links, chains, work):
    """Posteriors of the piece, in place of its emissions."""
    I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
    one, zero = np.float32(1.0), np.float32(0.0)
    work.forward[cell : cell + I * J] = zero
    work.reverse[cell : cell + I * J] = zero
    for k in range(links.start[I]):
        at = cell + links.row[k] * J + links.column[k]
        work.forward[at] = links.posterior[0, k]
        work.reverse[at] = links.posterior[1, k]
    for j in range(J):
        work.null_forward[line[COLUMN] + j] = max(zero, one - chains[0].linked[j])
    for i in range(I):
        work.null_reverse[line[ROW] + i] = max(zero, one - chains[1].linked[i])
