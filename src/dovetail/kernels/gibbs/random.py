"""Random numbers without a state: each is a hash of where it is wanted, so no order of work and no thread can change it.

A *stream* is a 64-bit key made of (seed, sweep, sentence); number `word` of the stream is the output of SplitMix64
(Steele, Lea and Flood 2014) at that offset from the key.  Two streams of a corpus overlap with a probability of about
(streams)^2 (words) / 2^64, which is nothing; numbers of one stream are as good as SplitMix64's own.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio: SplitMix64's step
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
UNIT = 2.0**-53


@kernel
def mixed(x):
    """A one-to-one scrambling of 64 bits in which every bit of the input moves about half of the output's."""
    x = (x ^ (x >> np.uint64(30))) * FIRST
    x = (x ^ (x >> np.uint64(27))) * SECOND
    return x ^ (x >> np.uint64(31))


@kernel
def stream(seed, sweep, sentence):
    """The key of the numbers that belong to (seed, sweep, sentence), whole numbers all three."""
    key = mixed(np.uint64(seed) + GOLDEN)
    key = mixed((key ^ np.uint64(sweep)) + GOLDEN)
    return mixed((key ^ np.uint64(sentence)) + GOLDEN)


@kernel
def bits(key, word):
    """64 random bits: number `word` (0, 1, 2 ...) of the stream."""
    return mixed(key + (np.uint64(word) + np.uint64(1)) * GOLDEN)


@kernel
def uniform(key, word):
    """A float64 in [0, 1) on a grid of 2^-53: number `word` of the stream."""
    return np.float64(np.int64(bits(key, word) >> np.uint64(11))) * UNIT  # signed: one instruction


@kernel
def draw(weight, n, null, u, sums):
    """Draw in proportion to `null` (the answer is -1) and weight[0], ... weight[n - 1].

    Returns the answer, -2 where nothing is possible, and the sum of all.  First an octet of candidates is drawn, then one of
    them.  `weight` has room for seven more, `sums` for one number per octet.
    """
    octets = (n + 7) // 8
    for k in range(n, 8 * octets):
        weight[k] = np.float32(0.0)
    total = null
    for b in range(octets):
        k = 8 * b
        sums[b] = total
        total += ((weight[k] + weight[k + 1]) + (weight[k + 2] + weight[k + 3])) + (
            (weight[k + 4] + weight[k + 5]) + (weight[k + 6] + weight[k + 7])
        )
    target = np.float32(u) * total
    if not total > np.float32(0.0):
        return -2, total
    if target < null:
        return -1, total
    b = 0
    for k in range(1, octets):  # no branch that depends on the draw: a wrong guess costs more than the sums
        b += np.int64(sums[k] <= target)
    target -= sums[b]
    i = 8 * b
    before = np.float32(0.0)
    for k in range(8 * b, 8 * b + 8):
        before += weight[k]
        i += np.int64(before <= target)
    i = min(i, n - 1)
    while i >= 0 and not weight[i] > np.float32(0.0):  # rounding went past the last candidate that is possible
        i -= 1
    return i, total
