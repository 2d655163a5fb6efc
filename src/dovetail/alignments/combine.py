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

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.errors import InputError
from dovetail.kernels.links import combine as kernels
from dovetail.kernels.links.matching import match
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
Pair = tuple[np.ndarray, np.ndarray]


def lookup_probabilities(links: Alignments, forward: Alignments, reverse: Alignments) -> np.ndarray:
    """For each of `links` the mean of the two directions' probabilities, float32; a missing cell counts 0."""
    return (_probabilities(links, forward) + _probabilities(links, reverse)) / np.float32(2)


def _probabilities(links: Alignments, given: Alignments) -> np.ndarray:
    _check_pairs(len(links), len(given))
    found = match(*_packed(links)[:3], *_packed(given)[:3])
    probability = np.zeros(len(found), np.float32)
    probability[found >= 0] = given.probability[found[found >= 0]]
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


def _lengths(forward: Alignments, reverse: Alignments) -> Pair:
    """Links from a file know a sentence only up to its last link: the direction that saw more is right."""
    return (
        np.maximum(forward.source_lengths, reverse.source_lengths).astype(np.int32, copy=False),
        np.maximum(forward.target_lengths, reverse.target_lengths).astype(np.int32, copy=False),
    )


def _by_rule(rule: int, forward: Alignments, reverse: Alignments, lengths: Pair) -> tuple[np.ndarray, ...]:
    """Offsets, positions and probabilities of the links that one of the kernel's rules takes."""
    sizes = len(forward.source), len(reverse.source)
    room = min(sizes) if rule == kernels.INTERSECTION else sum(sizes)
    links = (np.empty(room, kind) for kind in (np.int32, np.int32, np.float32))
    found = kernels.PackedLinks(np.empty(len(forward) + 1, np.int64), *links)
    bad = kernels.combine(rule, _packed(forward), _packed(reverse), *lengths, found)
    if bad >= 0:
        raise ValueError(f"the links of pair {bad} are not sorted by (i, j), or lie outside its sentences")
    size = found.offsets[-1]
    # Copies, so that the room that was not needed is given back.
    return found.offsets, *(values[:size].copy() for values in found[1:])


def _register(name: str, description: str, rule: int = -1, direction: int | None = None) -> None:
    """Register the combiner that applies one of the kernel's rules, or takes one `direction` as it is."""

    def combiner(
        forward: Alignments, reverse: Alignments, posteriors: tuple[Alignments, Alignments] | None = None
    ) -> Alignments:
        _check_pairs(len(forward), len(reverse))
        lengths = _lengths(forward, reverse)
        details = _details(forward, reverse)
        if direction is None:
            offsets, source, target, probability = _by_rule(rule, forward, reverse, lengths)
            result = Alignments(offsets, source, target, probability, *lengths, details)
            if posteriors is not None:
                result.probability = lookup_probabilities(result, *posteriors)
        else:
            chosen = (forward, reverse)[direction]
            links = chosen.offsets, chosen.source, chosen.target, chosen.probability
            result = Alignments(*links, *lengths, details)
            if posteriors is not None:
                result.probability = _probabilities(result, posteriors[direction])
        return result

    combiner.__name__ = combiner.__qualname__ = name.replace("-", "_")
    combiner.__doc__ = description
    combiners.add(name, combiner, description)


_register("intersection", "links that both directions have", kernels.INTERSECTION)
_register("union", "links that either direction has", kernels.UNION)
_register("grow-diag", "the intersection, grown into neighbouring links of the union", kernels.GROW_DIAG)
_register(
    "grow-diag-final", "grow-diag, then links of a word that has none on one side or the other", kernels.GROW_DIAG_FINAL
)
_register(
    "grow-diag-final-and", "grow-diag, then links between two words that both have none", kernels.GROW_DIAG_FINAL_AND
)
_register("forward", "the forward direction alone, with its own probabilities", direction=0)
_register("reverse", "the reverse direction alone, with its own probabilities", direction=1)
