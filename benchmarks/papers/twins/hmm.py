"""IBM Model 1 and the HMM with I + 1 empty words (Zhao and Gildea 2010, section 2): tables are dense, texts small.

Positions of e are 1..I; 0 is where a sentence begins.  A word of f that has no link keeps the position of the last link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

NULL = 0  # the number of the empty word; words of e are 1, 2, ...
SMOOTHING = 1e-8  # added to every parameter (section 6)
P0 = 0.2  # the paper does not say

Pair = tuple[np.ndarray, np.ndarray]  # numbers of the words of e, from 1, and of f, from 0


class Text(NamedTuple):
    pairs: Sequence[Pair]
    e_words: int  # with the empty one
    f_words: int

    @property
    def longest(self) -> int:
        return max(max(len(e), len(f)) for e, f in self.pairs)


def shares(counts: np.ndarray) -> np.ndarray:
    """Rows that sum to 1 where anything was counted, plus a little."""
    return counts / np.maximum(counts.sum(-1, keepdims=True), 1e-300) + SMOOTHING


def ibm1(text: Text, iterations: int = 5, empty_words: bool = True) -> np.ndarray:
    """t(f | e) by EM from even probabilities; `empty_words`: I + 1 of them, else one."""
    t = np.full((text.e_words, text.f_words), 1.0 / text.f_words)
    for _ in range(iterations):
        counts = np.zeros_like(t)
        for e, f in text.pairs:
            rows = np.concatenate([[NULL], e])
            weights = t[np.ix_(rows, f)]
            weights[0] *= len(e) + 1 if empty_words else 1
            np.add.at(counts, np.ix_(rows, f), weights / weights.sum(0))
        t = shares(counts)
    return t


@dataclass
class HMM:
    """t(f | e), weights of jumps by distance (the middle one is 0) and of first links by position."""

    t: np.ndarray
    jumps: np.ndarray
    first: np.ndarray

    @classmethod
    def even(cls, t: np.ndarray, longest: int) -> HMM:
        return cls(t, np.ones(2 * longest + 1), np.ones(longest))

    def emissions(self, e: np.ndarray, f: np.ndarray) -> np.ndarray:
        """(I + 1, J); NULL's first."""
        return self.t[np.ix_(np.concatenate([[NULL], e]), f)]

    def moves(self, I: int) -> np.ndarray:
        """p(i | i') (I + 1, I), i' = 0 being the start; rows sum to 1 - p0."""
        middle, place = len(self.jumps) // 2, np.arange(I)
        table = np.vstack([self.first[:I], self.jumps[middle + place[None, :] - place[:, None]]])
        return (1 - P0) * table / table.sum(1, keepdims=True)


def fit_hmm(text: Text, model: HMM, iterations: int = 5, hard: bool = False) -> HMM:
    """EM by forward and backward; `hard`: only the best path counts.  Jumps by equation 5: shares of all jumps."""
    for _ in range(iterations):
        counts = HMM(np.zeros_like(model.t), np.zeros_like(model.jumps), np.zeros_like(model.first))
        for e, f in text.pairs:
            if hard:
                count_path(counts, e, f, best_path(model, e, f))
            else:
                count_expected(model, counts, e, f)
        model = HMM(*map(shares, (counts.t, counts.jumps, counts.first)))
    return model


def forward_backward(b: np.ndarray, moves: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Of emissions (I + 1, J) and moves: posteriors of links (J, I) and of NULL (J,), expected moves (I + 1, I), log Z."""
    I, J = moves.shape[1], b.shape[1]
    before, after = np.zeros((J + 1, I + 1)), np.ones((J + 1, I + 1))
    before[0, 0], log_z = 1.0, 0.0
    for j in range(J):  # both kinds of states at position i: linked to it, or NULL after it
        before[j + 1] = P0 * b[0, j] * before[j]
        before[j + 1, 1:] += before[j] @ moves * b[1:, j]
        scale = before[j + 1].sum()
        before[j + 1] /= scale
        log_z += np.log(scale)
    for j in range(J - 1, -1, -1):
        after[j] = P0 * b[0, j] * after[j + 1] + moves @ (b[1:, j] * after[j + 1, 1:])
        after[j] /= after[j].sum()
    links, nulls, moved = np.empty((J, I)), np.empty(J), np.zeros_like(moves)
    for j in range(J):
        joint = before[j][:, None] * moves * (b[1:, j] * after[j + 1, 1:])[None, :]
        stays = float((before[j] * after[j + 1]).sum() * P0 * b[0, j])
        total = joint.sum() + stays
        moved += joint / total
        links[j], nulls[j] = joint.sum(0) / total, stays / total
    return links, nulls, moved, float(log_z)


def count_expected(model: HMM, counts: HMM, e: np.ndarray, f: np.ndarray) -> None:
    links, nulls, moved, _ = forward_backward(model.emissions(e, f), model.moves(len(e)))
    add_links(counts, e, f, links, nulls)
    add_moves(counts, moved)


def add_links(counts: HMM, e: np.ndarray, f: np.ndarray, links: np.ndarray, nulls: np.ndarray) -> None:
    np.add.at(counts.t, (e[None, :], f[:, None]), links)
    np.add.at(counts.t[NULL], f, nulls)


def add_moves(counts: HMM, moved: np.ndarray) -> None:
    """Of expected moves (I + 1, I)."""
    I, middle = moved.shape[1], len(counts.jumps) // 2
    counts.first[:I] += moved[0]
    for distance in range(1 - I, I):
        counts.jumps[middle + distance] += np.trace(moved[1:], distance)


def count_path(counts: HMM, e: np.ndarray, f: np.ndarray, path: np.ndarray) -> None:
    """Of an alignment: a position, or 0 for NULL, of each word of f."""
    at, middle = 0, len(counts.jumps) // 2
    for word, i in zip(f, path, strict=True):
        counts.t[e[i - 1] if i else NULL, word] += 1
        if i and at:
            counts.jumps[middle + i - at] += 1
        elif i:
            counts.first[i - 1] += 1
        at = i or at


def best_path(model: HMM, e: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Viterbi: a position, or 0 for NULL, of each word of f."""
    b, moves = np.log(model.emissions(e, f)), np.log(model.moves(len(e)))
    I, J = len(e), len(f)
    score = np.full(I + 1, -np.inf)
    score[0] = 0.0
    came, linked = np.empty((J, I + 1), np.int64), np.zeros((J, I + 1), bool)
    for j in range(J):
        steps = score[:, None] + moves
        by_link = np.concatenate([[-np.inf], steps.max(0) + b[1:, j]])
        stays = score + np.log(P0) + b[0, j]
        linked[j] = by_link > stays
        came[j] = np.where(linked[j], np.concatenate([[0], steps.argmax(0)]), np.arange(I + 1))
        score = np.maximum(by_link, stays)
    path, at = np.zeros(J, np.int64), int(score.argmax())
    for j in range(J - 1, -1, -1):
        path[j] = at if linked[j, at] else 0
        at = came[j, at]
    return path
