"""The slow, obvious twins of the fertility decoders: every alignment in turn, and an integer program for larger ones."""

from __future__ import annotations

import itertools
import math

import highspy
import numpy as np


def score(alignment, log_emission, log_transition, log_null, log_fertility, log_null_fertility=None):
    """The log-score of an alignment (-1 for NULL), term by term."""
    total, before = 0.0, 0  # row 0 of log_transition is the start
    for j, i in enumerate(alignment):
        total += log_emission[i + 1, j]
        if i < 0:
            total += log_null
        else:
            total += log_transition[before, i]
            before = i + 1
    alignment = list(alignment)
    for i in range(len(log_fertility)):
        total += log_fertility[i, alignment.count(i)]
    if log_null_fertility is not None:
        total += log_null_fertility[alignment.count(-1)]
    return float(total)


def best_alignment(*potentials):
    """The first of the best among all (I + 1)^J alignments, and its score (-inf if all are forbidden)."""
    R, J = potentials[0].shape
    best, best_score = (-1,) * J, -math.inf
    for alignment in itertools.product(range(-1, R - 1), repeat=J):
        value = score(alignment, *potentials)
        if value > best_score:
            best, best_score = alignment, value
    return best, best_score


def best_rows(fertility, share):
    """The best sum over rows of fertility[count] + shares of the cells taken, J cells in all (share: (J, R))."""
    J, R = share.shape
    best = -math.inf
    for cells in itertools.combinations(itertools.product(range(J), range(R)), J):
        value = sum(share[j, r] for j, r in cells)
        value += sum(fertility[r, sum(row == r for _, row in cells)] for r in range(R))
        best = max(best, value)
    return best


def milp_score(log_emission, log_transition, log_null, log_fertility, log_null_fertility=None):
    """The optimum by HiGHS: one unit of flow through (column, position) nodes, one count chosen for each row.

    Forbidden arcs and counts are left out.  -inf if nothing is feasible.
    """
    R, J = log_emission.shape
    fertility = np.vstack([np.zeros(J + 1) if log_null_fertility is None else log_null_fertility, log_fertility])
    costs, rows = [], []  # a column of the program: its gain, and its entries {constraint: coefficient}
    flow = {(j, p): n for n, (j, p) in enumerate(itertools.product(range(J + 1), range(R)))}
    one_count = {r: len(flow) + r for r in range(R)}
    count_is = {r: len(flow) + R + r for r in range(R)}
    for j, p in itertools.product(range(J), range(R)):
        if p > 0 and j == 0:
            continue
        for r in range(R):
            gain = log_emission[r, j] + (log_null if r == 0 else log_transition[p, r - 1])
            if gain > -math.inf:
                costs.append(gain)
                rows.append({flow[j, p]: 1, flow[j + 1, r or p]: -1, count_is[r]: 1})
    for r, c in itertools.product(range(R), range(J + 1)):
        if fertility[r, c] > -math.inf:
            costs.append(fertility[r, c])
            rows.append({one_count[r]: 1, count_is[r]: -c})
    for p in range(R):  # whichever position the path ends in
        costs.append(0.0)
        rows.append({flow[J, p]: 1, 2 * R + len(flow): 1})
    sides = [0.0] * len(flow) + [1.0] * R + [0.0] * R + [1.0]
    sides[flow[0, 0]] = 1.0

    program = highspy.Highs()
    program.setOptionValue("output_flag", False)
    program.setOptionValue("mip_rel_gap", 0.0)
    program.setOptionValue("mip_abs_gap", 1e-7)
    for side in sides:
        program.addRow(side, side, 0, [], [])
    for n, (cost, entries) in enumerate(zip(costs, rows, strict=True)):
        program.addCol(cost, 0.0, 1.0, len(entries), list(entries), [float(x) for x in entries.values()])
        program.changeColIntegrality(n, highspy.HighsVarType.kInteger)
    program.changeObjectiveSense(highspy.ObjSense.kMaximize)
    program.run()
    if program.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        return -math.inf
    return program.getInfo().objective_function_value
