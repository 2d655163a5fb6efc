"""Octets in numba's own words, eight float32 in a tuple: what those of `kernels._numba` are measured against.

`tricks.py` puts this file in their place.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import leaf

U = np.uint64
OCTET = 8


@leaf
def load(array, k):
    """array[k], ... array[k + 7]"""
    return (
        array[k],
        array[k + U(1)],
        array[k + U(2)],
        array[k + U(3)],
        array[k + U(4)],
        array[k + U(5)],
        array[k + U(6)],
        array[k + U(7)],
    )


@leaf
def store(array, k, a):
    """array[k : k + 8] = a"""
    array[k] = a[0]
    array[k + U(1)] = a[1]
    array[k + U(2)] = a[2]
    array[k + U(3)] = a[3]
    array[k + U(4)] = a[4]
    array[k + U(5)] = a[5]
    array[k + U(6)] = a[6]
    array[k + U(7)] = a[7]


@leaf
def spread(x):
    return (x, x, x, x, x, x, x, x)


@leaf
def nothing():
    return spread(np.float32(0.0))


@leaf
def plus(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5], a[6] + b[6], a[7] + b[7])


@leaf
def times(a, b):
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3], a[4] * b[4], a[5] * b[5], a[6] * b[6], a[7] * b[7])


@leaf
def running(a):
    """Sums of the first 1, 2 ... 8."""
    z = np.float32(0.0)
    a = plus(a, (z, a[0], a[1], a[2], a[3], a[4], a[5], a[6]))
    a = plus(a, (z, z, a[0], a[1], a[2], a[3], a[4], a[5]))
    return plus(a, (z, z, z, z, a[0], a[1], a[2], a[3]))


@leaf
def last(a):
    return a[7]


@leaf
def at_least(a, b):
    """A bit for each of the eight: whether a is at least b."""
    bits = U(a[0] >= b[0]) | U(a[1] >= b[1]) << U(1) | U(a[2] >= b[2]) << U(2) | U(a[3] >= b[3]) << U(3)
    more = U(a[4] >= b[4]) << U(4) | U(a[5] >= b[5]) << U(5) | U(a[6] >= b[6]) << U(6) | U(a[7] >= b[7]) << U(7)
    return bits | more


@leaf
def _one(a, bits, k):
    return a if bits >> U(k) & U(1) else np.float32(0.0)


@leaf
def chosen(a, bits):
    """Those whose bit is set, and zeros."""
    first = _one(a[0], bits, 0), _one(a[1], bits, 1), _one(a[2], bits, 2), _one(a[3], bits, 3)
    return (*first, _one(a[4], bits, 4), _one(a[5], bits, 5), _one(a[6], bits, 6), _one(a[7], bits, 7))


@leaf
def number_of(bits):
    """How many bits are set."""
    number = U(0)
    for k in range(OCTET):
        number += bits >> U(k) & U(1)
    return number
