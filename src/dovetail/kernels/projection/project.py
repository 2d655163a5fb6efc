"""The projected E-step: posteriors of both directions, as near to the model's as the constraints allow.

For each piece: descent on the dual from the multipliers known so far, and, where counts are wanted, the expected moves
under the projected distribution.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.hmm.dense import running_sums, transitions
from dovetail.kernels.projection.chain import count_moves
from dovetail.kernels.projection.descent import MEMORY, descend
from dovetail.kernels.projection.dual import shape_of
from dovetail.kernels.projection.records import (
    BASE,
    BASE_NULLS,
    BOUND,
    EXITS,
    FIRST,
    LINKS,
    LOG_Z,
    MASS,
    MISSED,
    NULLS,
    PIECES,
    PLAIN,
    TABLE,
    TRANSPOSED,
    CellMultipliers,
    Chains,
    Problem,
    Search,
    Variables,
    X,
)
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET

KEPT = 1e-3  # a cell with a lower posterior in both directions does not need its multiplier again
UNBOUNDED = 1e9


@kernel
def scratch_for(first, last, lines, constraints, hmm, counting):
    """Room for the largest of the pieces first..last - 1."""
    begin, entry_begin = constraints.listed.begin, constraints.listed.entry_begin
    longest, area, entries, listed = 1, 1, 0, 0
    for piece in range(first, last):
        I, J = lines[piece, LENGTH_I], lines[piece, LENGTH_J]
        longest, area = max(longest, I, J), max(area, I * J)
        entries = max(entries, entry_begin[piece + 1] - entry_begin[piece])
        listed = max(listed, begin[piece + 1] - begin[piece])
    cells = 1 + area if constraints.symmetric else 0
    square = longest * longest if hmm else 0
    n = 2 * longest + listed + cells
    chains = Chains(
        np.empty((2, 4, area), np.float32),
        np.empty((2, 5, longest + 1), np.float32),
        np.empty((2, 2, square), np.float32),
        np.zeros((3, 2)),
        np.empty((4, longest), np.float32),
        np.empty(square if counting else 0, np.float32),
    )
    variables = Variables(
        np.empty(3, np.int64),
        np.empty(2, np.int64),
        np.empty((entries, 3), np.int64),
        np.empty(entries),
        np.empty((2, cells), np.int64),
        np.empty(cells, np.int64),
    )
    search = Search(np.empty((9, n)), np.empty((2, MEMORY, n)), np.empty(MEMORY))
    return chains, variables, search, np.empty(listed, np.bool_)


@kernel
def load(line, pieces, nulls, work, chains):
    """The model's weights: translation probabilities of the links, and NULL's."""
    I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
    cells, words = chains.cells, chains.words
    for i in range(I):
        for j in range(J):
            cells[0, BASE, j * I + i] = work.forward[cell + i * J + j]
    for c in range(I * J):
        cells[1, BASE, c] = work.reverse[cell + c]
    for j in range(J):
        words[0, BASE_NULLS, j] = nulls.forward[pieces.target_ids[line[TARGET] + j]]
    for i in range(I):
        words[1, BASE_NULLS, i] = nulls.reverse[pieces.source_ids[line[SOURCE] + i]]


@leaf
def lay_positions(at, bounds, multipliers, place, number, bound, x):
    """Variables from `at` on for the bounds of a piece's words, of which there are `number` from `place` on."""
    for k in range(number):
        bound[at + k] = min(UNBOUNDED, bounds[place + k])
        x[at + k] = multipliers[place + k]


