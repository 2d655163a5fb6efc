"""The flagship's model: two HMMs that share one collapsed lexicon, with word-dependent jumps and fertility."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dovetail.bitext.cells import Block, Cells
from dovetail.engines import Threads
from dovetail.kernels import joint_hmm as kernels
from dovetail.kernels.lines import COLUMN, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET
from dovetail.models.categorical_fertility import CategoricalFertility
from dovetail.models.collapsed_lexicon import CollapsedCounts, CollapsedLexicon
from dovetail.models.evidence import Evidence
from dovetail.models.lexicon import Workspace, check_shapes
from dovetail.models.word_jumps import BINS, POSITIONS, WordJumps, bin_limits, bins_of

KEEP = 1e-3  # a smaller count is not worth remembering


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
    (forward reverse) ** power.
    """

    lexicon: CollapsedLexicon
    jumps: tuple[WordJumps, WordJumps]
    fertility: tuple[CategoricalFertility, CategoricalFertility] | None
    null: float = 0.15
    power: float = 0.75

    name = "joint-hmm"
    lexicon_type = CollapsedLexicon

    def zero_counts(self, cells: Cells) -> JointCounts:
        sizes = cells.slots.n_sources, cells.slots.n_targets
        K = self.fertility[0].table.shape[1] if self.fertility else 1
        return JointCounts(
            CollapsedCounts.zeros(cells.slots),
            (np.zeros((sizes[0], 2, BINS)), np.zeros((sizes[1], 2, BINS))),
            np.zeros((2, 2, 2, POSITIONS)),
            (np.zeros((sizes[0], K)), np.zeros((sizes[1], K))),
            np.zeros(2),
        )

    def posteriors(
        self, cells: Cells, block: Block, work: Workspace, engine: Threads, counting: bool = False
    ) -> tuple[np.ndarray, list[None]]:
        """Turn the workspace's emissions into posteriors; returns log-likelihoods (pieces, 2).

        Text that was trained on brings its messages along.  Other text needs a first pass to find them.
        """
        scores = self.infer(cells, block, work, engine)
        if self.fertility is not None and self.lexicon.evidence is None:
            known, _ = self.settle(Evidence.none(block), cells, block, work, engine)
            nothing = np.zeros_like(known.count)  # new text has put nothing into the counts
            self.lexicon.gather_with(replace(known, count=nothing), cells, block, work, engine)
            scores = self.infer(cells, block, work, engine)
        return scores, []

    def infer(
        self,
        cells: Cells,
        block: Block,
        work: Workspace,
        engine: Threads,
        moves: tuple[Moves, Moves] | None = None,
        ends: np.ndarray | None = None,
    ) -> np.ndarray:
        """One forward-backward in each direction, in place; with `moves` and `ends`, jumps are counted there."""
        scores = np.empty((len(block.lines), 2))
        bins = bins_of(cells.longest)
        shape = np.array([[jumps.start, jumps.end] for jumps in self.jumps], np.float32)
        rows, columns = moves or (Moves.room(0), Moves.room(0))

        def task(first: int, last: int) -> np.ndarray:
            end_counts = np.zeros((2, 2, 2, POSITIONS))
            kernels.expect(
                first,
                last,
                block.lines,
                cells.source_ids,
                cells.target_ids,
                self.lexicon.null_forward,
                self.lexicon.null_reverse,
                work.forward,
                work.reverse,
                work.null_forward,
                work.null_reverse,
                scores,
                self.null,
                self.jumps[0].weights,
                self.jumps[1].weights,
                bins,
                shape,
                moves is not None,
                rows.by_bin,
                rows.exposure,
                columns.by_bin,
                columns.exposure,
                end_counts,
            )
            return end_counts

        for part in engine.map(task, block.shards):
            if ends is not None:
                ends += part
        return scores

    def settle(
        self, old: Evidence, cells: Cells, block: Block, work: Workspace, engine: Threads
    ) -> tuple[Evidence, tuple[np.ndarray, np.ndarray]]:
        """Evidence for the next iteration from posteriors, and posteriors over fertilities of each token."""
        row_message, column_message = old.row_message.copy(), old.column_message.copy()
        if self.fertility is None:
            tables = np.empty((0, 1)), np.empty((0, 1))
            beliefs = np.empty((0, 1)), np.empty((0, 1))
        else:
            tables = self.fertility[0].table, self.fertility[1].table
            K = tables[0].shape[1]
            beliefs = np.empty((block.rows, K)), np.empty((block.columns, K))

        def task(first: int, last: int) -> tuple[np.ndarray, ...]:
            return kernels.settle(
                first,
                last,
                block.lines,
                cells.source_ids,
                cells.target_ids,
                self.power,
                np.float32(KEEP),
                work.forward,
                work.reverse,
                work.null_forward,
                work.null_reverse,
                *tables,
                old.start,
                old.column,
                old.forward_message,
                old.reverse_message,
                row_message,
                column_message,
                *beliefs,
            )

        parts = engine.map(task, block.shards)
        return Evidence.of(block, parts, row_message, column_message), beliefs

    def count(
        self,
        counts: JointCounts,
        cells: Cells,
        block: Block,
        work: Workspace,
        found: Evidence,
        moves: tuple[Moves, Moves],
        beliefs: tuple[np.ndarray, np.ndarray],
        engine: Threads,
    ) -> None:
        """Add what a block showed; the two sides are counted side by side, each in order."""
        counts.lexicon.add(cells, block, found, work, engine)
        low, high = bin_limits()
        sides = (
            (SOURCE, LENGTH_I, ROW, cells.source_ids),
            (TARGET, LENGTH_J, COLUMN, cells.target_ids),
        )

        def task(side: int) -> None:
            place = sides[side]
            kernels.bin_counts(
                block.lines, *place, moves[side].by_bin, moves[side].exposure, low, high, counts.jumps[side]
            )
            if self.fertility is not None:
                kernels.add_beliefs(block.lines, *place, beliefs[side], counts.fertility[side])

        engine.map(task, [(0,), (1,)])

    def reestimate(self, counts: JointCounts, evidence: dict[int, Evidence], jump_strength: float) -> JointHMM:
        """M-step of every factor."""
        found = counts.lexicon
        lexicon = self.lexicon.with_counts(found.slots, (found.null_forward, found.null_reverse))
        lexicon.evidence = evidence
        jumps = tuple(WordJumps.estimate(counts.jumps[side], counts.ends[side], jump_strength) for side in range(2))
        fertility = None
        if self.fertility is not None:
            fertility = (
                CategoricalFertility.estimate(counts.fertility[0]),
                CategoricalFertility.estimate(counts.fertility[1]),
            )
        return replace(self, lexicon=lexicon, jumps=(jumps[0], jumps[1]), fertility=fertility)

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
        arrays = {"constants": np.array([self.null, self.power])}
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
        null, power = arrays["constants"].tolist()
        both = (fertility[0], fertility[1]) if fertility else None
        return cls(lexicon, (jumps[0], jumps[1]), both, null, power)
