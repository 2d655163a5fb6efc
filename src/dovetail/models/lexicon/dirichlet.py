"""A lexicon of counts under a symmetric Dirichlet prior, integrated out: t(f | e) = (n(e, f) + alpha) / (n(e) + alpha V)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dovetail.bitext.shards import Block, Shard, Slots
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.engines import Threads
from dovetail.kernels.lexicon import transfer as transfer_kernels
from dovetail.kernels.records import Workspace
from dovetail.models.lexicon.table import WordMap, check_shapes, gather_table, saved_slots

REST = 1e-3  # of its count a pair keeps at least, whatever is taken away


@dataclass(frozen=True)
class LexiconPrior:
    """The symmetric Dirichlet's parameter for each word's translations, and for NULL's."""

    alpha: float = 1e-4
    null_alpha: float = 1e-4


@dataclass
class BayesLexicon:
    """Links of word types, averaged over samples and chains: of each slot in both directions, and NULL's.

    `discount` is taken from every pair's count before it is used.  A pair whose mean is below it was in few samples, or is
    in doubt; and a text that was trained on is not led by its own links alone, which are in the counts.  The share REST of
    a count stays, so that a word all of whose pairs are in doubt goes where samples had it: else all such words of a
    sentence would go to the same partner, the one with the fewest links.

    `totals` are links by source word (forward) and by target word (reverse), `sizes` the numbers of words, V, of the
    text that was trained on.  `words` says, for a lexicon that was transferred, where its words were in the old one.
    """

    slots: Slots
    counts: np.ndarray  # float32 (slots, 2)
    totals: tuple[np.ndarray, np.ndarray]  # float64 (source words,), (target words,)
    nulls: tuple[np.ndarray, np.ndarray]  # float32 (target words,), (source words,)
    null_totals: tuple[float, float]
    sizes: tuple[int, int]
    prior: LexiconPrior
    discount: float = 0.0
    words: WordMap | None = None
    table: np.ndarray = field(default_factory=lambda: np.empty((0, 2), np.float32))

    def prepared(self) -> BayesLexicon:
        """With probabilities made from the counts."""
        table = np.empty((len(self.slots), 2), np.float32)
        owner = np.repeat(np.arange(self.slots.n_sources), np.diff(self.slots.row_start))
        for side, words in enumerate((owner, self.slots.target)):
            weight = self.totals[side] + self.prior.alpha * max(self.sizes[1 - side], 1)
            counts = self.counts[:, side]
            kept = np.maximum(counts - np.float32(self.discount), np.float32(REST) * counts)
            table[:, side] = (kept + self.prior.alpha) / weight[words]
        return replace(self, table=table)

    def _null(self, direction: int) -> np.ndarray:
        alpha = self.prior.null_alpha
        weight = self.null_totals[direction] + alpha * max(self.sizes[1 - direction], 1)
        return ((self.nulls[direction] + alpha) / weight).astype(np.float32)

    @property
    def null_forward(self) -> np.ndarray:
        """t(f | NULL), float32 (target words,)."""
        return self._null(0)

    @property
    def null_reverse(self) -> np.ndarray:
        """t(e | NULL), float32 (source words,)."""
        return self._null(1)

    def compact(self) -> BayesLexicon:
        """Pairs with a count only, rows sorted by target word: what is saved, and what new text is looked up in."""
        kept = np.flatnonzero((self.counts > 0).any(axis=1))
        rows = np.repeat(np.arange(self.slots.n_sources), np.diff(self.slots.row_start))[kept]
        kept = kept[np.argsort(rows * np.int64(self.slots.n_targets) + self.slots.target[kept], kind="stable")]
        row_start = np.zeros(self.slots.n_sources + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=self.slots.n_sources), out=row_start[1:])
        slots = Slots(row_start, self.slots.target[kept], self.slots.n_targets)
        return replace(self, slots=slots, counts=self.counts[kept], table=np.empty((0, 2), np.float32))

    def transfer(self, slots: Slots, words: WordMap, engine: Threads) -> BayesLexicon:
        """This (compact) lexicon's counts for the slots of another text; what was never counted has the prior's share."""
        counts = np.empty((len(slots), 2), np.float32)

        def look_up(direction: int) -> None:
            found = np.empty(len(slots))
            transfer_kernels.look_up_counts(
                slots.row_start,
                slots.target,
                words.source,
                words.target,
                self.slots.row_start,
                self.slots.target,
                self.counts[:, direction].astype(np.float64),
                found,
            )
            counts[:, direction] = found

        engine.map(look_up, [(0,), (1,)])
        return replace(
            self,
            slots=slots,
            counts=counts,
            totals=(picked(self.totals[0], words.source), picked(self.totals[1], words.target)),
            nulls=(picked(self.nulls[0], words.target), picked(self.nulls[1], words.source)),
            words=words,
        ).prepared()

    def probabilities(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """t(f | e) and t(e | f) by slot (slots, 2), and NULL's: for other models to start from."""
        return self.table, self.null_forward, self.null_reverse

    def gather(self, shard: Shard, block: Block, work: Workspace, engine: Threads) -> None:
        """Fill the workspace with the probabilities of the block's cells."""
        gather_table(self.slots, self.table, shard, block, work, engine)

    def arrays(self) -> dict[str, np.ndarray]:
        """Parameters of a compact lexicon by name, for saving."""
        return {
            "lexicon.row_start": self.slots.row_start,
            "lexicon.target": self.slots.target,
            "lexicon.counts": self.counts,
            "lexicon.source_total": self.totals[0],
            "lexicon.target_total": self.totals[1],
            "lexicon.null_forward": self.nulls[0],
            "lexicon.null_reverse": self.nulls[1],
            "lexicon.null_total": np.array(self.null_totals),
        }

    def settings(self) -> dict[str, Any]:
        """What is no array, for saving."""
        return {"alpha": self.prior.alpha, "null_alpha": self.prior.null_alpha, "discount": self.discount}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, np.ndarray], source: Vocabulary, target: Vocabulary, settings: dict[str, Any]
    ) -> BayesLexicon:
        """The saved (compact) lexicon, or ValueError for one whose arrays do not fit together."""
        slots = saved_slots(arrays, source, target)
        counts, source_total, target_total, null_forward, null_reverse, null_total = (
            arrays[f"lexicon.{name}"]
            for name in ("counts", "source_total", "target_total", "null_forward", "null_reverse", "null_total")
        )
        check_shapes(
            (counts, np.float32, (len(slots), 2)),
            (source_total, np.float64, (len(source),)),
            (target_total, np.float64, (len(target),)),
            (null_forward, np.float32, (len(target),)),
            (null_reverse, np.float32, (len(source),)),
            (null_total, np.float64, (2,)),
        )
        return cls(
            slots,
            counts,
            (source_total, target_total),
            (null_forward, null_reverse),
            (float(null_total[0]), float(null_total[1])),
            (len(source), len(target)),
            LexiconPrior(settings["alpha"], settings["null_alpha"]),
            settings["discount"],
        )


def picked(values: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """values[numbers], 0 where a number is -1."""
    if not len(values):
        return np.zeros((len(numbers), *values.shape[1:]), values.dtype)
    known = (numbers >= 0).reshape(-1, *(1 for _ in values.shape[1:]))
    return np.where(known, values[numbers], values.dtype.type(0))
