"""From a model and a shard to links: block after block, one decoder, the wanted sets of links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.bitext.shards import Shard
from dovetail.decoding.decoders import EITHER, FORWARD, REVERSE, Decoder
from dovetail.decoding.evidence import Evidence
from dovetail.kernels.links import collect as kernels
from dovetail.models.model import Model, Worked
from dovetail.pool import Pool


@dataclass(frozen=True)
class Wanted:
    """A set of links to collect: cells that carry `mark`, with probability (1 - weight) forward + weight reverse."""

    mark: np.uint8
    weight: float


# The links of a single set, by the name of the combination; any other combination wants those of BOTH.
SINGLE = {
    "soft-union": Wanted(EITHER, 0.5),
    "forward": Wanted(FORWARD, 0.0),
    "reverse": Wanted(REVERSE, 1.0),
}
BOTH = (
    SINGLE["forward"],
    SINGLE["reverse"],
    Wanted(np.uint8(FORWARD | REVERSE), 0.0),  # either direction's links with the forward direction's probabilities,
    Wanted(np.uint8(FORWARD | REVERSE), 1.0),  # and with the reverse direction's
)


class Links(NamedTuple):
    """Links of all pieces in order: `numbers` of each piece, positions relative to the piece, probabilities."""

    numbers: np.ndarray
    source: np.ndarray
    target: np.ndarray
    probability: np.ndarray

    @classmethod
    def concatenate(cls, parts: Sequence[tuple[np.ndarray, ...]]) -> Links:
        if not parts:
            return cls(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32))
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def decode(
    model: Model, shard: Shard, decoder: Decoder, wanted: Sequence[Wanted], pool: Pool, worked: Worked
) -> tuple[list[Links], np.ndarray]:
    """The wanted sets of links, and scores (pieces, 2)."""
    work = shard.workspace()
    marks = np.empty(max((block.cells for block in shard), default=0), np.uint8)
    found: list[list[tuple[np.ndarray, ...]]] = [[] for _ in wanted]
    scores = []
    for block in shard:
        evidence = Evidence(model, shard, block, block.view(work), pool)
        marked = _marked(decoder, evidence, marks)
        for want, parts in zip(wanted, found, strict=True):
            parts.extend(_collected(evidence, marked, want))
        scores.append(evidence.scores)
        worked(block.last - block.first)
    return [Links.concatenate(parts) for parts in found], np.concatenate(scores) if scores else np.zeros((0, 2))


def decode_each(model: Model, shard: Shard, decoders: Sequence[Decoder], want: Wanted, pool: Pool) -> Iterator[Links]:
    """The links of several decoders, one after the other; they ask for posteriors alone, which are computed once."""
    work = shard.workspace()
    marks = np.empty(max((block.cells for block in shard), default=0), np.uint8)
    found: list[list[tuple[np.ndarray, ...]]] = [[] for _ in decoders]
    for block in shard:
        evidence = Evidence(model, shard, block, block.view(work), pool)
        for decoder, parts in zip(decoders, found, strict=True):
            parts.extend(_collected(evidence, _marked(decoder, evidence, marks), want))
    for parts in found:
        yield Links.concatenate(parts)


def _marked(decoder: Decoder, evidence: Evidence, marks: np.ndarray) -> np.ndarray:
    marked = marks[: evidence.block.cells]
    marked[:] = 0
    decoder.mark(evidence, marked)
    return marked


def _collected(evidence: Evidence, marked: np.ndarray, want: Wanted) -> list[tuple[np.ndarray, ...]]:
    """The marked links of a block with their probabilities, task by task."""
    block, pieces = evidence.block, evidence.shard.pieces
    run = slice(block.first, block.last)
    cores = pieces.source_core[run], pieces.target_core[run]
    posteriors = evidence.posteriors()

    def task(first: int, last: int) -> tuple[np.ndarray, ...]:
        found: tuple[np.ndarray, ...] = kernels.collect(
            first, last, block.lines, *cores, marked, want.mark, posteriors, want.weight
        )
        return found

    return list(evidence.pool.map(task, block.tasks))
