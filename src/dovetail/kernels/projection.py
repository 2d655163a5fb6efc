"""The projected E-step: posteriors of both directions, as near to the model's as the constraints allow.

For each piece: descent on the dual from the multipliers known so far, and, where counts are wanted, the expected moves
under the projected distribution.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.hmm import running_sums, transitions
from dovetail.kernels.lines import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET
from dovetail.kernels.projection_chain import count_moves
from dovetail.kernels.projection_dual import MEMORY, UNBOUNDED, descend

KEPT = 1e-3  # a cell with a lower posterior in both directions does not need its multiplier again


@kernel
def appended(values, used, value):
    """values[used] = value, in a larger array where there is no room."""
    if used == len(values):
        larger = np.empty(2 * used + 64, values.dtype)
        for k in range(used):
            larger[k] = values[k]
        values = larger
    values[used] = value
    return values


@kernel
def share_of_value(low_d, coupled, free_mass, value, log_z, plain, hmm, I, J, objective):
    """Write what the directions have of log p(x) - KL: the dual's value, the halves of it when they are coupled."""
    if not coupled:
        objective[low_d] = value
    elif free_mass:
        objective[0] = plain[0] + value
        objective[1] = plain[1] + value
    else:
        penalty = value - 0.5 * (log_z[0] + log_z[1])
        objective[0] = log_z[0] + penalty
        objective[1] = log_z[1] + penalty
    if not hmm:  # IBM Model 1's constant: every word chooses among all positions and NULL
        if coupled or low_d == 0:
            objective[0] -= J * math.log(I + 1.0)
        if coupled or low_d == 1:
            objective[1] -= I * math.log(J + 1.0)


