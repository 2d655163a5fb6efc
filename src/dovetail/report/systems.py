"""What a page shows of an aligner: candidate links with their probabilities, and which of them it took."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.evaluation.matching import as_sets

if TYPE_CHECKING:
    from dovetail.aligner import Aligner
    from dovetail.bitext.corpus import Bitext
    from dovetail.training.monitor import Callback

FLOOR = 0.01  # cells that a model believes in less are not shown: most cells of a pair


@dataclass(frozen=True)
class System:
    """One answer to look at: `candidates` are sorted, each once; `taken` (bool) says which of them are its links.

    `graded` is False where nothing is known of probabilities, so that a threshold has nothing to say.
    """

    name: str
    candidates: Alignments
    taken: np.ndarray
    graded: bool

    @classmethod
    def of_alignments(cls, name: str, alignments: Alignments) -> System:
        """Links of a file or of another program; those without a probability count as certain."""
        links = as_sets(alignments)
        probability = np.where(np.isfinite(links.probability), links.probability, 1).astype(np.float32)
        links = _with_probability(links, np.clip(probability, 0, 1))
        return cls(name, links, np.ones(len(probability), bool), bool((probability < 1).any()))

    @classmethod
    def of_aligner(
        cls, name: str, aligner: Aligner, bitext: Bitext, floor: float = FLOOR, progress: Callback | None = None
    ) -> System:
        """A model's own links, among all cells whose posterior (the mean of both directions') exceeds `floor`."""
        links = as_sets(aligner.align(bitext, progress))
        every = copy(aligner)  # the same model, read by another decoder
        every.recipe = aligner.recipe.with_options(
            {"decoder": "posterior", "combine": "soft-union", "threshold": floor, "grow": 1.0}
        )
        cells = as_sets(every.align(bitext, progress))
        merged, taken = _merge(cells, links)
        return cls(name, merged, taken, True)


def _with_probability(links: Alignments, probability: np.ndarray) -> Alignments:
    return Alignments(
        links.offsets,
        links.source,
        links.target,
        probability,
        links.source_lengths,
        links.target_lengths,
        links.details,
    )


def _merge(cells: Alignments, links: Alignments) -> tuple[Alignments, np.ndarray]:
    """All cells and links, each once, with the cells' probabilities where they have one; and which are links."""
    widths = cells.target_lengths.astype(np.int64)
    starts = np.zeros(len(cells) + 1, np.int64)
    np.cumsum(cells.source_lengths * widths, out=starts[1:])
    of_cells, of_links = (_cell_numbers(part, starts, widths) for part in (cells, links))
    numbers = np.union1d(of_cells, of_links)
    probability = np.zeros(len(numbers), np.float32)
    probability[np.searchsorted(numbers, of_links)] = links.probability
    probability[np.searchsorted(numbers, of_cells)] = cells.probability
    taken = np.zeros(len(numbers), bool)
    taken[np.searchsorted(numbers, of_links)] = True
    pair = np.searchsorted(starts, numbers, side="right") - 1
    source, target = np.divmod(numbers - starts[pair], widths[pair])
    offsets = np.searchsorted(numbers, starts).astype(np.int64)
    details: dict[str, Any] = links.details
    merged = Alignments(
        offsets,
        source.astype(np.int32),
        target.astype(np.int32),
        np.clip(probability, 0, 1),
        cells.source_lengths,
        cells.target_lengths,
        details,
    )
    return merged, taken


def _cell_numbers(links: Alignments, starts: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Each link's place among the cells of all pairs, row after row."""
    pair = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    return starts[pair] + links.source * widths[pair] + links.target
