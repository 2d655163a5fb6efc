"""The projected E-step: posteriors of both directions, as near to the model's as the constraints allow.

For each piece: descent on the dual from the multipliers known so far, and, where counts are wanted, the expected moves
under the projected distribution.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.hmm.dense import transitions
from dovetail.kernels.projection import planes
from dovetail.kernels.projection.chain import count_moves
from dovetail.kernels.projection.descent import MEMORY, descend
from dovetail.kernels.projection.records import CellMultipliers, Chains, Problem, Scratch, Search, Variables
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET

UNBOUNDED = 1e9


@leaf
def load(line, pieces, nulls, work, chains):
    """The model's weights: translation probabilities of the links, and NULL's."""
    I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
    cells, words = chains.cells, chains.words
    for i in range(I):
        for j in range(J):
            cells[0, planes.BASE, j * I + i] = work.forward[cell + i * J + j]
            cells[1, planes.BASE, i * J + j] = work.reverse[cell + i * J + j]
    for j in range(J):
        words[0, planes.BASE_NULLS, j] = nulls.forward[pieces.target_ids[line[TARGET] + j]]
    for i in range(I):
        words[1, planes.BASE_NULLS, i] = nulls.reverse[pieces.source_ids[line[SOURCE] + i]]


@leaf
def pose(piece, nth, line, low, high, constraints, multipliers, variables, vectors):
    """Lay out the variables, and start where the multipliers are; `nth` counts the pieces of this call.

    Returns where the positions of each direction begin, how many entries listed constraints have, and how many
    constraints there are.
    """
    I, J, listed, warm = line[LENGTH_I], line[LENGTH_J], constraints.listed, multipliers.cells
    ends, entries, places = variables.ends, variables.entries, variables.places
    x, bound, active = vectors[planes.X], vectors[planes.BOUND], vectors[planes.ACTIVE]
    n, used = np.int64(0), np.int64(0)
    rows, columns = np.int64(-1), np.int64(-1)
    if low == 0 and len(constraints.rows) > 0:
        rows = n
        for k in range(line[ROW], line[ROW] + I):
            bound[n] = min(UNBOUNDED, constraints.rows[k])
            x[n] = multipliers.rows[k]
            n += 1
    if high == 2 and len(constraints.columns) > 0:
        columns = n
        for k in range(line[COLUMN], line[COLUMN] + J):
            bound[n] = min(UNBOUNDED, constraints.columns[k])
            x[n] = multipliers.columns[k]
            n += 1
    ends[0] = number = n
    n += listed.begin[0, piece + 1] - listed.begin[0, piece]
    for v in range(ends[0], n):
        active[v] = bound[v] = x[v] = 0.0
    for e in range(listed.begin[1, piece], listed.begin[1, piece + 1]):
        d, c, k = listed.entries[e, 0], listed.entries[e, 1], listed.entries[e, 2]
        if low <= d < high:
            v, constraint = ends[0] + k, listed.begin[0, piece] + k
            entries[used, 0] = d
            entries[used, 1] = (c % J) * I + c // J if d == 0 else c
            entries[used, 2] = v
            variables.weights[used] = listed.weight[e]
            used += 1
            if active[v] == 0.0:
                active[v] = 1.0
                bound[v] = listed.bound[constraint]
                x[v] = multipliers.listed[constraint]
                number += 1
    ends[1] = n
    if constraints.symmetric:
        for c in range(I * J):
            places[planes.OF_CELL, c] = -1
        x[n] = 0.0  # of all cells together
        n += 1
        for k in range(warm.begin[nth], warm.begin[nth + 1]):
            c = warm.cell[k]
            if c < 0:
                x[ends[1]] = warm.value[k]
            else:
                x[n] = warm.value[k]
                places[planes.OF_CELL, c] = n
                places[0, n - ends[1]], places[1, n - ends[1]] = (c % J) * I + c // J, c
                n += 1
        number += I * J
    ends[2] = n
    return (rows, columns), used, number


@leaf
def keep(nth, line, listed, problem, symmetric, kept, multipliers, found):
    """Leave the multipliers for the next time, from number `listed` on those of its listed constraints.

    Those of the `nth` piece's cells are left in `found`, unless the cells are improbable.
    """
    ends, places = problem.variables.ends, problem.variables.places
    x, active = problem.search.vectors[planes.X], problem.search.vectors[planes.ACTIVE]
    rows, columns = problem.rows
    if rows >= 0:
        for i in range(problem.I):
            multipliers.rows[line[ROW] + i] = x[rows + i]
    if columns >= 0:
        for j in range(problem.J):
            multipliers.columns[line[COLUMN] + j] = x[columns + j]
    for v in range(ends[0], ends[1]):
        if active[v] != 0.0:
            multipliers.listed[listed + v - ends[0]] = x[v]
    if symmetric:
        at = found.begin[nth]
        found.cell[at] = -1
        found.value[at] = x[ends[1]]
        at += 1
        for v in range(ends[1] + 1, ends[2]):
            a, b = places[0, v - ends[1]], places[1, v - ends[1]]
            if max(problem.chains.cells[0, planes.LINKS, a], problem.chains.cells[1, planes.LINKS, b]) > kept:
                found.cell[at] = b
                found.value[at] = x[v]
                at += 1
        found.begin[nth + 1] = at


@leaf
def write(problem, value, line, hmm, settings, top, work, scores):
    """Leave the solved directions' scores, and their posteriors, at most `top`, in place of translation probabilities.

    A score is log p(x), or the direction's part of log p(x) - KL: the dual's value, of which coupled directions have a half
    each.
    """
    I, J, cell, halves = problem.I, problem.J, line[CELL], problem.chains.halves
    coupled = problem.high - problem.low == 2
    penalty = value - 0.5 * (halves[planes.LOG_Z, 0] + halves[planes.LOG_Z, 1])
    for d in range(problem.low, problem.high):
        S, T = (I, J) if d == 0 else (J, I)
        scores[d] = value
        if settings.scored:
            scores[d] = halves[planes.SCORE, d]
        elif coupled:
            scores[d] = halves[planes.PLAIN, d] + value if settings.free_mass else halves[planes.LOG_Z, d] + penalty
        if not hmm:  # IBM Model 1's constant: every word chooses among all positions and NULL
            scores[d] -= T * math.log(S + 1.0)
        part = np.float32(2.0 * halves[planes.MASS, d] if coupled else 1.0)
        links, nulls = problem.chains.cells[d, planes.LINKS], problem.chains.words[d, planes.NULLS]
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
def project_pieces(first, last, pieces, model, work, constraints, settings, multipliers, counted, scratch, found):
    """What `project` does, in the space that is made for it."""
    chains, variables, search = scratch.chains, scratch.variables, scratch.search
    tables, words = chains.tables, chains.words
    sums, tally, coupled = counted.sums, counted.tally, constraints.coupled
    counting = sums.jump.size > 0
    top = np.float32(np.inf if counting else 1.0)  # posteriors that somebody sees are at most 1, whatever the slack
    for piece in range(first, last):
        line = pieces.lines[piece]
        I, J = line[LENGTH_I], line[LENGTH_J]
        load(line, pieces, model.nulls, work, chains)
        if model.hmm:
            for d in range(2):
                S = I if d == 0 else J
                table, transposed = tables[d, planes.TABLE, : S * S], tables[d, planes.TRANSPOSED, : S * S]
                table, transposed = table.reshape(S, S), transposed.reshape(S, S)
                transitions(S, model.jumps[d], table, transposed, words[d, planes.FIRST], words[d, planes.EXITS])
        for turn in range(1 if coupled else 2):
            low, high = np.int64(turn), np.int64(2 if coupled else turn + 1)
            rows, used, number = pose(
                piece, piece - first, line, low, high, constraints, multipliers, variables, search.vectors
            )
            own = Variables(variables.ends, variables.entries[:used], variables.weights[:used], variables.places)
            problem = Problem(I, J, low, high, 2.0 if coupled else 1.0, number, rows, chains, own, search)
            value, met = descend(problem, model, settings, tally)
            if not met:
                tally[planes.MISSED] += 1.0
            listed = constraints.listed.begin[0, piece]
            keep(piece - first, line, listed, problem, constraints.symmetric, settings.kept, multipliers, found)
            write(problem, value, line, model.hmm, settings, top, work, counted.scores[piece])
            if counting and model.hmm:
                for d in range(low, high):
                    S, T = (I, J) if d == 0 else (J, I)
                    mass = 2.0 * chains.halves[planes.MASS, d] if coupled else 1.0
                    count_moves(d, T, S, chains, mass, sums.jump[d], sums.start[d])
        tally[planes.PIECES] += 1.0


def scratch_for(lines, begin, model, symmetric):
    """Room for the largest piece of `lines`; `begin` are those of its listed constraints and their entries."""
    I, J = lines[:, LENGTH_I], lines[:, LENGTH_J]
    longest, area = max(I.max(initial=1), J.max(initial=1)), (I * J).max(initial=1)
    listed, entries = np.diff(begin).max(axis=1, initial=0)
    cells = 1 + area if symmetric else 0
    square = longest * longest if model.hmm else 0
    n = 2 * longest + listed + cells
    planes_of = (4, area + longest), (3, square), (9, longest + 1)
    chains = Chains(*(np.empty((2, *shape), np.float32) for shape in planes_of), np.zeros((4, 2)))
    ends, numbers, places = (np.empty(shape, np.int64) for shape in (3, (entries, 3), (3, cells)))
    variables = Variables(ends, numbers, np.empty(entries), places)
    return Scratch(chains, variables, Search(np.empty((10, n)), np.empty((2, MEMORY, n)), np.empty(MEMORY)))


def project(first, last, pieces, model, work, constraints, settings, multipliers, counted):
    """Project pieces first..last - 1, in place: translation probabilities become projected posteriors.

    Constraints are bounds on the expected links of a word in the direction that it generates; listed ones, sum of weight
    times link posterior <= bound; and equal posteriors in every cell.  Descent starts at the multipliers, which are
    overwritten by where it ended; those of cells are returned, for these pieces.
    """
    lines, symmetric = pieces.lines[first:last], constraints.symmetric
    scratch = scratch_for(lines, constraints.listed.begin[:, first : last + 1], model, symmetric)
    room = int((lines[:, LENGTH_I] * lines[:, LENGTH_J] + 1).sum()) if symmetric else 0
    found = CellMultipliers(np.zeros(last - first + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.float32))
    project_pieces(first, last, pieces, model, work, constraints, settings, multipliers, counted, scratch, found)
    kept = found.begin[-1]
    return CellMultipliers(found.begin, found.cell[:kept].copy(), found.value[:kept].copy())
