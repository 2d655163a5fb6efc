"""The dual of the projection (Graça et al. 2010, section 3.1): its value and gradient, and a descent that needs few calls.

Minimise over lambda   b lambda + log Z(lambda) + sum over groups g of slack_g |lambda_g|          (equation 10)
with  q(z) = p(z) exp(-lambda f(z)) / Z(lambda),   gradient  b - E_q[f] + slack_g lambda_g / |lambda_g|.

The paper's remedies and more: limited-memory quasi-Newton steps, scaled by each feature's own variance, which the
posteriors give away; bounds lambda >= 0 kept by projection (Bertsekas 1999); multipliers of cells only where the two
directions differ; and no chains at all while the HMM's jumps still weigh the same.

Variables come in three groups that end at `ends`: one a position (from `row_at[d]` on); one a listed constraint (`entries`:
direction, cell, variable; `entry_weight`); and, for symmetry, one of all cells together, then one a cell (`places`: where it
lies in either direction; `variable`: which one a cell has, or -1).  A cell's lambda is the sum of those two.  The posterior
of a link is q_d(link), or 2 mass_d q_d(link) when both directions are halves of one distribution (equation 15).
Arrays of one type and shape are planes of one array: it compiles faster.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.projection.chain import hmm_pass, words_pass

BASE, LINKS, POSITION, ONWARD = range(4)  # of `chain` (direction, plane, T * S): weights, posteriors, leftovers
BASE_NULLS, NULLS, FIRST, EXITS, START_MASS = range(5)  # of `side` (direction, plane, longest + 1)
TABLE, TRANSPOSED = range(2)  # of `tables` (direction, plane, S * S)
BETA, WEIGHT, LEAVING, FIRST_MOVES = range(4)  # of `spare` (plane, longest)
MASS, LOG_Z, PLAIN = range(3)  # of `halves` (plane, direction): share of q, log Z, log p(x)
X, TRIAL, GRADIENT, FULL, TRIAL_FULL, CURVATURE, LEAN, DIRECTION, LIMIT = range(9)  # of `vectors` (plane, variables)

MEMORY = 4  # pairs of steps and gradient changes
LARGEST_STEP = 4.0  # in one multiplier: a factor of 55 on a link's odds
FARTHEST = 40.0  # multipliers of constraints that cannot be met grow no further
ROUNDING = 1e-5  # a value is a sum of logarithms in single precision
UNBOUNDED = 1e9
SATURATED = 0.19  # a direction then has more than 7 times the mass of the other


@kernel
def tilt(low_d, high_d, I, J, scale, chain, side, weight, row_at, entries, n_entries, entry_weight, ends, places, x):
    """The model's weights times exp(-lambda f), clique by clique (equation 13)."""
    area = I * J
    for d in range(low_d, high_d):
        S, T = (I, J) if d == 0 else (J, I)
        given, now = chain[d, BASE], chain[d, LINKS]
        if row_at[d] >= 0:
            for s in range(S):
                own = x[row_at[d] + s]
                weight[s] = np.float32(math.exp(-scale * own)) if own != 0.0 else np.float32(1.0)
            for t in range(T):
                for s in range(S):
                    now[t * S + s] = given[t * S + s] * weight[s]
        else:
            for c in range(area):
                now[c] = given[c]
        unlinked = np.float32(1.0)  # what links lose together, NULLs gain
        if ends[2] > ends[1] and x[ends[1]] != 0.0:
            unlinked = np.float32(math.exp(x[ends[1]] if d == 0 else -x[ends[1]]))
        for t in range(T):
            side[d, NULLS, t] = unlinked * side[d, BASE_NULLS, t]
    for e in range(n_entries):
        exponent = scale * entry_weight[e] * x[entries[e, 2]]
        chain[entries[e, 0], LINKS, entries[e, 1]] *= np.float32(math.exp(min(60.0, max(-60.0, -exponent))))
    for v in range(ends[1] + 1, ends[2]):
        if x[v] != 0.0:
            factor = math.exp(np.float32(-x[v]))
            chain[0, LINKS, places[0, v - ends[1]]] *= factor
            chain[1, LINKS, places[1, v - ends[1]]] /= factor


