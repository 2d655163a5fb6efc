"""The flagship's E-step: two HMMs whose jumps depend on the word jumped from, then agreement and fertility messages."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.agreement import softened
from dovetail.kernels.fertility_messages import NOTABLE, speak
from dovetail.kernels.hmm import forward_backward
from dovetail.kernels.lines import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET


@kernel
def word_transitions(words, first_word, I, weights, bins, start, end, table, transposed, first, last, exits):
    """p(i | i') = weights[word at i', bin of i - i'], normalised over the sentence; first and last positions likewise.

    `bins` numbers every distance, distance 0 in the middle; `start` and `end` are weights by position from the
    respective end, the last entry shared by the rest.  `exits` (I + 2,) gets 1 / the sums: jumps', start's, end's.
    """
    middle = len(bins) // 2
    for before in range(I):
        weight = weights[words[first_word + before]]
        total = np.float32(0.0)
        for i in range(I):
            value = weight[bins[middle + i - before]]
            table[before, i] = value
            total += value
        exits[before] = np.float32(1.0) / total
        for i in range(I):
            table[before, i] *= exits[before]
    for i in range(I):
        for before in range(I):
            transposed[i, before] = table[before, i]
    for side in range(2):
        shape, chances = (start, first) if side == 0 else (end, last)
        total = np.float32(0.0)
        for i in range(I):
            distance = i if side == 0 else I - 1 - i
            chances[i] = shape[min(distance, len(shape) - 1)]
            total += chances[i]
        exits[I + side] = np.float32(1.0) / total
        for i in range(I):
            chances[i] *= exits[I + side]


@kernel
def expect(
    first,
    last,
    lines,
    source_ids,
    target_ids,
    null_forward,
    null_reverse,
    forward,
    reverse,
    null_forward_posterior,
    null_reverse_posterior,
    log_likelihood,
    null,
    forward_weights,
    reverse_weights,
    bins,
    ends,
    counting,
    row_moves,
    row_exposure,
    column_moves,
    column_exposure,
    end_counts,
):
    """Posteriors of both directions for pieces first..last - 1, in place of the emissions in `forward` and `reverse`.

    `ends` (2 directions, start and end, positions).  With `counting`: expected moves out of each token by bin
    (tokens, bins), and what they were exposed to per unit of weight (tokens,); `end_counts` (2, 2, 2, positions) gets
    expected first and last positions, and exposures.
    """
    longest = 0
    area = 0
    for piece in range(first, last):
        longest = max(longest, lines[piece, LENGTH_I], lines[piece, LENGTH_J])
        area = max(area, lines[piece, LENGTH_I] * lines[piece, LENGTH_J])
    table_space = np.empty(longest * longest, np.float32)
    transposed_space = np.empty(longest * longest, np.float32)
    moves_space = np.empty(longest * longest if counting else 0, np.float32)
    emission_space = np.empty(area, np.float32)
    position_space = np.empty(area, np.float32)
    first_space = np.empty(longest, np.float32)
    last_space = np.empty(longest, np.float32)
    first_moves_space = np.empty(longest, np.float32)
    leaving_space = np.empty(longest, np.float32)
    exits = np.empty(longest + 2, np.float32)
    beta = np.empty(longest, np.float32)
    weight = np.empty(longest, np.float32)
    start_mass = np.empty(longest, np.float32)
    for piece in range(first, last):
        line = lines[piece]
        cell = line[CELL]
        for direction in range(2):
            if direction == 0:
                I, J, token = line[LENGTH_I], line[LENGTH_J], line[ROW]
                words, first_word, weights = source_ids, line[SOURCE], forward_weights
                moves_by_bin, exposure = row_moves, row_exposure
            else:
                I, J, token = line[LENGTH_J], line[LENGTH_I], line[COLUMN]
                words, first_word, weights = target_ids, line[TARGET], reverse_weights
                moves_by_bin, exposure = column_moves, column_exposure
            table = table_space[: I * I].reshape(I, I)
            transposed = transposed_space[: I * I].reshape(I, I)
            moves = moves_space[: I * I].reshape(I, I) if counting else moves_space.reshape(0, 0)
            position = position_space[: I * J].reshape(J, I)
            first_link = first_space[:I]
            last_link = last_space[:I]
            first_moves = first_moves_space[:I]
            leaving = leaving_space[:I]
            word_transitions(
                words,
                first_word,
                I,
                weights,
                bins,
                ends[direction, 0],
                ends[direction, 1],
                table,
                transposed,
                first_link,
                last_link,
                exits,
            )
            if direction == 0:
                emission = emission_space[: I * J].reshape(J, I)
                for i in range(I):
                    for j in range(J):
                        emission[j, i] = forward[cell + i * J + j]
                nulls = null_forward_posterior[line[COLUMN] : line[COLUMN] + J]
                for j in range(J):
                    nulls[j] = null_forward[target_ids[line[TARGET] + j]]
            else:
                emission = reverse[cell : cell + I * J].reshape(J, I)
                nulls = null_reverse_posterior[line[ROW] : line[ROW] + J]
                for j in range(J):
                    nulls[j] = null_reverse[source_ids[line[SOURCE] + j]]
            log_likelihood[piece, direction] = forward_backward(
                emission,
                nulls,
                null,
                table,
                transposed,
                first_link,
                last_link,
                position,
                start_mass,
                beta,
                weight,
                moves,
                leaving,
                first_moves,
                counting,
            )
            if direction == 0:
                for i in range(I):
                    for j in range(J):
                        forward[cell + i * J + j] = emission[j, i]
            if counting:
                middle = len(bins) // 2
                for before in range(I):
                    by_bin = moves_by_bin[token + before]
                    by_bin[:] = np.float32(0.0)
                    for i in range(I):
                        by_bin[bins[middle + i - before]] += moves[before, i] * table[before, i]
                    exposure[token + before] = max(leaving[before], np.float32(0.0)) * exits[before]
                count_ends(first_moves, position[J - 1], last_link, exits[I], exits[I + 1], end_counts[direction])


@kernel
def count_ends(first_moves, position, last_link, start_exit, end_exit, counts):
    """Add expected first and last positions, by distance from the respective end, and what each was exposed to."""
    I = len(first_moves)
    most = counts.shape[2] - 1
    begun = 0.0
    ended = 0.0
    for i in range(I):
        begun += first_moves[i]
        ended += position[i] * last_link[i]
    for i in range(I):
        counts[0, 0, min(i, most)] += first_moves[i]
        counts[0, 1, min(i, most)] += begun * start_exit
        place = min(I - 1 - i, most)
        counts[1, 0, place] += position[i] * last_link[i] / max(ended, 1e-30)
        counts[1, 1, place] += end_exit


@kernel
def bin_counts(lines, start, length, place, ids, moves, exposure, low, high, counts):
    """Add the tokens' moves (counts[word, 0]) and exposures (counts[word, 1]) by bin, for one side's tokens.

    A token at position i' of I is exposed to bin b once for each distance low[b]..high[b] that stays in the sentence.
    """
    for piece in range(len(lines)):
        line = lines[piece]
        I = line[length]
        for before in range(I):
            token = line[place] + before
            entry = counts[ids[line[start] + before]]
            for b in range(len(low)):
                reach = min(high[b], I - 1 - before) - max(low[b], -before) + 1
                if reach > 0:
                    entry[0, b] += moves[token, b]
                    entry[1, b] += reach * exposure[token]


@kernel
def add_beliefs(lines, start, length, place, ids, beliefs, counts):
    """Add the tokens' posteriors over fertilities to their words' (words, K + 1)."""
    for piece in range(len(lines)):
        line = lines[piece]
        for k in range(line[length]):
            word = ids[line[start] + k]
            for count in range(beliefs.shape[1]):
                counts[word, count] += beliefs[line[place] + k, count]


@kernel
def speak_to_all(starts, order, posterior, message, lump, fertility, words, first_word, default, belief, first_token):
    """Messages of one side's words to their notable entries, in place, and to all other cells (`default`).

    Word k's entries are order[starts[k]:starts[k + 1]]; `lump` is what its other cells sum to.
    """
    n_words = len(starts) - 1
    most = 0
    for k in range(n_words):
        most = max(most, starts[k + 1] - starts[k])
    posteriors = np.empty(most, np.float32)
    messages = np.empty(most, np.float32)
    places = np.empty(most, np.int64)
    chances = np.empty(most, np.float64)
    others = np.empty(belief.shape[1], np.float64)
    for k in range(n_words):
        n = 0
        rest = np.float64(lump[k])
        for m in range(starts[k], starts[k + 1]):
            entry = order[m]
            if posterior[entry] > NOTABLE:
                posteriors[n] = posterior[entry]
                messages[n] = message[entry]
                places[n] = entry
                n += 1
            else:
                rest += posterior[entry]
        told = speak(
            posteriors,
            messages,
            n,
            rest,
            fertility[words[first_word + k]],
            chances,
            others,
            belief[first_token + k],
        )
        default[first_token + k] = told
        for m in range(starts[k], starts[k + 1]):
            message[order[m]] = told
        for m in range(n):
            message[places[m]] = messages[m]


@kernel
def settle(
    first,
    last,
    lines,
    source_ids,
    target_ids,
    power,
    keep,
    forward,
    reverse,
    null_forward,
    null_reverse,
    forward_fertility,
    reverse_fertility,
    old_start,
    old_column,
    old_forward,
    old_reverse,
    row_message,
    column_message,
    row_belief,
    column_belief,
):
    """What pieces first..last - 1 leave for the next iteration: counts of links and messages of fertility.

    A link's count is (forward reverse) ** power; NULL's is what its word has left.  Entries are cells with a count above
    `keep` or a notable posterior; messages to all others are one a row and one a column, in place of the old ones.
    Empty fertility tables mean no messages.  Returns entries by row: numbers, columns, counts, both messages.
    """
    talking = len(forward_fertility) > 0
    rows = 0
    area = 0
    longest = 0
    for piece in range(first, last):
        rows += lines[piece, LENGTH_I]
        area = max(area, lines[piece, LENGTH_I] * lines[piece, LENGTH_J])
        longest = max(longest, lines[piece, LENGTH_I], lines[piece, LENGTH_J])
    numbers = np.zeros(rows, np.int32)
    room = 4 * rows + area
    columns = np.empty(room, np.uint16)
    counts = np.empty(room, np.float32)
    to_forward = np.empty(room, np.float32)
    to_reverse = np.empty(room, np.float32)
    by_forward = np.empty(area, np.float32)
    by_reverse = np.empty(area, np.float32)
    order = np.empty(area, np.int64)
    row_starts = np.empty(longest + 1, np.int64)
    column_starts = np.empty(longest + 1, np.int64)
    row_lump = np.empty(longest, np.float64)
    column_lump = np.empty(longest, np.float64)
    column_rest = np.empty(longest, np.float32)
    used = 0
    done = 0
    for piece in range(first, last):
        line = lines[piece]
        I, J, row0, column0 = line[LENGTH_I], line[LENGTH_J], line[ROW], line[COLUMN]
        if used + I * J > room:
            room = 2 * room + I * J
            columns, counts = _grown(columns, room), _grown(counts, room)
            to_forward, to_reverse = _grown(to_forward, room), _grown(to_reverse, room)
        begin = used
        column_lump[:J] = 0.0
        column_rest[:J] = np.float32(1.0)
        for i in range(I):
            row_starts[i] = used - begin
            lump = 0.0
            rest = np.float32(1.0)
            old = old_start[row0 + i]
            cell = line[CELL] + i * J
            for j in range(J):
                p = forward[cell + j]
                r = reverse[cell + j]
                count = np.float32(softened(p * r, power))
                rest -= count
                column_rest[j] -= count
                if count > keep or (talking and (p > NOTABLE or r > NOTABLE)):
                    while old < old_start[row0 + i + 1] and old_column[old] < j:
                        old += 1
                    columns[used] = j
                    counts[used] = count
                    if old < old_start[row0 + i + 1] and old_column[old] == j:
                        to_forward[used] = old_forward[old]
                        to_reverse[used] = old_reverse[old]
                    else:
                        to_forward[used] = row_message[row0 + i]
                        to_reverse[used] = column_message[column0 + j]
                    by_forward[used - begin] = p
                    by_reverse[used - begin] = r
                    used += 1
                else:
                    lump += p
                    column_lump[j] += r
            row_lump[i] = lump
            null_reverse[row0 + i] = max(rest, np.float32(0.0))
            numbers[done] = used - begin - row_starts[i]
            done += 1
        row_starts[I] = used - begin
        for j in range(J):
            null_forward[column0 + j] = max(column_rest[j], np.float32(0.0))
        if talking:
            n = used - begin
            for k in range(n):
                order[k] = k
            speak_to_all(
                row_starts[: I + 1],
                order,
                by_forward,
                to_forward[begin:used],
                row_lump,
                forward_fertility,
                source_ids,
                line[SOURCE],
                row_message,
                row_belief,
                row0,
            )
            column_starts[: J + 1] = 0
            for k in range(n):
                column_starts[columns[begin + k] + 1] += 1
            for j in range(J):
                column_starts[j + 1] += column_starts[j]
            for k in range(n):  # filled from each column's start; the starts move up by one place
                j = columns[begin + k]
                order[column_starts[j]] = k
                column_starts[j] += 1
            for j in range(J, 0, -1):
                column_starts[j] = column_starts[j - 1]
            column_starts[0] = 0
            speak_to_all(
                column_starts[: J + 1],
                order,
                by_reverse,
                to_reverse[begin:used],
                column_lump,
                reverse_fertility,
                target_ids,
                line[TARGET],
                column_message,
                column_belief,
                column0,
            )
    return (
        numbers,
        columns[:used].copy(),
        counts[:used].copy(),
        to_forward[:used].copy(),
        to_reverse[:used].copy(),
    )


@kernel
def _grown(values, room):
    larger = np.empty(room, values.dtype)
    larger[: len(values)] = values
    return larger
