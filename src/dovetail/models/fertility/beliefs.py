"""Fertility as a table: p(count | word) for 0 .. K links and more, smoothed towards that of all words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dovetail.models.checks import Array, Unsound, checked_arrays
from dovetail.models.lexicon.words import picked


@dataclass(frozen=True)
class CategoricalFertility:
    """phi(k | word) (words, K + 1), the last entry for K and more; `shared` is that of all words together."""

    SAVED: ClassVar = {
        "table": Array(np.float64, ("words", "counts"), most=1.0, sums=True),
        "shared": Array(np.float64, ("counts",), most=1.0, sums=True),
    }

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

    def chances(self) -> np.ndarray:
        """phi, whose rows sum to one even where nothing was learned."""
        return self.table / self.table.sum(axis=1, keepdims=True)

    def means(self) -> np.ndarray:
        """Expected number of links of each word, K for K and more."""
        return self.chances() @ np.arange(float(self.table.shape[1]))

    def for_words(self, numbers: np.ndarray) -> CategoricalFertility:
        """The same for another vocabulary: `numbers` are its words' numbers here, -1 for unseen words."""
        return CategoricalFertility(picked(self.table, numbers, self.shared), self.shared)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"table": self.table, "shared": self.shared}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], prefix: str, words: int) -> CategoricalFertility:
        """The saved table of so many words, or ValueError."""
        table, shared = checked_arrays(arrays, prefix, cls.SAVED, {"words": words})
        if len(shared) < 2:
            raise Unsound(f"{prefix}shared tells no numbers of links apart")
        return cls(table, shared)
