"""Chang et al.'s (2014) relaxation: the reverse alignment is no chain any more, and is decided inside the forward Viterbi.

Reverse links keep their backward constraint only: y(i, j) = 1 picks one link before it, y(i', i, j) = 1, but nobody asks
whether y(i', j - 1) = 1.  One multiplier for each relaxed constraint, lambda(i, j) on y(i, j) = sum over i' of
y(i, i', j + 1), for i in 0..I and j in 0..J - 1 (0: NULL, and the start).  Then a reverse link is worth (section 3.1)

    rho[i, j] = max over i' of omega(i', i, j) - lambda(i, j) + lambda(i', j - 1)

whenever it is there, and L(lambda) is the best forward path that pays for the reverse links it needs.  A state of that
path is a position j with a setting z of its reverse links: mode z % 3 (y_j = i, i - 1 or i + 1), whether y_{j-1} = i
(z // 3 % 2) and whether y_{j+1} = i (z // 6).  Full agreement has the setting 0 only, adjacency all SETTINGS.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel, leaf

SETTINGS = 12


class Lattice(NamedTuple):
    """The states of the forward path, [i, position, setting], and their values from the start and from the end.

    Read from the end the rows before and after change places, so that setting z is `mirrored`.
    """

    live: np.ndarray  # bool (I + 1, J + 1, settings)
    values: np.ndarray  # float64 (I + 1, J + 1, settings): what a state adds to its theta, -inf unless it lives
    pi: np.ndarray  # float64 (I + 1, J + 1, settings): best value of rows 1..i that ends in the state
    turned_theta: np.ndarray  # float64 (I, J + 1, J + 1)
    turned_values: np.ndarray  # float64 (I + 1, J + 1, settings)
    turned_pi: np.ndarray  # float64 (I + 1, J + 1, settings)


class ReversePrices(NamedTuple):
    """What each reverse link is worth, and which link before it makes it so."""

    rho: np.ndarray  # float64 (I + 1, J + 1)
    origin: np.ndarray  # int64 (I + 1, J + 1): i'


class Choice(NamedTuple):
    """What L(lambda) chooses: a forward path with its settings, and the reverse links that it pays for."""

    x: np.ndarray  # int64 (I + 1,), x[0] = 0 the start
    settings: np.ndarray  # int64 (I + 1,)
    links: np.ndarray  # int64 (3 I + J + 1, 3): i', i, j of reverse links, NULLs (i = 0) included; more room than links


@kernel
def fill_prices(omega, multipliers, skipped, prices):
    """rho[i, j] for i in 0..I, j in 1..J, and the i' behind it, over the i' for which skipped[i', j - 1] is False."""
    J, width = omega.shape[0], omega.shape[1]
    rho, origin = prices
    for j in range(1, J + 1):
        for i in range(width):
            rho[i, j] = -np.inf
        for before in range(width if j > 1 else 1):
            if skipped[before, j - 1]:
                continue
            for i in range(width):
                value = omega[j - 1, before, i] + multipliers[before, j - 1]
                if value > rho[i, j]:
                    rho[i, j] = value
                    origin[i, j] = before
        if j < J:
            for i in range(width):
                rho[i, j] -= multipliers[i, j]


@leaf
def hosts(z, beside):
    """Does a link in setting z host the reverse link of position + beside, beside in (-1, 0, 1)?"""
    if beside == 0:
        return z % 3 == 0
    return z // 3 % 2 == 1 if beside < 0 else z >= 6


@leaf
def mirrored(z):
    """Setting z as seen from the end of the chain: the rows before and after change places, so modes 1 and 2 do."""
    return z - z % 3 + (3 - z % 3) % 3


@leaf
def follows(before, z_before, j, z):
    """May (i, j) in setting z follow (i - 1, before) in setting z_before?  The transition set N of Figure 5.

    y_j = i - 1 must be hosted by row i - 1, and y_before = i by row i; so neither goes with a jump, or with NULL.
    """
    jump = before == 0 or j == 0 or abs(j - before) > 1
    if j != 0 and z % 3 == 1 and (jump or not hosts(z_before, j - before)):
        return False
    return not (before != 0 and z_before % 3 == 2 and (jump or not hosts(z, before - j)))


@leaf
def _fill_values(lattice, rho, cost):
    """values[i, j, z]: what link (i, j) in setting z adds to its theta, by its reverse links and the cost of off-by-ones."""
    live, values = lattice.live, lattice.values
    for i in range(1, live.shape[0]):
        values[i, 0, 0] = 0.0 if live[i, 0, 0] else -np.inf
        for j in range(1, live.shape[1]):
            for z in range(live.shape[2]):
                values[i, j, z] = -np.inf
                if live[i, j, z]:
                    value = rho[i, j] if z % 3 == 0 else cost
                    if hosts(z, -1):
                        value += rho[i, j - 1] + cost
                    if hosts(z, 1):
                        value += rho[i, j + 1] + cost
                    values[i, j, z] = value


@leaf
def _summarise(row, freely, classes):
    """What the next row needs to know of this one: the best value for a jump, and by neighbour and kind of setting.

    freely[j]: best setting that leaves nothing for the next row to host.  classes[j, d, hosted, pending], d in 0..2: best
    setting that does (or not) host the reverse link of j + d - 1, and does (or not) need its own hosted by the next row.
    """
    for j in range(row.shape[0]):
        freely[j] = -np.inf
        for d in range(3):
            for hosted in range(2):
                for pending in range(2):
                    classes[j, d, hosted, pending] = -np.inf
        for z in range(row.shape[1]):
            pending = 1 if z % 3 == 2 else 0
            if pending == 0:
                freely[j] = max(freely[j], row[j, z])
            for d in range(3):
                hosted = 1 if hosts(z, d - 1) else 0
                classes[j, d, hosted, pending] = max(classes[j, d, hosted, pending], row[j, z])


@kernel
def _chart(theta, values, pi):
    """pi[i, j, z]: best value of rows 1..i that ends with x_i = j in setting z (Figures 3 and 5).  O(I J (J + settings))."""
    I, width, Z = theta.shape[0], theta.shape[1], values.shape[2]
    freely, jump = np.full(width, -np.inf), np.empty(width)
    classes = np.full((width, 3, 2, 2), -np.inf)
    freely[0] = 0.0
    for i in range(1, I + 1):
        if i > 1:
            _summarise(pi[i - 1], freely, classes)
        for j in range(width):
            jump[j] = -np.inf
        for before in range(width):
            for j in range(width):
                if before == 0 or j == 0 or abs(before - j) > 1:
                    jump[j] = max(jump[j], freely[before] + theta[i - 1, before, j])
        for j in range(width):
            for z in range(Z):
                if values[i, j, z] == -np.inf:
                    pi[i, j, z] = -np.inf
                    continue
                answers_before = j != 0 and z % 3 == 1
                best = -np.inf if answers_before else jump[j]
                if j != 0:
                    for before in range(max(1, j - 1), min(width, j + 2)):
                        d = j - before + 1
                        value = classes[before, d, 1, 0]
                        if not answers_before:
                            value = max(value, classes[before, d, 0, 0])
                        if hosts(z, before - j):
                            value = max(value, classes[before, d, 1, 1])
                            if not answers_before:
                                value = max(value, classes[before, d, 0, 1])
                        best = max(best, value + theta[i - 1, before, j])
                pi[i, j, z] = best + values[i, j, z]


@kernel
def turn(lattice):
    """The chart from the end of the chain."""
    values, turned = lattice.values, lattice.turned_values
    I = values.shape[0] - 1
    for i in range(1, I + 1):
        for j in range(values.shape[1]):
            for z in range(values.shape[2]):
                turned[I + 1 - i, j, mirrored(z)] = values[i, j, z]
    _chart(lattice.turned_theta, turned, lattice.turned_pi)


@leaf
def _choose(theta, pi, prices, choice):
    """The path behind the best value of the last row, the reverse links that it needs, and reverse NULLs that pay.

    Returns that value (-inf: there is no path) and the number of links.
    """
    I, width, Z = theta.shape[0], theta.shape[1], pi.shape[2]
    (x, settings, links), (rho, origin) = choice, prices
    best, count = -np.inf, 0
    for j in range(width):
        for z in range(Z):
            if pi[I, j, z] > best:
                best, x[I], settings[I] = pi[I, j, z], j, z
    if best == -np.inf:
        return best, count
    for i in range(I, 1, -1):
        highest = -np.inf
        for before in range(width):
            for z in range(Z):
                value = pi[i - 1, before, z] + theta[i - 1, before, x[i]]
                if value > highest and follows(before, z, x[i], settings[i]):
                    highest, x[i - 1], settings[i - 1] = value, before, z
    for j in range(1, width):
        if rho[0, j] > 0.0:
            links[count, 0], links[count, 1], links[count, 2] = origin[0, j], 0, j
            count += 1
    for i in range(1, I + 1):
        for beside in range(-1, 2):
            if x[i] != 0 and hosts(settings[i], beside):
                j = x[i] + beside
                links[count, 0], links[count, 1], links[count, 2] = origin[i, j], i, j
                count += 1
    return best, count


@kernel
def relax(problem, multipliers, lattice, prices, choice):
    """The choice behind L(lambda): the value of its path, and the number of its reverse links.

    L(lambda) is that value and what the reverse NULLs among the links add, which no path pays for.
    """
    fill_prices(problem.omega, multipliers, np.zeros(multipliers.shape, np.bool_), prices)
    _fill_values(lattice, prices.rho, problem.agreement.cost)
    _chart(problem.theta, lattice.values, lattice.pi)
    return _choose(problem.theta, lattice.pi, prices, choice)


@kernel
def step(links, count, rate, multipliers, violated, y):
    """lambda(i, j) += rate (y(i, j) - sum over i' of y(i, i', j + 1)).  Counts in `violated` where that is not 0, and
    returns how often; y_j becomes the last link of column j."""
    I, J = multipliers.shape[0] - 1, multipliers.shape[1]
    excess = np.zeros((I + 1, J + 1), np.int64)
    excess[0, 0] = 1
    for j in range(len(y)):
        y[j] = 0
    for n in range(count):
        before, i, j = links[n, 0], links[n, 1], links[n, 2]
        excess[i, j] += 1
        excess[before, j - 1] -= 1
        y[j] = max(y[j], i)
    total = 0
    for i in range(I + 1):
        for j in range(J):
            if excess[i, j] != 0:
                multipliers[i, j] += rate * excess[i, j]
                violated[i, j] += 1
                total += 1
    return total


@kernel
def prune(lattice, constant, ceiling):
    """Kill states whose max-marginal is the ceiling or less (Lemma 1, for states); returns how many live.

    `constant` is what L(lambda) has besides the path's value.
    """
    turn(lattice)
    live, values, pi, turned_pi = lattice.live, lattice.values, lattice.pi, lattice.turned_pi
    I, Z = values.shape[0] - 1, values.shape[2]
    alive = 0
    for i in range(1, I + 1):
        for j in range(values.shape[1]):
            for z in range(Z):
                if live[i, j, z]:
                    turned = turned_pi[I + 1 - i, j, mirrored(z)]
                    if values[i, j, z] == -np.inf or pi[i, j, z] + (turned - values[i, j, z]) + constant <= ceiling:
                        live[i, j, z] = False
                    else:
                        alive += 1
    return alive
