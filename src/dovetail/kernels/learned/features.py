"""Which cells a learned decoder looks at, and what it is told of each."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.learned.records import COUNT, HABITS_OF_WORDS, KIND, LENGTH, Survey
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J, SOURCE, TARGET

LINK = np.float32(0.5)  # a mean posterior above this is a link of the model's own
AROUND, ALONG = 1, 2  # cells so near to a link are candidates, whatever the model thinks of them
BORDER = 2  # how far away neighbours are
LIKELY = np.float32(0.1)  # a best partner below this is none
NONE = np.float32(99.0)  # an offset from no partner at all
FARTHEST = np.float32(20.0)  # offsets beyond this are all one
NOTHING = np.float32(0.0), np.float32(0.0), np.int64(-1), np.int64(-1), np.float32(0.0)  # of a row or column, yet
FLOOR = np.float32(1e-8)  # of translation probabilities, for their logarithms

# The order in which `describe` writes them; groups are for reports.
OBSERVED = (
    ("forward", "posteriors"),
    ("reverse", "posteriors"),
    ("mean", "posteriors"),
    ("translation forward", "translations"),
    ("translation reverse", "translations"),
    ("translation forward, against the column's best", "translations"),
    ("translation reverse, against the row's best", "translations"),
    ("against the row's best other", "rank and margin"),
    ("against the column's best other", "rank and margin"),
    ("sum of the row's others", "rank and margin"),
    ("sum of the column's others", "rank and margin"),
    ("up left", "neighbours"),
    ("up", "neighbours"),
    ("up right", "neighbours"),
    ("left", "neighbours"),
    ("right", "neighbours"),
    ("down left", "neighbours"),
    ("down", "neighbours"),
    ("down right", "neighbours"),
    ("two left", "neighbours"),
    ("two right", "neighbours"),
    ("two up", "neighbours"),
    ("two down", "neighbours"),
    ("offset from the row's best other", "offsets"),
    ("offset from the column's best other", "offsets"),
    ("offset from the partner of the source word before", "offsets"),
    ("offset from the partner of the source word behind", "offsets"),
    ("offset from the partner of the target word before", "offsets"),
    ("offset from the partner of the target word behind", "offsets"),
    ("off the diagonal", "position and lengths"),
    ("source words", "position and lengths"),
    ("target words", "position and lengths"),
    ("source count", "frequencies"),
    ("target count", "frequencies"),
    ("source letters", "spelling"),
    ("target letters", "spelling"),
    ("source kind", "spelling"),
    ("target kind", "spelling"),
    ("same spelling", "spelling"),
)
# What gold pairs taught of words, in the order of `habits.recall_words` and `recall_pairs`.
HABITS = (
    *((f"source word: {habit}", "habits of words") for habit in HABITS_OF_WORDS),
    *((f"target word: {habit}", "habits of words") for habit in HABITS_OF_WORDS),
    ("source word before: links", "habits of words"),
    ("source word behind: links", "habits of words"),
    ("target word before: links", "habits of words"),
    ("target word behind: links", "habits of words"),
    ("linked more than the model thinks", "habits of pairs"),
    ("how often met", "habits of pairs"),
)
FEATURES = OBSERVED + HABITS
# What a second stage is told besides: the first stage's beliefs.
BELIEFS = (
    "own",
    "against the row's best other",
    "against the column's best other",
    "sum of the row's others",
    "sum of the column's others",
    "up left",
    "up",
    "up right",
    "left",
    "right",
    "down left",
    "down",
    "down right",
    "two left",
    "two right",
    "two up",
    "two down",
    "offset from the row's best other",
    "offset from the column's best other",
)


@kernel
def candidates(first, last, lines, work, least):
    """Cells with a posterior of at least `least`, and those within one of a link, or two along its row or column.

    Returns how many each piece has, and where they are in the block, by piece in rising order.
    """
    forward, reverse = work.forward, work.reverse
    numbers = np.zeros(last - first, np.int64)
    largest = 0
    total = 0
    for piece in range(first, last):
        cells = lines[piece, LENGTH_I] * lines[piece, LENGTH_J]
        largest = max(largest, cells)
        total += cells
    wanted = np.empty(largest, np.bool_)
    found = np.empty(total, np.int64)
    used = 0
    for piece in range(first, last):
        I, J, cell = lines[piece, LENGTH_I], lines[piece, LENGTH_J], lines[piece, CELL]
        for k in range(I * J):
            wanted[k] = max(forward[cell + k], reverse[cell + k]) >= least
        for i in range(I):
            for j in range(J):
                here = cell + i * J + j
                if np.float32(0.5) * (forward[here] + reverse[here]) > LINK:
                    for a in range(max(i - ALONG, 0), min(i + ALONG + 1, I)):
                        wanted[a * J + j] = True
                    for b in range(max(j - ALONG, 0), min(j + ALONG + 1, J)):
                        wanted[i * J + b] = True
                    for a in range(max(i - AROUND, 0), min(i + AROUND + 1, I)):
                        for b in range(max(j - AROUND, 0), min(j + AROUND + 1, J)):
                            wanted[a * J + b] = True
        before = used
        for k in range(I * J):
            found[used] = cell + k
            used += wanted[k]
        numbers[piece - first] = used - before
    return numbers, found[:used].copy()


@leaf
def row_of(cell, i, begin, J):
    """The row of a cell that is in row i, which begins at `begin`, or behind it, and where that begins: no division."""
    while cell >= begin + J:
        i += 1
        begin += J
    return i, begin


@leaf
def offset(position, partner):
    """How far a position is from a partner's, within bounds."""
    if partner < 0:
        return NONE
    return min(max(np.float32(position - partner), -FARTHEST), FARTHEST)


