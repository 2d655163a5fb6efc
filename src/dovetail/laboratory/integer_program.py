"""The bidirectional problem as an integer program, for HiGHS: slow, and the referee of the other methods."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.decoding.bidirectional_problem import BidirectionalMap, Budget
from dovetail.errors import InputError
from dovetail.kernels.bidirectional.records import ADJACENCY, DISAGREEMENT, FULL, Agreement, Problem
from dovetail.kernels.bidirectional.search import score_and_ceiling


def solve(problem: Problem, budget: Budget) -> BidirectionalMap:
    """Flow variables for each chain's moves, binary variables for links, and rows that tie the links together.

    What HiGHS calls optimal is taken as proved, which is true within its tolerances (about 1e-6).
    """
    highspy = _highspy()
    program = _Program()
    forward, backward = program.add_chain(problem.theta), program.add_chain(problem.omega)
    program.tie(forward, backward.T, problem.agreement)

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.setOptionValue("mip_abs_gap", 0.0)
    if budget.time_limit is not None:
        solver.setOptionValue("time_limit", max(0.01, budget.seconds_left()))
    solver.passModel(program.model(highspy))
    solver.run()
    status, info = solver.getModelStatus(), solver.getInfo()
    x, y = np.zeros(len(problem.theta) + 1, np.int64), np.zeros(len(problem.omega) + 1, np.int64)
    nodes = max(0, int(info.mip_node_count))
    if status == highspy.HighsModelStatus.kInfeasible:
        return BidirectionalMap.of(problem, x, y, -math.inf, nodes)
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        values = np.array(solver.getSolution().col_value)
        x[1:] = _positions(values[forward])
        y[1:] = _positions(values[backward])
    if status == highspy.HighsModelStatus.kOptimal:
        return BidirectionalMap.of(problem, x, y, score_and_ceiling(problem, x, y)[0], nodes)
    bound = float(info.mip_dual_bound)
    return BidirectionalMap.of(problem, x, y, bound if math.isfinite(bound) else _easy_bound(problem), nodes)


def _highspy() -> Any:
    try:
        import highspy
    except ImportError:
        raise InputError(
            "method 'integer' needs HiGHS, which is not installed",
            remedy="Run: pip install highspy, or use method 'exact'.",
        ) from None
    return highspy


def _positions(links: np.ndarray) -> np.ndarray:
    """The linked position of each row, 0 for none."""
    chosen = links > 0.5
    return np.where(chosen.any(1), chosen.argmax(1) + 1, 0)


def _easy_bound(problem: Problem) -> float:
    """Each word its best move: for a solver that was stopped before it had any bound."""
    return float(sum(array.max((1, 2)).sum() for array in (problem.theta, problem.omega)))


class _Program:
    """Columns and rows of the integer program, as they are added."""

    def __init__(self) -> None:
        self.columns = 0
        self.rows = 0
        self.variables: list[tuple[np.ndarray, ...]] = []  # costs, upper bounds, whether they are integer
        self.limits: list[tuple[np.ndarray, ...]] = []  # of rows, lower and upper
        self.entries: list[tuple[np.ndarray, ...]] = []  # rows, columns, factors

    def add_columns(self, costs: np.ndarray, integer: bool = False) -> np.ndarray:
        """Variables in [0, 1], shaped like their costs; those that cost -inf are fixed to 0."""
        names = self.columns + np.arange(costs.size).reshape(costs.shape)
        possible = costs.ravel() > -math.inf
        self.columns += costs.size
        finite = np.where(possible, costs.ravel(), 0.0)
        self.variables.append((finite, possible.astype(float), np.full(costs.size, integer)))
        return names

    def add_rows(self, lower: float, upper: float, *terms: tuple[np.ndarray, float]) -> None:
        """lower <= sum of factor * columns[n] <= upper for each n; columns may have a second axis, which is summed over."""
        count = len(terms[0][0])
        names = self.rows + np.arange(count)
        self.rows += count
        self.limits.append((np.full(count, lower), np.full(count, upper)))
        for columns, factor in terms:
            wide = columns.reshape(count, -1)
            rows = np.repeat(names, wide.shape[1])
            self.entries.append((rows, wide.ravel(), np.full(wide.size, factor)))

    def add_chain(self, potentials: np.ndarray) -> np.ndarray:
        """One unit flows from the start through a state of every row.  Returns its links' variables (rows, positions)."""
        links = self.add_columns(np.zeros((len(potentials), potentials.shape[1] - 1)), integer=True)
        before = None
        for row, moves in enumerate(potentials):
            flow = self.add_columns(moves[:1] if before is None else moves)
            if before is None:
                self.add_rows(1.0, 1.0, (flow.reshape(1, -1), 1.0))
            else:
                self.add_rows(0.0, 0.0, (before.T, 1.0), (flow, -1.0))
            self.add_rows(0.0, 0.0, (flow.T[1:], 1.0), (links[row], -1.0))
            before = flow
        return links

    def tie(self, x: np.ndarray, y: np.ndarray, agreement: Agreement) -> None:
        """What the links x(i, j) and y(i, j) owe each other."""
        kind, cost = agreement
        if kind == FULL:
            self.add_rows(0.0, 0.0, (x.ravel(), 1.0), (y.ravel(), -1.0))
            return
        if kind == DISAGREEMENT:
            both = self.add_columns(np.zeros(x.shape)).ravel()
            for links in (x.ravel(), y.ravel()):
                alone = self.add_columns(np.full(links.shape, cost))
                self.add_rows(0.0, 0.0, (links, 1.0), (both, -1.0), (alone, -1.0))
            return
        assert kind == ADJACENCY
        same = self.add_columns(np.zeros(x.shape))
        for links, others, axis in ((x, y, 0), (y, x, 1)):
            up, down = self.add_columns(np.full((2, *x.shape), cost))
            self.add_rows(0.0, 0.0, (links.ravel(), 1.0), *((event.ravel(), -1.0) for event in (same, up, down)))
            # an off-by-one needs the other direction's link beside it, and there is none beyond the edge
            first, rest, last, most = (
                [slice(None)] * axis + [part] for part in (slice(0, 1), slice(1, None), slice(-1, None), slice(0, -1))
            )
            for event, inner, needed, edge in ((up, rest, most, first), (down, most, rest, last)):
                if event[tuple(inner)].size:
                    self.add_rows(
                        -math.inf, 0.0, (event[tuple(inner)].ravel(), 1.0), (others[tuple(needed)].ravel(), -1.0)
                    )
                self.add_rows(0.0, 0.0, (event[tuple(edge)].ravel(), 1.0))

    def model(self, highspy: Any) -> Any:
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = self.columns, self.rows
        model.sense_ = highspy.ObjSense.kMaximize
        model.col_lower_ = np.zeros(self.columns)
        model.col_cost_, model.col_upper_, integers = map(np.concatenate, zip(*self.variables, strict=True))
        model.row_lower_, model.row_upper_ = map(np.concatenate, zip(*self.limits, strict=True))
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        model.integrality_ = [kinds[int(integer)] for integer in integers]
        rows, columns, factors = map(np.concatenate, zip(*self.entries, strict=True))
        order = np.argsort(rows, kind="stable")
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        starts = np.cumsum(np.bincount(rows + 1, minlength=self.rows + 1))
        model.a_matrix_.start_ = starts.astype(np.int32)
        model.a_matrix_.index_ = columns[order].astype(np.int32)
        model.a_matrix_.value_ = factors[order]
        return model
