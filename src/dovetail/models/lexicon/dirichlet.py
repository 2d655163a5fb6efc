"""A lexicon of counts under a symmetric Dirichlet prior, integrated out: t(f | e) = (n(e, f) + alpha) / (n(e) + alpha V)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dovetail.bitext.shards import Shard, Slots
from dovetail.bitext.store import Store, release
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.kernels.lexicon.transfer import NewRows, OldRows, look_up_counts
from dovetail.kernels.records import Nulls
from dovetail.models.checks import Array, Unsound, check_totals, checked_arrays, saved_slots
from dovetail.models.lexicon.lexicon import Lexicon
from dovetail.models.lexicon.table import taken_on
from dovetail.models.lexicon.words import WordMap, picked
from dovetail.options import Options, option
from dovetail.pool import Pool

REST = 1e-3  # of its count a pair keeps at least, whatever is taken away


@dataclass(frozen=True)
class DirichletOptions(Options):
    """The sparse prior, and what of the counts is believed."""

    alpha: float = option(
        1e-4, at_least=1e-9, at_most=1e6, help="the symmetric Dirichlet's parameter for every pair of words"
    )
    discount: float = option(
        0.5, at_least=0.0, at_most=1e6, help="taken from the mean count of each pair of words in aligning"
    )


@dataclass(frozen=True)
class LexiconPrior:
    """The symmetric Dirichlet's parameter for each word's translations, and for NULL's."""

    alpha: float = 1e-4
    null_alpha: float = 1e-4


@dataclass
class DirichletLexicon(Lexicon):
    """Links of word types, averaged over samples and chains: of each slot in both directions, and NULL's.

    `discount` is taken from every pair's count before it is used.  A pair whose mean is below it was in few samples, or is
    in doubt; and a text that was trained on is not led by its own links alone, which are in the counts.  The part REST of
    a count stays, so that a word all of whose pairs are in doubt goes where samples had it: else all such words of a
    sentence would go to the same partner, the one with the fewest links.

    `totals` are links by source word (forward) and by target word (reverse), `sizes` the numbers of words, V, of the
    text that was trained on.  `words` says, for a lexicon that was transferred, where its words were in the old one.
    """

    SAVED: ClassVar = {
        "counts": Array(np.float32, ("slots", 2)),
        "source_total": Array(np.float64, ("source",)),
        "target_total": Array(np.float64, ("target",)),
        "null_forward": Array(np.float32, ("target",)),
        "null_reverse": Array(np.float32, ("source",)),
        "null_total": Array(np.float64, (2,)),
    }

    slots: Slots
    counts: np.ndarray  # float32 (slots, 2)
    totals: tuple[np.ndarray, np.ndarray]  # float64 (source words,), (target words,)
    null_counts: tuple[np.ndarray, np.ndarray]  # float32 (target words,), (source words,)
    null_totals: tuple[float, float]
    sizes: tuple[int, int]
    prior: LexiconPrior
    discount: float = 0.0
    words: WordMap | None = None

    def __post_init__(self) -> None:
        tables = []
        for direction, counts in enumerate(self.null_counts):
            alpha = self.prior.null_alpha
            weight = self.null_totals[direction] + alpha * max(self.sizes[1 - direction], 1)
            tables.append(((counts + alpha) / weight).astype(np.float32))
        self.nulls = Nulls(*tables)
        self._table: np.ndarray | None = None

    def probabilities(self, pool: Pool) -> np.ndarray:
        if self._table is None:
            self._table = np.empty((len(self.slots), 2), np.float32)
            for side, words in enumerate((self.slots.source, self.slots.target)):
                weight = self.totals[side] + self.prior.alpha * max(self.sizes[1 - side], 1)
                counts = self.counts[:, side]
                kept = np.maximum(counts - np.float32(self.discount), np.float32(REST) * counts)
                self._table[:, side] = (kept + self.prior.alpha) / weight[words]
        return self._table

    def compact(self, store: Store | None = None) -> DirichletLexicon:
        """Pairs with a count only."""
        slots, counts = self.slots.kept(self.counts, 0.0, store)
        return replace(self, slots=slots, counts=counts)

    def on(self, shard: Shard, pool: Pool) -> DirichletLexicon:
        """For the slots of one of many shards."""
        if shard.place is None:
            return self
        return replace(self, slots=shard.slots, counts=taken_on(shard, self.counts, pool))

    def transfer(self, slots: Slots, words: WordMap, pool: Pool) -> DirichletLexicon:
        """Its counts; what was never counted has the prior's part."""
        counts = np.empty((len(slots), 2), np.float32)
        new = NewRows(slots.row_start, slots.target, words.source, words.target, words.twin)

        def look_up(direction: int) -> None:
            old = OldRows(self.slots.row_start, self.slots.target, self.counts[:, direction], self.slots.n_targets)
            look_up_counts(new, old, counts[:, direction])

        pool.map(look_up, [(0,), (1,)])
        release(self.slots.target)
        release(self.counts)
        return replace(
            self,
            slots=slots,
            counts=counts,
            totals=(picked(self.totals[0], words.source), picked(self.totals[1], words.target)),
            null_counts=(picked(self.null_counts[0], words.target), picked(self.null_counts[1], words.source)),
            words=words,
        )

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "lexicon.row_start": self.slots.row_start,
            "lexicon.target": self.slots.target,
            "lexicon.counts": self.counts,
            "lexicon.source_total": self.totals[0],
            "lexicon.target_total": self.totals[1],
            "lexicon.null_forward": self.null_counts[0],
            "lexicon.null_reverse": self.null_counts[1],
            "lexicon.null_total": np.array(self.null_totals),
        }

    def settings(self) -> dict[str, Any]:
        return {"alpha": self.prior.alpha, "null_alpha": self.prior.null_alpha, "discount": self.discount}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, np.ndarray], source: Vocabulary, target: Vocabulary, settings: dict[str, Any]
    ) -> DirichletLexicon:
        slots, sizes = saved_slots(arrays, source, target)
        counts, source_total, target_total, null_forward, null_reverse, null_total = checked_arrays(
            arrays, "lexicon.", cls.SAVED, sizes
        )
        check_totals("lexicon.counts", slots, (counts[:, 0], counts[:, 1]), (source_total, target_total))
        if not np.allclose(null_total, [null_forward.sum(), null_reverse.sum()], rtol=1e-4, atol=1e-3):
            raise Unsound("lexicon.null_total are not the sums of NULL's counts")
        own = DirichletOptions(settings["alpha"], settings["discount"])
        null = DirichletOptions(settings["null_alpha"])
        return cls(
            slots,
            counts,
            (source_total, target_total),
            (null_forward, null_reverse),
            (float(null_total[0]), float(null_total[1])),
            (len(source), len(target)),
            LexiconPrior(own.alpha, null.alpha),
            own.discount,
        )
