"""Chains of collapsed Gibbs sampling: their state, and sweeps in strands.

Every chain of either direction is a task of its own, and so is every strand of its text.  A strand sees the other strands'
links as they were when the sweep began, and its own as they are; they are put together after the sweep, in order (as
Newman et al. 2009 do for topic models).  With one strand the sampler is strictly sequential.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.kernels.bayes import counts as bayes_counts
from dovetail.kernels.bayes import records
from dovetail.kernels.bayes import sweep as kernels
from dovetail.kernels.bayes.records import LinkCounts
from dovetail.kernels.records import SOURCE_SIDE, TARGET_SIDE
from dovetail.models.fertility.histogram import TAIL
from dovetail.models.jumps.binned import BinnedJumps, end_bins
from dovetail.models.jumps.word import bins_of
from dovetail.models.lexicon.dirichlet import LexiconPrior
from dovetail.pool import Pool

STRAND_TOKENS = 1 << 19  # a shorter text is one strand
MOST_STRANDS = 4  # each begins with a copy of the counts; chains and directions bring more tasks


@dataclass(frozen=True)
class Stage:
    """Some sweeps of one kind; every `lag`-th is a sample if `lag` is not 0.

    `quarters` (2, 3, 4 or 8): links are drawn from the posterior's power quarters / 4, at temperature 4 / quarters.
    `climb`: the stage ends with block moves to likelier links (IBM Model 1 only).
    """

    name: str
    sweeps: int
    moving: bool = False
    fertile: bool = False
    lag: int = 0
    quarters: int = 4
    climb: bool = False


@dataclass
class Strands:
    """What all chains know of the text: its cells, twins of tokens, and the strands it is cut into."""

    shard: Shard
    twins: list[tuple[np.ndarray, np.ndarray]]  # of each block: by row, by column
    strands: list[list[tuple[int, int, int]]]  # of each strand: runs of pieces (block, first, last)

    @classmethod
    def of(cls, shard: Shard, strands: int = 0) -> Strands:
        """`strands` 0: one for every STRAND_TOKENS tokens, at most MOST_STRANDS; never more than pieces."""
        tokens = sum(block.rows + block.columns for block in shard) // 2
        strands = strands or min(MOST_STRANDS, 1 + tokens // STRAND_TOKENS)
        twins = [(twins_of(block, 0), twins_of(block, 1)) for block in shard]
        cost = np.cumsum(shard.pieces.source_length.astype(np.int64) * shard.pieces.target_length + 32)
        edges = np.searchsorted(cost, np.linspace(0, cost[-1] if len(cost) else 0, strands + 1)[1:-1])
        runs = []
        for low, high in pairwise(np.unique([0, *edges, len(cost)]).tolist()):
            parts = [
                (number, max(low, block.first) - block.first, min(high, block.last) - block.first)
                for number, block in enumerate(shard)
            ]
            runs.append([part for part in parts if part[1] < part[2]])
        return cls(shard, twins, runs)


def twins_of(block: Block, direction: int) -> np.ndarray:
    """For each generating token the next one of the same word (see `counts.twins`)."""
    side, ids = ((SOURCE_SIDE, block.pieces.source_ids), (TARGET_SIDE, block.pieces.target_ids))[direction]
    found = np.empty((block.rows, block.columns)[direction], np.int16)
    bayes_counts.twins(block.lines, side, ids, found)
    return found


def count_moves(shard: Shard, direction: int, alignments: Sequence[np.ndarray]) -> BinnedJumps:
    """Jumps of a shard's alignments, which are given by block."""
    moves = BinnedJumps.zeros()
    bins, ends = bins_of(shard.longest), end_bins(shard.longest)
    for block, alignment in zip(shard, alignments, strict=True):
        own = records.direction_of(block.pieces, block.ranks, direction == 1)
        bayes_counts.add_moves(own, alignment, bins, ends, *moves.parts())
    return moves


