"""Probabilities that mean what they say: a model's own are too sure of its links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.options import Options, option


@dataclass(frozen=True)
class Tempering(Options):
    """For a model that is too sure of itself; thresholds speak of tempered probabilities."""

    temper: float = option(
        1.0, at_least=0.05, at_most=20.0, help="the power to which the odds of probabilities above one half are raised"
    )


def temper(probability: np.ndarray, power: float) -> np.ndarray:
    """Probabilities above one half with their odds raised to `power`; the order stays, and lower ones stay as they are.

    p ** power / (p ** power + (1 - p) ** power)
    """
    if power == 1.0:
        return probability
    sure = probability > 0.5
    p = np.minimum(probability[sure].astype(np.float64), 1.0)  # sums of posteriors may exceed it by a rounding
    tempered = probability.copy()
    tempered[sure] = p**power / (p**power + (1.0 - p) ** power)
    return tempered


def untemper(threshold: float, power: float) -> float:
    """The model's own probability that `temper` turns into this one."""
    return float(temper(np.array([threshold], np.float64), 1.0 / power)[0])
