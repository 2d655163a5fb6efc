"""From a model and a laid-out text to alignments: decode, put windows together, combine the two directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.assemble import assemble, pair_details, sentence_scores
from dovetail.alignments.combine import combiners
from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import Shard
from dovetail.decoding.decode import BOTH, SINGLE, decode
from dovetail.decoding.decoders import check_decoder, decoders
from dovetail.decoding.tempering import Tempering, temper
from dovetail.errors import InputError
from dovetail.models.model import Model, Worked
from dovetail.options import Settings
from dovetail.pool import Pool


@dataclass(frozen=True)
class Choice:
    """How links are chosen: a decoder, a combination (None: what the decoder prefers), and their settings."""

    decoder: str
    combine: str | None
    settings: Settings

    @property
    def combination(self) -> str:
        return self.combine or decoders[self.decoder].default_combination

    def check(self, model: type[Model]) -> None:
        """InputError for a decoder and a combination, or a model, that do not go together."""
        check_decoder(self.decoder, model)
        combination = self.combination
        if combination == "soft-union":
            if self.decoder != "posterior":
                raise InputError(
                    f"soft-union needs posteriors, not the decoder {self.decoder!r}",
                    remedy="Choose the decoder posterior, or another combination.",
                )
        else:
            combiners[combination]


def align_shard(model: Model, bitext: Bitext, shard: Shard, choice: Choice, pool: Pool, worked: Worked) -> Alignments:
    """Exactly one alignment for each pair of the bitext, which `shard` is the layout of."""
    combination = choice.combination
    single = SINGLE.get(combination)
    direction = combination if combination in ("forward", "reverse") else None
    decoder = decoders[choice.decoder].of(choice.settings, direction)
    found, scores = decode(model, shard, decoder, BOTH if single is None else [single], pool, worked)
    sets = [assemble(links, shard.pieces, bitext.source.lengths, bitext.target.lengths) for links in found]
    result = sets[0] if single is not None else combiners[combination](sets[0], sets[1], (sets[2], sets[3]))
    result.probability = temper(result.probability, choice.settings.of(Tempering).temper)
    totals = sentence_scores(scores, shard.pieces, len(bitext))
    result.details = {
        "score_forward": totals[:, 0],
        "score_reverse": totals[:, 1],
        **pair_details(decoder.details, shard.pieces, len(bitext)),
    }
    return result


def posterior_matrices(model: Model, bitext: Bitext, shard: Shard, pool: Pool) -> tuple[np.ndarray, np.ndarray]:
    """P(a_j = i) and P(b_i = j), both float32 (I, J), of a bitext of one pair."""
    from dovetail.decoding.evidence import Evidence
    from dovetail.kernels.records import CELL

    I, J = bitext.lengths[0]
    result = np.zeros((2, I, J), np.float32)
    work, pieces = shard.workspace(), shard.pieces
    for block in shard:
        view = Evidence(model, shard, block, block.view(work), pool).posteriors()
        for p, line in zip(range(block.first, block.last), block.lines, strict=True):
            shape = pieces.source_length[p], pieces.target_length[p]
            (low, high), j0, i0 = pieces.target_core[p], pieces.target_offset[p], pieces.source_offset[p]
            for direction, values in enumerate((view.forward, view.reverse)):
                values = values[line[CELL] : line[CELL] + shape[0] * shape[1]].reshape(shape)
                result[direction, i0 : i0 + shape[0], j0 + low : j0 + high] = values[:, low:high]
    return result[0], result[1]