@kernel
def pose(piece, low, high, line, constraints, multipliers, variables, has_say, bound, x):
    """Lay out the variables, and start where the multipliers are; those of cells are put in by `warm_up`.

    Returns how many entries the listed constraints have, and how many constraints there are.
    """
    I, J = line[LENGTH_I], line[LENGTH_J]
    listed, ends, rows, entries = constraints.listed, variables.ends, variables.rows, variables.entries
    n = np.int64(0)
    rows[0] = rows[1] = -1
    if low == 0 and len(constraints.rows) > 0:
        rows[0] = n
        lay_positions(n, constraints.rows, multipliers.rows, line[ROW], I, bound, x)
        n += I
    if high == 2 and len(constraints.columns) > 0:
        rows[1] = n
        lay_positions(n, constraints.columns, multipliers.columns, line[COLUMN], J, bound, x)
        n += J
    ends[0] = n
    begin = listed.begin[piece]
    n_listed = listed.begin[piece + 1] - begin
    for k in range(n_listed):
        has_say[k] = False
    used = np.int64(0)  # a plain 0 would have everything below compiled twice
    for e in range(listed.entry_begin[piece], listed.entry_begin[piece + 1]):
        d, c, k = listed.direction[e], listed.cell[e], listed.constraint[e]
        if low <= d < high:
            entries[used, 0] = d
            entries[used, 1] = (c % J) * I + c // J if d == 0 else c
            entries[used, 2] = n + k
            variables.weights[used] = listed.weight[e]
            has_say[k] = True
            used += 1
    number = n
    for k in range(n_listed):
        bound[n] = listed.bound[begin + k] if has_say[k] else 0.0
        x[n] = multipliers.listed[begin + k] if has_say[k] else 0.0
        number += has_say[k]
        n += 1
    ends[1] = ends[2] = n
    return used, number


@kernel
def pose_cells(nth, I, J, warm, variables, x):
    """Add the variables of cells, those of the `nth` piece that had a multiplier before."""
    ends, places, of_cell = variables.ends, variables.places, variables.of_cell
    for c in range(I * J):
        of_cell[c] = -1
    n = ends[1]
    x[n] = 0.0  # of all cells together
    n += 1
    for k in range(warm.begin[nth], warm.begin[nth + 1]):
        c = warm.cell[k]
        if c < 0:
            x[ends[1]] = warm.value[k]
        else:
            x[n] = warm.value[k]
            of_cell[c] = n
            places[0, n - ends[1]], places[1, n - ends[1]] = (c % J) * I + c // J, c
            n += 1
    ends[2] = n


@kernel
def keep_multipliers(piece, line, variables, has_say, x, begin, multipliers):
    """Leave the multipliers of words and lists for the next time."""
    rows = variables.rows
    if rows[0] >= 0:
        for i in range(line[LENGTH_I]):
            multipliers.rows[line[ROW] + i] = x[rows[0] + i]
    if rows[1] >= 0:
        for j in range(line[LENGTH_J]):
            multipliers.columns[line[COLUMN] + j] = x[rows[1] + j]
    for k in range(begin[piece + 1] - begin[piece]):
        if has_say[k]:
            multipliers.listed[begin[piece] + k] = x[variables.ends[0] + k]


@kernel
def keep_cells(nth, variables, cells, x, found):
    """Leave the multipliers of the cells of the `nth` piece, those of improbable ones excepted."""
    ends, places = variables.ends, variables.places
    at = found.begin[nth]
    found.cell[at] = -1
    found.value[at] = x[ends[1]]
    at += 1
    for v in range(ends[1] + 1, ends[2]):
        a, b = places[0, v - ends[1]], places[1, v - ends[1]]
        if max(cells[0, LINKS, a], cells[1, LINKS, b]) > KEPT:
            found.cell[at] = b
            found.value[at] = x[v]
            at += 1
    found.begin[nth + 1] = at


@kernel
def score(problem, free_mass, value, hmm, scores):
    """Write what the directions have of log p(x) - KL: the dual's value, the halves of it when they are coupled."""
    log_z, plain = problem.chains.halves[LOG_Z], problem.chains.halves[PLAIN]
    if problem.high - problem.low == 1:
        scores[problem.low] = value
    elif free_mass:
        scores[0] = plain[0] + value
        scores[1] = plain[1] + value
    else:
        penalty = value - 0.5 * (log_z[0] + log_z[1])
        scores[0] = log_z[0] + penalty
        scores[1] = log_z[1] + penalty
    if not hmm:  # IBM Model 1's constant: every word chooses among all positions and NULL
        for d in range(problem.low, problem.high):
            T, S = shape_of(problem, d)
            scores[d] -= T * math.log(S + 1.0)


