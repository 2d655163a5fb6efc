"""The fertilities that Quirk (2013, section 3) begins with: a distribution of its own for every word, however rare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.models.fertility.factor import (
    SMOOTHING,
    Categorical,
    FertilityCounts,
    null_mean,
    pooled_bins,
)


@dataclass(frozen=True)
class Unpooled(Categorical):
    """Categorical without smoothing and without sharing; words that were never seen have what all words have together."""

    kind = "unpooled"

    def reestimate(self, counts: FertilityCounts) -> Unpooled:
        pooled = pooled_bins(counts)
        seen = counts.histogram.sum(axis=1, keepdims=True)
        table = np.where(seen > 0, counts.histogram / np.maximum(seen, 1e-300), pooled) + SMOOTHING
        return Unpooled(counts.tokens, null_mean(counts), table / table.sum(axis=1, keepdims=True), pooled)
