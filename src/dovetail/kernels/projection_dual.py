"""The dual of the projection (Graça et al. 2010, section 3.1): its value and gradient, and a descent that needs few calls.

Minimise over lambda   b lambda + log Z(lambda) + sum over groups g of slack_g |lambda_g|          (equation 10)
with  q(z) = p(z) exp(-lambda f(z)) / Z(lambda),   gradient  b - E_q[f] + slack_g lambda_g / |lambda_g|.

The paper's remedies and one more: limited-memory quasi-Newton steps, scaled by each feature's own variance, which the
posteriors give away; bounds lambda >= 0 are kept by projection (Bertsekas 1999).
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.projection_chain import hmm_pass, ibm1_pass

MEMORY = 4  # pairs of steps and gradient changes
LARGEST_STEP = 4.0  # in one multiplier: a factor of 55 on a link's odds
FARTHEST = 40.0  # multipliers of constraints that cannot be met grow no further
ROUNDING = 1e-5  # a value is a sum of logarithms in single precision
UNBOUNDED = 1e9


@kernel
def evaluate(
    low_d, high_d, I, J, hmm, null, base, base_nulls, emission, nulls, tables, transposed, first, position, onward,
    start_mass, beta, weight, row_at, entries, n_entries, entry_weight, ends, twins, coupled, free_mass, plain, slack,
    bound, multiplier, gradient, curvature, mass, log_z,
):  # fmt: skip
    """The dual's value at `multiplier`; fills its `gradient` (without slack), `curvature`, the directions' `mass`, log Z.

    Variables come in three groups that end at `ends`: one a position (from `row_at[d]` on), one a listed constraint
    (`entries`: direction, cell, variable; `entry_weight`), one a cell that both directions should agree on (`twins`: where
    it lies in either direction).  The posterior of a link is P = q_d(link), or 2 mass_d q_d(link) when the directions are
    `coupled`: halves of one distribution over the alignments of both (equation 15).
    """
    scale = 2.0 if coupled else 1.0
    area = I * J
    for d in range(low_d, high_d):
        S, T = (I, J) if d == 0 else (J, I)
        now, given = emission[d, :area], base[d, :area]
        if row_at[d] >= 0:
            for s in range(S):
                x = multiplier[row_at[d] + s]
                weight[s] = np.float32(math.exp(-scale * x)) if x != 0.0 else np.float32(1.0)
            for t in range(T):
                for s in range(S):
                    now[t * S + s] = given[t * S + s] * weight[s]
        else:
            for c in range(area):
                now[c] = given[c]
    for e in range(n_entries):
        exponent = scale * entry_weight[e] * multiplier[entries[e, 2]]
        emission[entries[e, 0], entries[e, 1]] *= np.float32(math.exp(min(60.0, max(-60.0, -exponent))))
    for u in range(ends[2] - ends[1]):
        if multiplier[ends[1] + u] != 0.0:
            factor = np.float32(math.exp(-multiplier[ends[1] + u]))
            emission[0, twins[u, 0]] *= factor
            emission[1, twins[u, 1]] /= factor
    for d in range(low_d, high_d):
        S, T = (I, J) if d == 0 else (J, I)
        for t in range(T):
            nulls[d, t] = base_nulls[d, t]
        links = emission[d, :area].reshape(T, S)
        if hmm:
            log_z[d] = hmm_pass(
                links, nulls[d, :T], null, tables[d, : S * S].reshape(S, S), transposed[d, : S * S].reshape(S, S),
                first[d], position[d, :area].reshape(T, S), onward[d, :area].reshape(T, S), start_mass[d], beta, weight,
            )  # fmt: skip
        else:
            log_z[d] = ibm1_pass(links, nulls[d, :T])
        mass[d] = 0.5

    if not coupled:
        value = log_z[low_d]
        mass[low_d] = 1.0
    elif free_mass:
        forward, reverse = log_z[0] - plain[0], log_z[1] - plain[1]
        top = max(forward, reverse)
        total = math.exp(forward - top) + math.exp(reverse - top)
        mass[0] = math.exp(forward - top) / total
        mass[1] = 1.0 - mass[0]
        value = top + math.log(0.5 * total)
    else:
        value = 0.5 * (log_z[0] + log_z[1])

    for v in range(ends[1]):
        gradient[v] = bound[v]
        curvature[v] = 0.0
        if multiplier[v] != 0.0:
            value += bound[v] * multiplier[v]
    for d in range(low_d, high_d):
        if row_at[d] >= 0:
            S, T = (I, J) if d == 0 else (J, I)
            part = scale * mass[d]
            at = row_at[d]
            for t in range(T):
                for s in range(S):
                    link = emission[d, t * S + s]
                    gradient[at + s] -= part * link
                    curvature[at + s] += scale * part * link * (np.float32(1.0) - link)
    for e in range(n_entries):
        d, v = entries[e, 0], entries[e, 2]
        link = emission[d, entries[e, 1]]
        gradient[v] -= entry_weight[e] * scale * mass[d] * link
        curvature[v] += entry_weight[e] ** 2 * scale * scale * mass[d] * link * (1.0 - link)
    forward_part, reverse_part = np.float32(mass[0]), np.float32(mass[1])
    for u in range(ends[2] - ends[1]):
        forward, reverse = emission[0, twins[u, 0]], emission[1, twins[u, 1]]
        gradient[ends[1] + u] = reverse_part * reverse - forward_part * forward
        curvature[ends[1] + u] = forward_part * forward * (np.float32(1.0) - forward) + reverse_part * reverse * (
            np.float32(1.0) - reverse
        )
    start = np.int64(0)
    for group in range(3):
        if slack[group] > 0.0:
            value += slack[group] * length_of(multiplier, start, ends[group])
        start = ends[group]
    return value


@kernel
def length_of(values, first, last):
    total = 0.0
    for v in range(first, last):
        total += values[v] * values[v]
    return math.sqrt(total)


@kernel
def with_slack(ends, slack, signed, multiplier, gradient, total_gradient):
    """The full gradient, slack included; at lambda_g = 0 the shortest subgradient.  Returns its length and largest part,
    and whether a multiplier stands at its end because no multiplier would do.

    Parts that push a multiplier below its bound 0 don't count: `signed` marks the groups with lambda >= 0.
    """
    length, largest, hopeless = 0.0, 0.0, False
    first = np.int64(0)
    for group in range(3):
        last = ends[group]
        norm = length_of(multiplier, first, last) if slack[group] > 0.0 else 0.0
        for v in range(first, last):
            part = gradient[v]
            if norm > 0.0:
                part += slack[group] * multiplier[v] / norm
            if signed[group] and multiplier[v] <= 0.0 and part > 0.0:
                part = 0.0
            if abs(multiplier[v]) >= FARTHEST and part * multiplier[v] < 0.0:
                part = 0.0
                hopeless = True
            total_gradient[v] = part
        if slack[group] > 0.0 and norm == 0.0:
            violation = length_of(total_gradient, first, last)
            keep = max(0.0, 1.0 - slack[group] / violation) if violation > 0.0 else 0.0
            for v in range(first, last):
                total_gradient[v] *= keep
        for v in range(first, last):
            length += total_gradient[v] * total_gradient[v]
            largest = max(largest, abs(total_gradient[v]))
        first = last
    return math.sqrt(length), largest, hopeless


@kernel
def quasi_newton_direction(n, gradient, curvature, steps, changes, stored, newest, heat, direction):
    """-H gradient by the two-loop recursion (Nocedal and Wright 1999, algorithm 9.1), H's start diagonal.

    Coordinates with gradient 0 stand at their bound, or are solved, and stay out of the products.
    """
    for v in range(n):
        direction[v] = -gradient[v]
    factor = 0.5  # two cells of one word push each other: along that direction the curvature is twice the diagonal's
    for back in range(stored):
        slot = (newest - back) % MEMORY
        product, along = 0.0, 0.0
        for v in range(n):
            if gradient[v] != 0.0:
                product += steps[slot, v] * changes[slot, v]
                along += steps[slot, v] * direction[v]
        if product <= 1e-10:
            heat[slot] = 0.0
            continue
        heat[slot] = along / product
        if back == 0:
            weighted = 0.0
            for v in range(n):
                if gradient[v] != 0.0:
                    weighted += changes[slot, v] ** 2 / curvature[v]
            factor = min(1.5, max(0.2, product / weighted))
        for v in range(n):
            if gradient[v] != 0.0:
                direction[v] -= heat[slot] * changes[slot, v]
    for v in range(n):
        direction[v] *= factor / curvature[v]
    for back in range(stored - 1, -1, -1):
        slot = (newest - back) % MEMORY
        product, along = 0.0, 0.0
        for v in range(n):
            if gradient[v] != 0.0:
                product += steps[slot, v] * changes[slot, v]
                along += changes[slot, v] * direction[v]
        if product <= 1e-10:
            continue
        for v in range(n):
            if gradient[v] != 0.0:
                direction[v] += steps[slot, v] * (heat[slot] - along / product)
    slope = 0.0
    for v in range(n):
        if gradient[v] == 0.0:
            direction[v] = 0.0
        slope += direction[v] * gradient[v]
    if slope >= 0.0:  # memory from another region: start afresh
        for v in range(n):
            direction[v] = -0.5 * gradient[v] / curvature[v]
    for v in range(n):
        direction[v] = min(LARGEST_STEP, max(-LARGEST_STEP, direction[v]))


@kernel
def descend(
    low_d, high_d, I, J, hmm, null, base, base_nulls, emission, nulls, tables, transposed, first, position, onward,
    start_mass, beta, weight, row_at, entries, n_entries, entry_weight, ends, twins, coupled, free_mass, plain, slack,
    signed, bound, vectors, memory, heat, mass, log_z, precision, norm_constraints, strict, calls,
):  # fmt: skip
    """Move `vectors[0]`, the multipliers, to the dual's minimum; `emission` is left with the posteriors there.

    Stops when the gradient's length divided by the number of constraints is below `precision` (section 4.1), with
    `strict` when every constraint is met to within it; or after `calls` passes.  Returns the dual's value, the number of
    passes and whether the precision was reached.
    """
    n = ends[2]
    x, trial, gradient, full, trial_full = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    curvature, direction = vectors[5], vectors[6]
    stored, newest, used, attempts = 0, -1, 0, 0
    value, slope, step = 0.0, 0.0, 0.0
    for v in range(n):
        trial[v] = x[v]
    while True:
        trial_value = evaluate(
            low_d, high_d, I, J, hmm, null, base, base_nulls, emission, nulls, tables, transposed, first, position, onward,
            start_mass, beta, weight, row_at, entries, n_entries, entry_weight, ends, twins, coupled, free_mass, plain,
            slack, bound, trial, gradient, curvature, mass, log_z,
        )  # fmt: skip
        used += 1
        attempts += 1
        length, largest, hopeless = with_slack(ends, slack, signed, trial, gradient, trial_full)
        done = largest <= precision if strict else length <= precision * norm_constraints
        last = done or used >= calls
        if used > 1 and not last and attempts < 8 and trial_value > value + 1e-4 * slope + ROUNDING:
            # The minimum of the parabola through both values with this slope, kept within a sensible range.
            step *= min(0.5, max(0.1, -0.5 * slope / (trial_value - value - slope)))
        else:
            if used > 1:
                newest = (newest + 1) % MEMORY
                stored = min(stored + 1, MEMORY)
                for v in range(n):
                    memory[0, newest, v] = trial[v] - x[v]
                    memory[1, newest, v] = trial_full[v] - full[v]
            for v in range(n):
                x[v] = trial[v]
                full[v] = trial_full[v]
            value = trial_value
            if last:
                return value, used, done and not hopeless
            for v in range(n):
                curvature[v] = max(curvature[v], 1e-4) + 0.2 * abs(full[v])
            quasi_newton_direction(n, full, curvature, memory[0], memory[1], stored, newest, heat, direction)
            step, attempts = 1.0, 0
        slope = 0.0
        start = 0
        for group in range(3):
            for v in range(start, ends[group]):
                moved = min(FARTHEST, max(-FARTHEST, x[v] + step * direction[v]))
                if signed[group] and moved < 0.0:
                    moved = 0.0
                trial[v] = moved
                slope += full[v] * (moved - x[v])
            start = ends[group]