@leaf
def around(values, here, width, found, begin, k):
    """The twelve cells nearest to one along its row, column and diagonals, from row `begin` of column k of `found`."""
    found[begin, k] = values[here - width - 1]
    found[begin + 1, k] = values[here - width]
    found[begin + 2, k] = values[here - width + 1]
    found[begin + 3, k] = values[here - 1]
    found[begin + 4, k] = values[here + 1]
    found[begin + 5, k] = values[here + width - 1]
    found[begin + 6, k] = values[here + width]
    found[begin + 7, k] = values[here + width + 1]
    found[begin + 8, k] = values[here - 2]
    found[begin + 9, k] = values[here + 2]
    found[begin + 10, k] = values[here - 2 * width]
    found[begin + 11, k] = values[here + 2 * width]


@kernel
def room(first, last, lines):
    """Of the largest of pieces first..last - 1: room for a value per cell, with a border, and for a survey."""
    longest = 0
    largest = 0
    for piece in range(first, last):
        I, J = lines[piece, LENGTH_I], lines[piece, LENGTH_J]
        longest, largest = max(longest, I + J), max(largest, (I + 2 * BORDER) * (J + 2 * BORDER))
    best, second, sums = np.empty(longest, np.float32), np.empty(longest, np.float32), np.empty(longest, np.float32)
    partner, other = np.empty(longest, np.int64), np.empty(longest, np.int64)
    return np.empty(largest, np.float32), Survey(best, second, partner, other, sums)


@leaf
def wipe(values, I, J):
    """Zero everywhere, the border too, so that nobody need ask whether a neighbour is there."""
    for k in range((I + 2 * BORDER) * (J + 2 * BORDER)):
        values[k] = np.float32(0.0)


@leaf
def look_over(values, I, J, survey):
    """Survey each row, then each column, of an (I, J) with a border."""
    best, second, partner, other, sums = survey
    for k in range(I, I + J):
        best[k], second[k], partner[k], other[k], sums[k] = NOTHING
    for i in range(I):
        begin = (i + BORDER) * (J + 2 * BORDER) + BORDER
        of_row = NOTHING  # kept in registers, while columns' are in the cache
        for j in range(J):
            value = values[begin + j]
            if value > np.float32(0.0):
                k = I + j
                of_row = noted(value, j, of_row)
                of_column = best[k], second[k], partner[k], other[k], sums[k]
                best[k], second[k], partner[k], other[k], sums[k] = noted(value, i, of_column)
        best[i], second[i], partner[i], other[i], sums[i] = of_row


@leaf
def noted(value, place, of_line):
    """One value of a row or column taken into account: best and second-best value, where they are, and the sum."""
    best, second, partner, other, total = of_line
    total += value
    if value > best:
        return value, best, np.int64(place), partner, total
    if value > second:
        return best, value, partner, np.int64(place), total
    return best, second, partner, other, total


@leaf
def rival(line, place, survey):
    """The best value of a row or column beside the one at `place`, and where it is (-1: none)."""
    if survey.partner[line] == place:
        return survey.second[line], survey.other[line]
    return survey.best[line], survey.partner[line]


@leaf
def likely(line, survey):
    """The partner of a row or column, -1 if it has none to speak of."""
    if survey.best[line] < LIKELY:
        return -1
    return survey.partner[line]


