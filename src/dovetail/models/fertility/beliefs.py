"""Fertility as a table: p(count | word) for 0 .. K links and more, smoothed towards that of all words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.models.checks import check_shapes
from dovetail.models.lexicon.words import picked


@dataclass(frozen=True)
class CategoricalFertility:
    """phi(k | word) (words, K + 1), the last entry for K and more; `shared` is that of all words together."""

    table: np.ndarray  # float64
    shared: np.ndarray  # float64 (K + 1,)

    @classmethod
    def uniform(cls, words: int, largest: int) -> CategoricalFertility:
        """No preference at all: every message is one."""
        return cls(np.ones((words, largest + 1)), np.ones(largest + 1))

    @classmethod
    def estimate(cls, beliefs: np.ndarray, strength: float = 1.0) -> CategoricalFertility:
        """From expected numbers of tokens with each count (words, K + 1), and `strength` tokens like the average."""
        total = beliefs.sum()
        if total <= 0:
            return cls.uniform(len(beliefs), beliefs.shape[1] - 1)
        shared = beliefs.sum(axis=0) / total
        table = (beliefs + strength * shared) / (beliefs.sum(axis=1, keepdims=True) + strength)
        return cls(table, shared)

    def for_words(self, numbers: np.ndarray) -> CategoricalFertility:
        """The same for another vocabulary: `numbers` are its words' numbers here, -1 for unseen words."""
        return CategoricalFertility(picked(self.table, numbers, self.shared), self.shared)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"table": self.table, "shared": self.shared}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], words: int) -> CategoricalFertility:
        """The saved table of so many words, or ValueError."""
        table, shared = arrays["table"], arrays["shared"]
        check_shapes((table, np.float64, (words, len(shared))), (shared, np.float64, (len(shared),)))
        return cls(table, shared)
