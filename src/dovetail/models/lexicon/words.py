"""What the collapsed lexicon's kernels read of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dovetail.kernels.lexicon import collapsed as kernels

if TYPE_CHECKING:
    from dovetail.models.lexicon.counted import CollapsedLexicon


@dataclass(frozen=True)
class WordTables:
    """What kernels.collapsed reads of words: (words, 3 + 3 for each level)."""

    sources: np.ndarray
    targets: np.ndarray

    @classmethod
    def of(cls, lexicon: CollapsedLexicon) -> WordTables:
        levels, alpha = lexicon.levels, np.float32(lexicon.priors.alpha)
        width = kernels.FIRST_LEVEL + kernels.WIDTH * len(levels)
        words = [np.zeros((size, width), np.float32) for size in (lexicon.slots.n_sources, lexicon.slots.n_targets)]
        for table, total in zip(words, lexicon.totals, strict=True):
            table[:, kernels.TOTAL] = total
        for table, prior, size in zip(words, lexicon.spelled, reversed(lexicon.sizes), strict=True):
            table[:, kernels.PRIOR] = alpha * size + prior
        for number, level in enumerate(levels):
            at = kernels.FIRST_LEVEL + kernels.WIDTH * number
            words[0][:, at + kernels.STEM] = level.source_total[level.source.numbers]
            words[1][:, at + kernels.STEM] = level.target_total[level.target.numbers]
            words[0][:, at + kernels.SHARE] = level.source_share
            words[1][:, at + kernels.SHARE] = level.target_share
        for table in words:
            kernels.ready_factors(table, lexicon.priors.weights)
        return cls(words[0], words[1])
