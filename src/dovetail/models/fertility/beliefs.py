"""Fertility as a table: p(count | word) for 0 .. K links and more, smoothed towards that of all words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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
        if len(self.table) == 0:
            return CategoricalFertility(np.tile(self.shared, (len(numbers), 1)), self.shared)
        return CategoricalFertility(np.where((numbers >= 0)[:, None], self.table[numbers], self.shared), self.shared)

    def first_message(self) -> np.ndarray:
        """phi(1) / phi(0): what a word tells a cell while it knows of no other link."""
        return (self.table[:, 1] / np.maximum(self.table[:, 0], 1e-4)).clip(1e-4, 1e4).astype(np.float32)
