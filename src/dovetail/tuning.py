"""Development gold: what the links of some pairs say about when to stop, about the threshold and about growing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.assemble import assemble
from dovetail.alignments.formats_packing import outside
from dovetail.alignments.gold import Gold
from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import Shard
from dovetail.decoding.decode import SINGLE, decode_each
from dovetail.decoding.decoders import PosteriorThreshold
from dovetail.decoding.tempering import temper, untemper
from dovetail.errors import InputError
from dovetail.evaluation.curve import Curve, precision_recall_curve
from dovetail.evaluation.score import evaluate
from dovetail.models.model import Model
from dovetail.pool import Pool

CANDIDATE = 0.001  # cells with a lower posterior have no place on the curve

# Tried besides the best threshold without growing: few, for such a set is small, and a finer choice would be one by chance.
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
GROWS = (1.0, 0.5, 0.4, 0.3, 0.2, 0.1)  # 1: none


class Knobs(NamedTuple):
    """The probabilities that a link, and a link beside one, must exceed; and the AER that they gave on the set."""

    threshold: float
    grow: float
    aer: float


@dataclass(frozen=True)
class DevelopmentSet:
    """Pairs with gold links; `decodable` makes of a model in training one for this text."""

    text: Bitext
    shard: Shard
    gold: Gold
    decodable: Callable[[Model], Model]
    pool: Pool

    def __post_init__(self) -> None:
        if len(self.text) != len(self.gold):
            raise InputError(
                f"the development set has {len(self.text):,} pairs, but gold links of {len(self.gold):,}",
                remedy="Give one line of gold links for each pair.",
            )
        if not self.gold.sure.any():
            raise InputError("the development set has no sure gold links", remedy="Give some, or no development set.")
        lengths = np.array(self.text.lengths)
        if beyond := outside(np.diff(self.gold.offsets), self.gold.source, self.gold.target, lengths):
            raise InputError(
                f"pair {beyond[0] + 1:,} of the development set has a gold link outside its words",
                remedy="Are these the gold links of these pairs, in the same tokens, with the source side first?",
            )

    def curve(self, model: Model) -> Curve:
        """Precision against recall, from the mean of both directions' posteriors."""
        (links,) = self._decoded(model, [PosteriorThreshold(CANDIDATE)])
        return precision_recall_curve(links, self.gold)

    def knobs(self, model: Model, temper_by: float, grow: float | None = None) -> Knobs:
        """Threshold and growing with the lowest AER, of equals those with less growing; `grow` if that is settled.

        They speak of probabilities as they are written, tempered.
        """
        alone = min(1.0, self.curve(model).best_threshold("aer"))
        settings = [
            (threshold, least)
            for least in (GROWS if grow is None else (untemper(grow, temper_by),))
            for threshold in dict.fromkeys((alone, *THRESHOLDS))
        ]
        decoders = [PosteriorThreshold(*knobs) for knobs in settings]
        scores = [evaluate(links, self.gold).aer for links in self._decoded(model, decoders)]
        best = int(np.argmin(scores))
        threshold, least = temper(np.array(settings[best]), temper_by).tolist()
        return Knobs(threshold, least if grow is None else grow, scores[best])

    def _decoded(self, model: Model, decoders: list[PosteriorThreshold]) -> Iterator[Alignments]:
        lengths = self.text.source.lengths, self.text.target.lengths
        for links in decode_each(self.decodable(model), self.shard, decoders, SINGLE["soft-union"], self.pool):
            yield assemble(links, self.shard.pieces, *lengths)
