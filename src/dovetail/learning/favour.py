"""A threshold for an aim without any gold: probabilities that mean what they say tell what to expect."""

from __future__ import annotations

import numpy as np

from dovetail.errors import InputError
from dovetail.evaluation.metrics import find_metric
from dovetail.learning.learn import AIMS

CANDIDATE = 0.01  # less probable cells are taken for wrong
SAMPLE = 5000  # pairs at the beginning of a text that are looked at


def check_aim(aim: str) -> str:
    """The metric of an aim, or InputError."""
    if aim not in AIMS:
        raise InputError(f"nothing known as {aim!r} to favour", remedy=f"Choose one of: {', '.join(AIMS)}.")
    return AIMS[aim]


def expected_best(probability: np.ndarray, aim: str) -> float:
    """The threshold with the best expected value of the aim's metric, from the probabilities of all candidates.

    Of the k most probable cells their probabilities' sum is right, on average, and the sum of all is to be found.
    """
    descending = np.sort(probability.astype(np.float64))[::-1]
    if not len(descending):
        return 0.5
    right, links = np.cumsum(descending), np.arange(1, len(descending) + 1)
    counts = np.stack([links, np.full(len(links), right[-1]), right, right], axis=1)
    metric = find_metric(check_aim(aim))
    k = metric.best(metric(counts))
    below = descending[k + 1] if k + 1 < len(descending) else 0.0
    return float((descending[k] + below) / 2)
