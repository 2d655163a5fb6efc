"""Forward-backward over live cells only, for HMMs whose jumps depend on the word jumped from.

While a model learns, three or four cells per column are soon worth a thought, and as many places where the last link may
have been.  Lists of those replace the rows and columns of the dense HMM (kernels.hmm.dense, same equations): the cost is
that of the pairs on the lists, not O(I^2 J).
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.hmm.dense import largest, total_of
from dovetail.kernels.hmm.word_jumps import count_ends
from dovetail.kernels.live.records import BothWays, Chances, Expected, Past, Room, Sentence
from dovetail.kernels.live.rows import rows
from dovetail.kernels.records import COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET

FORGOTTEN = 0  # an entry of the past that stands for all that are not on it: nothing comes back from there
EVEN = np.float32(0.3)  # of what a position has if all have the same: one with this part of it is never forgotten
CROWDED = 8  # live cells per word above which rows are faster than lists
TINY = 1e-200  # the likelihood's logarithm is taken when the product falls under this, not word by word


@kernel
def jump_sums(weights, low, high, sums):
    """sums[word, b] = what jumps up to and including bin b weigh, from the middle outwards: one sum a side."""
    bins = weights.shape[1]
    middle = bins // 2
    for word in range(len(weights)):
        total = np.float32(0.0)
        for b in range(middle + 1, bins):
            sums[word, b] = total  # of the bins nearer than b
            total += weights[word, b] * np.float32(high[b] - low[b] + 1)
        total = np.float32(0.0)
        for b in range(middle - 1, -1, -1):
            sums[word, b] = total
            total += weights[word, b] * np.float32(high[b] - low[b] + 1)
        sums[word, middle] = weights[word, middle]


@leaf
def exit_chances(words, first_word, S, jumps, bins, exits):
    """exits[s'] = 1 / the summed weight of all jumps from s' that stay in the sentence."""
    weights, sums = jumps
    of, low, high = bins
    middle = len(of) // 2
    for before in range(S):
        word = words[first_word + before]
        total = weights[word, of[middle]]
        left = of[middle - before]
        if before > 0:
            total += sums[word, left] + weights[word, left] * np.float32(before + high[left] + 1)
        right = of[middle + S - 1 - before]
        if before < S - 1:
            total += sums[word, right] + weights[word, right] * np.float32(S - 1 - before - low[right] + 1)
        exits[before] = np.float32(1.0) / total


@leaf
def end_chances(S, shape, from_end, chances):
    """Weights by distance from one end of the sentence, normalised; returns 1 / their sum."""
    most = len(shape) - 1
    for s in range(S):
        chances[s] = shape[min(S - 1 - s if from_end else s, most)]
    scale = np.float32(1.0) / total_of(chances[:S])
    for s in range(S):
        chances[s] *= scale
    return scale


@leaf
def forgotten_below(S, negligible):
    """The probability under which a position of S is forgotten.  Of many none may have much, and some must be left."""
    return min(negligible, EVEN / np.float32(S))


@leaf
def chain(sentence, chances, null, negligible, room, expected, counting):
    """One direction of one sentence: T words in turn pick one of S states, or NULL, which keeps the position.

    Positions up to `negligible`, or less in long sentences, are forgotten.  With `counting`, `expected` gets what
    kernels.hmm.dense counts.  Returns the log-likelihood; unless `counting`, without the weights of last positions, so that
    all sentences together have a sum of 1.
    """
    T, S, begin, state, emission, nulls = sentence
    words, first_word, weights, exits, first, last, bins = chances
    alpha, place, weight, start_mass, past = room
    past_begin, past_state, past_word, past_position, past_beta, past_next, where = past
    moves, leaving, first_moves, final = expected
    p0 = np.float32(null)
    p1 = np.float32(1.0 - null)
    zero = np.float32(0.0)
    one = np.float32(1.0)
    least = forgotten_below(S, negligible)
    log_likelihood = 0.0
    likelihood = 1.0
    middle = len(bins) // 2
    mass = one  # probability that no word has been linked yet
    for s in range(S):
        where[s] = FORGOTTEN
    past_beta[FORGOTTEN] = zero
    low = FORGOTTEN + 1  # the last word's list
    high = low
    for t in range(T):
        past_begin[t] = high
        total = p0 * nulls[t]
        skip = total
        for m in range(begin[t], begin[t + 1]):
            s = state[m]
            value = mass * first[s]
            for a in range(low, high):
                jump = weights[past_word[a], bins[middle + s - past_state[a]]]
                value += past_beta[a] * jump  # position times exit, see below
            value *= p1 * emission[m]
            alpha[m] = value
            total += value
        scale = one / total
        skip *= scale
        top = high
        for a in range(low, high):  # written always, kept if not negligible: no branch to guess wrong
            value = skip * past_position[a]
            kept = value > least
            past_next[a] = where[past_state[a]] = top if kept else FORGOTTEN
            past_state[top] = past_state[a]
            past_word[top] = past_word[a]
            past_position[top] = value
            past_beta[top] = value * exits[past_state[a]]  # until the way back: what jumps are multiplied by
            top += kept
        for m in range(begin[t], begin[t + 1]):
            s = state[m]
            value = alpha[m] * scale
            alpha[m] = value
            emission[m] *= p1 * scale  # all that the way back needs
            listed = where[s] >= high
            entry = where[s] if listed else top
            kept = listed | (value > least)
            past_state[entry] = s
            past_word[entry] = words[first_word + s]
            value += past_position[entry] if listed else zero
            past_position[entry] = value
            past_beta[entry] = value * exits[s]
            place[m] = where[s] = entry if kept else FORGOTTEN
            top += kept & (not listed)
        low, high = high, top
        nulls[t] = skip
        mass *= skip
        if mass < np.float32(1e-30):
            mass = zero
        start_mass[t] = mass
        likelihood *= total
        if likelihood < TINY:
            log_likelihood += math.log(likelihood)
            likelihood = 1.0
    past_begin[T] = high

    # A sentence of nothing but NULLs ends nowhere: the mean stands for it.
    end = mass * total_of(last[:S]) / np.float32(S)
    for a in range(low, high):
        end += past_position[a] * last[past_state[a]]
    log_likelihood += math.log(likelihood * end if counting else likelihood)
    for a in range(low, high):
        past_beta[a] = last[past_state[a]] / end
    if counting:
        moves[:] = zero
        for s in range(S):
            first_moves[s] = zero
            leaving[s] = zero
            final[s] = zero
        for a in range(low, high):
            final[past_state[a]] = past_position[a]
    for t in range(T - 1, -1, -1):
        skip = nulls[t]
        linked = zero
        before_mass = start_mass[t - 1] if t > 0 else one
        for m in range(begin[t], begin[t + 1]):
            beta = past_beta[place[m]]
            weight[m] = emission[m] * beta
            emission[m] = alpha[m] * beta
            linked += emission[m]
            if counting:
                first_moves[state[m]] += before_mass * first[state[m]] * weight[m]
        nulls[t] = max(zero, one - linked)
        if t > 0:
            for a in range(past_begin[t - 1], past_begin[t]):
                s = past_state[a]
                share = past_position[a] * exits[s]
                beta = zero
                for m in range(begin[t], begin[t + 1]):
                    to = state[m]
                    b = bins[middle + to - s]
                    value = weights[past_word[a], b] * weight[m]
                    beta += value
                    if counting:
                        moves[s, b] += share * value
                beta *= exits[s]
                if counting:
                    leaving[s] += past_position[a] * beta
                past_beta[a] = beta + skip * past_beta[past_next[a]]
    return log_likelihood


@kernel
def expect(first, last, pieces, live, nulls, values, work, log_likelihood, jumps, counts, counting):
    """Posteriors of both directions for pieces first..last - 1, in place of live cells' emissions in `values`.

    NULL's posteriors go to `work`.  With `counting`, `counts` get expected moves out of each token, first and last
    positions, and exposures.
    """
    lines, start = pieces.lines, live.start
    longest, area = largest(first, last, lines)
    most = 0
    crowded = False
    for piece in range(first, last):
        line = lines[piece]
        n = start[line[ROW] + line[LENGTH_I]] - start[line[ROW]]
        most = max(most, n)
        crowded |= n > CROWDED * min(line[LENGTH_I], line[LENGTH_J])
    space = 3 * longest * longest + 2 * area if crowded else 0
    of_tokens, places = np.empty((6, longest), np.float32), np.empty((3, longest + 1), np.int64)
    of_past, past_values = np.empty((3, area + 2), np.int64), np.empty((2, area + 2), np.float32)
    of_cells, cell_values = np.empty((3, most), np.int64), np.empty((3, most), np.float32)
    chances, rows_space = np.empty((3, longest), np.float32), np.empty(space, np.float32)
    room = BothWays(chances, of_tokens, places, of_past, past_values, of_cells, cell_values, rows_space)
    for piece in range(first, last):
        both_ways(lines[piece], pieces, live, nulls, values, work, log_likelihood[piece], jumps, counts, counting, room)


@leaf
def both_ways(line, pieces, live, nulls, values, work, log_likelihood, jumps, counts, counting, room):
    """`expect` for one piece."""
    start, column, row = live.start, live.column, line[ROW]
    source_ids, target_ids = pieces.source_ids, pieces.target_ids
    forward, reverse = values
    chances, of_tokens, places, of_past, past_values, of_cells, cell_values, space = room
    start_mass, beta, weight_by_state = of_tokens[0], of_tokens[1], of_tokens[2]
    leaving, first_moves, final = of_tokens[3], of_tokens[4], of_tokens[5]
    past = Past(places[0], of_past[0], of_past[1], past_values[0], past_values[1], of_past[2], places[1])
    begin, order, state, in_order = places[2], of_cells[0], of_cells[1], cell_values[0]
    of_chain = Room(cell_values[1], of_cells[2], cell_values[2], start_mass, past)
    low = start[row]
    high = start[row + line[LENGTH_I]]
    n = high - low
    for direction in range(2):
        if direction == 0:
            S, T, token = line[LENGTH_I], line[LENGTH_J], line[ROW]
            words, first_word, own, tokens = source_ids, line[SOURCE], jumps.forward, counts.rows
            emission = in_order[:n]
            of_null = work.null_forward[line[COLUMN] : line[COLUMN] + T]
            for t in range(T):
                of_null[t] = nulls.forward[target_ids[line[TARGET] + t]]
            by_column(row, S, T, start, column, begin, order, state)
            for m in range(n):
                in_order[m] = forward[low + order[m]]
        else:
            S, T, token = line[LENGTH_J], line[LENGTH_I], line[COLUMN]
            words, first_word, own, tokens = target_ids, line[TARGET], jumps.reverse, counts.columns
            emission = reverse[low:high]
            of_null = work.null_reverse[line[ROW] : line[ROW] + T]
            for t in range(T):
                of_null[t] = nulls.reverse[source_ids[line[SOURCE] + t]]
            for t in range(T + 1):
                begin[t] = start[row + t] - low
            for k in range(n):
                state[k] = column[low + k]
        moves = tokens.by_bin[token : token + S] if counting else tokens.by_bin
        exits, first_link, last_link = chances[0], chances[1], chances[2]
        exit_chances(words, first_word, S, own, jumps.bins, exits)
        of_ends = (
            end_chances(S, jumps.ends[direction, 0], False, first_link),
            end_chances(S, jumps.ends[direction, 1], True, last_link),
        )
        sentence = Sentence(T, S, begin, state, emission, of_null)
        of_words = Chances(words, first_word, own.weights, exits, first_link, last_link, jumps.bins.of)
        expected = Expected(moves, leaving, first_moves, final)
        if n > CROWDED * T:
            log_likelihood[direction] = rows(
                sentence, of_words, jumps.null, space, start_mass, beta, weight_by_state, expected, counting
            )
        else:
            log_likelihood[direction] = chain(
                sentence, of_words, jumps.null, jumps.negligible, of_chain, expected, counting
            )
        if direction == 0:
            for m in range(n):
                forward[low + order[m]] = in_order[m]
        if counting:
            for s in range(S):
                tokens.exposure[token + s] = max(leaving[s], np.float32(0.0)) * exits[s]
            count_ends(first_moves[:S], final, last_link, *of_ends, counts.ends[direction])


@leaf
def by_column(row, I, J, start, column, begin, order, state):
    """The live cells of a piece by column: those of column j are order[begin[j]:begin[j + 1]]; `state` are their rows."""
    low = start[row]
    begin[: J + 1] = 0
    for k in range(low, start[row + I]):
        begin[column[k] + 1] += 1
    for j in range(J):
        begin[j + 1] += begin[j]
    for i in range(I):  # filled from each column's start; the starts move up by one place
        for k in range(start[row + i] - low, start[row + i + 1] - low):
            j = column[low + k]
            order[begin[j]] = k
            state[begin[j]] = i
            begin[j] += 1
    for j in range(J, 0, -1):
        begin[j] = begin[j - 1]
    begin[0] = 0
