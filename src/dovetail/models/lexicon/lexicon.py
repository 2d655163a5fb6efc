"""The lexicon factor: which word yields which.  What every kind of it can do, and what a prior on it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol, TypeVar

import numpy as np

from dovetail.bitext.shards import Block, Slots
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.kernels.lexicon import table as kernels
from dovetail.kernels.records import Nulls, Workspace
from dovetail.models.lexicon.words import WordMap
from dovetail.pool import Pool
from dovetail.registry import Registry

Self = TypeVar("Self", bound="Lexicon")


class Lexicon(ABC):
    """t(f | e) and t(e | f) of the pairs of words that co-occur, one slot each, and what NULL yields."""

    slots: Slots
    nulls: Nulls  # t(f | NULL) and t(e | NULL)

    @abstractmethod
    def probabilities(self, pool: Pool) -> np.ndarray:
        """float32 (slots, 2): t(f | e) and t(e | f) of a cell that has put nothing into the counts."""

    def entries(self, pool: Pool) -> np.ndarray:
        """The same as other models start from it."""
        return self.probabilities(pool)

    def gather(self, block: Block, work: Workspace, pool: Pool) -> None:
        """Fill the workspace with the probabilities of the block's cells."""
        table = self.probabilities(pool)
        pool.map(
            lambda order: kernels.gather(order, block.row_piece, block.pieces, block.ranks, table, work),
            [(order,) for order in block.word_tasks],
        )

    @abstractmethod
    def compact(self: Self) -> Self:
        """Rows sorted by target word, without what says nothing: what is saved, and what new text is looked up in."""

    @abstractmethod
    def transfer(self: Self, slots: Slots, words: WordMap, pool: Pool) -> Self:
        """This (compact) lexicon for the slots of another text."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Parameters of a compact lexicon by name, for saving."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What is no array, for saving."""

    @classmethod
    @abstractmethod
    def from_arrays(
        cls: type[Self], arrays: dict[str, np.ndarray], source: Vocabulary, target: Vocabulary, settings: dict[str, Any]
    ) -> Self:
        """The saved lexicon, or ValueError for one whose numbers would lead a kernel outside its arrays."""


class Prior(Protocol):
    """What somebody knows of word pairs before any text: pseudo-counts, added to what the text counts.

    A prior of your own is one class in one file, registered by `lexicon_priors.register(name, one line)`.
    """

    def pseudo_counts(self, slots: Slots, source: Vocabulary, target: Vocabulary) -> np.ndarray:
        """float32 (slots,): how many links of each pair of words are taken as seen."""


lexicon_priors: Registry[type[Prior]] = Registry("lexicon prior")