@kernel
def find_differences(I, J, chain, halves, threshold, variable, ends, places, x, trial, memory):
    """Give a multiplier to each cell whose constraint is missed by more than `threshold` (and does not have one).

    Returns what all cells miss together, and the sum of squares.
    """
    forward, reverse = chain[0, LINKS], chain[1, LINKS]
    a, b = np.float32(halves[MASS, 0]), np.float32(halves[MASS, 1])
    least = np.float32(threshold)
    total, squares = 0.0, 0.0
    for i in range(I):
        for j in range(J):
            miss = b * reverse[i * J + j] - a * forward[j * I + i]
            total += miss
            squares += miss * miss
            if abs(miss) > least and variable[i * J + j] < 0:
                v = ends[2]
                variable[i * J + j] = v
                places[0, v - ends[1]] = j * I + i
                places[1, v - ends[1]] = i * J + j
                x[v] = trial[v] = 0.0
                for slot in range(MEMORY):
                    memory[0, slot, v] = memory[1, slot, v] = 0.0
                ends[2] += 1
    return total, squares


@kernel
def expectations(
    low_d, high_d, I, J, scale, chain, side, row_at, entries, n_entries, entry_weight, ends, places, missed, halves, x,
    vectors,
):  # fmt: skip
    """What the posteriors say: the dual's value and gradient (without slack), curvature and lean.

    value = log Z + b lambda; log Z = sum over d of mass_d (log Z_d - log p_d(x) - log(2 mass_d)).  `curvature` is each
    feature's variance within the directions; between them it is mass_0 mass_1 lean lean', where `lean` is how much more of
    a feature there is in the forward direction.  `missed` is what all cells miss together.
    """
    gradient, curvature, lean, bound = vectors[GRADIENT], vectors[CURVATURE], vectors[LEAN], vectors[LIMIT]
    value = 0.0
    for d in range(low_d, high_d):
        value += halves[MASS, d] * (halves[LOG_Z, d] - halves[PLAIN, d] - math.log(scale * halves[MASS, d]))
    for v in range(ends[1]):
        gradient[v] = bound[v]
        curvature[v] = 0.0
        lean[v] = 0.0
        if x[v] != 0.0:
            value += bound[v] * x[v]
    for d in range(low_d, high_d):
        if row_at[d] >= 0:
            S, T = (I, J) if d == 0 else (J, I)
            part, at = scale * halves[MASS, d], row_at[d]
            links = chain[d, LINKS]
            for t in range(T):
                for s in range(S):
                    link = links[t * S + s]
                    gradient[at + s] -= part * link
                    curvature[at + s] += scale * part * link * (np.float32(1.0) - link)
            for s in range(at, at + S):
                lean[s] = (bound[s] - gradient[s]) / (halves[MASS, d] if d == 0 else -halves[MASS, d])
    for e in range(n_entries):
        d, v = entries[e, 0], entries[e, 2]
        link = chain[d, LINKS, entries[e, 1]]
        part = entry_weight[e] * scale
        gradient[v] -= part * halves[MASS, d] * link
        curvature[v] += part * part * halves[MASS, d] * link * (1.0 - link)
        lean[v] += part * link if d == 0 else -part * link
    for v in range(ends[1] + 1, ends[2]):
        forward, reverse = chain[0, LINKS, places[0, v - ends[1]]], chain[1, LINKS, places[1, v - ends[1]]]
        a, b = halves[MASS, 0] * forward, halves[MASS, 1] * reverse
        gradient[v] = b - a
        curvature[v] = a * (1.0 - forward) + b * (1.0 - reverse)
        lean[v] = forward + reverse
    if ends[2] > ends[1]:  # all cells together
        together = ends[1]
        gradient[together] = missed
        curvature[together] = lean[together] = 0.0
        for d in range(2):
            for t in range(J if d == 0 else I):
                unlinked = side[d, NULLS, t]
                curvature[together] += halves[MASS, d] * unlinked * (1.0 - unlinked)
                lean[together] += 1.0 - unlinked
    return value


@kernel
def length_of(values, first, last):
    total = 0.0
    for v in range(first, last):
        total += values[v] * values[v]
    return math.sqrt(total)