def move_weights(jumps: BinnedJumps, longest: int, stage: Stage, key: tuple[int, int]) -> tuple[np.ndarray, ...]:
    """Jumps for the next sweep, drawn given all links there are: exact, and the same for all strands."""
    if not stage.moving:
        return tuple(np.ones(size, np.float32) for size in (2 * longest + 1, longest, longest))
    return jumps.weights(longest, np.random.Generator(np.random.Philox(key=list(key))))


@dataclass
class Sums:
    """What samples add up to."""

    counts: LinkCounts
    jumps: BinnedJumps = field(default_factory=BinnedJumps.zeros)
    samples: int = 0


@dataclass
class Chain:
    """One chain in one direction."""

    text: Strands
    direction: int
    seed: int
    counts: LinkCounts
    alignments: list[np.ndarray]  # of each block: one position per generated token, -1 is NULL
    prior: LexiconPrior
    null: float
    fertility_prior: np.ndarray
    seen_jumps: BinnedJumps  # what the seed model counted of jumps,
    seen_tokens: np.ndarray  # and of fertilities
    sums: Sums
    sweeps: int = 0

    def _of(self, block: Block) -> records.Direction:
        return records.direction_of(block.pieces, block.ranks, self.direction == 1)

    def count(self) -> None:
        """Enter the alignments into the counts."""
        for block, alignment in zip(self.text.shard, self.alignments, strict=True):
            bayes_counts.add_links(self._of(block), alignment, self.counts, 1.0)

    def count_again(self, before: list[np.ndarray]) -> None:
        """Bring the counts of slots from the alignments `before` to those there are now."""
        for block, old, new in zip(self.text.shard, before, self.alignments, strict=True):
            bayes_counts.move_links(self._of(block), old, new, self.counts.links)

    def state(self) -> dict[str, Any]:
        """What cannot be counted again."""
        sums = self.sums if self.sums.samples else None
        return {
            "alignments": self.alignments,
            "sums": sums,
            "sweeps": self.sweeps,
            "fertility_prior": self.fertility_prior,
        }

    def go_on(self, state: dict[str, Any]) -> None:
        """From a state that was kept; this chain is at its first alignments."""
        before, self.alignments = self.alignments, state["alignments"]
        for block, old, new in zip(self.text.shard, before, self.alignments, strict=True):
            bayes_counts.add_links(self._of(block), old, self.counts, -1.0)
            bayes_counts.add_links(self._of(block), new, self.counts, 1.0)
        self.sums, self.sweeps = state["sums"] or self.sums, state["sweeps"]
        self.fertility_prior = state["fertility_prior"]

    def begin(self, stage: Stage) -> None:
        """Count what the stage wants to know and the one before did not keep up to date."""
        if stage.fertile:
            self.counts = self.counts._replace(histogram=self.seen_tokens + self.histogram())

    def histogram(self) -> np.ndarray:
        """Tokens of each word by their links, as the alignments have them now."""
        histogram = np.zeros_like(self.counts.histogram)
        for block, alignment in zip(self.text.shard, self.alignments, strict=True):
            bayes_counts.add_fertilities(self._of(block), alignment, histogram)
        return histogram

    def count_moves(self) -> BinnedJumps:
        return count_moves(self.text.shard, self.direction, self.alignments)

    def weights(self, stage: Stage) -> tuple[np.ndarray, ...]:
        jumps = self.seen_jumps.plus(self.count_moves()) if stage.moving else self.seen_jumps
        return move_weights(jumps, self.text.shard.longest, stage, (self.seed, self.sweeps))

    def sweep_strand(
        self,
        strand: int,
        stage: Stage,
        weights: tuple[np.ndarray, ...],
        counts: LinkCounts,
        marginals: Marginals | None = None,
    ) -> None:
        """Draw every link of a strand once, changing `counts` on the way; `marginals` are added to, if there are any."""
        moves, prior = records.MoveWeights(*weights), self.fertility_prior
        model = records.Collapsed(
            self.prior_record(), self.null, stage.moving, moves, stage.fertile, prior, TAIL, stage.quarters
        )
        none = np.empty(0, np.float32), np.empty(0, np.float32)
        for number, first, last in self.text.strands[strand]:
            block, twins = self.text.shard.blocks[number], self.text.twins[number]
            cells, nulls = none if marginals is None else marginals.blocks[number]
            given = self._of(block), model, counts, twins[self.direction], self.alignments[number]
            stream = records.Stream(self.seed, self.sweeps, block.first)
            added = records.Marginals(cells, nulls, 0.0 if marginals is None else marginals.weight)
            kernels.sweep(first, last, *given, stream, added)

    def prior_record(self) -> records.Prior:
        """The lexicon's, for as many words as can be generated."""
        alpha, null_alpha = self.prior.alpha, self.prior.null_alpha
        size = (self.text.shard.slots.n_targets, self.text.shard.slots.n_sources)[self.direction]
        return records.Prior(alpha, alpha * size, null_alpha, null_alpha * size)

    def keep_sample(self) -> None:
        """Add the counts as they are now to the sums."""
        for total, part in zip(self.sums.counts, self.counts, strict=True):
            total += part
        self.sums.jumps = self.sums.jumps.plus(self.count_moves())
        self.sums.samples += 1

    def log_probability(self) -> float:
        """log P(words | links), the lexicon integrated out."""
        alpha, null_alpha, counts = self.prior.alpha, self.prior.null_alpha, self.counts
        size = max(1, (self.text.shard.slots.n_targets, self.text.shard.slots.n_sources)[self.direction])
        value = bayes_counts.log_marginal(counts.links, alpha) + bayes_counts.log_marginal(counts.nulls, null_alpha)
        value -= bayes_counts.log_marginal(counts.totals[:-1], alpha * size)
        return value - bayes_counts.log_marginal(counts.totals[-1:], null_alpha * size)


