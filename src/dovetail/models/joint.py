"""The flagship's model: two HMMs that share one counted lexicon, with word-dependent jumps and fertility."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dovetail.bitext.sharding import places_of
from dovetail.bitext.shards import Block, Place, Shard, Slots
from dovetail.kernels.hmm import viterbi as viterbi_kernels
from dovetail.kernels.hmm import word_jumps as kernels
from dovetail.kernels.live import chain as chain_kernels
from dovetail.kernels.live import settle as settle_kernels
from dovetail.kernels.live.records import Beliefs, Counts, Jumps, LiveCells, TokenMoves, Values
from dovetail.kernels.records import SOURCE_SIDE, TARGET_SIDE, Workspace
from dovetail.models.checks import Array, Unsound, checked_arrays
from dovetail.models.fertility.beliefs import CategoricalFertility
from dovetail.models.fertility.entries import FertilityMeans
from dovetail.models.hmm import HMMStage
from dovetail.models.ibm1 import IBM1Stage
from dovetail.models.joint_statistics import (
    BlockSums,
    JointStatistics,
    LinkCounts,
    LinksApart,
    SideSums,
    WordSums,
    live_slots,
    no_ends,
    own_words,
)
from dovetail.models.jumps.word import BINS, WordJumps, bins_for
from dovetail.models.lexicon.counted import CountedLexicon
from dovetail.models.lexicon.lexicon import PriorOptions
from dovetail.models.lexicon.stems import FormPriors
from dovetail.models.lexicon.table import marked
from dovetail.models.live import Live
from dovetail.models.model import Model, Moves, Worked
from dovetail.models.null import Null
from dovetail.options import Options, option
from dovetail.pool import Pool

KEEP = 1e-3  # a smaller count is not worth remembering
NEGLIGIBLE = 1e-3  # a position of the chain with less of the probability is forgotten: this while learning,
UNLIKELY = (
    3e-3  # and this while aligning (AER the same within 0.03 points on three development sets, a twentieth faster)
)
GENEROUS = 0.3  # where emissions choose live cells, without jumps, they ask for this part of `share`
SIDES = ("source", "target")


@dataclass(frozen=True)
class JointOptions(Options):
    """How the two directions and the factors work together."""

    agreement_power: float = option(
        0.75, at_least=0.0, at_most=1.0, help="how hard both directions must agree: 1 the product, 0 the mean of both"
    )
    jump_strength: float = option(
        25.0, at_least=0.0, help="moves after which a word's own jumps weigh as much as all words' (0: all the same)"
    )
    largest_fertility: int = option(4, at_least=0, at_most=20, help="numbers of links told apart (0: no fertility)")
    share: float = option(
        0.03,
        at_least=0.0,
        at_most=1.0,
        help="part of its row's or column's probability that keeps a cell alive (0: all)",
    )
    leave_one_out: bool = option(True, help="whether a cell's own count is taken out before the cell is scored")
    small_text: int = option(
        200, at_least=0, help="in a text of fewer pairs own counts stay in: many words have no other evidence"
    )


@dataclass(frozen=True)
class Phase:
    """What the next iteration does besides its E- and M-step.

    `anew`: live cells are chosen by emissions; those that were live before take along what is known of them.  `moving`:
    jumps and fertilities learn, not the lexicon alone.  `narrowing`: the lexicon keeps only slots with a live cell.
    """

    anew: bool = False
    moving: bool = True
    narrowing: bool = False


@dataclass
class Narrow:
    """The lexicon with all its slots, and which of them have a live cell: nine in ten are hopeless, and every M-step would
    go through them."""

    whole: CountedLexicon
    used: np.ndarray


@dataclass
class LiveMemory:
    """What a shard remembers: its blocks' live cells, and whether their slots are those of the narrowed lexicon."""

    cells: list[Live]
    narrow: bool

    def arrays(self) -> dict[str, np.ndarray]:
        """For a store."""
        parts = {
            f"{k}.{name}": values for k, live in enumerate(self.cells) for name, values in live.cells._asdict().items()
        }
        return parts | {"size": np.array([len(self.cells), self.narrow])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> LiveMemory:
        size, narrow = arrays["size"].tolist()
        cells = [LiveCells(*(arrays[f"{k}.{name}"] for name in LiveCells._fields)) for k in range(size)]
        return cls([Live(one) for one in cells], bool(narrow))


@dataclass
class JointHMM(Model):
    """Both directions' HMMs: p(i | i', word) t(f | e) phi(count | word), NULLs keep the position.

    Fertility enters as messages to cells (kernels.live.messages); the two directions meet in the counts,
    (forward reverse) ** power.  Cells with less than `share` of the probability of both their row and their column are
    left out of all this.
    """

    lexicon: CountedLexicon
    jumps: tuple[WordJumps, WordJumps]
    fertility: tuple[CategoricalFertility, CategoricalFertility] | None
    null: float = 0.15
    power: float = 0.75
    share: float = 0.03
    jump_strength: float = 25.0
    leave_one_out: bool = True
    phase: Phase = field(default_factory=Phase)
    narrow: Narrow | None = None
    united: bool = False  # of many shards: whether the lexicon has the slots that have a live cell somewhere

    name = "joint-hmm"
    moving = True
    lexicon_type = CountedLexicon
    options = (IBM1Stage, HMMStage, FormPriors, PriorOptions, Null, JointOptions)

    def expect(
        self, shard: Shard, memory: LiveMemory | None, pool: Pool, worked: Worked
    ) -> tuple[JointStatistics, LiveMemory]:
        """What the E-step believed of each live cell stays with the cell; cells that lost their share are dropped."""
        if memory is not None and self.narrow is not None and not memory.narrow:
            number = np.cumsum(self.narrow.used, dtype=memory.cells[0].cells.slot.dtype if memory.cells else None) - 1
            pool.map(Live.renumbered, [(live,) for live in memory.cells], number)
        narrowing = not self.united if shard.place is not None else self.phase.narrowing and self.narrow is None
        links = LinkCounts.zeros(self.lexicon.slots, narrowing)
        statistics, K = JointStatistics(links), self._fertilities if self.phase.moving and shard.blocks else 1
        text = statistics.begun(K) if shard.place is None else None  # whose first blocks the shard's are, in this order
        work = shard.workspace()
        cells: list[Any] = memory.cells if memory is not None else [None] * len(shard.blocks)
        for k, block in enumerate(shard):  # one block's new cells take the place of its old ones
            cells[k], sums = self._expect_block(block, cells[k], block.view(work), links, text, pool)
            if text is None:
                statistics.blocks.append(sums)
            else:
                text.add(sums._replace(sides=()))  # which the threads have added that counted them
            worked(block.last - block.first)
        if shard.place is not None and links.used is not None:
            statistics.lexicon = _narrowed(shard.place, self.lexicon.slots, links, links.used, cells, pool)
        return statistics, LiveMemory(cells, self.narrow is not None)

    def sent(self) -> JointHMM:
        none = replace(self.lexicon, slots=self.lexicon.slots.none())
        return replace(self, lexicon=none) if self.united else self

    def on(self, shard: Shard, pool: Pool) -> JointHMM:
        """With the lexicon for the shard's slots, or, once live cells are chosen, for those that have some."""
        assert shard.place is not None
        if not self.united:
            return replace(self, lexicon=self.lexicon.looked_up(shard.slots, pool).with_tables_of(self.lexicon))
        name, store = live_slots(shard.place.number), shard.place.store
        rows = store.get(name)
        slots = Slots(rows["row_start"], rows["target"], shard.slots.n_targets)
        taken = self.lexicon.taken(slots, store.get(places_of(name))["places"], pool)
        return replace(self, lexicon=taken.with_tables_of(self.lexicon))

    def _expect_block(
        self,
        block: Block,
        live: Live | None,
        work: Workspace,
        links: LinkCounts,
        text: WordSums | None,
        pool: Pool,
    ) -> tuple[Live, BlockSums]:
        """The block's live cells as they are now, and what it counts besides links, which are added to `links`.

        Sums over words are added to those of the text before, if there is one.
        """
        moving = self.phase.moving
        if live is None or self.phase.anew:
            self.lexicon.gather(block, work, pool)
            # Where links alone are counted, in a single iteration, a rough choice will do.
            least = GENEROUS * self.share if moving else self.share
            chosen, values = Live.select(block, work, least, len(self.lexicon.slots), pool)
            if live is not None:
                chosen.carry_over(live, pool)
                values = self.lexicon.gather_live(chosen, block, pool)
            live = chosen
        else:
            values = self.lexicon.gather_live(live, block, pool)
        counts = _token_moves(block) if moving else None
        ends = no_ends()
        scores = self.infer(live, values, block, work, pool, counts, ends)
        live, (values,) = live.narrowed(values, block, self.share, pool)
        beliefs = self.settle(live, values, block, work, pool)
        beside = () if counts is None else self._counting(block, counts, beliefs, text)
        sums = BlockSums(tuple(links.add(live, block, work, pool, beside)), ends, scores.sum(axis=0))
        if not self.leave_one_out:
            live.cells.count[:] = 0.0
        return live, sums

    def posteriors(self, block: Block, work: Workspace, pool: Pool) -> np.ndarray:
        """As every model's: a first pass finds the messages of fertility, a second one heeds them.

        Scores are the first pass's, log p(words | words) of two HMMs: messages are no probabilities.
        """
        from dovetail.kernels.live.posteriors import posteriors as kernel  # which imports numba

        scores = np.empty((len(block.lines), 2))
        forward, reverse = (jumps.by_distance for jumps in self.jumps)
        jumps = Jumps(forward, reverse, bins_for(block.longest), self.ends, self.null, np.float32(UNLIKELY))
        tables = tuple(own.table for own in self.fertility) if self.fertility else (np.empty((0, 1)), np.empty((0, 1)))
        share = np.float32(self.share if self.fertility else 0.0)  # who is told nothing need not be chosen
        pool.map(kernel, block.tasks, block.pieces, self.lexicon.nulls, jumps, tables, share, work, scores)
        return scores

    def infer(
        self,
        live: Live,
        values: Values,
        block: Block,
        work: Workspace,
        pool: Pool,
        moves: tuple[TokenMoves, TokenMoves] | None = None,
        ends: np.ndarray | None = None,
    ) -> np.ndarray:
        """One forward-backward in each direction, in place; with `moves` and `ends`, jumps are counted there."""
        scores = np.empty((len(block.lines), 2))
        jumps, nulls = self.weights(block.longest), self.lexicon.nulls
        tokens = moves or _token_moves(None)

        def task(first: int, last: int) -> np.ndarray:
            counts = Counts(*tokens, no_ends())
            chain_kernels.expect(
                first, last, block.pieces, live.cells, nulls, values, work, scores, jumps, counts, moves is not None
            )
            return counts.ends

        for part in pool.map(task, block.tasks):
            if ends is not None:
                ends += part
        return scores

    def weights(self, longest: int) -> Jumps:
        """Jumps of both directions, for sentences up to some length."""
        forward, reverse = (jumps.by_word for jumps in self.jumps)
        return Jumps(forward, reverse, bins_for(longest), self.ends, self.null, np.float32(NEGLIGIBLE))

    @property
    def ends(self) -> np.ndarray:
        """Weights of first and last positions, of both directions."""
        return np.array([[jumps.start, jumps.end] for jumps in self.jumps], np.float32)

    def settle(
        self, live: Live, values: Values, block: Block, work: Workspace, pool: Pool, keep: float = KEEP
    ) -> Beliefs:
        """New counts and messages of the live cells from posteriors; returns each token's posterior over fertilities."""
        if self.fertility is None:
            beliefs = Beliefs(*(np.empty((0, 1)) for _ in range(4)))
        else:
            source, target = (fertility.table for fertility in self.fertility)
            K = source.shape[1]
            beliefs = Beliefs(source, target, np.empty((block.rows, K)), np.empty((block.columns, K)))
        how = self.power, np.float32(keep)
        pool.map(settle_kernels.settle, block.tasks, block.pieces, *how, live.cells, values, work, beliefs)
        return beliefs

    @property
    def _fertilities(self) -> int:
        """How many numbers of links are told apart, none included."""
        return self.fertility[0].table.shape[1] if self.fertility else 1

    def _counting(
        self, block: Block, moves: tuple[TokenMoves, TokenMoves], beliefs: Beliefs, text: WordSums | None
    ) -> list[tuple[Callable[[int], SideSums], int]]:
        """What counts jumps and fertilities of a block's words: of source and of target words, each in order.

        They are added to the text's, if there are any: no two tasks have the same side.
        """
        bins, tokens, K = bins_for(block.longest), (beliefs.rows, beliefs.columns), self._fertilities

        def count(number: int) -> SideSums:
            side = (SOURCE_SIDE, TARGET_SIDE)[number]
            own = own_words(block, side)
            jumps, fertility = np.zeros((len(own.words), 2, BINS)), np.zeros((len(own.words), K))
            kernels.bin_counts(own.lines, side, own.ids, moves[number], bins, jumps)
            if self.fertility is not None:
                kernels.add_beliefs(own.lines, side, own.ids, tokens[number], fertility)
            sums = SideSums(own.words, jumps, fertility)
            if text is not None:
                sums.add_to(text, number)
            return sums

        return [(count, 0), (count, 1)]

    def reestimate(self, statistics: JointStatistics, pool: Pool) -> JointHMM:
        """M-step of every factor, or, in a phase without `moving`, of the lexicon alone."""
        links, sums = statistics.lexicon, statistics.added()
        model = self._united(links, pool) if isinstance(links, LinksApart) else self.with_links(links, pool)
        if not self.phase.moving:
            return model
        ends, fertility = sums.ends, self.fertility
        tasks: list[Any] = [(WordJumps.estimate, sums.jumps[side], ends[side], self.jump_strength) for side in range(2)]
        if fertility is not None and sums.fertility[0].shape[1] > 1:  # else there was no block to count in
            tasks += [(CategoricalFertility.estimate, beliefs) for beliefs in sums.fertility]
        forward, reverse, *estimated = pool.map(lambda estimate, *counts: estimate(*counts), tasks)
        if estimated:
            fertility = estimated[0], estimated[1]
        return replace(model, jumps=(forward, reverse), fertility=fertility)

    def with_links(self, links: LinkCounts, pool: Pool) -> JointHMM:
        """M-step of the lexicon, which is narrowed first if the phase says so."""
        lexicon, slots, narrow = self.lexicon, links.slots, self.narrow
        if links.used is not None:
            narrow = Narrow(replace(lexicon), links.used)  # a copy, without its tables of all slots, which are large
            places = marked(links.used, pool)
            lexicon, slots = lexicon.restricted(places, pool), slots[places]
        lexicon = lexicon.with_counts(slots, (links.null_forward, links.null_reverse), pool)
        return replace(self, lexicon=lexicon, narrow=narrow)

    def _united(self, links: LinksApart, pool: Pool) -> JointHMM:
        """M-step of the lexicon from the links of many shards."""
        lexicon = self.lexicon
        if not self.united:
            lexicon = lexicon.learning(links.unite(lexicon.slots.n_targets, pool), pool)
        lexicon = lexicon.with_counts(links.whole(lexicon.slots, pool), (links.null_forward, links.null_reverse), pool)
        return replace(self, lexicon=lexicon, united=True)

    def widened(self, pool: Pool) -> JointHMM:
        """With all slots again."""
        if self.narrow is None:
            return self
        return replace(self, lexicon=self.lexicon.widened(self.narrow.whole, self.narrow.used, pool), narrow=None)

    def mark_best_paths(self, block: Block, work: Workspace, marks: np.ndarray, pool: Pool) -> None:
        jumps, nulls = self.weights(block.longest), self.lexicon.nulls
        pool.map(viterbi_kernels.mark_words, block.tasks, block.pieces, nulls, work, jumps, marks)

    def moves(self, longest: int) -> Callable[[int, np.ndarray], Moves]:
        jumps = self.weights(longest)

        def of(direction: int, words: np.ndarray) -> Moves:
            width = len(words)
            moves = Moves(*(np.empty(shape, np.float32) for shape in ((width, width), width, width)))
            kernels.word_transitions(
                words, self.jumps[direction].weights, jumps.bins.of, *jumps.ends[direction], *moves
            )
            return moves

        return of

    def fertility_means(self, side: int) -> FertilityMeans | None:
        """Means of phi; NULL has the words of the other side that take no link at all."""
        if self.fertility is None:
            return None
        tokens = [vocabulary.counts for vocabulary in self.lexicon.vocabularies]
        null = tokens[1 - side] @ self.fertility[1 - side].chances()[:, 0] / max(tokens[side].sum(), 1)
        return FertilityMeans(self.fertility[side].means(), tokens[side], float(null))

    def with_lexicon(self, lexicon: CountedLexicon) -> JointHMM:
        if lexicon.words is None:
            return replace(self, lexicon=lexicon)
        numbers = lexicon.words.source, lexicon.words.target
        jumps = self.jumps[0].for_words(numbers[0]), self.jumps[1].for_words(numbers[1])
        fertility = self.fertility
        if fertility is not None:
            fertility = fertility[0].for_words(numbers[0]), fertility[1].for_words(numbers[1])
        return replace(self, lexicon=lexicon, jumps=jumps, fertility=fertility)

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {"constants": np.array([self.null, self.power, self.share])}
        for side, jumps in zip(SIDES, self.jumps, strict=True):
            arrays |= {f"jumps.{side}.{name}": values for name, values in jumps.arrays().items()}
        for side, fertility in zip(SIDES, self.fertility or (), strict=False):
            arrays |= {f"fertility.{side}.{name}": values for name, values in fertility.arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, lexicon: CountedLexicon, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> JointHMM:
        sizes = tuple(zip(SIDES, lexicon.sizes, strict=True))
        source, target = (WordJumps.from_arrays(arrays, f"jumps.{side}.", words) for side, words in sizes)
        fertility = None
        if any(name.startswith("fertility.") for name in arrays):
            first, second = (
                CategoricalFertility.from_arrays(arrays, f"fertility.{side}.", words) for side, words in sizes
            )
            if len(first.shared) != len(second.shared):
                raise Unsound("fertility tells other numbers of links apart for source words than for target words")
            fertility = first, second
        ((null, power, share),) = checked_arrays(arrays, "", {"constants": Array(np.float64, (3,), most=1.0)}, {})
        own = JointOptions(agreement_power=float(power), share=float(share))
        return cls(lexicon, (source, target), fertility, Null(float(null)).null, own.agreement_power, own.share)


def _narrowed(
    place: Place, slots: Slots, links: LinkCounts, used: np.ndarray, cells: list[Live], pool: Pool
) -> LinkCounts:
    """The links of the slots that have a live cell; cells are given these slots' numbers, and the store the slots."""
    places = marked(used, pool)
    number = np.empty(len(used), np.int32 if len(used) < 1 << 31 else np.int64)
    number[places] = np.arange(len(places), dtype=number.dtype)
    rows = np.searchsorted(places, slots.row_start)
    target, counts = pool.map(np.take, [(slots.target, places), (links.slots, places)])
    place.store.put(live_slots(place.number), {"row_start": rows, "target": target}, pool)
    pool.map(Live.renumbered, [(live,) for live in cells], number)
    return LinkCounts(counts, links.null_forward, links.null_reverse)


def _token_moves(block: Block | None) -> tuple[TokenMoves, TokenMoves]:
    """Room for the moves of a block's source and target tokens, or for none."""
    rows, columns = (block.rows, block.columns) if block is not None else (0, 0)
    source, target = (TokenMoves(np.empty((n, BINS), np.float32), np.empty(n, np.float32)) for n in (rows, columns))
    return source, target