@kernel
def with_slack(I, J, ends, slack, together, multiplier, gradient, total_gradient, missed, squares):
    """The full gradient, slack included; at lambda_g = 0 the shortest subgradient.

    Returns the slack's part of the value, the gradient's length and largest part, and whether a multiplier stands at its
    end because no multiplier would do.  Parts that push a multiplier below its bound 0 don't count: all but those of
    cells are bounded so.  Cells without a multiplier of their own come in by what all cells miss, `missed` together, and
    the sum of its `squares`.  The multiplier of all cells moves only if `together` says so.
    """
    value, length, largest, hopeless = 0.0, 0.0, 0.0, False
    first = np.int64(0)
    for group in range(3):
        last = ends[group]
        common, others = 0.0, 0.0
        if group == 2 and last > first:
            common, others = multiplier[first], I * J - (last - first - 1.0)
            first += 1
        total, norm = common * others, common * common * others
        for v in range(first, last):
            total += multiplier[v] + common
            norm += (multiplier[v] + common) ** 2
        norm = math.sqrt(norm)
        value += slack[group] * norm
        pull = slack[group] / norm if norm > 0.0 and slack[group] > 0.0 else 0.0
        for v in range(first, last):
            part = gradient[v]
            if group == 2:
                missed -= part
                squares -= part * part
            part += pull * (multiplier[v] + common)
            if group < 2 and multiplier[v] <= 0.0 and part > 0.0:
                part = 0.0
            if abs(multiplier[v]) >= FARTHEST and part * multiplier[v] < 0.0:
                part = 0.0
                hopeless = True
            total_gradient[v] = part
        square = length_of(total_gradient, first, last) ** 2
        if others > 0.0:
            square += max(0.0, squares) + 2.0 * pull * common * missed + others * (pull * common) ** 2
        keep = 1.0
        if slack[group] > 0.0 and norm == 0.0:
            keep = max(0.0, 1.0 - slack[group] / math.sqrt(square)) if square > 0.0 else 0.0
        length += keep * keep * square
        for v in range(first, last):
            total_gradient[v] *= keep
            largest = max(largest, abs(total_gradient[v]))
        if group == 2 and ends[2] > ends[1]:
            total_gradient[first - 1] = keep * gradient[first - 1] + pull * total if together else 0.0
        first = last
    return value, math.sqrt(length), largest, hopeless


