"""Fertility from features of words (Quirk 2013, section 3): rare words learn from words that look like them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dovetail.bitext.vocabulary import Vocabulary
from dovetail.models.checks import Array, checked_arrays
from dovetail.models.fertility.factor import MOST, SAVED, Binned, FertilityCounts, Spelling, fertilities, null_mean
from dovetail.models.fertility.lbfgs import dot, minimise
from dovetail.models.lexicon.words import picked

PREFIX = 4
LONGEST = 20  # letters that are told apart
FREQUENT = 10  # a word seen more often has features of its own
PRECISION = 1.0  # of the Gaussian prior on every weight: the objective loses PRECISION / 2 |weights|^2
HEAVIEST = 80.0  # a saved weight: four of them still leave every count a probability above zero
ITERATIONS = 40  # of L-BFGS an M-step at most, which begins with the weights of the last one


def spelling(vocabulary: Vocabulary, known: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """Each word's length in letters, and the first word in `known` that begins with the same four letters (-1: none)."""
    first: dict[str, int] = {}
    for number, word in enumerate(known):
        first.setdefault(word[:PREFIX], number)
    lengths = np.fromiter((len(word) for word in vocabulary), np.int64, len(vocabulary))
    prefixes = np.fromiter((first.get(word[:PREFIX], -1) for word in vocabulary), np.int64, len(vocabulary))
    return np.minimum(lengths, LONGEST), prefixes


@dataclass(frozen=True)
class LogLinear(Binned):
    """p(count | word) proportional to exp(sum of the weights of its features).

    Features, each with a weight for every count: the count alone, the word (if seen more than 10 times), its length in
    letters, its first four letters.  A prefix goes by the number of the first word that has it; -1 stands for none.
    """

    bias: np.ndarray  # float64 (C,), with C = MOST + 1
    by_word: np.ndarray  # (words, C)
    by_length: np.ndarray  # (LONGEST + 1, C)
    by_prefix: np.ndarray  # (words of the training vocabulary, C)
    lengths: np.ndarray = field(repr=False)  # int64 (words,)
    prefixes: np.ndarray = field(repr=False)  # int64 (words,)

    kind = "features"

    @classmethod
    def initial(cls, counts: FertilityCounts, spelling: Spelling) -> LogLinear:
        """No weights but those of the count alone, fitted to the given counts."""
        words = len(counts.tokens)
        total = counts.histogram.sum(axis=0) + 1.0
        zeros = np.zeros((words, MOST + 1))
        by_length = np.zeros((LONGEST + 1, MOST + 1))
        return cls(counts.tokens, null_mean(counts), np.log(total / total.sum()), zeros, by_length, zeros, *spelling())

    @cached_property
    def _scores(self) -> np.ndarray:
        scores = self.bias + self.by_word + self.by_length[self.lengths]
        known = self.prefixes >= 0
        scores[known] += self.by_prefix[self.prefixes[known]]
        return scores

    @cached_property
    def _bins(self) -> np.ndarray:
        return np.exp(log_softmax(self._scores))

    def bins(self) -> np.ndarray:
        return self._bins

    def reestimate(self, counts: FertilityCounts) -> LogLinear:
        """The weights that maximise sum c(word, count) log p(count | word) - PRECISION / 2 |weights|^2, by L-BFGS."""
        problem = Problem(counts, self.lengths, self.prefixes)
        scale = problem.scale()

        def scaled(z: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = problem.value_and_gradient(scale * z)
            return value, scale * gradient

        weights = scale * minimise(scaled, problem.pack(self) / scale, ITERATIONS, 1e-6)
        bias, by_word, by_length, by_prefix = problem.unpack(weights)
        return LogLinear(
            counts.tokens, null_mean(counts), bias, by_word, by_length, by_prefix, self.lengths, self.prefixes
        )

    def transfer(self, words: np.ndarray, spelling: Spelling) -> LogLinear:
        lengths, prefixes = spelling()
        tokens, by_word = picked(self.tokens, words), picked(self.by_word, words)
        return replace(self, tokens=tokens, by_word=by_word, lengths=lengths, prefixes=prefixes)

    def parameters(self) -> dict[str, np.ndarray]:
        names = ("tokens", "bias", "by_word", "by_length", "by_prefix", "lengths", "prefixes")
        return {"null": np.array([self.null]), **{name: getattr(self, name) for name in names}}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], prefix: str, words: int) -> LogLinear:
        weights = Array(np.float64, ("words", MOST + 1), least=-HEAVIEST, most=HEAVIEST)
        wanted = {
            **SAVED,
            "bias": weights._replace(shape=(MOST + 1,)),
            "by_word": weights,
            "by_length": weights._replace(shape=(LONGEST + 1, MOST + 1)),
            "by_prefix": weights,
            "lengths": Array(np.int64, ("words",), most=LONGEST),
            "prefixes": Array(np.int64, ("words",), least=-1, most=words - 1),
        }
        tokens, null, *others = checked_arrays(arrays, prefix, wanted, {"words": words})
        return cls(tokens, float(null[0]), *others)