@dataclass
class Marginals:
    """Where chances of draws are added up, each times `weight`: of each block by cell, NULL's by generated token."""

    weight: float
    blocks: list[tuple[np.ndarray, np.ndarray]]


def sweep(chains: Sequence[Chain], stage: Stage, pool: Pool, marginals: Sequence[Marginals] | None = None) -> None:
    """One sweep of every chain."""
    weights = pool.map(Chain.weights, [(chain,) for chain in chains], stage)
    wanted: Sequence[Marginals | None] = marginals or [None] * len(chains)
    strands = len(chains[0].text.strands) if chains else 0
    if strands == 1:  # nothing to put together
        pool.map(
            lambda chain, jumps, marginal: chain.sweep_strand(0, stage, jumps, chain.counts, marginal),
            list(zip(chains, weights, wanted, strict=True)),
        )
    else:
        _sweep_strands(chains, stage, weights, wanted, pool)
    for chain in chains:
        chain.sweeps += 1


def _sweep_strands(
    chains: Sequence[Chain],
    stage: Stage,
    weights: list[tuple[np.ndarray, ...]],
    marginals: Sequence[Marginals | None],
    pool: Pool,
) -> None:
    """Strands begin with the same counts; what they changed is added up in their order (Newman et al. 2009)."""
    before = [[alignment.copy() for alignment in chain.alignments] for chain in chains]

    def task(number: int, strand: int) -> list[np.ndarray]:
        chain = chains[number]
        counts = chain.counts.copy()
        chain.sweep_strand(strand, stage, weights[number], counts, marginals[number])
        return [now - then for now, then in zip(counts[1:], chain.counts[1:], strict=True)]

    strands = len(chains[0].text.strands)
    changes = pool.map(task, [(number, strand) for number in range(len(chains)) for strand in range(strands)])

    def merge(number: int) -> None:
        chain = chains[number]
        for change in changes[number * strands : (number + 1) * strands]:
            for part, difference in zip(chain.counts[1:], change, strict=True):
                part += difference
        chain.count_again(before[number])

    pool.map(merge, [(number,) for number in range(len(chains))])