@kernel
def quasi_newton_direction(n, vectors, between, tipped, memory, stored, newest, heat):
    """-H gradient by the two-loop recursion (Nocedal and Wright 1999, algorithm 9.1).

    H's start is the inverse of the diagonal curvature plus `between` lean lean', by Sherman's and Morrison's formula; the
    diagonal grows with what is missed, apart from what the forward mass, one half plus `tipped`, accounts for.
    Coordinates with gradient 0 stand at their bound, or are solved, and stay out of the products.
    """
    gradient, curvature, lean, direction = vectors[FULL], vectors[CURVATURE], vectors[LEAN], vectors[DIRECTION]
    steps, changes = memory[0], memory[1]
    floor = 1e-4 if between == 0.0 else 0.05
    lengthwise = 0.0
    for v in range(n):
        curvature[v] = max(curvature[v], floor) + 0.2 * abs(gradient[v] + tipped * lean[v])
        direction[v] = -gradient[v]
        if gradient[v] != 0.0:
            lengthwise += lean[v] * lean[v] / curvature[v]
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
            weighted, leaning = 0.0, 0.0
            for v in range(n):
                if gradient[v] != 0.0:
                    weighted += changes[slot, v] ** 2 / curvature[v]
                    leaning += changes[slot, v] * lean[v] / curvature[v]
            weighted -= between / (1.0 + between * lengthwise) * leaning * leaning
            factor = min(1.5, max(0.2, product / weighted))
        for v in range(n):
            if gradient[v] != 0.0:
                direction[v] -= heat[slot] * changes[slot, v]
    leaning = 0.0
    for v in range(n):
        if gradient[v] != 0.0:
            leaning += lean[v] * direction[v] / curvature[v]
    leaning *= between * factor / (1.0 + between * factor * lengthwise)
    for v in range(n):
        direction[v] = factor * (direction[v] - leaning * lean[v]) / curvature[v]
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
    low_d, high_d, I, J, hmm, flat, null, chain, side, tables, spare, row_at, entries, n_entries, entry_weight, ends,
    symmetric, variable, places, free_mass, slack, vectors, memory, heat, halves, precision, constraints, strict,
    calls, tally,
):  # fmt: skip
    """Move `vectors[X]`, the multipliers, to the dual's minimum; `chain` is left with the posteriors there.

    Stops when the gradient's length divided by the number of `constraints` is below `precision` (section 4.1), with
    `strict` when every constraint is met to within it; or after `calls` passes.  Returns the dual's value and whether the
    precision was reached.

    A `flat` HMM, whose jumps all weigh the same, is solved word by word; the chain's pass that follows confirms that.
    With free masses log p(x) of both directions comes first: half a pass, without multipliers.
    """
    x, trial, full, trial_full = vectors[X], vectors[TRIAL], vectors[FULL], vectors[TRIAL_FULL]
    direction = vectors[DIRECTION]
    coupled = high_d - low_d == 2
    scale = 2.0 if coupled else 1.0
    free = coupled and free_mass
    probe = free
    by_word = flat or not hmm
    stored, newest, used, attempts = 0, -1, 0, 0
    value, slope, step, between = 0.0, 0.0, 0.0, 0.0
    n = ends[2]
    for v in range(n):
        trial[v] = x[v]
        direction[v] = 0.0
    while True:
        tilt(
            low_d, high_d, I, J, scale, chain, side, spare[WEIGHT], row_at, entries, n_entries, entry_weight, ends, places,
            direction if probe else trial,
        )  # fmt: skip
        for d in range(low_d, high_d):
            S, T = (I, J) if d == 0 else (J, I)
            links, nulls = chain[d, LINKS, : I * J].reshape(T, S), side[d, NULLS, :T]
            if by_word:
                a, b = ((1.0 - null) / S, null) if hmm else (1.0, 1.0)
                halves[LOG_Z, d] = words_pass(links, nulls, a, b)
            else:
                halves[LOG_Z, d] = hmm_pass(
                    links, nulls, null, tables[d, TABLE, : S * S].reshape(S, S),
                    tables[d, TRANSPOSED, : S * S].reshape(S, S), side[d, FIRST], chain[d, POSITION, : I * J].reshape(T, S),
                    chain[d, ONWARD, : I * J].reshape(T, S), side[d, START_MASS], spare[BETA], spare[WEIGHT], not probe,
                )  # fmt: skip
            halves[MASS, d] = 1.0 / scale
        if not by_word:
            tally[1] += (0.25 if probe else 0.5) * (high_d - low_d)
        if probe:
            halves[PLAIN, 0], halves[PLAIN, 1] = halves[LOG_Z, 0], halves[LOG_Z, 1]
            probe = False
            continue
        if symmetric:
            halves[LOG_Z, 0] -= trial[ends[1]] * J
            halves[LOG_Z, 1] += trial[ends[1]] * I
        if free:  # equation 15: Z_d / p_d(x) is what a direction weighs
            odds = halves[LOG_Z, 0] - halves[PLAIN, 0] - (halves[LOG_Z, 1] - halves[PLAIN, 1])
            odds = min(500.0, max(-500.0, odds))
            halves[MASS, 0] = 1.0 / (1.0 + math.exp(-odds))
            halves[MASS, 1] = 1.0 / (1.0 + math.exp(odds))
            # The variance mass_0 mass_1, at its mean on the way to equal masses: it vanishes where one direction has it all.
            between = math.tanh(0.5 * abs(odds)) / (2.0 * abs(odds)) if abs(odds) > 1e-3 else 0.25
        missed, squares = 0.0, 0.0
        if symmetric:
            # The cells left out are met to within half of what is asked, all of them together.
            threshold = 0.5 * precision * (1.0 if strict else math.sqrt(I * J))
            missed, squares = find_differences(I, J, chain, halves, threshold, variable, ends, places, x, trial, memory)
        trial_value = expectations(
            low_d, high_d, I, J, scale, chain, side, row_at, entries, n_entries, entry_weight, ends, places, missed, halves,
            trial, vectors,
        )  # fmt: skip
        slack_value, length, largest, hopeless = with_slack(
            I, J, ends, slack, free, trial, vectors[GRADIENT], trial_full, missed, squares
        )
        trial_value += slack_value
        used += 1
        attempts += 1
        done = largest <= precision if strict else length <= precision * constraints
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
            if between < SATURATED and free:  # where one direction has nearly all, changes of the gradient tell nothing
                stored, newest = 0, -1
            n = ends[2]
            for v in range(n):
                x[v] = trial[v]
                full[v] = trial_full[v]
            value = trial_value
            if last and by_word and hmm:  # the chain's turn
                by_word = False
                stored, newest, used = 0, -1, 0
                continue
            if last:
                return value, done and not hopeless
            tipped = halves[MASS, 0] - 0.5 if free else 0.0
            quasi_newton_direction(n, vectors, between, tipped, memory, stored, newest, heat)
            step, attempts = 1.0, 0
        slope = 0.0
        for v in range(n):
            moved = min(FARTHEST, max(-FARTHEST, x[v] + step * direction[v]))
            if v < ends[1] and moved < 0.0:
                moved = 0.0
            trial[v] = moved
            slope += full[v] * (moved - x[v])