fertilities.add("features", LogLinear, "log-linear, from the word, its length and its first four letters")


class Problem:
    """The M-step's objective, with the weights of all features in one vector.

    Words with the same features have the same distribution: they are put together first, which leaves the objective as it
    is and makes an evaluation several times cheaper, since most words are rare.
    """

    def __init__(self, counts: FertilityCounts, lengths: np.ndarray, prefixes: np.ndarray) -> None:
        seen = np.flatnonzero(counts.tokens)
        frequent = counts.tokens > FREQUENT
        own = np.where(frequent, np.arange(len(frequent)), -1)[seen]
        features = np.stack([own, lengths[seen], prefixes[seen]], axis=1)
        groups, group = np.unique(features, axis=0, return_inverse=True)
        self.observed = np.zeros((len(groups), MOST + 1))
        np.add.at(self.observed, group.ravel(), counts.histogram[seen])
        self.totals = self.observed.sum(axis=1, keepdims=True)
        self.words, self.word = np.unique(groups[:, 0], return_inverse=True)
        self.prefixes, self.prefix = np.unique(groups[:, 2], return_inverse=True)
        self.word, self.prefix = self.word.ravel(), self.prefix.ravel()
        self.length = groups[:, 1]
        self.vocabulary = len(lengths)
        self.sizes = [1, len(self.words), LONGEST + 1, len(self.prefixes)]

    def _parts(self, weights: np.ndarray) -> list[np.ndarray]:
        table = weights.reshape(-1, MOST + 1)
        return np.split(table, np.cumsum(self.sizes)[:-1])

    def value_and_gradient(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """What is to be minimised: minus the log-likelihood, plus the prior."""
        bias, by_word, by_length, by_prefix = self._parts(weights)
        by_word = np.where(self.words[:, None] >= 0, by_word, 0.0)  # the rare words' common entry is no feature
        log_p = log_softmax(bias[0] + by_word[self.word] + by_length[self.length] + by_prefix[self.prefix])
        value = 0.5 * PRECISION * dot(weights, weights) - float((self.observed * log_p).sum())
        residual = self.totals * np.exp(log_p) - self.observed
        gradient = [residual.sum(axis=0)[None]]
        for number, size in zip((self.word, self.length, self.prefix), self.sizes[1:], strict=True):
            gradient.append(_sums(residual, number, size))
        gradient[1][self.words < 0] = 0.0
        return value, np.concatenate(gradient).ravel() + PRECISION * weights

    def scale(self) -> np.ndarray:
        """About 1 / sqrt(curvature) of each weight: a feature of every word bends the objective more than a rare prefix.

        The curvature is tokens p (1 - p) + PRECISION, with p the share of the count among all tokens.
        """
        p = self.observed.sum(axis=0) / max(self.totals.sum(), 1.0)
        totals = self.totals[:, 0]
        tokens = [np.array([totals.sum()])]
        for number, size in zip((self.word, self.length, self.prefix), self.sizes[1:], strict=True):
            tokens.append(np.bincount(number, totals, size))
        return 1.0 / np.sqrt(np.outer(np.concatenate(tokens), p * (1.0 - p)).ravel() + PRECISION)

    def pack(self, model: LogLinear) -> np.ndarray:
        words = np.where(self.words[:, None] >= 0, model.by_word[self.words], 0.0)
        return np.concatenate([model.bias[None], words, model.by_length, model.by_prefix[self.prefixes]]).ravel()

    def unpack(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        bias, words, by_length, prefixes = self._parts(weights)
        by_word = np.zeros((self.vocabulary, MOST + 1))
        by_prefix = np.zeros((self.vocabulary, MOST + 1))
        own = self.words >= 0
        by_word[self.words[own]] = words[own]
        by_prefix[self.prefixes] = prefixes
        return bias[0], by_word, by_length, by_prefix


def _sums(values: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """Rows added up by group."""
    return np.stack([np.bincount(group, column, groups) for column in values.T], axis=1)


def log_softmax(scores: np.ndarray) -> np.ndarray:
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
