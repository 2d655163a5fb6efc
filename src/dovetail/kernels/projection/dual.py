"""The dual of the projection (Graça et al. 2010, section 3.1): its value, gradient and curvature.

Minimise over lambda   b lambda + log Z(lambda) + sum over groups g of slack |lambda_g|            (equation 10)
with  q(z) = p(z) exp(-lambda f(z)) / Z(lambda),   gradient  b - E_q[f] + slack lambda_g / |lambda_g|.

`records.Variables` lists the groups.  A cell's lambda is the sum of its own and that of all cells together; only cells in
which the two directions differ have one of their own.  The posterior of a link is q_d(link), or 2 mass_d q_d(link) when
both directions are halves of one distribution (equation 15).

These are leaves: counting the references to a dual's arrays would cost as much as the arithmetic of a short sentence.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dovetail.kernels import leaf
from dovetail.kernels.projection import planes

FARTHEST = 40.0  # multipliers of constraints that cannot be met grow no further


class Missed(NamedTuple):
    """By how much all cells miss their symmetry."""

    total: float
    squares: float


@leaf
def tilt(problem, x):
    """The model's weights times exp(-lambda f), clique by clique (equation 13)."""
    cells, words = problem.chains.cells, problem.chains.words
    variables, scale = problem.variables, problem.scale
    ends, entries, places = variables.ends, variables.entries, variables.places
    for d in range(problem.low, problem.high):
        S, T = (problem.I, problem.J) if d == 0 else (problem.J, problem.I)
        given, now, weight, at = cells[d, planes.BASE], cells[d, planes.LINKS], words[d, planes.WEIGHT], problem.rows[d]
        if at >= 0:
            for s in range(S):
                own = x[at + s]
                weight[s] = np.float32(math.exp(-scale * own)) if own != 0.0 else np.float32(1.0)
            for t in range(T):
                for s in range(S):
                    now[t * S + s] = given[t * S + s] * weight[s]
        else:
            for c in range(T * S):
                now[c] = given[c]
        unlinked = np.float32(1.0)  # what links lose together, NULLs gain
        if ends[2] > ends[1] and x[ends[1]] != 0.0:
            unlinked = np.float32(math.exp(x[ends[1]] if d == 0 else -x[ends[1]]))
        for t in range(T):
            words[d, planes.NULLS, t] = unlinked * words[d, planes.BASE_NULLS, t]
    for e in range(len(entries)):
        exponent = scale * variables.weights[e] * x[entries[e, 2]]
        cells[entries[e, 0], planes.LINKS, entries[e, 1]] *= np.float32(math.exp(min(60.0, max(-60.0, -exponent))))
    for v in range(ends[1] + 1, ends[2]):
        if x[v] != 0.0:
            factor = math.exp(np.float32(-x[v]))
            cells[0, planes.LINKS, places[0, v - ends[1]]] *= factor
            cells[1, planes.LINKS, places[1, v - ends[1]]] /= factor


@leaf
def find_differences(problem, threshold):
    """Give a multiplier to each cell whose constraint is missed by more than `threshold` (and does not have one)."""
    I, J, halves = problem.I, problem.J, problem.chains.halves
    forward, reverse = problem.chains.cells[0, planes.LINKS], problem.chains.cells[1, planes.LINKS]
    ends, places = problem.variables.ends, problem.variables.places
    of_cell = places[planes.OF_CELL]
    vectors, memory = problem.search.vectors, problem.search.memory
    a, b = np.float32(halves[planes.MASS, 0]), np.float32(halves[planes.MASS, 1])
    least = np.float32(threshold)
    total, squares = 0.0, 0.0
    for i in range(I):
        for j in range(J):
            miss = b * reverse[i * J + j] - a * forward[j * I + i]
            total += miss
            squares += miss * miss
            if abs(miss) > least and of_cell[i * J + j] < 0:
                v = ends[2]
                of_cell[i * J + j] = v
                places[0, v - ends[1]] = j * I + i
                places[1, v - ends[1]] = i * J + j
                vectors[planes.X, v] = vectors[planes.TRIAL, v] = 0.0
                for slot in range(memory.shape[1]):
                    memory[planes.STEPS, slot, v] = memory[planes.CHANGES, slot, v] = 0.0
                ends[2] += 1
    return Missed(total, squares)


