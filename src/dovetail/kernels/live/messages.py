"""Fertility by belief propagation: how many links a word takes, as one factor per word that talks to its cells.

The factor of source word i prefers counts by phi(k).  What it tells cell (i, j) is the ratio of its support with and
without that link, given what the word's other cells believe without the factor (their cavity probabilities c):

m(i, j) = sum over k of P(k others) phi(k + 1) / sum over k of P(k others) phi(k)

P(k others) is Poisson-binomial.  Counts above K - 1 share the last entry of phi.  Nearly all cells of a trained model are
next to impossible: they are lumped into one, and all get the same message.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf

NOTABLE = np.float32(0.02)  # posterior above which a cell is treated on its own
LIMIT = np.float32(1e4)  # a message stays within 1 / LIMIT .. LIMIT


@kernel
def cavity(posterior, message):
    """Probability of a link without what the factor said: odds / message."""
    p = min(max(posterior, np.float32(1e-9)), np.float32(1.0 - 1e-6))
    odds = p / (np.float32(1.0) - p) / message
    return odds / (np.float32(1.0) + odds)


@kernel
def distribution(chances, n, left_out, lump, others):
    """P(k of the n chances, one left out (-1: none), and of the lump come true), counts above K together in the last."""
    K = len(others) - 1
    for k in range(K + 1):
        others[k] = 0.0
    others[0] = 1.0 - lump
    others[1] = lump
    for m in range(n):
        if m == left_out:
            continue
        c = chances[m]
        others[K] += others[K - 1] * c
        for k in range(K - 1, 0, -1):
            others[k] = others[k] * (1.0 - c) + others[k - 1] * c
        others[0] *= 1.0 - c


@kernel
def ratio(others, phi):
    """sum P(k) phi(k + 1) / sum P(k) phi(k), within limits."""
    K = len(phi) - 1
    on = others[K] * phi[K]
    off = others[K] * phi[K]
    for k in range(K):
        on += others[k] * phi[k + 1]
        off += others[k] * phi[k]
    return min(max(np.float32(on / max(off, 1e-300)), np.float32(1.0) / LIMIT), LIMIT)


@kernel
def ratio_of_lump(lump, phi):
    """The same where the lump is all there is."""
    two = phi[min(2, len(phi) - 1)]
    on = (1.0 - lump) * phi[1] + lump * two
    off = (1.0 - lump) * phi[0] + lump * phi[1]
    return min(max(np.float32(on / max(off, 1e-300)), np.float32(1.0) / LIMIT), LIMIT)


@leaf
def speak(posteriors, messages, n, lump, phi, chances, others):
    """Messages of one word to its n notable cells, in place of the old ones; `lump` is the summed posterior of its others.

    `chances` get the probabilities of the notable cells without what the word said.
    """
    for m in range(n):
        chances[m] = cavity(posteriors[m], messages[m])
    if n == 1:  # as most words: no others but the lump
        messages[0] = ratio_of_lump(lump, phi)
        return
    for m in range(n):
        distribution(chances, n, m, lump, others)
        messages[m] = ratio(others, phi)


@leaf
def speak_to_others(chances, n, lump, phi, others, belief):
    """The message of the word to all its other cells; `belief` (K + 1,) gets its posterior over counts, if it has room."""
    if n == 0 and len(belief) == 0:
        return ratio_of_lump(lump, phi)
    distribution(chances, n, -1, lump, others)
    if len(belief) > 0:
        total = 0.0
        for k in range(len(phi)):
            total += others[k] * phi[k]
        scale = 1.0 / max(total, 1e-300)
        for k in range(len(phi)):
            belief[k] = others[k] * phi[k] * scale
    return ratio(others, phi)
