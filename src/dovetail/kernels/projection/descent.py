"""A descent on the dual that needs few passes.

The paper's remedies and more: limited-memory quasi-Newton steps, scaled by each feature's own variance, which the
posteriors give away; bounds lambda >= 0 kept by projection (Bertsekas 1999); multipliers of cells only where the two
directions differ; and no chains at all while the HMM's jumps still weigh the same.
"""

from __future__ import annotations

import math

from dovetail.kernels import kernel
from dovetail.kernels.projection import planes
from dovetail.kernels.projection.chain import hmm_pass, words_pass
from dovetail.kernels.projection.dual import FARTHEST, Missed, expectations, find_differences, tilt, with_slack

MEMORY = 4  # pairs of steps and gradient changes
LARGEST_STEP = 4.0  # in one multiplier: a factor of 55 on a link's odds
ROUNDING = 1e-5  # a value is a sum of logarithms in single precision
SATURATED = 0.19  # a direction then has more than 7 times the mass of the other


@kernel
def quasi_newton_direction(n, search, between, tipped, stored, newest):
    """-H gradient by the two-loop recursion (Nocedal and Wright 1999, algorithm 9.1).

    H's start is the inverse of the diagonal curvature plus `between` lean lean', by Sherman's and Morrison's formula; the
    diagonal grows with what is missed, apart from what the forward mass, one half plus `tipped`, accounts for.
    Coordinates with gradient 0 stand at their bound, or are solved, and stay out of the products.
    """
    vectors, heat = search.vectors, search.heat
    steps, changes = search.memory[planes.STEPS], search.memory[planes.CHANGES]
    gradient, curvature = vectors[planes.FULL], vectors[planes.CURVATURE]
    lean, direction = vectors[planes.LEAN], vectors[planes.DIRECTION]
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
def descend(problem, model, settings, tally):
    """Move X, the multipliers, to the dual's minimum; the chains are left with the posteriors there.

    Stops when the gradient's length divided by the number of constraints is below the precision (section 4.1), with
    `strict` when every constraint is met to within it; or after so many calls.  Returns the dual's value and whether the
    precision was reached.

    A `flat` HMM, whose jumps all weigh the same, is solved word by word; the chain's pass that follows confirms that.
    With free masses, and where scores are asked for, log p(x) comes first: half a pass, without multipliers.
    """
    vectors, memory = problem.search.vectors, problem.search.memory
    x, trial, direction = vectors[planes.X], vectors[planes.TRIAL], vectors[planes.DIRECTION]
    full, trial_full = vectors[planes.FULL], vectors[planes.TRIAL_FULL]
    halves, ends = problem.chains.halves, problem.variables.ends
    mass, log_z, plain = halves[planes.MASS], halves[planes.LOG_Z], halves[planes.PLAIN]
    I, J = problem.I, problem.J
    precision = settings.precision
    symmetric = ends[2] > ends[1]
    free = problem.high - problem.low == 2 and settings.free_mass
    probe = free or settings.scored
    by_word = model.flat or not model.hmm
    stored, newest, used, attempts = 0, -1, 0, 0
    value, slope, step, between = 0.0, 0.0, 0.0, 0.0
    n = ends[2]
    for v in range(n):
        trial[v] = x[v]
        direction[v] = 0.0
    while True:
        tilt(problem, direction if probe else trial)
        for d in range(problem.low, problem.high):
            S, T = (I, J) if d == 0 else (J, I)
            if by_word:
                a, b = ((1.0 - model.null) / S, model.null) if model.hmm else (1.0, 1.0)
                log_z[d] = words_pass(d, T, S, problem.chains, a, b)
            else:
                log_z[d] = hmm_pass(d, T, S, problem.chains, model.null, not probe)
            mass[d] = 1.0 / problem.scale
        if not by_word:
            tally[planes.PASSES] += (0.25 if probe else 0.5) * (problem.high - problem.low)
        if probe:
            for d in range(problem.low, problem.high):
                halves[planes.SCORE, d] = log_z[d]
                plain[d] = log_z[d] if free else 0.0
            probe = False
            continue
        if symmetric:
            log_z[0] -= trial[ends[1]] * J
            log_z[1] += trial[ends[1]] * I
        if free:  # equation 15: Z_d / p_d(x) is what a direction weighs
            odds = log_z[0] - plain[0] - (log_z[1] - plain[1])
            odds = min(500.0, max(-500.0, odds))
            mass[0] = 1.0 / (1.0 + math.exp(-odds))
            mass[1] = 1.0 / (1.0 + math.exp(odds))
            # The variance mass_0 mass_1, at its mean on the way to equal masses: it vanishes where one direction has it all.
            between = math.tanh(0.5 * abs(odds)) / (2.0 * abs(odds)) if abs(odds) > 1e-3 else 0.25
        missed = Missed(0.0, 0.0)
        if symmetric:
            # The cells left out are met to within half of what is asked, all of them together.
            threshold = 0.5 * precision * (1.0 if settings.strict else math.sqrt(I * J))
            missed = find_differences(problem, threshold)
        trial_value = expectations(problem, missed.total)
        slack_value, length, largest, hopeless = with_slack(problem, settings.slack, missed, free)
        trial_value += slack_value
        used += 1
        attempts += 1
        done = largest <= precision if settings.strict else length <= precision * problem.constraints
        last = done or used >= settings.calls
        if used > 1 and not last and attempts < 8 and trial_value > value + 1e-4 * slope + ROUNDING:
            # The minimum of the parabola through both values with this slope, kept within a sensible range.
            step *= min(0.5, max(0.1, -0.5 * slope / (trial_value - value - slope)))
        else:
            if used > 1:
                newest = (newest + 1) % MEMORY
                stored = min(stored + 1, MEMORY)
                for v in range(n):
                    memory[planes.STEPS, newest, v] = trial[v] - x[v]
                    memory[planes.CHANGES, newest, v] = trial_full[v] - full[v]
            if between < SATURATED and free:  # where one direction has nearly all, changes of the gradient tell nothing
                stored, newest = 0, -1
            n = ends[2]
            for v in range(n):
                x[v] = trial[v]
                full[v] = trial_full[v]
            value = trial_value
            if last and by_word and model.hmm:  # the chain's turn
                by_word = False
                stored, newest, used = 0, -1, 0
                continue
            if last:
                return value, done and not hopeless
            tipped = mass[0] - 0.5 if free else 0.0
            quasi_newton_direction(n, problem.search, between, tipped, stored, newest)
            step, attempts = 1.0, 0
        slope = 0.0
        for v in range(n):
            moved = min(FARTHEST, max(-FARTHEST, x[v] + step * direction[v]))
            if v < ends[1] and moved < 0.0:
                moved = 0.0
            trial[v] = moved
            slope += full[v] * (moved - x[v])
