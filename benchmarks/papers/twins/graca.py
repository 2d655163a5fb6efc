"""Symmetric posterior regularization (Graça et al. 2010, section 3.4): the dual by conjugate gradients, as printed.

    minimise over lambda   log(Z_1(lambda) / 2 + Z_2(-lambda) / 2) + slack |lambda|        (equations 10 and 15)

Z_d is direction d's sum over alignments of p_d(z | x) exp(-lambda f(z)); there is one multiplier for each cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from papers.twins.hmm import HMM, Text, add_links, add_moves, forward_backward, shares

SLACK = 0.001
STEPS = 200  # evaluations at most


class Point(NamedTuple):
    """The dual at some multipliers: value, gradient (I, J), and each direction's mass, links, NULLs and moves."""

    value: float
    gradient: np.ndarray
    halves: list[tuple[float, np.ndarray, np.ndarray, np.ndarray]]


class Dual:
    def __init__(self, models: tuple[HMM, HMM], e: np.ndarray, f: np.ndarray) -> None:
        """`models`: of e generating f, and of f generating e.  Words of both are numbered from 1."""
        self.moves = models[0].moves(len(e)), models[1].moves(len(f))
        self.b = models[0].emissions(e, f - 1), models[1].emissions(f, e - 1)
        self.log_p = [forward_backward(b, moves)[3] for b, moves in zip(self.b, self.moves, strict=True)]

    def at(self, multipliers: np.ndarray) -> Point:
        found, log_z = [], np.empty(2)
        for d, tilt in enumerate((np.exp(-multipliers), np.exp(multipliers).T)):
            b = self.b[d].copy()
            b[1:] *= tilt
            links, nulls, moved, log_sum = forward_backward(b, self.moves[d])
            log_z[d] = log_sum - self.log_p[d]
            found.append((links, nulls, moved))
        total = np.logaddexp(*log_z) + np.log(0.5)
        masses = 0.5 * np.exp(log_z - total)
        length = np.linalg.norm(multipliers)
        gradient = masses[1] * found[1][0] - masses[0] * found[0][0].T
        if length > 0:
            gradient = gradient + SLACK * multipliers / length
        elif np.linalg.norm(gradient) > 0:  # at zero, the slack takes off what it can
            size = np.linalg.norm(gradient)
            gradient = gradient * max(0.0, 1.0 - SLACK / size)
        halves = [(float(mass), *half) for mass, half in zip(masses, found, strict=True)]
        return Point(float(total + SLACK * length), gradient, halves)

    def solve(self, precision: float) -> tuple[Point, int]:
        """Until the gradient's length divided by the number of constraints is below `precision`; and how many steps."""
        x = np.zeros((len(self.moves[0]) - 1, len(self.moves[1]) - 1))
        now, direction, last = self.at(x), np.zeros_like(x), None
        for step in range(STEPS):
            if np.linalg.norm(now.gradient) / x.size < precision:
                return now, step
            g = now.gradient
            turn = 0.0 if last is None else max(0.0, float((g * (g - last)).sum() / (last * last).sum()))
            direction = turn * direction - g
            slope = float((direction * g).sum())
            if slope >= 0:
                direction, slope = -g, -float((g * g).sum())
            size = 8.0
            while size > 1e-6:  # Armijo's rule
                there = self.at(x + size * direction)
                if there.value <= now.value + 0.1 * size * slope:
                    break
                size /= 2
            else:
                return now, step
            x, now, last = x + size * direction, there, g
        return now, STEPS


def fit(
    text: Text, t: tuple[np.ndarray, np.ndarray], precision: float, iterations: int
) -> tuple[tuple[HMM, HMM], float]:
    """Both directions' HMMs, and the mean number of steps of a projection."""
    models = HMM.even(t[0], text.longest), HMM.even(t[1], text.longest)
    steps = 0
    for _ in range(iterations):
        counts = [HMM(*(np.zeros_like(values) for values in (own.t, own.jumps, own.first))) for own in models]
        for e, f in text.pairs:
            point, used = Dual(models, e, f).solve(precision)
            steps += used
            for own, sides, (mass, links, nulls, moved) in zip(
                counts, ((e, f - 1), (f, e - 1)), point.halves, strict=True
            ):
                add_links(own, *sides, 2 * mass * links, 2 * mass * nulls)
                add_moves(own, 2 * mass * moved)
        first, second = (HMM(*map(shares, (own.t, own.jumps, own.first))) for own in counts)
        models = first, second
    return models, steps / (iterations * len(text.pairs))


def posteriors(models: tuple[HMM, HMM], e: np.ndarray, f: np.ndarray, precision: float | None) -> np.ndarray:
    """Of the links (I, J) in the direction of the first model; None: without projection."""
    dual = Dual(models, e, f)
    point = dual.at(np.zeros((len(e), len(f)))) if precision is None else dual.solve(precision)[0]
    return point.halves[0][1].T
