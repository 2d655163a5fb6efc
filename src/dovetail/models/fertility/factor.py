"""The fertility factor: how many links a word takes, p(count | word), in one direction.

Three distributions share one interface.  To the samplers a distribution is `zero`, log p(0 | word), and `ratios`,
p(count + 1 | word) / p(count | word): all that changes when a word gains or loses a link.  NULL's links, all together, are
Poisson with mean I `null` in each of them (Zhao and Gildea 2010, section 3).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dovetail.models.checks import TINY, Array, Unsound, checked_arrays
from dovetail.models.lexicon.words import picked
from dovetail.registry import Registry

MOST = 8  # counts are told apart up to here; "8 or more" is geometric, p(count + 1) = p(count) / 2
SMOOTHING = 1e-8  # added to every parameter (section 6)
MANY = 1e4  # links of a word: more than any piece of a pair has
RARE = 10  # words seen less often share one distribution (section 6)


@dataclass(frozen=True)
class FertilityCounts:
    """What an E-step saw of one direction.

    `tokens` and `links` of each word; `histogram` (words, MOST + 1), how many of the tokens had 0, 1 ... MOST or more links,
    or no columns where nobody asked; NULL's links, and the I of all pieces added up.
    """

    tokens: np.ndarray
    links: np.ndarray
    histogram: np.ndarray
    null_links: float
    null_exposure: float


Spelling = Callable[[], tuple[np.ndarray, np.ndarray]]  # lengths of words, and the first known word with their prefix


@dataclass(frozen=True)
class Fertility(ABC):
    """p(count | word) of one direction; words by number.  `tokens`: how often each word was seen in training."""

    tokens: np.ndarray  # int64 (words,)
    null: float  # lambda(NULL): mean number of NULL links for each source word

    kind = ""
    falling = False  # beyond `ratios` they go on as a Poisson's do; else the last one stays
    wants_histogram = True

    @property
    @abstractmethod
    def ratios(self) -> np.ndarray:
        """p(count + 1 | word) / p(count | word), float32 (words, C), for count = 0 .. C - 1."""

    @property
    @abstractmethod
    def zero(self) -> np.ndarray:
        """log p(0 | word), float64 (words,)."""

    @abstractmethod
    def means(self) -> np.ndarray:
        """Expected number of links of each word."""

    @abstractmethod
    def reestimate(self, counts: FertilityCounts) -> Fertility:
        """M-step."""

    @abstractmethod
    def transfer(self, words: np.ndarray, spelling: Spelling) -> Fertility:
        """For another vocabulary: `words` are its words' numbers here, -1 for words never seen."""

    @abstractmethod
    def parameters(self) -> dict[str, np.ndarray]:
        """For saving."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], prefix: str, words: int) -> Fertility:
        """The saved distributions of so many words, or ValueError."""

    def log_table(self, words: np.ndarray, longest: int) -> np.ndarray:
        """log p(count | word) for these words and count = 0 .. longest: (words, longest + 1)."""
        ratios = self.ratios[words].astype(np.float64)
        width = ratios.shape[1]
        tail = np.ones(max(0, longest - width))
        if self.falling:
            tail = width / np.arange(width + 1.0, longest + 1)
        steps = np.concatenate([ratios[:, :longest], ratios[:, -1:] * tail], axis=1)
        table = np.zeros((len(words), longest + 1))
        np.cumsum(np.log(steps), axis=1, out=table[:, 1:])
        return table + self.zero[words][:, None]


fertilities: Registry[Any] = Registry("fertility")

SAVED = {  # what every kind saves
    "tokens": Array(np.int64, ("words",)),
    "null": Array(np.float64, (1,), least=SMOOTHING / 2, most=MANY),
}


def saved_fertility(arrays: dict[str, np.ndarray], prefix: str, words: int) -> Fertility:
    """The fertility of so many words whose arrays have names of this prefix, its kind and a parameter's name."""
    kinds = {name.removeprefix(prefix).split(".")[0] for name in arrays if name.startswith(prefix)}
    if len(kinds) != 1:
        raise Unsound(f"{prefix} has {len(kinds)} kinds of fertility, not one")
    (kind,) = kinds
    made: Fertility = fertilities[kind].from_arrays(arrays, f"{prefix}{kind}.", words)
    return made


def pooled_by_rarity(tokens: np.ndarray, own: np.ndarray, pooled: np.ndarray | float) -> np.ndarray:
    """Each word's own parameters, or for rare words those of all words together.

    Not those of all rare words: they collect garbage, and have more links than they should (section 6).
    """
    rare = tokens < RARE
    return np.where(rare.reshape(-1, *[1] * (own.ndim - 1)), pooled, own)


def null_mean(counts: FertilityCounts) -> float:
    return counts.null_links / max(counts.null_exposure, 1.0) + SMOOTHING


