"""From links in the order of a file to the packed arrays: sorted, each once, inside their sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.errors import InputError

LARGEST_INDEX = 2**31 - 2  # a sentence's length, one more than its last index, must fit into int32 as well

Lengths = Sequence[tuple[int, int]] | np.ndarray


def length_table(lengths: Lengths | None) -> np.ndarray | None:
    """The words of each pair, (N, 2) int64: source, target."""
    return None if lengths is None else np.asarray(lengths, np.int64).reshape(-1, 2)


def sort_links(
    counts: np.ndarray, source: np.ndarray, target: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Offsets, source, target and weight, sorted by (i, j) within each pair of `counts[n]` links.

    Of a link that stands there twice, the one with the larger weight stays.
    """
    offsets = np.concatenate([[0], np.cumsum(counts)])
    key = (source.astype(np.int64) << 32) | target
    ascending = key[1:] > key[:-1]
    starts = offsets[1:-1]
    ascending[starts[(starts > 0) & (starts < len(key))] - 1] = True  # a new pair may start anywhere
    if not ascending.all():
        pair = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((-weight.astype(np.float64), key, pair))
        pair, key = pair[order], key[order]
        first = np.ones(len(key), bool)
        first[1:] = (key[1:] != key[:-1]) | (pair[1:] != pair[:-1])
        order = order[first]
        source, target, weight = source[order], target[order], weight[order]
        np.cumsum(np.bincount(pair[first], minlength=len(counts)), out=offsets[1:])
    return offsets, np.ascontiguousarray(source, np.int32), np.ascontiguousarray(target, np.int32), weight


def check_pairs(path: str, lines: int, found: int, pairs: int | None) -> None:
    """Refuse a file of `lines` lines that holds `found` pairs when there should be `pairs` of them."""
    if pairs is not None and found != pairs:
        raise InputError(
            f"the file ends after {found:,} pair{'s' if found != 1 else ''}, but the bitext has {pairs:,}",
            path=path,
            line=lines,
            remedy="It must hold every pair in order; a pair without links has an entry too, an empty one.",
        )


def outside(counts: np.ndarray, source: np.ndarray, target: np.ndarray, lengths: np.ndarray) -> tuple[int, int] | None:
    """The pair and the link (its place in the arrays) of the first link that lies outside its sentences."""
    beyond = (source >= np.repeat(lengths[:, 0], counts)) | (target >= np.repeat(lengths[:, 1], counts))
    if not beyond.any():
        return None
    k = int(np.argmax(beyond))
    return int(np.searchsorted(np.cumsum(counts), k, side="right")), k


def outside_error(path: str, line: int, link: str, lengths: Iterable[int]) -> InputError:
    I, J = lengths
    return InputError(
        f"link {link} lies outside the pair of {I:,} source and {J:,} target words",
        path=path,
        line=line,
        remedy="Is this the file of these sentences, in the same tokens, with the source side first?",
    )


def pack(
    counts: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    probability: np.ndarray,
    lengths: np.ndarray | None = None,
    details: dict[str, Any] | None = None,
) -> Alignments:
    """Alignments of links in any order; without `lengths` a sentence is taken to end at its last link."""
    offsets, source, target, probability = sort_links(counts, source, target, probability)
    if lengths is None:
        lengths = np.zeros((len(counts), 2), np.int64)
        linked = offsets[1:] > offsets[:-1]
        if linked.any():
            starts = offsets[:-1][linked]
            lengths[linked, 0] = np.maximum.reduceat(source, starts) + 1
            lengths[linked, 1] = np.maximum.reduceat(target, starts) + 1
    probability, own = probability.astype(np.float32, copy=False), lengths.T.astype(np.int32, order="C")
    return Alignments(offsets, source, target, probability, own[0], own[1], details or {})
