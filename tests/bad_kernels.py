"""Kernels that reach beyond their arrays: what a run with bounds checks must notice (tests/bounds.py)."""

from __future__ import annotations

import sys

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels._numba import last, load


@leaf
def beyond(values, place):
    return values[place]


@kernel
def read(values, place):
    return values[place]


@kernel
def write(values, place):
    values[place] = 1.0


@kernel
def read_in_leaf(values, place):
    return beyond(values, place)


@kernel
def read_eight(values, place):
    return last(load(values, np.uint64(place)))


BAD = {bad.__name__: bad for bad in (read, write, read_in_leaf, read_eight)}


def main() -> None:
    """Call one of them so far from the last place where it may be called."""
    name, places = sys.argv[1:]
    BAD[name](np.zeros(10, np.float32), (2 if name == "read_eight" else 9) + int(places))


if __name__ == "__main__":
    main()