@kernel
def describe(first, last, pieces, facts, translations, work, numbers, cells, found):
    """What is known of each candidate, in the first len(OBSERVED) rows of `found`, float32 (rows, candidates).

    `translations` holds what the workspace `work` held before it held posteriors.
    """
    lines, source_ids, target_ids = pieces
    mean, survey = room(first, last, lines)
    top = np.empty(len(survey.best), np.float32)
    log_top = np.empty(len(survey.best), np.float32)
    done = 0
    for piece in range(first, last):
        line = lines[piece]
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        width = J + 2 * BORDER
        wipe(mean, I, J)
        for k in range(I + J):
            top[k] = FLOOR
        for i in range(I):
            begin, inside = cell + i * J, (i + BORDER) * width + BORDER
            best = FLOOR
            for j in range(J):
                mean[inside + j] = np.float32(0.5) * (work.forward[begin + j] + work.reverse[begin + j])
            for j in range(J):
                best = max(best, translations.reverse[begin + j])
                top[I + j] = max(top[I + j], translations.forward[begin + j])
            top[i] = best
        look_over(mean, I, J, survey)
        for k in range(I + J):
            log_top[k] = np.log(top[k])
        i, begin = 0, cell
        for k in range(done, done + numbers[piece - first]):
            i, begin = row_of(cells[k], i, begin, J)
            j = cells[k] - begin
            inside = (i + BORDER) * width + j + BORDER
            here = mean[inside]
            source, target = source_ids[line[SOURCE] + i], target_ids[line[TARGET] + j]
            found[0, k] = work.forward[cells[k]]
            found[1, k] = work.reverse[cells[k]]
            found[2, k] = here
            found[3, k] = np.log(max(translations.forward[cells[k]], FLOOR))
            found[4, k] = np.log(max(translations.reverse[cells[k]], FLOOR))
            found[5, k] = found[3, k] - log_top[I + j]
            found[6, k] = found[4, k] - log_top[i]
            in_row, at_row = rival(i, j, survey)
            in_column, at_column = rival(I + j, i, survey)
            found[7, k] = here - in_row
            found[8, k] = here - in_column
            found[9, k] = survey.sums[i] - here
            found[10, k] = survey.sums[I + j] - here
            around(mean, inside, width, found, 11, k)
            found[23, k] = offset(j, at_row)
            found[24, k] = offset(i, at_column)
            found[25, k] = offset(j, likely(i - 1, survey)) if i > 0 else NONE
            found[26, k] = offset(j, likely(i + 1, survey)) if i + 1 < I else NONE
            found[27, k] = offset(i, likely(I + j - 1, survey)) if j > 0 else NONE
            found[28, k] = offset(i, likely(I + j + 1, survey)) if j + 1 < J else NONE
            found[29, k] = np.float32(i / I - j / J)
            found[30, k] = I
            found[31, k] = J
            found[32, k] = facts.source[source, COUNT]
            found[33, k] = facts.target[target, COUNT]
            found[34, k] = facts.source[source, LENGTH]
            found[35, k] = facts.target[target, LENGTH]
            found[36, k] = facts.source[source, KIND]
            found[37, k] = facts.target[target, KIND]
            found[38, k] = np.float32(facts.twin[source] == target)
        done += numbers[piece - first]


@kernel
def describe_beliefs(first, last, lines, numbers, cells, belief, waiting, place, found):
    """What the first stage believes of and around `waiting` candidates: BELIEFS from row `place` of `found`."""
    values, survey = room(first, last, lines)
    done = 0
    for piece in range(first, last):
        I, J, cell = lines[piece, LENGTH_I], lines[piece, LENGTH_J], lines[piece, CELL]
        width = J + 2 * BORDER
        wipe(values, I, J)
        i, begin = 0, cell
        for k in range(done, done + numbers[piece - first]):
            i, begin = row_of(cells[k], i, begin, J)
            values[(i + BORDER) * width + cells[k] - begin + BORDER] = belief[k]
        look_over(values, I, J, survey)
        i, begin = 0, cell
        for k in range(done, done + numbers[piece - first]):
            if not waiting[k]:
                continue
            i, begin = row_of(cells[k], i, begin, J)
            j = cells[k] - begin
            in_row, at_row = rival(i, j, survey)
            in_column, at_column = rival(I + j, i, survey)
            found[place, k] = belief[k]
            found[place + 1, k] = belief[k] - in_row
            found[place + 2, k] = belief[k] - in_column
            found[place + 3, k] = survey.sums[i] - belief[k]
            found[place + 4, k] = survey.sums[I + j] - belief[k]
            around(values, (i + BORDER) * width + j + BORDER, width, found, place + 5, k)
            found[place + 17, k] = offset(j, at_row)
            found[place + 18, k] = offset(i, at_column)
        done += numbers[piece - first]


@kernel
def put(first, last, lines, cells, values, work):
    """Candidates' values become both directions' posteriors; all other cells of pieces first..last - 1 get zero."""
    for piece in range(first, last):
        line = lines[piece]
        for cell in range(line[CELL], line[CELL] + line[LENGTH_I] * line[LENGTH_J]):
            work.forward[cell] = np.float32(0.0)
            work.reverse[cell] = np.float32(0.0)
    for k in range(len(cells)):
        work.forward[cells[k]] = values[k]
        work.reverse[cells[k]] = values[k]