@dataclass(frozen=True)
class Poisson(Fertility):
    """p(count | word) = lambda^count exp(-lambda) / count!, one lambda a word (Zhao and Gildea 2010, section 3)."""

    rates: np.ndarray  # float64 (words,)
    shared: float  # the mean of all words' links: rare words have it, and unseen ones

    kind = "poisson"
    falling = True
    wants_histogram = False

    @classmethod
    def initial(cls, counts: FertilityCounts, spelling: Spelling) -> Poisson:
        """All words alike, with the mean of the given counts."""
        shared = float(counts.links.sum() / max(counts.tokens.sum(), 1)) + SMOOTHING
        return cls(counts.tokens, null_mean(counts), np.full(len(counts.tokens), shared), shared)

    @property
    def ratios(self) -> np.ndarray:
        return self.rates[:, None].astype(np.float32)

    @property
    def zero(self) -> np.ndarray:
        return -self.rates

    def means(self) -> np.ndarray:
        return self.rates

    def reestimate(self, counts: FertilityCounts) -> Poisson:
        """lambda(e) = links of e / tokens of e (equation 6)."""
        shared = float(counts.links.sum() / max(counts.tokens.sum(), 1)) + SMOOTHING
        own = counts.links / np.maximum(counts.tokens, 1) + SMOOTHING
        return Poisson(counts.tokens, null_mean(counts), pooled_by_rarity(counts.tokens, own, shared), shared)

    def transfer(self, words: np.ndarray, spelling: Spelling) -> Poisson:
        return replace(self, rates=picked(self.rates, words, self.shared), tokens=picked(self.tokens, words))

    def parameters(self) -> dict[str, np.ndarray]:
        return {"rates": self.rates, "shared": np.array([self.shared]), "tokens": self.tokens, "null": _one(self.null)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], prefix: str, words: int) -> Poisson:
        rate = Array(np.float64, (1,), least=SMOOTHING / 2, most=MANY)
        wanted = {**SAVED, "rates": rate._replace(shape=("words",)), "shared": rate}
        tokens, null, rates, shared = checked_arrays(arrays, prefix, wanted, {"words": words})
        return cls(tokens, float(null[0]), rates, float(shared[0]))


fertilities.add("poisson", Poisson, "one mean a word; rare words share that of all words")


class Binned(Fertility):
    """A probability for each of 0, 1 ... MOST - 1 links, and for MOST or more."""

    @abstractmethod
    def bins(self) -> np.ndarray:
        """Probabilities (words, MOST + 1)."""

    @property
    def ratios(self) -> np.ndarray:
        bins = self.bins()
        ratios = np.full(bins.shape, 0.5)  # within "MOST or more", which has p(MOST) = half of it
        ratios[:, :-1] = bins[:, 1:] / bins[:, :-1]
        ratios[:, -2] *= 0.5
        return np.clip(ratios, 1e-7, 1e7).astype(np.float32)

    @property
    def zero(self) -> np.ndarray:
        return np.log(self.bins()[:, 0])

    def means(self) -> np.ndarray:
        values = np.arange(MOST + 1.0)
        values[-1] += 1  # the mean of MOST, MOST + 1 ... with probabilities 1/2, 1/4 ...
        return self.bins() @ values


@dataclass(frozen=True)
class Categorical(Binned):
    """A distribution of its own for every word that is not rare, with one count's worth of all words' distribution in it."""

    table: np.ndarray  # float64 (words, MOST + 1)
    pooled: np.ndarray  # float64 (MOST + 1,)

    kind = "categorical"

    @classmethod
    def initial(cls, counts: FertilityCounts, spelling: Spelling) -> Categorical:
        pooled = pooled_bins(counts)
        return cls(counts.tokens, null_mean(counts), np.tile(pooled, (len(counts.tokens), 1)), pooled)

    def bins(self) -> np.ndarray:
        return self.table

    def reestimate(self, counts: FertilityCounts) -> Categorical:
        pooled = pooled_bins(counts)
        own = (counts.histogram + pooled) / (counts.histogram.sum(axis=1, keepdims=True) + 1.0)
        return Categorical(counts.tokens, null_mean(counts), pooled_by_rarity(counts.tokens, own, pooled), pooled)

    def transfer(self, words: np.ndarray, spelling: Spelling) -> Categorical:
        return replace(self, table=picked(self.table, words, self.pooled), tokens=picked(self.tokens, words))

    def parameters(self) -> dict[str, np.ndarray]:
        return {"table": self.table, "pooled": self.pooled, "tokens": self.tokens, "null": _one(self.null)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], prefix: str, words: int) -> Categorical:
        row = Array(np.float64, (MOST + 1,), least=TINY, most=1.0, sums=True)
        wanted = {**SAVED, "table": row._replace(shape=("words", MOST + 1)), "pooled": row}
        tokens, null, table, pooled = checked_arrays(arrays, prefix, wanted, {"words": words})
        return cls(tokens, float(null[0]), table, pooled)


fertilities.add("categorical", Categorical, "a probability for every count of every word that is not rare")


def pooled_bins(counts: FertilityCounts) -> np.ndarray:
    """The distribution of counts over all words' tokens; every count keeps a little."""
    total = counts.histogram.sum(axis=0) + 1e-3
    return total / total.sum()


def _one(value: float) -> np.ndarray:
    return np.array([value])
