"""Figures for papers, with matplotlib: the matrix of Graça et al. 2010 (Figures 1 and 9), precision against recall."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.errors import InputError
from dovetail.evaluation.curve import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLAIN, HIGHER, LOWER, SAME = "#0067b1", "#00815c", "#c8321f", "#7c8797"
CURVES = ("-", "--", ":", "-.")


def plot_matrix(
    source: Sequence[str],
    target: Sequence[str],
    posteriors: np.ndarray,
    *,
    sure: Collection[tuple[int, int]] = (),
    possible: Collection[tuple[int, int]] = (),
    baseline: np.ndarray | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw link probabilities (I, J) of one pair: rows are source words, columns target words.

    A circle's area is its posterior; squares with borders are sure gold links, squares without are possible ones.  With the
    `baseline`'s probabilities, circles are green where the posterior is higher than there and red where it is lower; a
    dashed ring shows what a lower one was.  Needs matplotlib; returns the axes.
    """
    _require_matplotlib()
    from matplotlib.patches import Circle, Rectangle

    values = np.asarray(posteriors, float)
    before = None if baseline is None else np.asarray(baseline, float)
    for name, array in (("posteriors", values), ("baseline", before)):
        if array is not None and array.shape != (len(source), len(target)):
            raise InputError(
                f"{name} of shape {array.shape} for {len(source)} source and {len(target)} target words",
                remedy="They need one row for each source word and one column for each target word.",
            )
    axes = _axes(ax, (1.2 + 0.28 * len(target), 1.0 + 0.28 * len(source)))
    for i, j in sorted(set(possible) | set(sure)):
        border = "#3d4858" if (i, j) in sure else "none"
        axes.add_patch(Rectangle((j - 0.45, i - 0.45), 0.9, 0.9, facecolor="#e3ecdc", edgecolor=border, linewidth=1.2))
    for i, j in zip(*np.nonzero(np.maximum(values, 0 if before is None else before) > 0.005), strict=True):
        p, was = values[i, j], None if before is None else before[i, j]
        change = 0.0 if was is None else p - was
        color = PLAIN if was is None else SAME if abs(change) < 0.01 else HIGHER if change > 0 else LOWER
        strength = 1.0 if color in (PLAIN, SAME) else 0.35 + 0.65 * min(1.0, 1.6 * abs(change))
        if p > 0:
            axes.add_patch(Circle((j, i), 0.42 * np.sqrt(p), facecolor=color, alpha=strength, linewidth=0))
        if was is not None and change <= -0.01:
            axes.add_patch(
                Circle((j, i), 0.42 * np.sqrt(was), fill=False, edgecolor=LOWER, linestyle="--", linewidth=0.9)
            )
    axes.set_xlim(-0.5, len(target) - 0.5)
    axes.set_ylim(len(source) - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.set_xticks(range(len(target)), map(_plain, target), rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(source)), map(_plain, source))
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_xticks(np.arange(-0.5, len(target)), minor=True)
    axes.set_yticks(np.arange(-0.5, len(source)), minor=True)
    axes.grid(which="minor", color="#e3e6ea", linewidth=0.6)
    axes.tick_params(which="minor", length=0)
    axes.set_axisbelow(True)
    return axes


def plot_curve(curves: Curve | Mapping[str, Curve], *, threshold: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw precision against recall, of one curve or of several by name (see `precision_recall_curve`).

    `threshold` marks the point of each curve that keeps the links with at least that probability.  Needs matplotlib;
    returns the axes.
    """
    _require_matplotlib()
    axes = _axes(ax, (4.4, 3.4))
    named = curves if isinstance(curves, Mapping) else {"": curves}
    for k, (name, curve) in enumerate(named.items()):
        recall, precision = curve.recall[1:], curve.precision[1:]  # the first point keeps no link
        (line,) = axes.plot(recall, precision, CURVES[k % len(CURVES)], label=_plain(name))
        kept = [] if threshold is None else np.flatnonzero(curve.threshold[1:] >= threshold).tolist()
        if kept:
            axes.plot(recall[kept[-1]], precision[kept[-1]], "osD^"[k % 4], color=line.get_color())
    axes.set_xlabel("recall")
    axes.set_ylabel("precision")
    axes.grid(color="#e3e6ea", linewidth=0.6)
    if any(named):
        axes.legend(frameon=False)
    return axes


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError(
            "figures need the package matplotlib", remedy="Install it: python -m pip install matplotlib."
        ) from error


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    figure: Any = pyplot.figure(figsize=size, layout="constrained")
    axes: Axes = figure.add_subplot()
    return axes


def _plain(word: str) -> str:
    """A word as matplotlib should show it: no dollar sign of it begins a formula."""
    return word.replace("$", r"\$")
