"""Bayesian IBM Model 1 as Mermer and Saraçlar (2011) sample and decode it: of each word its most frequent partner.

P(A | E, F) is estimated by the samples alone (section 2).  The model remembers how often each link of the text that it was
trained on was in a sample; other text has no samples, and is aligned by the mean of the counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET, Workspace
from dovetail.models.bayes import BayesIBM1
from dovetail.models.hmm import DIRECTIONS
from dovetail.models.lexicon.dirichlet import DirichletLexicon, DirichletOptions
from dovetail.pool import Pool
from dovetail.training import bayes
from dovetail.training.bayes_chains import Chain
from dovetail.training.train import Task, reads


@dataclass(frozen=True)
class Samples:
    """How often each link was in a sample, pair by pair: pairs of the same words are one, whose samples are added up.

    `keys` of pairs rise; entries of pair n are begin[d][n]:begin[d][n + 1] of `cell` (i J + j) and `count` of direction d.
    """

    keys: np.ndarray  # uint64 (pairs,)
    samples: np.ndarray  # int64 (pairs,)
    begin: tuple[np.ndarray, np.ndarray]  # int64 (pairs + 1,)
    cell: tuple[np.ndarray, np.ndarray]  # int32
    count: tuple[np.ndarray, np.ndarray]  # int32

    @cached_property
    def _place(self) -> dict[int, int]:
        return {key: n for n, key in enumerate(self.keys.tolist())}

    def frequencies(self, key: int, I: int, J: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Both directions' shares of samples (I, J), or None of a pair that was not sampled."""
        n = self._place.get(key)
        if n is None:
            return None
        tables = []
        for begin, cell, count in zip(self.begin, self.cell, self.count, strict=True):
            table, own = np.zeros(I * J, np.float32), slice(begin[n], begin[n + 1])
            table[cell[own]] = count[own] / self.samples[n]
            tables.append(table.reshape(I, J))
        return tables[0], tables[1]

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {"samples.keys": self.keys, "samples.number": self.samples}
        for d, name in enumerate(DIRECTIONS):
            parts = {"begin": self.begin[d], "cell": self.cell[d], "count": self.count[d]}
            arrays |= {f"samples.{name}.{part}": values for part, values in parts.items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Samples:
        parts = ((arrays[f"samples.{name}.{part}"] for name in DIRECTIONS) for part in ("begin", "cell", "count"))
        return cls(arrays["samples.keys"], arrays["samples.number"], *((one, other) for one, other in parts))


class Tally:
    """Counts every cell's samples while chains run."""

    def __init__(self, shard: Shard, chains: Sequence[Chain]) -> None:
        self.shard, self.chains, self.number = shard, chains, 0
        self.counts = [[np.zeros(block.cells, np.int32) for block in shard] for _ in chains]
        self._places = [[_places(block, chain.direction) for block in shard] for chain in chains]

    def add(self) -> None:
        """The alignments as they are now."""
        self.number += 1
        for chain, counts, places in zip(self.chains, self.counts, self._places, strict=True):
            for alignment, count, (first, step) in zip(chain.alignments, counts, places, strict=True):
                linked = alignment >= 0
                count[first[linked] + step[linked] * alignment[linked]] += (
                    1  # a token has one link: no cell comes twice
                )

    def samples(self) -> Samples:
        """What was counted, the chains of a direction together."""
        chains = len(self.chains) // 2
        times: dict[int, int] = {}
        tables: tuple[dict[int, np.ndarray], dict[int, np.ndarray]] = ({}, {})
        for b, block in enumerate(self.shard):
            both = [
                np.sum(
                    [c[b] for chain, c in zip(self.chains, self.counts, strict=True) if chain.direction == d], axis=0
                )
                for d in range(2)
            ]
            for line, key in zip(block.lines, _keys(block, None), strict=True):
                own = slice(line[CELL], line[CELL] + line[LENGTH_I] * line[LENGTH_J])
                times[key] = times.get(key, 0) + self.number * chains
                for table, counts in zip(tables, both, strict=True):
                    table[key] = table.get(key, 0) + counts[own]
        keys = sorted(times)
        cells = [[np.flatnonzero(table[key]).astype(np.int32) for key in keys] for table in tables]
        counted = [
            [table[key][cell].astype(np.int32) for key, cell in zip(keys, own_cells, strict=True)]
            for table, own_cells in zip(tables, cells, strict=True)
        ]
        begin = [np.cumsum([0, *(len(one) for one in side)], dtype=np.int64) for side in cells]
        none = np.zeros(0, np.int32)
        return Samples(
            np.array(keys, np.uint64),
            np.array([times[key] for key in keys], np.int64),
            (begin[0], begin[1]),
            (np.concatenate([none, *cells[0]]), np.concatenate([none, *cells[1]])),
            (np.concatenate([none, *counted[0]]), np.concatenate([none, *counted[1]])),
        )


def _places(block: Block, direction: int) -> tuple[np.ndarray, np.ndarray]:
    """Of each generated token the cell of its first possible partner, and how far it is to the next partner's."""
    first, step = [], []
    for line in block.lines:
        I, J = line[LENGTH_I], line[LENGTH_J]
        tokens = np.arange(J) if direction == 0 else J * np.arange(I)
        first.append(line[CELL] + tokens)
        step.append(np.full(len(tokens), J if direction == 0 else 1))
    none = np.zeros(0, np.int64)
    return np.concatenate([none, *first]), np.concatenate([none, *step])


def _keys(block: Block, words: tuple[np.ndarray, np.ndarray] | None) -> Iterator[int]:
    """A number for each piece that tells its words; `words` are their numbers in the text that was trained on."""
    for line in block.lines:
        ids = [
            block.pieces.source_ids[line[SOURCE] : line[SOURCE] + line[LENGTH_I]],
            block.pieces.target_ids[line[TARGET] : line[TARGET] + line[LENGTH_J]],
        ]
        if words is not None:
            ids = [numbers[own] for numbers, own in zip(words, ids, strict=True)]
        told = np.concatenate([[line[LENGTH_I]], *ids]).astype("<i8").tobytes()
        yield int.from_bytes(blake2b(told, digest_size=8).digest(), "little")


@dataclass
class SampledIBM1(BayesIBM1):
    """IBM Model 1 with the lexicon integrated out; posteriors of text that was sampled are the samples' shares."""

    samples_seen: Samples | None = None

    name = "mermer2011"

    def posteriors(self, block: Block, work: Workspace, pool: Pool) -> np.ndarray:
        scores = super().posteriors(block, work, pool)
        words = self.lexicon.words
        numbers = None if words is None else (words.source, words.target)
        for line, key in zip(block.lines, _keys(block, numbers), strict=True):
            I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
            found = self.samples_seen.frequencies(key, I, J) if self.samples_seen is not None else None
            if found is not None:
                work.forward[cell : cell + I * J] = found[0].reshape(-1)
                work.reverse[cell : cell + I * J] = found[1].reshape(-1)
                work.null_forward[line[COLUMN] : line[COLUMN] + J] = np.maximum(1.0 - found[0].sum(axis=0), 0.0)
                work.null_reverse[line[ROW] : line[ROW] + I] = np.maximum(1.0 - found[1].sum(axis=1), 0.0)
        return scores

    def arrays(self) -> dict[str, np.ndarray]:
        return {**super().arrays(), **(self.samples_seen.arrays() if self.samples_seen is not None else {})}

    @classmethod
    def from_arrays(
        cls,
        lexicon: DirichletLexicon,  # type: ignore[override]
        arrays: dict[str, np.ndarray],
        settings: dict[str, Any],
    ) -> SampledIBM1:
        return cls(lexicon, samples_seen=Samples.from_arrays(arrays))


@reads(*bayes.train.options)
def train(task: Task) -> SampledIBM1:
    """Table 1: from IBM Model 1's best alignments or naive ones, burn-in, then samples with a lag."""
    pool, settings = task.engine.pool, task.settings
    seen = task.start.warm(task.corpus.slots).counts_to_start if task.start.warm is not None else None
    chains = bayes.begin(task.ibm1().lexicon, task.shard, settings, task.seed, pool, seen)
    tally = Tally(task.shard, chains)
    bayes.run(chains, bayes.ibm1_stages(task.shard.total, settings), pool, task.monitor, tally.add)
    return SampledIBM1(bayes.mean_lexicon(chains, settings.of(DirichletOptions).discount), samples_seen=tally.samples())
