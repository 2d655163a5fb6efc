"""The projected E-step: posteriors of both directions, as near to the model's as the constraints allow.

For each piece: descent on the dual from the multipliers known so far, and, where counts are wanted, the expected moves
under the projected distribution.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.hmm.dense import transitions
from dovetail.kernels.projection.chain import count_moves
from dovetail.kernels.projection.dual import (
    BASE,
    BASE_NULLS,
    EXITS,
    FIRST,
    FIRST_MOVES,
    LEAVING,
    LIMIT,
    LINKS,
    LOG_Z,
    MASS,
    MEMORY,
    NULLS,
    ONWARD,
    PLAIN,
    POSITION,
    START_MASS,
    TABLE,
    TRANSPOSED,
    UNBOUNDED,
    X,
    descend,
)
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET

KEPT = 1e-3  # a cell with a lower posterior in both directions does not need its multiplier again


@kernel
def share_of_value(low_d, high_d, free_mass, value, halves, hmm, I, J, objective):
    """Write what the directions have of log p(x) - KL: the dual's value, the halves of it when they are coupled."""
    coupled = high_d - low_d == 2
    if not coupled:
        objective[low_d] = value
    elif free_mass:
        objective[0] = halves[PLAIN, 0] + value
        objective[1] = halves[PLAIN, 1] + value
    else:
        penalty = value - 0.5 * (halves[LOG_Z, 0] + halves[LOG_Z, 1])
        objective[0] = halves[LOG_Z, 0] + penalty
        objective[1] = halves[LOG_Z, 1] + penalty
    if not hmm:  # IBM Model 1's constant: every word chooses among all positions and NULL
        if low_d == 0:
            objective[0] -= J * math.log(I + 1.0)
        if high_d == 2:
            objective[1] -= I * math.log(J + 1.0)


