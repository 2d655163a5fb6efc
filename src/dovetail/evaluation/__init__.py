"""Scores, curves, significance: everything is made from counts per pair (`statistics`)."""

from __future__ import annotations

from dovetail.evaluation.calibration import Calibration, reliability_diagram
from dovetail.evaluation.comparison import Report, compare_systems, holm
from dovetail.evaluation.curve import Curve, precision_recall_curve
from dovetail.evaluation.measures import (
    ByFrequency,
    Fertilities,
    dictionary_size,
    evaluate_by_frequency,
    fertilities,
    one_to_one_share,
    symmetry,
)
from dovetail.evaluation.metrics import Metric, find_metric, metrics
from dovetail.evaluation.score import Score, evaluate, statistics
from dovetail.evaluation.significance import Comparison, Interval, bootstrap, compare

__all__ = [
    "ByFrequency",
    "Calibration",
    "Comparison",
    "Curve",
    "Fertilities",
    "Interval",
    "Metric",
    "Report",
    "Score",
    "bootstrap",
    "compare",
    "compare_systems",
    "dictionary_size",
    "evaluate",
    "evaluate_by_frequency",
    "fertilities",
    "find_metric",
    "holm",
    "metrics",
    "one_to_one_share",
    "precision_recall_curve",
    "reliability_diagram",
    "statistics",
    "symmetry",
]
