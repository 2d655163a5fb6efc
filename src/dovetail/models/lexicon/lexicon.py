"""The lexicon factor: which word yields which.  What every kind of it can do, and what a prior on it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from dovetail.bitext.shards import Block, Slots
from dovetail.bitext.store import Store
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.errors import InputError
from dovetail.kernels.lexicon import table as kernels
from dovetail.kernels.records import Nulls, Workspace
from dovetail.models.lexicon.words import WordMap
from dovetail.options import Options, option
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
        rows = [(order,) for order in block.word_tasks]
        pool.map(kernels.gather, rows, block.row_piece, block.pieces, block.ranks, self.probabilities(pool), work)

    @abstractmethod
    def compact(self: Self, store: Store | None = None) -> Self:
        """Rows sorted by target word, without what says nothing: what is saved, and what new text is looked up in.

        What is large goes to a `store`, if there is one, and stays there.
        """

    @abstractmethod
    def transfer(self: Self, slots: Slots, words: WordMap, pool: Pool) -> Self:
        """This (compact) lexicon for the slots of another text."""

    def for_words(self: Self, words: WordMap, pool: Pool) -> Self | None:
        """This (compact) lexicon for a text without slots, whose cells `gather` looks up; None if this kind cannot."""
        return None

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

    A prior of your own is one dataclass in one file, registered by `lexicon_priors.register(name, one line)`; its fields,
    which JSON must be able to hold, are saved with a model.
    """

    def pseudo_counts(self, slots: Slots, source: Vocabulary, target: Vocabulary) -> np.ndarray:
        """float32 (slots,): how many links of each pair of words are taken as seen."""


lexicon_priors: Registry[type[Prior]] = Registry("lexicon prior")
lexicon_priors.add_later(
    "dictionary", "dovetail.models.lexicon.dictionary:DictionaryPrior", "words of a dictionary: `--dictionary` makes it"
)


@dataclass(frozen=True)
class PriorOptions(Options):
    """Further priors, besides those that a model has of its own."""

    priors: str = option("", help="names of further priors on the lexicon, separated by commas")
    dictionary_weight: float = option(
        1.0,
        at_least=0.0,
        help="links that a dictionary's pair of words is taken as, unless they have other partners, too",
    )

    def chosen(self) -> tuple[Prior, ...]:
        return tuple(lexicon_priors[name.strip()]() for name in self.priors.split(",") if name.strip())


def all_pseudo_counts(priors: Sequence[Prior], slots: Slots, vocabularies: tuple[Vocabulary, Vocabulary]) -> np.ndarray:
    """Of all priors together, float32 (slots,); of none, an empty array."""
    counts = [np.asarray(prior.pseudo_counts(slots, *vocabularies), np.float32) for prior in priors]
    if any(one.shape != (len(slots),) or not (np.isfinite(one).all() and (one >= 0).all()) for one in counts):
        raise InputError("a prior's pseudo-counts must be one number for each slot, none below 0")
    return sum(counts[1:], counts[0]) if counts else np.empty(0, np.float32)


def described_priors(priors: Sequence[Prior]) -> list[dict[str, Any]]:
    """Names and fields, for saving."""
    names = {kind: name for name, kind in lexicon_priors.items()}
    unknown = [type(prior).__name__ for prior in priors if type(prior) not in names]
    if unknown:
        raise InputError(
            f"the prior {unknown[0]} has no name to be saved by", remedy="Register it in dovetail.lexicon_priors first."
        )
    return [{"name": names[type(prior)], "values": asdict(prior)} for prior in priors]  # type: ignore[call-overload]


def saved_priors(described: Sequence[dict[str, Any]]) -> tuple[Prior, ...]:
    """The priors of a saved lexicon; somebody must have registered them."""
    return tuple(lexicon_priors[entry["name"]](**entry["values"]) for entry in described)
