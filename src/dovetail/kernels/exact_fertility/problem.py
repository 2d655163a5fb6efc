"""The potentials of one sentence pair, laid out for the fertility decoders."""

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.exact_fertility.records import Node, Problem


@kernel
def lay_out(log_emission, log_transition, log_null, log_fertility, log_null_fertility):
    """Transpose, stack and check the arguments of `fertility_map`; an empty `log_null_fertility` means none.

    Returns the problem, without runs; the node of all alignments, whose prices are zeros and whose cells are live unless
    their emission is -inf: that never comes back after this door; and which argument, from 1, holds a NaN or +inf (0: none
    does).
    """
    R, J = log_emission.shape
    I = R - 1
    flaw = 0
    first = 1
    fertility = np.zeros((R, J + 1))
    if len(log_null_fertility) > 0:
        first = 0
        for c in range(J + 1):
            fertility[0, c] = log_null_fertility[c]
            if not log_null_fertility[c] < np.inf:
                flaw = 5
    for i in range(I):
        for c in range(J + 1):
            fertility[i + 1, c] = log_fertility[i, c]
            if not log_fertility[i, c] < np.inf:
                flaw = 4
    if not log_null < np.inf:
        flaw = 3
    transition_to = np.empty((I, R))
    for p in range(R):
        for i in range(I):
            transition_to[i, p] = log_transition[p, i]
            if not log_transition[p, i] < np.inf:
                flaw = 2
    emission = np.empty((J, R))
    live_link = np.zeros((J, R), np.uint8)
    live_null = np.zeros((J, R), np.uint8)
    for r in range(R):
        for j in range(J):
            emission[j, r] = log_emission[r, j]
            if not log_emission[r, j] < np.inf:
                flaw = 1
            if log_emission[r, j] > -np.inf:
                if r > 0:
                    live_link[j, r] = 1
                elif log_null > -np.inf:
                    live_null[j, :] = 1
    problem = Problem(emission, log_transition, log_transition, transition_to, log_null, fertility, first, False)
    whole = Node(np.zeros(R, np.int32), np.full(R, J, np.int32), live_link, live_null, np.zeros((2, J, R)))
    return problem, whole, flaw


@kernel
def split(problem):
    """The same problem with runs: the jumps without the transitions from a row to itself."""
    R, I = problem.transition.shape
    jump = np.empty((R, I))
    jump_to = np.empty((I, R))
    for p in range(R):
        for i in range(I):
            jump[p, i] = jump_to[i, p] = problem.transition[p, i]
        if p > 0:
            jump[p, p - 1] = jump_to[p - 1, p] = -np.inf
    emission, transition, fertility = problem.emission, problem.transition, problem.fertility
    return Problem(emission, transition, jump, jump_to, problem.log_null, fertility, problem.first, True)
