"""Bidirectional decoding with a proof: dual bounds over shared events, pruning, and branching on what stays open."""

from __future__ import annotations

import math

import numpy as np

from dovetail.decoding.bidirectional_problem import BidirectionalMap, Budget
from dovetail.kernels.bidirectional import records
from dovetail.kernels.bidirectional.bound import descend
from dovetail.kernels.bidirectional.branch import choose_event, force_event
from dovetail.kernels.bidirectional.records import ADJACENCY, DEAD, LIVE, Incumbent, Node, Problem
from dovetail.kernels.bidirectional.search import score_and_ceiling

MOVES_AT_A_TIME = 2e7  # of the chains, about 10 ms: between them the clock is looked at


def solve(problem: Problem, budget: Budget) -> BidirectionalMap:
    """Best pair and bound: equal, unless the budget ends before the proof.

    Depth first over parts of the pairs (`Node`), each with a bound from `descend`.  A part that may hold a better pair
    than the best one so far is split by one event, which all pairs of one half have and none of the other.
    """
    I, J = len(problem.theta), len(problem.omega)
    step = max(5, int(MOVES_AT_A_TIME / (I * J * (I + J) + 1)))
    root = _root(I, J, problem.agreement.kind)
    events = int(np.count_nonzero(root.live))
    x, y = np.zeros(I + 1, np.int64), np.zeros(J + 1, np.int64)
    figures = np.zeros(8)
    figures[records.SCORE], figures[records.CEILING] = score_and_ceiling(problem, x, y)
    figures[records.PAUSE] = 1
    incumbent = Incumbent(x, y, np.zeros((I + 1, J + 1), np.bool_), figures)

    def iterations_left() -> float:
        return budget.iterations_left(int(figures[records.ITERATIONS]))

    def bounded(node: Node, bound: float, iterations: int) -> float | None:
        """The node's bound after so many iterations, or None if it holds nothing better than the incumbent."""
        figures[[records.BOUND, records.GAMMA, records.STALL, records.UNTIL_SEARCH]] = bound, 1.0, 0, 1
        left: float = iterations
        while left > 0:
            now = min(left, step, max(1, iterations_left()))
            if descend(problem, node, incumbent, int(now)):
                return None
            left = min(left - now, iterations_left())
        return float(figures[records.BOUND])

    root_bound = bounded(root, math.inf, max(1, budget.root_iterations))
    pruned = 1.0 - int(np.count_nonzero(root.live)) / events
    open_nodes = [] if root_bound is None else [(root, root_bound)]
    decided, settled = 0, -math.inf
    while open_nodes and iterations_left():
        node, bound = open_nodes.pop()
        if bound <= figures[records.CEILING]:
            continue
        event = choose_event(node)
        if event < 0:  # nothing left to decide: its bound is now the score of a pair, but for rounding
            score_of_pair = bounded(node, bound, 1)
            if score_of_pair is not None:
                settled = max(settled, score_of_pair)
            continue
        decided += 1
        halves = []
        for with_event in (True, False):
            half = Node(*(array.copy() for array in node))
            if with_event:
                force_event(half, event)
            else:
                half.live.ravel()[event] = DEAD
            half_bound = bounded(half, bound, max(1, budget.node_iterations))
            if half_bound is not None:
                halves.append((half, half_bound))
        open_nodes += sorted(halves, key=lambda half: half[1])  # the more promising half is opened first
    bound = max([settled, *(bound for _, bound in open_nodes)])
    return BidirectionalMap.of(problem, x, y, bound, int(figures[records.ITERATIONS]), decided, pruned)


def _root(I: int, J: int, kind: int) -> Node:
    """All pairs: every event that exists lives.  Padding, and neighbours that lie in it, are dead."""
    live = np.full((2 * kind + 1, I + 2, J + 2), DEAD, np.uint8)
    live[:, 1:-1, 1:-1] = LIVE
    if kind == ADJACENCY:
        live[1, 1] = live[2, I] = live[3, :, 1] = live[4, :, J] = DEAD
    null_x, null_y = (np.full(n + 1, LIVE, np.uint8) for n in (I, J))
    return Node(live, null_x, null_y, np.zeros(live.shape), np.zeros(live.shape))
