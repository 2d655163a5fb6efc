"""What an E-step over live cells leaves for the next one: a count for each, and messages of fertility."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.hmm.agreement import softened
from dovetail.kernels.live.chain import by_column
from dovetail.kernels.live.messages import NOTABLE, speak, speak_to_others
from dovetail.kernels.records import COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET


class MessageRoom(NamedTuple):
    """Scratch space for the messages of one piece, word by word."""

    begin: np.ndarray  # int64 (longest side + 1,)
    order: np.ndarray  # int64 (live cells,)
    state: np.ndarray  # int64 (live cells,)
    posteriors: np.ndarray  # float32 (live cells,)
    messages: np.ndarray  # float32 (live cells,)
    chances: np.ndarray  # float64 (live cells,)
    others: np.ndarray  # float64 (K + 1,)


@kernel
def settle(first, last, pieces, power, keep, live, values, work, beliefs):
    """Counts of live cells and messages to them, in place of the last ones, for pieces first..last - 1.

    A link's count is (forward reverse) ** power, or the mean of the two for power 0; NULL's is what its word has left.
    Counts up to `keep` are not worth remembering.
    Empty fertility tables mean no messages; beliefs.rows and .columns get each token's posterior over fertilities.
    """
    lines = pieces.lines
    start, column, count = live.start, live.column, live.count
    forward, reverse = values
    null_forward, null_reverse = work.null_forward, work.null_reverse
    talking = len(beliefs.source) > 0
    longest = 0
    most = 0
    for piece in range(first, last):
        line = lines[piece]
        longest = max(longest, line[LENGTH_I], line[LENGTH_J])
        most = max(most, start[line[ROW] + line[LENGTH_I]] - start[line[ROW]])
    begin, numbers = np.empty(longest + 1, np.int64), np.empty((2, most), np.int64)
    of_cells = np.empty((2, most), np.float32)
    others = np.empty(beliefs.source.shape[1])
    room = MessageRoom(begin, numbers[0], numbers[1], of_cells[0], of_cells[1], np.empty(most), others)
    for piece in range(first, last):
        line = lines[piece]
        I, J, row, left = line[LENGTH_I], line[LENGTH_J], line[ROW], line[COLUMN]
        for j in range(J):
            null_forward[left + j] = np.float32(1.0)
        for i in range(I):
            rest = np.float32(1.0)
            for k in range(start[row + i], start[row + i + 1]):
                if power > 0.0:
                    value = np.float32(softened(forward[k] * reverse[k], power))
                else:
                    value = np.float32(0.5) * (forward[k] + reverse[k])
                rest -= value
                null_forward[left + column[k]] -= value
                count[k] = value if value > keep else np.float32(0.0)
            null_reverse[row + i] = max(rest, np.float32(0.0))
        for j in range(J):
            null_forward[left + j] = max(null_forward[left + j], np.float32(0.0))
        if talking:
            talk(line, pieces, live, values, beliefs, room)


@leaf
def talk(line, pieces, live, values, beliefs, room):
    """Messages of all words of a piece."""
    I, J, row, left = line[LENGTH_I], line[LENGTH_J], line[ROW], line[COLUMN]
    start, column, to_forward, to_reverse = live.start, live.column, live.to_forward, live.to_reverse
    begin, order = room.begin, room.order
    low, high = start[row], start[row + I]
    by_column(row, I, J, start, column, begin, order, room.state)
    words, belief = pieces.target_ids[line[TARGET] : line[TARGET] + J], beliefs.columns[left : left + J]
    speak_to_all(begin, order, values.reverse[low:high], to_reverse[low:high], beliefs.target, words, belief, room)
    for i in range(I + 1):
        begin[i] = start[row + i] - low
    for k in range(high - low):
        order[k] = k
    words, belief = pieces.source_ids[line[SOURCE] : line[SOURCE] + I], beliefs.rows[row : row + I]
    speak_to_all(begin, order, values.forward[low:high], to_forward[low:high], beliefs.source, words, belief, room)


@leaf
def speak_to_all(begin, order, posterior, message, fertility, words, belief, room):
    """Messages of one side's words to their live cells, in place of the last ones.

    Word w's cells are order[begin[w]:begin[w + 1]]; those that are not notable are lumped together.
    """
    posteriors, messages, chances, others = room.posteriors, room.messages, room.chances, room.others
    for w in range(len(words)):
        n = 0
        lump = 0.0
        for m in range(begin[w], begin[w + 1]):
            k = order[m]
            if posterior[k] > NOTABLE:
                posteriors[n] = posterior[k]
                messages[n] = message[k]
                n += 1
            else:
                lump += posterior[k]
        lump = min(lump, 0.5)
        phi = fertility[words[w]]
        speak(posteriors, messages, n, lump, phi, chances, others)
        told = np.float32(1.0)
        if n < begin[w + 1] - begin[w] or belief.shape[1] > 0:
            told = speak_to_others(chances, n, lump, phi, others, belief[w])
        n = 0
        for m in range(begin[w], begin[w + 1]):
            k = order[m]
            if posterior[k] > NOTABLE:
                message[k] = messages[n]
                n += 1
            else:
                message[k] = told
