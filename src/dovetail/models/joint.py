"""The flagship's model: two HMMs that share one collapsed lexicon, with word-dependent jumps and fertility."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dovetail.bitext.shards import Block, Shard
from dovetail.engines import Threads
from dovetail.kernels.hmm import word_jumps as kernels
from dovetail.kernels.live import chain as hmm_kernels
from dovetail.kernels.live import settle as settle_kernels
from dovetail.kernels.records import COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET, Workspace
from dovetail.models.fertility.beliefs import CategoricalFertility
from dovetail.models.jumps.word import BINS, POSITIONS, WordJumps, bin_limits, bins_of
from dovetail.models.lexicon.counted import CollapsedCounts, CollapsedLexicon
from dovetail.models.lexicon.table import check_shapes
from dovetail.models.live import Live, LiveValues

KEEP = 1e-3  # a smaller count is not worth remembering
NEGLIGIBLE = 1e-3  # a position of the chain with less of the probability is forgotten
GENEROUS = 0.3  # where emissions choose live cells, without jumps, they ask for this part of the share


@dataclass(frozen=True)
class Moves:
    """Expected moves out of each token of one side by bin, and exposure per unit of weight."""

    by_bin: np.ndarray  # float32 (tokens, bins)
    exposure: np.ndarray  # float32 (tokens,)

    @classmethod
    def room(cls, tokens: int) -> Moves:
        return cls(np.empty((tokens, BINS), np.float32), np.empty(tokens, np.float32))


@dataclass
class JointCounts:
    """What an E-step leaves for the M-step."""

    lexicon: CollapsedCounts
    jumps: tuple[np.ndarray, np.ndarray]  # float64 (words, 2, bins) of source and of target words
    ends: np.ndarray  # float64 (directions, start and end, counts and exposure, positions)
    fertility: tuple[np.ndarray, np.ndarray]  # float64 (words, K + 1)
    log_likelihood: np.ndarray


@dataclass
class JointHMM:
    """Both directions' HMMs: p(i | i', word) t(f | e) phi(count | word), NULLs keep the position.

    Fertility enters as messages to cells (kernels.fertility_messages); the two directions meet in the counts,
    (forward reverse) ** power.  Cells with less than `share` of the probability of both their row and their column are
    left out of all this.
    """

    lexicon: CollapsedLexicon
    jumps: tuple[WordJumps, WordJumps]
    fertility: tuple[CategoricalFertility, CategoricalFertility] | None
    null: float = 0.15
    power: float = 0.75
    share: float = 0.03

    name = "joint-hmm"
    path = "joint"
    lexicon_type = CollapsedLexicon

    def zero_counts(self, shard: Shard) -> JointCounts:
        sizes = shard.slots.n_sources, shard.slots.n_targets
        K = self.fertility[0].table.shape[1] if self.fertility else 1
        return JointCounts(
            CollapsedCounts.zeros(self.lexicon.slots),
            (np.zeros((sizes[0], 2, BINS)), np.zeros((sizes[1], 2, BINS))),
            np.zeros((2, 2, 2, POSITIONS)),
            (np.zeros((sizes[0], K)), np.zeros((sizes[1], K))),
            np.zeros(2),
        )

    def posteriors(
        self, shard: Shard, block: Block, work: Workspace, engine: Threads, counting: bool = False
    ) -> tuple[np.ndarray, list[None]]:
        """Turn the workspace's emissions into posteriors; returns log-likelihoods (pieces, 2).

        A first pass finds the messages of fertility, a second one heeds them.
        """
        live, emissions = Live.select(shard, block, work, GENEROUS * self.share, engine)
        values = emissions
        if self.fertility is not None:
            values = LiveValues(emissions.forward.copy(), emissions.reverse.copy())
            self.infer(live, values, shard, block, work, engine)
            live, (values, emissions) = live.narrowed(values, block, self.share, engine, emissions)
            self.settle(live, values, shard, block, work, engine)
            values = LiveValues(emissions.forward * live.forward_message, emissions.reverse * live.reverse_message)
        scores = self.infer(live, values, shard, block, work, engine)
        live.fill(values, block, work, engine)
        return scores, []

    def infer(
        self,
        live: Live,
        values: LiveValues,
        shard: Shard,
        block: Block,
        work: Workspace,
        engine: Threads,
        moves: tuple[Moves, Moves] | None = None,
        ends: np.ndarray | None = None,
    ) -> np.ndarray:
        """One forward-backward in each direction, in place; with `moves` and `ends`, jumps are counted there."""
        scores = np.empty((len(block.lines), 2))
        bins, (low, high) = bins_of(shard.longest), bin_limits()
        shape = np.array([[jumps.start, jumps.end] for jumps in self.jumps], np.float32)
        rows, columns = moves or (Moves.room(0), Moves.room(0))

        def task(first: int, last: int) -> np.ndarray:
            end_counts = np.zeros((2, 2, 2, POSITIONS))
            hmm_kernels.expect(
                first,
                last,
                block.lines,
                shard.source_ids,
                shard.target_ids,
                live.start,
                live.column,
                self.lexicon.null_forward,
                self.lexicon.null_reverse,
                values.forward,
                values.reverse,
                work.null_forward,
                work.null_reverse,
                scores,
                self.null,
                self.jumps[0].weights,
                self.jumps[1].weights,
                self.jumps[0].sums,
                self.jumps[1].sums,
                bins,
                low,
                high,
                shape,
                np.float32(NEGLIGIBLE),
                moves is not None,
                rows.by_bin,
                rows.exposure,
                columns.by_bin,
                columns.exposure,
                end_counts,
            )
            return end_counts

        for part in engine.map(task, block.tasks):
            if ends is not None:
                ends += part
        return scores

    def settle(
        self,
        live: Live,
        values: LiveValues,
        shard: Shard,
        block: Block,
        work: Workspace,
        engine: Threads,
        keep: float = KEEP,
    ) -> tuple[np.ndarray, np.ndarray]:
        """New counts and messages of the live cells from posteriors; returns each token's posterior over fertilities."""
        if self.fertility is None:
            tables = np.empty((0, 1)), np.empty((0, 1))
            beliefs = np.empty((0, 1)), np.empty((0, 1))
        else:
            tables = self.fertility[0].table, self.fertility[1].table
            K = tables[0].shape[1]
            beliefs = np.empty((block.rows, K)), np.empty((block.columns, K))
        engine.map(
            lambda first, last: settle_kernels.settle(
                first,
                last,
                block.lines,
                shard.source_ids,
                shard.target_ids,
                self.power,
                np.float32(keep),
                live.start,
                live.column,
                values.forward,
                values.reverse,
                live.count,
                live.forward_message,
                live.reverse_message,
                work.null_forward,
                work.null_reverse,
                *tables,
                *beliefs,
            ),
            block.tasks,
        )
        return beliefs

    def count(
        self,
        counts: JointCounts,
        live: Live,
        shard: Shard,
        block: Block,
        work: Workspace,
        moves: tuple[Moves, Moves] | None,
        beliefs: tuple[np.ndarray, np.ndarray],
        engine: Threads,
    ) -> None:
        """Add what a block showed, of links alone without `moves`; the two sides are counted side by side, each in order."""
        counts.lexicon.add(live, shard, block, work, engine)
        if moves is None:
            return
        bins, (low, high) = bins_of(shard.longest), bin_limits()
        sides = (
            (SOURCE, LENGTH_I, ROW, shard.source_ids),
            (TARGET, LENGTH_J, COLUMN, shard.target_ids),
        )

        def task(side: int) -> None:
            place = sides[side]
            kernels.bin_counts(
                block.lines, *place, moves[side].by_bin, moves[side].exposure, bins, low, high, counts.jumps[side]
            )
            if self.fertility is not None:
                kernels.add_beliefs(block.lines, *place, beliefs[side], counts.fertility[side])

        engine.map(task, [(0,), (1,)])

    def reestimate_lexicon(self, counts: CollapsedCounts) -> JointHMM:
        """M-step of the lexicon alone."""
        return replace(self, lexicon=self.lexicon.with_counts(counts.slots, (counts.null_forward, counts.null_reverse)))

    def reestimate(self, counts: JointCounts, jump_strength: float) -> JointHMM:
        """M-step of every factor."""
        jumps = tuple(WordJumps.estimate(counts.jumps[side], counts.ends[side], jump_strength) for side in range(2))
        fertility = None
        if self.fertility is not None:
            fertility = (
                CategoricalFertility.estimate(counts.fertility[0]),
                CategoricalFertility.estimate(counts.fertility[1]),
            )
        return replace(self.reestimate_lexicon(counts.lexicon), jumps=(jumps[0], jumps[1]), fertility=fertility)

    def with_lexicon(self, lexicon: CollapsedLexicon) -> JointHMM:
        """For another lexicon; one that was transferred to new text brings jumps and fertilities of its words along."""
        if lexicon.words is None:
            return replace(self, lexicon=lexicon)
        numbers = lexicon.words.source, lexicon.words.target
        jumps = self.jumps[0].for_words(numbers[0]), self.jumps[1].for_words(numbers[1])
        fertility = self.fertility
        if fertility is not None:
            fertility = fertility[0].for_words(numbers[0]), fertility[1].for_words(numbers[1])
        return replace(self, lexicon=lexicon, jumps=jumps, fertility=fertility)

    def arrays(self) -> dict[str, np.ndarray]:
        """Parameters besides the lexicon, by name, for saving."""
        arrays = {"constants": np.array([self.null, self.power, self.share])}
        for side, jumps in zip(("source", "target"), self.jumps, strict=True):
            arrays |= {
                f"jumps.{side}.weights": jumps.weights,
                f"jumps.{side}.shared": jumps.shared,
                f"jumps.{side}.start": jumps.start,
                f"jumps.{side}.end": jumps.end,
            }
        for side, fertility in zip(("source", "target"), self.fertility or (), strict=False):
            arrays |= {f"fertility.{side}.table": fertility.table, f"fertility.{side}.shared": fertility.shared}
        return arrays

    @classmethod
    def from_arrays(cls, lexicon: CollapsedLexicon, arrays: dict[str, np.ndarray]) -> JointHMM:
        jumps, fertility = [], []
        for side, words in zip(("source", "target"), lexicon.sizes, strict=True):
            of_side = WordJumps(*(arrays[f"jumps.{side}.{name}"] for name in ("weights", "shared", "start", "end")))
            check_shapes(
                (of_side.weights, np.float32, (words, BINS)),
                (of_side.shared, np.float32, (BINS,)),
                (of_side.start, np.float64, (POSITIONS,)),
                (of_side.end, np.float64, (POSITIONS,)),
            )
            jumps.append(of_side)
            if f"fertility.{side}.table" in arrays:
                table, shared = arrays[f"fertility.{side}.table"], arrays[f"fertility.{side}.shared"]
                check_shapes((table, np.float64, (words, len(shared))), (shared, np.float64, (len(shared),)))
                fertility.append(CategoricalFertility(table, shared))
        null, power, share = arrays["constants"].tolist()
        both = (fertility[0], fertility[1]) if fertility else None
        return cls(lexicon, (jumps[0], jumps[1]), both, null, power, share)
