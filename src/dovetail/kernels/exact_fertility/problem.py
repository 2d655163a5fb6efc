"""The potentials of one sentence pair, laid out for the fertility decoders."""

from __future__ import annotations

import numpy as np

from dovetail.kernels.exact_fertility.records import Node, Problem


def lay_out(log_emission, log_transition, log_null, log_fertility, log_null_fertility):
    """Transpose and stack the arguments of `fertility_map`, of which the last may be None.

    Returns the problem, without runs, and the node of all alignments, whose prices are zeros and whose cells are live unless
    their emission is -inf: that never comes back after this door.
    """
    R, J = log_emission.shape
    first = 1 if log_null_fertility is None else 0
    fertility = np.zeros((R, J + 1))
    fertility[1:] = log_fertility
    if first == 0:
        fertility[0] = log_null_fertility
    emission, transition_to = np.ascontiguousarray(log_emission.T), np.ascontiguousarray(log_transition.T)
    live_link = (emission > -np.inf).astype(np.uint8)
    live_null = np.repeat(live_link[:, :1] if log_null > -np.inf else np.zeros((J, 1), np.uint8), R, axis=1)
    live_link[:, 0] = 0
    problem = Problem(emission, log_transition, log_transition, transition_to, log_null, fertility, first, False)
    return problem, Node(np.zeros(R, np.int32), np.full(R, J, np.int32), live_link, live_null, np.zeros((2, J, R)))


def split(problem):
    """The same problem with runs: the jumps without the transitions from a row to itself."""
    jump = problem.transition.copy()
    np.fill_diagonal(jump[1:], -np.inf)
    return problem._replace(jump=jump, jump_to=np.ascontiguousarray(jump.T), runs=True)