@kernel
def project(
    begin, end, lines, source_ids, target_ids, null_forward, null_reverse, forward, reverse, null_forward_posterior,
    null_reverse_posterior, objective, hmm, null, forward_jump, forward_start, reverse_jump, reverse_start, jump_counts,
    start_counts, row_bound, column_bound, row_multiplier, column_multiplier, constraint_begin, constraint_bound,
    constraint_multiplier, entry_begin, entry_direction, entry_cell, entry_constraint, entry_weight, symmetric, coupled,
    free_mass, slack, precision, strict, calls, warm_begin, warm_cell, warm_value, tally,
):  # fmt: skip
    """Project pieces begin..end - 1, in place: translation probabilities become projected posteriors.

    `objective` (pieces, 2) gets the directions' shares of log p(x) - KL(Q || p) (equation 7).  Constraints: `row_bound` a
    source token and `column_bound` a target token (empty: none) for the expected links of a word in the direction it
    generates; listed ones, sum of `entry_weight` times link posteriors <= `constraint_bound`; `symmetric`, equal posteriors
    in every cell.  The `_multiplier` arrays are where descent starts, and hold where it ended; those of cells come in
    sparsely (`warm_`) and are returned so: how many a piece, cells, values.
    `tally` gets added: pieces, passes over both directions, pieces that missed the precision.
    """
    counting = jump_counts.size > 0
    longest, area, most, listed = 1, 1, 0, 0
    for piece in range(begin, end):
        I, J = lines[piece, LENGTH_I], lines[piece, LENGTH_J]
        longest, area = max(longest, I, J), max(area, I * J)
        most = max(most, entry_begin[piece + 1] - entry_begin[piece])
        listed = max(listed, constraint_begin[piece + 1] - constraint_begin[piece])
    variables = 2 * longest + listed + (area if symmetric else 0)
    vectors = np.empty((7, variables))
    memory = np.empty((2, MEMORY, variables))
    heat = np.empty(MEMORY)
    bound = np.empty(variables)
    base = np.empty((2, area), np.float32)
    emission = np.empty((2, area), np.float32)
    position = np.empty((2, area), np.float32)
    onward = np.empty((2, area), np.float32)
    base_nulls = np.empty((2, longest), np.float32)
    nulls = np.empty((2, longest), np.float32)
    start_mass = np.empty((2, longest), np.float32)
    tables = np.empty((2, longest * longest if hmm else 0), np.float32)
    transposed = np.empty((2, longest * longest if hmm else 0), np.float32)
    moves_space = np.empty(longest * longest if hmm and counting else 0, np.float32)
    first = np.empty((2, longest), np.float32)
    exits = np.empty((2, longest + 1), np.float32)
    beta = np.empty(longest, np.float32)
    weight = np.empty(longest, np.float32)
    leaving = np.empty(longest, np.float32)
    first_moves = np.empty(longest, np.float32)
    twins = np.empty((area if symmetric else 0, 2), np.int64)
    entries = np.empty((most, 3), np.int64)
    weights = np.empty(most)
    has_say = np.empty(listed, np.bool_)
    forward_back, reverse_back = forward_jump[::-1].copy(), reverse_jump[::-1].copy()
    forward_sums, reverse_sums = running_sums(forward_jump), running_sums(reverse_jump)
    row_at = np.empty(2, np.int64)
    ends = np.empty(3, np.int64)
    signed = np.array([True, True, False])
    plain, mass, log_z = np.zeros(2), np.empty(2), np.empty(2)
    found_numbers = np.zeros(end - begin, np.int64)
    found_cells, found_values, found = np.empty(64, np.int32), np.empty(64, np.float32), 0
    x = vectors[0]
    for piece in range(begin, end):
        line = lines[piece]
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        size = I * J
        for i in range(I):
            for j in range(J):
                base[0, j * I + i] = forward[cell + i * J + j]
        for c in range(size):
            base[1, c] = reverse[cell + c]
        for j in range(J):
            base_nulls[0, j] = null_forward[target_ids[line[TARGET] + j]]
        for i in range(I):
            base_nulls[1, i] = null_reverse[source_ids[line[SOURCE] + i]]
        if hmm:
            transitions(
                I, forward_jump, forward_back, forward_sums, forward_start, tables[0, : I * I].reshape(I, I),
                transposed[0, : I * I].reshape(I, I), first[0], exits[0],
            )  # fmt: skip
            transitions(
                J, reverse_jump, reverse_back, reverse_sums, reverse_start, tables[1, : J * J].reshape(J, J),
                transposed[1, : J * J].reshape(J, J), first[1], exits[1],
            )  # fmt: skip
        entry_low, entry_high = entry_begin[piece], entry_begin[piece + 1]
        constraint_low = constraint_begin[piece]
        n_listed = constraint_begin[piece + 1] - constraint_low
        # Free masses need log p(x) of both directions first: a pass without multipliers.
        for turn in range(-1 if coupled and free_mass else 0, 1 if coupled else 2):
            low_d = np.int64(max(turn, 0))
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
            for e in range(entry_low, entry_high):
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
                for i in range(I):
                    for j in range(J):
                        twins[i * J + j, 0] = j * I + i
                        twins[i * J + j, 1] = i * J + j
                for c in range(size):
                    x[n + c] = 0.0
                for k in range(warm_begin[piece - begin], warm_begin[piece - begin + 1]):
                    x[n + warm_cell[k]] = warm_value[k]
                n += size
                constraints += size
            ends[2] = n
            allowed = calls
            if turn < 0:
                allowed = 1
                for v in range(n):
                    x[v] = 0.0
            value, used, met = descend(
                low_d, high_d, I, J, hmm, null, base, base_nulls, emission, nulls, tables, transposed, first, position,
                onward, start_mass, beta, weight, row_at, entries, n_entries, weights, ends, twins, coupled, free_mass,
                plain, slack, signed, bound, vectors, memory, heat, mass, log_z, precision, constraints, strict,
                allowed,
            )  # fmt: skip
            tally[1] += 0.5 * used * (high_d - low_d)
            if turn < 0:
                plain[0], plain[1] = log_z[0], log_z[1]
                continue
            if not met:
                tally[2] += 1.0
            share_of_value(low_d, coupled, free_mass, value, log_z, plain, hmm, I, J, objective[piece])
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
                for c in range(size):
                    if max(emission[0, (c % J) * I + c // J], emission[1, c]) > KEPT:
                        found_cells = appended(found_cells, found, np.int32(c))
                        found_values = appended(found_values, found, np.float32(x[ends[1] + c]))
                        found += 1
                found_numbers[piece - begin] = found - before
            for d in range(low_d, high_d):
                S, T = (I, J) if d == 0 else (J, I)
                share = 2.0 * mass[d] if coupled else 1.0
                part = np.float32(share)
                if d == 0:
                    for i in range(I):
                        for j in range(J):
                            forward[cell + i * J + j] = part * emission[0, j * I + i]
                    for j in range(J):
                        null_forward_posterior[line[COLUMN] + j] = part * nulls[0, j]
                else:
                    for c in range(size):
                        reverse[cell + c] = part * emission[1, c]
                    for i in range(I):
                        null_reverse_posterior[line[ROW] + i] = part * nulls[1, i]
                if counting and hmm:
                    count_moves(
                        position[d, :size].reshape(T, S), onward[d, :size].reshape(T, S), start_mass[d],
                        tables[d, : S * S].reshape(S, S), exits[d], first[d], share,
                        moves_space[: S * S].reshape(S, S), leaving[:S], first_moves[:S], jump_counts[d],
                        start_counts[d],
                    )  # fmt: skip
        tally[0] += 1.0
    return found_numbers, found_cells[:found].copy(), found_values[:found].copy()
