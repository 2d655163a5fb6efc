"""Posterior regularization as Graça, Ganchev and Taskar (2010) ran it: short pairs alone, best paths projected, too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dovetail.bitext.corpus import Bitext, Side
from dovetail.bitext.shards import Block, Shard
from dovetail.kernels.records import CELL, COLUMN, LENGTH_I, LENGTH_J, ROW, Workspace
from dovetail.models.constrained import Constrained, ConstrainedHMM, DecodingOptions, Multipliers
from dovetail.models.ibm1 import IBM1
from dovetail.models.lexicon.words import WordMap
from dovetail.options import Options, Settings, option
from dovetail.pool import Pool
from dovetail.training import regularized
from dovetail.training.train import Task, reads


@dataclass(frozen=True)
class ShortOptions(Options):
    """Which pairs are learned from."""

    longest_pair: int = option(
        40, at_least=1, help="pairs with more words on a side are not learned from (section 4.1)"
    )


@dataclass(frozen=True)
class EveryConstraint(Options):
    """How far aligning meets the constraints."""

    every_constraint: bool = option(
        False, help="whether aligning meets every single constraint to within the precision, not only their mean"
    )


@dataclass
class ProjectedHMM(ConstrainedHMM):
    """The HMM whose best path, too, is that of the projected distribution q(z | x), not of the model (section 3.2)."""

    name = "graca2010"
    decoding_options: ClassVar[tuple[type[Options], ...]] = (*ConstrainedHMM.decoding_options, EveryConstraint)
    kept = -1.0  # all multipliers are wanted, of what they made improbable too

    def for_decoding(self, settings: Settings, seed: int, bitext: Bitext, shard: Shard) -> IBM1:
        """This model for this text: a projection ends where it does in training, by the mean over constraints.

        Few iterations are needed then, or none: a long sentence misses most of its constraints by next to nothing.
        """
        if not settings.of(DecodingOptions).project_decoding:
            return self.unconstrained()
        if settings.of(EveryConstraint).every_constraint:
            return super().for_decoding(settings, seed, bitext, shard)
        return replace(self.ready_for(bitext, shard), projection=replace(self.projection, free_mass=False))

    def mark_best_paths(self, block: Block, work: Workspace, marks: np.ndarray, pool: Pool) -> None:
        """q is the HMM with other weights (equation 13): those of the translations, so the HMM's own search will do."""
        memory = Multipliers()
        self.infer(block, work.copy(), pool, memory=memory)
        super().mark_best_paths(block, self._tilted(block, work, memory), marks, pool)

    def _tilted(self, block: Block, work: Workspace, memory: Multipliers) -> Workspace:
        """Translation probabilities times exp(-lambda f), NULLs' as they are."""
        assert self.bound is not None
        asked, tilted = self.bound.part(block), work.copy()
        scale = 2.0 if asked.coupled else 1.0  # of features of one direction, which is then half of q (equation 15)
        rows, columns, listed = memory.dense[block.first]
        for first, last in block.tasks:
            cells = memory.cells[block.first, first]
            for piece in range(first, last):
                line = block.lines[piece]
                I, J = line[LENGTH_I], line[LENGTH_J]
                own = slice(line[CELL], line[CELL] + I * J)
                forward, reverse = (values[own].reshape(I, J) for values in (tilted.forward, tilted.reverse))
                if len(rows):
                    forward *= np.exp(-scale * rows[line[ROW] : line[ROW] + I])[:, None]
                    reverse *= np.exp(-scale * columns[line[COLUMN] : line[COLUMN] + J])
                begin, end = asked.listed.begin[:, piece], asked.listed.begin[:, piece + 1]
                entries, weights = asked.listed.entries[begin[1] : end[1]], asked.listed.weight[begin[1] : end[1]]
                for (direction, cell, number), weight in zip(entries, weights, strict=True):
                    exponent = scale * weight * listed[begin[0] + number]
                    (forward, reverse)[direction].reshape(-1)[cell] *= np.exp(np.clip(-exponent, -60.0, 60.0))
                part = slice(cells.begin[piece - first], cells.begin[piece - first + 1])
                for cell, value in zip(cells.cell[part], cells.value[part], strict=True):
                    where = slice(None) if cell < 0 else slice(cell, cell + 1)  # of all links: what NULLs gain
                    forward.reshape(-1)[where] *= np.exp(-value)
                    reverse.reshape(-1)[where] *= np.exp(value)
        return tilted


@reads(
    *regularized.train.options,
    ShortOptions,
    takes_constraints=True,
    many_shards=regularized.train.many_shards,
    resumes=True,
)
def train(task: Task) -> Constrained:
    """Learn from short pairs; words of the others alone are as words of new text are."""
    short = without_long_pairs(task.bitext, task.settings.of(ShortOptions).longest_pair)
    if short is None:
        return regularized.train(task)
    model: Constrained = regularized.train(task.on(short))
    words = WordMap.between(task.bitext, *task.vocabularies)
    for numbers, ids in ((words.source, short.source.ids), (words.target, short.target.ids)):
        numbers[np.bincount(ids, minlength=len(numbers)) == 0] = -1
    lexicon = model.lexicon.compact(task.corpus.store).transfer(task.corpus.slots, words, task.engine.pool, task.room())
    return model.with_lexicon(lexicon)  # type: ignore[return-value]


def without_long_pairs(bitext: Bitext, longest: int) -> Bitext | None:
    """The bitext with long pairs emptied, so that pairs keep their numbers; None where there are none."""
    sides = bitext.source, bitext.target
    long = np.maximum(*(side.lengths for side in sides)) > longest
    if not long.any():
        return None
    made = []
    for side in sides:
        lengths = np.where(long, 0, side.lengths).astype(np.int64)
        ids = side.ids[np.repeat(~long, side.lengths)]
        made.append(Side(ids, np.concatenate([[0], np.cumsum(lengths)]), side.vocabulary, None))
    return Bitext(made[0], made[1], bitext.options)
