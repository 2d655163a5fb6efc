"""L-BFGS (Nocedal and Wright 2006, algorithms 7.4 and 7.5) for a smooth convex function of many variables."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

MEMORY = 8


def minimise(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    iterations: int = 100,
    tolerance: float = 1e-5,
) -> np.ndarray:
    """The minimum of `objective`, which returns value and gradient, from `start`.

    Stops when no component of the gradient is larger than `tolerance` times max(1, |value|).
    """
    x = start.copy()
    value, gradient = objective(x)
    pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=MEMORY)
    for _ in range(iterations):
        if np.abs(gradient).max(initial=0.0) <= tolerance * max(1.0, abs(value)):
            break
        direction = -_inverse_hessian_times(gradient, pairs)
        slope = dot(direction, gradient)
        # The first step has no scale yet; later ones are right as they are nearly always.
        step = 1.0 if pairs else min(1.0, 1.0 / max(float(np.abs(gradient).sum()), 1e-12))
        while True:
            moved = x + step * direction
            new_value, new_gradient = objective(moved)
            if new_value <= value + 1e-4 * step * slope:
                break
            step *= 0.5
            if step < 1e-12:  # rounding has the last word
                return x
        s, y = moved - x, new_gradient - gradient
        if (curvature := dot(s, y)) > 1e-12:
            pairs.append((s, y, 1.0 / curvature))
        x, value, gradient = moved, new_value, new_gradient
    return x


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """The inner product, without BLAS: that divides long vectors among threads, and rounds as they come."""
    return float((a * b).sum())


def _inverse_hessian_times(gradient: np.ndarray, pairs: deque[tuple[np.ndarray, np.ndarray, float]]) -> np.ndarray:
    """The two-loop recursion."""
    q = gradient.copy()
    shares = []
    for s, y, rho in reversed(pairs):
        shares.append(rho * dot(s, q))
        q -= shares[-1] * y
    if pairs:
        s, y, rho = pairs[-1]
        q /= rho * dot(y, y)
    for (s, y, rho), share in zip(pairs, reversed(shares), strict=True):
        q += s * (share - rho * dot(y, q))
    return q