@kernel
def write(d, I, J, line, chains, part, top, work):
    """Put a direction's posteriors, `part` of it and at most `top`, in place of the translation probabilities."""
    links, nulls, cell = chains.cells[d, LINKS], chains.words[d, NULLS], line[CELL]
    if d == 0:
        for i in range(I):
            for j in range(J):
                work.forward[cell + i * J + j] = min(top, part * links[j * I + i])
        for j in range(J):
            work.null_forward[line[COLUMN] + j] = part * nulls[j]
    else:
        for c in range(I * J):
            work.reverse[cell + c] = min(top, part * links[c])
        for i in range(I):
            work.null_reverse[line[ROW] + i] = part * nulls[i]


@kernel
def project(first, last, pieces, model, work, constraints, settings, multipliers, counted):
    """Project pieces first..last - 1, in place: translation probabilities become projected posteriors.

    Constraints are bounds on the expected links of a word in the direction that it generates; listed ones, sum of weight
    times link posterior <= bound; and equal posteriors in every cell.  Descent starts at the multipliers, which are
    overwritten by where it ended; those of cells are returned, for these pieces.
    """
    sums, tally, lines = counted.sums, counted.tally, pieces.lines
    counting = sums.jump.size > 0
    top = np.float32(np.inf if counting else 1.0)  # posteriors that somebody sees are at most 1, whatever the slack
    chains, variables, search, has_say = scratch_for(first, last, lines, constraints, model.hmm, counting)
    tables, words = chains.tables, chains.words
    x, bound = search.vectors[X], search.vectors[BOUND]
    jumps, starts = model.jumps, model.starts
    backwards = jumps[:, ::-1].copy()
    before_distance = (running_sums(jumps[0]), running_sums(jumps[1]))
    room = 0
    if constraints.symmetric:
        for piece in range(first, last):
            room += lines[piece, LENGTH_I] * lines[piece, LENGTH_J] + 1
    found = CellMultipliers(np.zeros(last - first + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.float32))
    for piece in range(first, last):
        line = lines[piece]
        I, J = line[LENGTH_I], line[LENGTH_J]
        load(line, pieces, model.nulls, work, chains)
        if model.hmm:
            for d in range(2):
                S = I if d == 0 else J
                transitions(
                    S, jumps[d], backwards[d], before_distance[d], starts[d], tables[d, TABLE, : S * S].reshape(S, S),
                    tables[d, TRANSPOSED, : S * S].reshape(S, S), words[d, FIRST], words[d, EXITS],
                )  # fmt: skip
        for turn in range(1 if constraints.coupled else 2):
            low = np.int64(turn)
            high = np.int64(2 if constraints.coupled else turn + 1)
            used, number = pose(piece, low, high, line, constraints, multipliers, variables, has_say, bound, x)
            if constraints.symmetric:
                pose_cells(piece - first, I, J, multipliers.cells, variables, x)
                number += I * J
            problem = Problem(
                I,
                J,
                low,
                high,
                2.0 if constraints.coupled else 1.0,
                number,
                chains,
                Variables(
                    variables.ends,
                    variables.rows,
                    variables.entries[:used],
                    variables.weights[:used],
                    variables.places,
                    variables.of_cell,
                ),
                search,
            )
            value, met = descend(problem, model, settings, tally)
            if not met:
                tally[MISSED] += 1.0
            score(problem, settings.free_mass, value, model.hmm, counted.scores[piece])
            keep_multipliers(piece, line, variables, has_say, x, constraints.listed.begin, multipliers)
            if constraints.symmetric:
                keep_cells(piece - first, variables, chains.cells, x, found)
            for d in range(low, high):
                mass = 2.0 * chains.halves[MASS, d] if constraints.coupled else 1.0
                write(d, I, J, line, chains, np.float32(mass), top, work)
                if counting and model.hmm:
                    T, S = shape_of(problem, d)
                    count_moves(d, T, S, chains, mass, sums.jump[d], sums.start[d])
        tally[PIECES] += 1.0
    kept = found.begin[last - first]
    return CellMultipliers(found.begin, found.cell[:kept].copy(), found.value[:kept].copy())
