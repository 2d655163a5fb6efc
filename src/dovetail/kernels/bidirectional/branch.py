"""Branching of the bidirectional branch and bound: which event to decide, and what it takes with it."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.bidirectional.chains import kind_of, mode_kind, shared_events
from dovetail.kernels.bidirectional.records import DEAD, FORCED, LIVE


@kernel
def choose_event(node):
    """The undecided shared event whose running average is nearest 1/2 (its flat index), -1 if there is none."""
    flat, averages = node.live.ravel(), node.average.ravel()
    nearest, chosen = np.inf, -1
    for e in range(shared_events(node.live)):
        if flat[e] == LIVE and abs(averages[e] - 0.5) < nearest:
            nearest, chosen = abs(averages[e] - 0.5), e
    return chosen


@kernel
def force_event(node, event):
    """Leave only the pairs that have this event."""
    live = node.live
    kind = event // (live.shape[1] * live.shape[2])
    i, j = event // live.shape[2] % live.shape[1], event % live.shape[2]
    row, column = i, j  # the event holds x_i = column and y_j = row
    if kind == 1 or kind == 2:
        row += 2 * kind - 3
    elif kind >= 3:
        column += 2 * kind - 7
    node.null_x[i] = node.null_y[j] = DEAD
    for mode in range(kind_of(live) + 1):
        # the links' other modes go if the event is the link's own mode, not if it is its guest
        own = mode_kind(live, 1.0, mode)
        for c in range(live.shape[2]):
            if c != column or (kind <= 2 and own != kind):
                live[own, i, c] = DEAD
        own = mode_kind(live, -1.0, mode)
        for r in range(live.shape[1]):
            if r != row or (kind in (0, 3, 4) and own != kind):
                live[own, r, j] = DEAD
    live[kind, i, j] = FORCED
