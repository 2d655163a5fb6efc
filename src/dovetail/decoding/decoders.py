"""Decoders: each marks, on every cell of a block, which links it takes.

A decoder asks the `Evidence` for what it needs, and marks links of the forward direction, of the reverse direction, and
(where it can) of the two taken together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from dovetail.decoding.evidence import Evidence
from dovetail.decoding.tempering import Tempering, untemper
from dovetail.errors import InputError
from dovetail.kernels.hmm.viterbi import EITHER, FORWARD, REVERSE
from dovetail.kernels.links import collect as collect_kernels
from dovetail.models.model import Model
from dovetail.options import Options, Settings, option
from dovetail.registry import Registry

__all__ = ["EITHER", "FORWARD", "REVERSE", "Decoder", "PosteriorThreshold", "Viterbi", "decoders"]


class Decoder(Protocol):
    """Marks links; `default_combination` names how its two directions become one when nobody says.

    A decoder is made for one text by `of`; `direction` is forward or reverse where one alone is wanted.
    """

    default_combination: ClassVar[str]
    options: ClassVar[tuple[type[Options], ...]] = ()
    asks: ClassVar[str] = "posteriors"  # the method of a model without which it cannot do,
    kind_of_model: ClassVar[str] = "a model"  # who has it,
    for_instance: ClassVar[str] = "hmm"  # and a recipe that makes one

    @classmethod
    def of(cls, settings: Settings, direction: str | None) -> Decoder:
        return cls()

    def mark(self, evidence: Evidence, marks: np.ndarray) -> None:
        """Mark the links of one block."""

    @property
    def details(self) -> Mapping[str, np.ndarray]:
        """What it knows of pieces besides their links: arrays by name with one entry per piece decoded so far.

        Flags of a pair's pieces must all hold, numbers are added up.
        """
        return {}


decoders: Registry[type[Decoder]] = Registry("decoder")


def check_decoder(name: str, model: type[Model]) -> None:
    """InputError for a decoder that asks what the model has no answer to."""
    decoder = decoders[name]
    if getattr(model, decoder.asks) is getattr(Model, decoder.asks):
        raise InputError(
            f"the decoder {name} needs {decoder.kind_of_model}, not {model.name}",
            remedy=f"Choose a recipe such as {decoder.for_instance}, or the decoder posterior or viterbi.",
        )


@dataclass(frozen=True)
class Threshold(Options):
    """The precision/recall knob."""

    threshold: float = option(0.5, at_least=0.0, at_most=1.0, help="posterior that a link must exceed")
    grow: float = option(
        1.0,
        at_least=0.0,
        at_most=1.0,
        help="cells above this that touch a link are added for words without one; 1: none",
    )

    @staticmethod
    def asked(changes: Mapping[str, Any]) -> dict[str, Any]:
        """Who asks for a threshold and says nothing of growing gets no link below it: growing is off then."""
        return {**changes, "grow": changes.get("grow", 1.0)} if "threshold" in changes else dict(changes)


class PosteriorThreshold(Decoder):
    """Links whose posterior exceeds the threshold: minimum Bayes risk, with the threshold as the knob (Graça, sec. 2.3).

    The links of both directions together may grow: cells above `grow` that touch a link, and whose row or column has
    none yet, are added, best first.  Words that translate several others are found that way.
    """

    default_combination = "soft-union"
    options = (Threshold,)

    def __init__(self, threshold: float = 0.5, grow: float = 1.0) -> None:
        # Sums of posteriors may exceed 1 by a rounding: a threshold of 1 takes them all, not those by chance.
        self.threshold = min(np.float32(threshold), np.nextafter(np.float32(1), np.float32(0)))
        self.grow = np.float32(grow)

    @classmethod
    def of(cls, settings: Settings, direction: str | None) -> PosteriorThreshold:
        chosen, temper = settings.of(Threshold), settings.of(Tempering).temper
        return cls(untemper(chosen.threshold, temper), untemper(chosen.grow, temper))

    def mark(self, evidence: Evidence, marks: np.ndarray) -> None:
        from dovetail.kernels.links.grow import grow  # numba comes with it, which a start should not wait for

        work, block = evidence.posteriors(), evidence.block

        def task(first: int, last: int) -> None:
            run = first, last, block.lines, work
            collect_kernels.mark_threshold(*run, self.threshold, marks)
            if self.grow < self.threshold:  # at once, while the cells are in the cache
                grow(*run, self.grow, marks)

        evidence.pool.map(task, block.tasks)


class Viterbi(Decoder):
    """The single best path of each direction; the threshold does not apply."""

    default_combination = "grow-diag-final-and"
    asks, kind_of_model = "mark_best_paths", "a model with a best path"

    def mark(self, evidence: Evidence, marks: np.ndarray) -> None:
        evidence.model.mark_best_paths(evidence.block, evidence.translations(), marks, evidence.pool)


decoders.add("posterior", PosteriorThreshold, "links whose posterior probability exceeds a threshold")
decoders.add("viterbi", Viterbi, "the best path of each direction")
for _name, _where, _description in (
    ("mode", "mode:Mode", "the likeliest partner of each word in each direction"),
    ("samples", "samples:BestSample", "the best of many samples of each direction (models with fertility)"),
    ("exact", "exact_fertility:ExactFertility", "the best alignment of each direction, proved (models with fertility)"),
    ("bidirectional", "bidirectional_decoder:Bidirectional", "the best pair of alignments that agree, proved (HMMs)"),
):
    decoders.add_later(_name, f"dovetail.decoding.{_where}", _description)
