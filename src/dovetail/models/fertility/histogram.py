"""Fertility as counts under a Dirichlet prior: tokens of each word by their number of links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dovetail.models.checks import TINY, Array, Unsound, checked_arrays
from dovetail.models.lexicon.words import picked

TAIL = 0.25  # what each further link is worth to a word that has as many as are told apart, or more


@dataclass(frozen=True)
class FertilityHistogram:
    """Tokens of each word by their number of links (words, C + 1), the last column for C and more; the Dirichlet prior."""

    SAVED: ClassVar = {
        "tokens": Array(np.float32, ("words", "counts")),
        "prior": Array(np.float64, ("counts",), least=TINY),
    }

    tokens: np.ndarray  # float32
    prior: np.ndarray  # float64 (C + 1,)

    def for_words(self, numbers: np.ndarray) -> FertilityHistogram:
        return replace(self, tokens=picked(self.tokens, numbers))

    def chances(self) -> np.ndarray:
        """p(c | word) (words, C + 1), the Dirichlet's mean given the tokens."""
        chances: np.ndarray = self.tokens + self.prior
        return chances / chances.sum(axis=1, keepdims=True)

    def means(self) -> np.ndarray:
        """Expected number of links of each word: beyond C, each further one has the chance TAIL."""
        values = np.arange(float(len(self.prior)))
        values[-1] += TAIL / (1.0 - TAIL)
        return self.chances() @ values

    def ratios(self) -> tuple[np.ndarray, np.ndarray]:
        """p(c + 1 | word) / p(c | word) for c below C, float32 (words, C), and log p(0 | word)."""
        chances = self.chances()
        ratios = chances[:, 1:] / chances[:, :-1]
        ratios[:, -1] *= 1.0 - TAIL
        return ratios.astype(np.float32), np.log(chances[:, 0])

    def arrays(self) -> dict[str, np.ndarray]:
        return {"tokens": self.tokens, "prior": self.prior}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], prefix: str, words: int) -> FertilityHistogram:
        """The saved histogram of so many words, or ValueError."""
        tokens, prior = checked_arrays(arrays, prefix, cls.SAVED, {"words": words})
        if len(prior) < 2:
            raise Unsound(f"{prefix}prior tells no numbers of links apart")
        return cls(tokens, prior)
