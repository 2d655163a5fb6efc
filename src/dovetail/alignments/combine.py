"""How two directions become one: the combiners.

Each takes the links of the two directions, both source first, and gives one set of links for each pair.  The
growing ones follow Koehn's description (the one that Moses documents), with the source word as the outer
loop:

- *grow-diag*: start from the intersection.  Go over the links by (i, j), those just added and still ahead
  included; for each, its neighbours in the order
  (-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1);
  a neighbour in the union whose source word *or* target word has no link yet is added.  Repeat until
  nothing changes.
- *final*: then go over the forward links by (i, j), after them over the reverse links, and add each whose
  source word *or* target word has no link yet; *final-and*: whose source word *and* target word have none.

A link's probability is the mean of the two directions', P(a_j = i) and P(b_i = j); a direction that does not
have the link counts 0, unless `posteriors` says more.
"""

from typing import Any, Protocol

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.errors import InputError
from dovetail.kernels.links import combine as kernels
from dovetail.registry import Registry


class Combiner(Protocol):
    """Combines `forward` and `reverse` pair by pair.

    `posteriors`, if given, holds for each direction the probability of every cell worth mentioning
    (forward's, then reverse's): probabilities are then looked up there, and a link that only one direction
    has keeps what the other one thinks of it.
    """

    def __call__(
        self,
        forward: Alignments,
        reverse: Alignments,
        posteriors: tuple[Alignments, Alignments] | None = None,
    ) -> Alignments: ...


combiners: Registry[Combiner] = Registry("combination")


def lookup_probabilities(links: Alignments, forward: Alignments, reverse: Alignments) -> np.ndarray:
    """For each of `links` the mean of the two directions' probabilities, float32; a missing cell counts 0."""
    return (_probabilities(links, forward) + _probabilities(links, reverse)) / np.float32(2)


def _probabilities(links: Alignments, given: Alignments) -> np.ndarray:
    _check_pairs(len(links), len(given))
    probability = np.empty(len(links.source), np.float32)
    kernels.look_up(_packed(links), _packed(given), probability)
    return probability


def _check_pairs(one: int, other: int) -> None:
    if one != other:
        raise InputError(
            f"alignments of {one:,} pairs cannot be combined with alignments of {other:,}",
            remedy="Both must come from the same bitext, line by line.",
        )


def _packed(alignments: Alignments) -> kernels.PackedLinks:
    """What the kernels take, in the types for which they are compiled."""
    return kernels.PackedLinks(
        np.ascontiguousarray(alignments.offsets, np.int64),
        np.ascontiguousarray(alignments.source, np.int32),
        np.ascontiguousarray(alignments.target, np.int32),
        np.ascontiguousarray(alignments.probability, np.float32),
    )


def _details(forward: Alignments, reverse: Alignments) -> dict[str, Any]:
    """What either direction knows of each pair; a name that both use is told apart by its direction."""
    details: dict[str, Any] = {}
    for name, values in forward.details.items():
        if name not in reverse.details or name.endswith("_forward"):
            details[name] = values
        elif not name.endswith("_reverse"):
            details[f"{name}_forward"] = values
            details[f"{name}_reverse"] = reverse.details[name]
    for name, values in reverse.details.items():
        if name not in forward.details or name.endswith("_reverse"):
            details[name] = values
    return details


def _lengths(forward: Alignments, reverse: Alignments) -> tuple[np.ndarray, np.ndarray]:
    """Links from a file know a sentence only up to its last link: the direction that saw more is right."""
    return (
        np.maximum(forward.source_lengths, reverse.source_lengths).astype(np.int32, copy=False),
        np.maximum(forward.target_lengths, reverse.target_lengths).astype(np.int32, copy=False),
    )


def _by_rule(rule: int, name: str, description: str) -> None:
    """Register the combiner that applies one of the kernel's rules."""

    def combiner(
        forward: Alignments, reverse: Alignments, posteriors: tuple[Alignments, Alignments] | None = None
    ) -> Alignments:
        _check_pairs(len(forward), len(reverse))
        forward_size, reverse_size = len(forward.source), len(reverse.source)
        room = min(forward_size, reverse_size) if rule == kernels.INTERSECTION else forward_size + reverse_size
        found = kernels.PackedLinks(
            np.empty(len(forward) + 1, np.int64),
            np.empty(room, np.int32),
            np.empty(room, np.int32),
            np.empty(room, np.float32),
        )
        lengths = _lengths(forward, reverse)
        bad = kernels.combine(rule, _packed(forward), _packed(reverse), *lengths, found)
        if bad >= 0:
            raise ValueError(f"the links of pair {bad} are not sorted by (i, j), or lie outside its sentences")
        size = found.offsets[-1]
        # Copies, so that the room that was not needed is given back.
        result = Alignments(
            found.offsets,
            found.source[:size].copy(),
            found.target[:size].copy(),
            found.probability[:size].copy(),
            *lengths,
            _details(forward, reverse),
        )
        if posteriors is not None:
            result.probability = lookup_probabilities(result, *posteriors)
        return result

    combiner.__name__ = combiner.__qualname__ = name.replace("-", "_")
    combiner.__doc__ = description
    combiners.add(name, combiner, description)


def _one_direction(direction: int, name: str, description: str) -> None:
    """Register the combiner that takes one direction as it is."""

    def combiner(
        forward: Alignments, reverse: Alignments, posteriors: tuple[Alignments, Alignments] | None = None
    ) -> Alignments:
        _check_pairs(len(forward), len(reverse))
        chosen = (forward, reverse)[direction]
        result = Alignments(
            chosen.offsets,
            chosen.source,
            chosen.target,
            chosen.probability,
            *_lengths(forward, reverse),
            _details(forward, reverse),
        )
        if posteriors is not None:
            result.probability = _probabilities(result, posteriors[direction])
        return result

    combiner.__name__ = combiner.__qualname__ = name
    combiner.__doc__ = description
    combiners.add(name, combiner, description)


_by_rule(kernels.INTERSECTION, "intersection", "links that both directions have")
_by_rule(kernels.UNION, "union", "links that either direction has")
_by_rule(kernels.GROW_DIAG, "grow-diag", "the intersection, grown into neighbouring links of the union")
_by_rule(
    kernels.GROW_DIAG_FINAL,
    "grow-diag-final",
    "grow-diag, then links of a word that has none on one side or the other",
)
_by_rule(
    kernels.GROW_DIAG_FINAL_AND,
    "grow-diag-final-and",
    "grow-diag, then links between two words that both have none",
)
_one_direction(0, "forward", "the forward direction alone, with its own probabilities")
_one_direction(1, "reverse", "the reverse direction alone, with its own probabilities")