@kernel
def project(
    begin, end, lines, source_ids, target_ids, null_forward, null_reverse, forward, reverse, null_forward_posterior,
    null_reverse_posterior, objective, hmm, flat, null, jumps, starts, jump_counts, start_counts, row_bound, column_bound,
    row_multiplier, column_multiplier, constraint_begin, constraint_bound, constraint_multiplier, entry_begin,
    entry_direction, entry_cell, entry_constraint, entry_weight, symmetric, coupled, free_mass, slack, precision, strict,
    calls, warm_begin, warm_cell, warm_value, tally,
):  # fmt: skip
    """Project pieces begin..end - 1, in place: translation probabilities become projected posteriors.

    `objective` (pieces, 2) gets the directions' shares of log p(x) - KL(Q || p) (equation 7).  Constraints: `row_bound` a
    source token and `column_bound` a target token (empty: none) for the expected links of a word in the direction it
    generates; listed ones, sum of `entry_weight` times link posteriors <= `constraint_bound`; `symmetric`, equal posteriors
    in every cell.  The `_multiplier` arrays are where descent starts, and hold where it ended; those of cells come in
    sparsely (`warm_`) and are returned so: how many a piece, cells, values.  `jumps` and `starts` have a line a direction;
    `flat` says that all of them weigh the same.
    `tally` gets added: pieces, forward-backward passes over both directions, pieces that missed the precision.
    """
    counting = jump_counts.size > 0
    longest, area, most, listed, total = 1, 1, 0, 0, 0
    for piece in range(begin, end):
        I, J = lines[piece, LENGTH_I], lines[piece, LENGTH_J]
        longest, area, total = max(longest, I, J), max(area, I * J), total + I * J
        most = max(most, entry_begin[piece + 1] - entry_begin[piece])
        listed = max(listed, constraint_begin[piece + 1] - constraint_begin[piece])
    cells = 1 + area if symmetric else 0
    square = longest * longest if hmm else 0
    vectors = np.empty((9, 2 * longest + listed + cells))
    memory = np.empty((2, MEMORY, vectors.shape[1]))
    heat = np.empty(MEMORY)
    chain = np.empty((2, 4, area), np.float32)
    side = np.empty((2, 5, longest + 1), np.float32)
    tables = np.empty((2, 2, square), np.float32)
    moves = np.empty(square if counting else 0, np.float32)
    spare = np.empty((4, longest), np.float32)
    places = np.empty((2, cells), np.int64)
    variable = np.empty(cells, np.int64)
    entries = np.empty((most, 3), np.int64)
    weights = np.empty(most)
    has_say = np.empty(listed, np.bool_)
    distances = jumps.shape[1]
    backwards = np.empty((2, distances), np.float32)
    sums = np.zeros((2, distances + 1))
    for d in range(2):
        for k in range(distances):
            backwards[d, k] = jumps[d, distances - 1 - k]
            sums[d, k + 1] = sums[d, k] + jumps[d, k]
    row_at = np.empty(2, np.int64)
    ends = np.empty(3, np.int64)
    halves = np.zeros((3, 2))
    found_numbers = np.zeros(end - begin, np.int64)
    room = total + end - begin if symmetric else 0
    found_cells, found_values = np.empty(room, np.int32), np.empty(room, np.float32)
    found = 0
    x, bound = vectors[X], vectors[LIMIT]
    for piece in range(begin, end):
        line = lines[piece]
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        size = I * J
        for i in range(I):
            for j in range(J):
                chain[0, BASE, j * I + i] = forward[cell + i * J + j]
        for c in range(size):
            chain[1, BASE, c] = reverse[cell + c]
        for j in range(J):
            side[0, BASE_NULLS, j] = null_forward[target_ids[line[TARGET] + j]]
        for i in range(I):
            side[1, BASE_NULLS, i] = null_reverse[source_ids[line[SOURCE] + i]]
        if hmm:
            for d in range(2):
                S = I if d == 0 else J
                transitions(
                    S, jumps[d], backwards[d], sums[d], starts[d], tables[d, TABLE, : S * S].reshape(S, S),
                    tables[d, TRANSPOSED, : S * S].reshape(S, S), side[d, FIRST], side[d, EXITS],
                )  # fmt: skip
        constraint_low = constraint_begin[piece]
        n_listed = constraint_begin[piece + 1] - constraint_low
        for turn in range(1 if coupled else 2):
            low_d = np.int64(turn)
            high_d = np.int64(2 if coupled else turn + 1)
            # Lay out the variables, and start where the multipliers are.
            n = 0
            row_at[0] = row_at[1] = -1
            if low_d == 0 and len(row_bound) > 0:
                row_at[0] = n
                for i in range(I):
                    bound[n] = min(UNBOUNDED, row_bound[line[ROW] + i])
                    x[n] = row_multiplier[line[ROW] + i]
                    n += 1
            if high_d == 2 and len(column_bound) > 0:
                row_at[1] = n
                for j in range(J):
                    bound[n] = min(UNBOUNDED, column_bound[line[COLUMN] + j])
                    x[n] = column_multiplier[line[COLUMN] + j]
                    n += 1
            ends[0] = n
            for k in range(n_listed):
                has_say[k] = False
            n_entries = np.int64(0)  # a plain 0 would have everything below compiled twice
            for e in range(entry_begin[piece], entry_begin[piece + 1]):
                d, c = entry_direction[e], entry_cell[e]
                if low_d <= d < high_d:
                    entries[n_entries, 0] = d
                    entries[n_entries, 1] = (c % J) * I + c // J if d == 0 else c
                    entries[n_entries, 2] = n + entry_constraint[e]
                    weights[n_entries] = entry_weight[e]
                    has_say[entry_constraint[e]] = True
                    n_entries += 1
            constraints = n
            for k in range(n_listed):
                bound[n] = constraint_bound[constraint_low + k] if has_say[k] else 0.0
                x[n] = constraint_multiplier[constraint_low + k] if has_say[k] else 0.0
                constraints += has_say[k]
                n += 1
            ends[1] = n
            if symmetric:
                for c in range(size):
                    variable[c] = -1
                x[n] = 0.0  # of all cells together
                n += 1
                for k in range(warm_begin[piece - begin], warm_begin[piece - begin + 1]):
                    c = warm_cell[k]
                    if c < 0:
                        x[ends[1]] = warm_value[k]
                    else:
                        x[n] = warm_value[k]
                        variable[c] = n
                        places[0, n - ends[1]], places[1, n - ends[1]] = (c % J) * I + c // J, c
                        n += 1
                constraints += size
            ends[2] = n
            value, met = descend(
                low_d, high_d, I, J, hmm, flat, null, chain, side, tables, spare, row_at, entries, n_entries, weights, ends,
                symmetric, variable, places, free_mass, slack, vectors, memory, heat, halves, precision, constraints,
                strict, calls, tally,
            )  # fmt: skip
            if not met:
                tally[2] += 1.0
            share_of_value(low_d, high_d, free_mass, value, halves, hmm, I, J, objective[piece])
            if row_at[0] >= 0:
                for i in range(I):
                    row_multiplier[line[ROW] + i] = x[row_at[0] + i]
            if row_at[1] >= 0:
                for j in range(J):
                    column_multiplier[line[COLUMN] + j] = x[row_at[1] + j]
            for k in range(n_listed):
                if has_say[k]:
                    constraint_multiplier[constraint_low + k] = x[ends[0] + k]
            if symmetric:
                before = found
                found_cells[found] = -1
                found_values[found] = x[ends[1]]
                found += 1
                for v in range(ends[1] + 1, ends[2]):
                    a, b = places[0, v - ends[1]], places[1, v - ends[1]]
                    if max(chain[0, LINKS, a], chain[1, LINKS, b]) > KEPT:
                        found_cells[found] = b
                        found_values[found] = x[v]
                        found += 1
                found_numbers[piece - begin] = found - before
            for d in range(low_d, high_d):
                S, T = (I, J) if d == 0 else (J, I)
                share = 2.0 * halves[MASS, d] if coupled else 1.0
                part = np.float32(share)
                # Posteriors that somebody sees are at most 1, whatever the slack.
                top = np.float32(np.inf if counting else 1.0)
                if d == 0:
                    for i in range(I):
                        for j in range(J):
                            forward[cell + i * J + j] = min(top, part * chain[0, LINKS, j * I + i])
                    for j in range(J):
                        null_forward_posterior[line[COLUMN] + j] = part * side[0, NULLS, j]
                else:
                    for c in range(size):
                        reverse[cell + c] = min(top, part * chain[1, LINKS, c])
                    for i in range(I):
                        null_reverse_posterior[line[ROW] + i] = part * side[1, NULLS, i]
                if counting and hmm:
                    count_moves(
                        chain[d, POSITION, :size].reshape(T, S), chain[d, ONWARD, :size].reshape(T, S), side[d, START_MASS],
                        tables[d, TABLE, : S * S].reshape(S, S), side[d, EXITS], side[d, FIRST], share,
                        moves[: S * S].reshape(S, S), spare[LEAVING, :S], spare[FIRST_MOVES, :S], jump_counts[d],
                        start_counts[d],
                    )  # fmt: skip
        tally[0] += 1.0
    return found_numbers, found_cells[:found].copy(), found_values[:found].copy()