@leaf
def expectations(problem, missed):
    """What the posteriors say: the dual's value, which is returned, gradient (without slack), curvature and lean.

    value = log Z + b lambda; log Z = sum over d of mass_d (log Z_d - log p_d(x) - log(2 mass_d)).  `curvature` is each
    feature's variance within the directions; between them it is mass_0 mass_1 lean lean', where `lean` is how much more of
    a feature there is in the forward direction.  `missed` is what all cells miss together.
    """
    cells, halves, vectors = problem.chains.cells, problem.chains.halves, problem.search.vectors
    x, bound, gradient = vectors[planes.TRIAL], vectors[planes.BOUND], vectors[planes.GRADIENT]
    curvature, lean = vectors[planes.CURVATURE], vectors[planes.LEAN]
    mass, scale = halves[planes.MASS], problem.scale
    variables = problem.variables
    ends, entries, places = variables.ends, variables.entries, variables.places
    value = 0.0
    for d in range(problem.low, problem.high):
        value += mass[d] * (halves[planes.LOG_Z, d] - halves[planes.PLAIN, d] - math.log(scale * mass[d]))
    for v in range(ends[1]):
        gradient[v] = bound[v]
        curvature[v] = 0.0
        lean[v] = 0.0
        if x[v] != 0.0:
            value += bound[v] * x[v]
    for d in range(problem.low, problem.high):
        at = problem.rows[d]
        if at >= 0:
            S, T = (problem.I, problem.J) if d == 0 else (problem.J, problem.I)
            links, part = cells[d, planes.LINKS], scale * mass[d]
            for t in range(T):
                for s in range(S):
                    link = links[t * S + s]
                    gradient[at + s] -= part * link
                    curvature[at + s] += scale * part * link * (np.float32(1.0) - link)
            for s in range(at, at + S):
                lean[s] = (bound[s] - gradient[s]) / (mass[d] if d == 0 else -mass[d])
    for e in range(len(entries)):
        d, v = entries[e, 0], entries[e, 2]
        link = cells[d, planes.LINKS, entries[e, 1]]
        part = variables.weights[e] * scale
        gradient[v] -= part * mass[d] * link
        curvature[v] += part * part * mass[d] * link * (1.0 - link)
        lean[v] += part * link if d == 0 else -part * link
    for v in range(ends[1] + 1, ends[2]):
        forward = cells[0, planes.LINKS, places[0, v - ends[1]]]
        reverse = cells[1, planes.LINKS, places[1, v - ends[1]]]
        a, b = mass[0] * forward, mass[1] * reverse
        gradient[v] = b - a
        curvature[v] = a * (1.0 - forward) + b * (1.0 - reverse)
        lean[v] = forward + reverse
    if ends[2] > ends[1]:  # all cells together
        together = ends[1]
        gradient[together] = missed
        curvature[together] = lean[together] = 0.0
        for d in range(2):
            for t in range(problem.J if d == 0 else problem.I):
                unlinked = problem.chains.words[d, planes.NULLS, t]
                curvature[together] += mass[d] * unlinked * (1.0 - unlinked)
                lean[together] += 1.0 - unlinked
    return value


@leaf
def with_slack(problem, slack, missed, together):
    """The full gradient, slack included; at lambda_g = 0 the shortest subgradient.

    Returns the slack's part of the value, the gradient's length and largest part, and whether a multiplier stands at its
    end because no multiplier would do.  Parts that push a multiplier below its bound 0 don't count: all but those of
    cells are bounded so.  Cells without a multiplier of their own come in by what all cells have `missed`.  The multiplier
    of all cells moves only if `together` says so.
    """
    ends, vectors = problem.variables.ends, problem.search.vectors
    multiplier, gradient, total_gradient = vectors[planes.TRIAL], vectors[planes.GRADIENT], vectors[planes.TRIAL_FULL]
    rest, rest_squares = missed.total, missed.squares
    value, length, largest, hopeless = 0.0, 0.0, 0.0, False
    first = np.int64(0)
    for group in range(3):
        last = ends[group]
        common, others = 0.0, 0.0
        if group == 2 and last > first:
            common, others = multiplier[first], problem.I * problem.J - (last - first - 1.0)
            first += 1
        total, norm = common * others, common * common * others
        for v in range(first, last):
            total += multiplier[v] + common
            norm += (multiplier[v] + common) ** 2
        norm = math.sqrt(norm)
        value += slack * norm
        pull = slack / norm if norm > 0.0 and slack > 0.0 else 0.0
        square = 0.0
        for v in range(first, last):
            part = gradient[v]
            if group == 2:
                rest -= part
                rest_squares -= part * part
            part += pull * (multiplier[v] + common)
            if group < 2 and multiplier[v] <= 0.0 and part > 0.0:
                part = 0.0
            if abs(multiplier[v]) >= FARTHEST and part * multiplier[v] < 0.0:
                part = 0.0
                hopeless = True
            total_gradient[v] = part
            square += part * part
        square = math.sqrt(square) ** 2  # the length, squared: without the root the last bit of results would change
        if others > 0.0:
            square += max(0.0, rest_squares) + 2.0 * pull * common * rest + others * (pull * common) ** 2
        keep = 1.0
        if slack > 0.0 and norm == 0.0:
            keep = max(0.0, 1.0 - slack / math.sqrt(square)) if square > 0.0 else 0.0
        length += keep * keep * square
        for v in range(first, last):
            total_gradient[v] *= keep
            largest = max(largest, abs(total_gradient[v]))
        if group == 2 and ends[2] > ends[1]:
            total_gradient[first - 1] = keep * gradient[first - 1] + pull * total if together else 0.0
        first = last
    return value, math.sqrt(length), largest, hopeless
