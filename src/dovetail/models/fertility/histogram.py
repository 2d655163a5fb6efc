"""Fertility as counts under a Dirichlet prior: tokens of each word by their number of links."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dovetail.models.checks import check_shapes
from dovetail.models.lexicon.words import picked

TAIL = 0.25  # what each further link is worth to a word that has as many as are told apart, or more


@dataclass(frozen=True)
class FertilityHistogram:
    """Tokens of each word by their number of links (words, C + 1), the last column for C and more; the Dirichlet prior."""

    tokens: np.ndarray  # float32
    prior: np.ndarray  # float64 (C + 1,)

    def for_words(self, numbers: np.ndarray) -> FertilityHistogram:
        return replace(self, tokens=picked(self.tokens, numbers))

    def ratios(self) -> tuple[np.ndarray, np.ndarray]:
        """p(c + 1 | word) / p(c | word) for c below C, float32 (words, C), and log p(0 | word)."""
        chances = self.tokens + self.prior
        chances = chances / chances.sum(axis=1, keepdims=True)
        ratios = chances[:, 1:] / chances[:, :-1]
        ratios[:, -1] *= 1.0 - TAIL
        return ratios.astype(np.float32), np.log(chances[:, 0])

    def arrays(self) -> dict[str, np.ndarray]:
        return {"tokens": self.tokens, "prior": self.prior}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], words: int) -> FertilityHistogram:
        """The saved histogram of so many words, or ValueError."""
        tokens, prior = arrays["tokens"], arrays["prior"]
        check_shapes((tokens, np.float32, (words, len(prior))), (prior, np.float64, (len(prior),)))
        return cls(tokens, prior)
