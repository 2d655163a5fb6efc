"""The HMM with Poisson fertility by Gibbs sampling (Zhao and Gildea 2010): equations 2 and 4 to 7, Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.twins.hmm import HMM, NULL, P0, SMOOTHING, Text, count_path, shares

RARE = 10  # words seen less often share the fertility of all words (section 6)


@dataclass
class Fertile:
    """The HMM with fertility (equation 2): the HMM, lambda of each word of e, and lambda of NULL per word of e."""

    hmm: HMM
    means: np.ndarray
    null_mean: float


def ibm1_path(t: np.ndarray, e: np.ndarray, f: np.ndarray) -> np.ndarray:
    """IBM Model 1's best alignment, where chains begin; one of e's words where NULL is as good."""
    b = t[np.ix_(np.concatenate([e, [NULL]]), f)]
    best = b.argmax(0)
    return np.where(best == len(e), 0, best + 1)


def fit_fertile(text: Text, t: np.ndarray, samples: int, iterations: int, seed: int) -> Fertile:
    """Monte Carlo EM from IBM Model 1's lexicon, even jumps, and one fertility for all words."""
    random = np.random.default_rng(seed)
    starts = [ibm1_path(t, e, f) for e, f in text.pairs]
    tokens = np.bincount(np.concatenate([e for e, _ in text.pairs]), minlength=text.e_words)
    linked = sum(int((path > 0).sum()) for path in starts) / tokens.sum()
    unlinked = sum(int((path == 0).sum()) for path in starts) / tokens.sum()
    model = Fertile(HMM.even(t, text.longest), np.full(text.e_words, linked), unlinked + SMOOTHING)
    for _ in range(iterations):
        counts = HMM(np.zeros_like(t), np.zeros_like(model.hmm.jumps), np.zeros_like(model.hmm.first))
        for (e, f), start in zip(text.pairs, starts, strict=True):
            path = start.copy()
            draw = Sweeper(model, e, f, random)
            for _ in range(samples):
                draw.sweep(path)
                count_path(counts, e, f, path)
        hmm = HMM(*map(shares, (counts.t, counts.jumps, counts.first)))
        model = Fertile(hmm, *fertilities(counts.t.sum(1) / samples, tokens))
    return model


def fertilities(links: np.ndarray, tokens: np.ndarray) -> tuple[np.ndarray, float]:
    """Equation 6, with the smoothing of section 6; and lambda of NULL."""
    everybody = links[1:].sum() / tokens.sum()
    means = np.where(tokens < RARE, everybody, links / np.maximum(tokens, 1)) + SMOOTHING
    return means, float(links[NULL] / tokens.sum() + SMOOTHING)


@dataclass
class Unordered:
    """IBM Model 1 with fertility (equation 1)."""

    t: np.ndarray
    means: np.ndarray
    null_mean: float

    def chain(self, e: np.ndarray, f: np.ndarray, random: np.random.Generator) -> Sweeper:
        """A sweeper for which every word is as near as any other; the I + 1 empty ones are not told apart."""
        even = Fertile(HMM.even(self.t, max(len(e), len(f))), self.means, self.null_mean)
        drawn = Sweeper(even, e, f, random)
        drawn.moves[:] = 1.0
        drawn.b[0] *= (len(e) + 1) / P0
        return drawn


def fit_unordered(text: Text, t: np.ndarray, samples: int, restarts: int, iterations: int, seed: int) -> Unordered:
    """Monte Carlo EM from even translations (section 6), and from fertilities as if all 2 I + 1 positions were alike.

    Chains begin at the best alignments by an IBM Model 1's t.
    """
    random = np.random.default_rng(seed)
    tokens = np.bincount(np.concatenate([e for e, _ in text.pairs]), minlength=text.e_words)
    words = sum(len(f) for _, f in text.pairs)
    even = np.full((text.e_words, text.f_words), 1.0 / text.f_words)
    mean = words / tokens.sum() / 2
    model, starts = Unordered(even, np.full(text.e_words, mean), mean), [ibm1_path(t, e, f) for e, f in text.pairs]
    for _ in range(iterations):
        counts = np.zeros_like(model.t)
        for (e, f), start in zip(text.pairs, starts, strict=True):
            drawn, rows = model.chain(e, f, random), np.concatenate([[NULL], e])
            for _ in range(restarts):
                path = start.copy()
                for _ in range(samples):
                    drawn.sweep(path)
                    np.add.at(counts, (rows[path], f), 1.0)
        model = Unordered(shares(counts), *fertilities(counts.sum(1) / (samples * restarts), tokens))
    return model


def best_drawn(
    model: Unordered,
    e: np.ndarray,
    f: np.ndarray,
    samples: int,
    restarts: int,
    random: np.random.Generator,
) -> np.ndarray:
    """The most probable of the alignments that were drawn (section 5), of chains that begin anywhere.

    An alignment says to which of the I + 1 empty words a word goes, so that each of them has only its own share.
    """
    drawn, best, found = model.chain(e, f, random), -np.inf, np.zeros(len(f), np.int64)
    log_b, log_means = np.log(drawn.b), np.log(drawn.means)
    log_b[0] += np.log(P0) - np.log(len(e) + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, len(f) + 1)))])
    for _ in range(restarts):
        path = random.integers(len(e) + 1, size=len(f))
        for _ in range(samples):
            drawn.sweep(path)
            links = np.bincount(path, minlength=len(e) + 1)
            score = log_b[path, np.arange(len(f))].sum() + (links * log_means - log_factorial[links]).sum()
            if score > best:
                best, found = score, path.copy()
    return found


class Sweeper:
    """Draws every word's link in turn, given all others (equation 7)."""

    def __init__(self, model: Fertile, e: np.ndarray, f: np.ndarray, random: np.random.Generator) -> None:
        I = len(e)
        self.b = model.hmm.emissions(e, f)
        self.random = random
        # To position n = I + 1, the end, every move is as good.
        self.moves = np.hstack([np.ones((I + 1, 1)), model.hmm.moves(I), np.ones((I + 1, 1))])
        self.means = np.concatenate([[I * model.null_mean], model.means[e]])

    def sweep(self, path: np.ndarray) -> None:
        J, I = len(path), len(self.means) - 1
        links = np.bincount(path, minlength=I + 1).astype(float)
        following = np.full(J, I + 1)  # the next link's position
        for j in range(J - 2, -1, -1):
            following[j] = path[j + 1] or following[j + 1]
        at = 0
        for j in range(J):
            links[path[j]] -= 1
            weights = self.b[:, j] * self.means / (links + 1)
            weights[0] *= P0 * self.moves[at, following[j]]
            weights[1:] *= self.moves[at, 1:-1] * self.moves[1:, following[j]]
            sums = weights.cumsum()
            i = int(np.searchsorted(sums, self.random.random() * sums[-1]))
            path[j] = min(i, I)
            links[path[j]] += 1
            at = path[j] or at
