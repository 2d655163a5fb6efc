"""What gold pairs taught of the words of each candidate."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.learned.features import row_of
from dovetail.kernels.learned.records import HABITS_OF_WORDS
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J, SOURCE, TARGET

HABITS = len(HABITS_OF_WORDS)
LINKS = HABITS_OF_WORDS.index("links")
OUTSIDE = np.float32(-1.0)  # of a neighbour that is none


@kernel
def recall_words(first, last, pieces, source_habits, target_habits, numbers, cells, begin, found):
    """Habits of both words of each candidate and of their neighbours, from row `begin` of `found`."""
    lines, source_ids, target_ids = pieces
    done = 0
    for piece in range(first, last):
        line = lines[piece]
        I, J = line[LENGTH_I], line[LENGTH_J]
        i, start = 0, line[CELL]
        for k in range(done, done + numbers[piece - first]):
            i, start = row_of(cells[k], i, start, J)
            j = cells[k] - start
            own(source_habits, source_ids[line[SOURCE] + i], begin, k, found)
            own(target_habits, target_ids[line[TARGET] + j], begin + HABITS, k, found)
            beside(source_habits, source_ids, line[SOURCE], i, I, begin + 2 * HABITS, k, found)
            beside(target_habits, target_ids, line[TARGET], j, J, begin + 2 * HABITS + 2, k, found)
        done += numbers[piece - first]


@leaf
def own(habits, word, begin, k, found):
    for habit in range(HABITS):
        found[begin + habit, k] = habits[word, habit]


@leaf
def beside(habits, ids, start, position, length, begin, k, found):
    """How many links the word before has, usually, and the word behind."""
    found[begin, k] = habits[ids[start + position - 1], LINKS] if position > 0 else OUTSIDE
    found[begin + 1, k] = habits[ids[start + position + 1], LINKS] if position + 1 < length else OUTSIDE


@kernel
def recall_pairs(first, last, pieces, habits, numbers, cells, begin, found):
    """How each candidate's pair of words fared in gold pairs, in rows `begin` and the next of `found`; 0 if never met."""
    lines, source_ids, target_ids = pieces
    done = 0
    for piece in range(first, last):
        line = lines[piece]
        i, start = 0, line[CELL]
        for k in range(done, done + numbers[piece - first]):
            i, start = row_of(cells[k], i, start, line[LENGTH_J])
            row = habits.row[source_ids[line[SOURCE] + i]]
            column = habits.column[target_ids[line[TARGET] + cells[k] - start]]
            found[begin, k] = np.float32(0.0)
            found[begin + 1, k] = np.float32(0.0)
            if row >= 0 and column >= 0:
                at = place(habits.columns, habits.offsets[row], habits.offsets[row + 1], column)
                if at >= 0:
                    found[begin, k] = habits.values[at, 0]
                    found[begin + 1, k] = habits.values[at, 1]
        done += numbers[piece - first]


@leaf
def place(rising, low, high, wanted):
    """Where `wanted` stands in rising[low:high], -1 if nowhere."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if rising[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < end and rising[low] == wanted else -1
