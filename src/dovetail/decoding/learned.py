"""A learned decoder: trees that judge cells, on top of what a trained model believes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from dovetail.bitext.shards import Block
from dovetail.decoding.candidates import WIDTHS, candidates
from dovetail.decoding.habits import Habits
from dovetail.errors import InputError
from dovetail.kernels.learned import features as feature_kernels
from dovetail.kernels.learned.features import FEATURES
from dovetail.kernels.learned.records import INNER, LEAVES, Limits, Stages, Trees, WordFacts
from dovetail.kernels.records import Workspace
from dovetail.models.model import Model
from dovetail.pool import Pool

MEAN = [name for name, _ in FEATURES].index("mean")
SUREST = 0.003  # the model's own probabilities are no nearer to 0 and 1 than this when they are blended in
# Chosen by the development sets, see benchmarks/learning.py; and those of models that were saved without.
LIMITS = Limits(hopeless=np.float32(-3.5), given_up=np.float32(-6.0), doubt=np.float32(1.0))
EARLIER = Limits(hopeless=np.float32(-4.0), given_up=np.float32(-8.0), doubt=np.float32(3.0))
HABITS = "habits."  # how the names of their arrays begin
MOST_TREES = 1000  # of a stage: more come from no training of ours


@dataclass(frozen=True)
class LearnedDecoder:
    """One stage of trees or two (the second is told what the first believes around a cell), and what they become.

    log-odds = scale (weight trees' + (1 - weight) model's own) + shift, where `weight` grows with the number of gold pairs.
    """

    stages: tuple[Trees, ...]
    weight: float
    scale: float
    shift: float
    habits: Habits  # what annotators do with words
    digests: tuple[str, ...]  # of the gold pairs that it learned from
    limits: Limits = LIMITS

    @property
    def width(self) -> int:
        """How many facts of a cell it is told."""
        return WIDTHS[len(self.stages) - 1]

    def probabilities(self, log_odds: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Of candidates, float32, by the trees' log-odds and the model's own mean posterior."""
        return probability_of(self.scale * blend(log_odds, own, self.weight) + self.shift).astype(np.float32)

    def arrays(self) -> dict[str, np.ndarray]:
        stages = enumerate(self.stages)
        trees = {f"{number}.{name}": array for number, stage in stages for name, array in stage._asdict().items()}
        return trees | {HABITS + name: array for name, array in self.habits.arrays().items()}

    def about(self) -> dict[str, Any]:
        """What is no array, for saving."""
        numbers = {"weight": self.weight, "scale": self.scale, "shift": self.shift}
        limits = {name: float(value) for name, value in self.limits._asdict().items()}
        return {**numbers, "limits": limits, "gold": list(self.digests)}

    @classmethod
    def from_saved(cls, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> LearnedDecoder:
        """InputError or LookupError for what no learned decoder saved."""
        stages = tuple(
            _checked(Trees(*(arrays[f"{number}.{name}"] for name in Trees._fields)), width)
            for number, width in enumerate(WIDTHS)
            if f"{number}.leaf" in arrays
        )
        weight, scale, shift = (float(about[name]) for name in ("weight", "scale", "shift"))
        of_model = about.get("limits", EARLIER._asdict())
        limits = Limits(*(np.float32(of_model[name]) for name in Limits._fields))
        if not stages or not np.isfinite([weight, scale, shift, *map(float, limits)]).all():
            raise LookupError("no trees, or trees that say nothing")
        habits = {name.removeprefix(HABITS): array for name, array in arrays.items() if name.startswith(HABITS)}
        return cls(stages, weight, scale, shift, Habits.from_arrays(habits), tuple(about["gold"]), limits)


def _checked(trees: Trees, width: int) -> Trees:
    """Kernels look neither at sizes nor at the numbers of features: a stranger's model must not make them read elsewhere."""
    number = len(trees.feature)
    kinds = trees.feature.dtype == np.int32 and trees.threshold.dtype == trees.leaf.dtype == np.float32
    sizes = trees.feature.shape == trees.threshold.shape == (number, INNER) and trees.leaf.shape == (number, LEAVES)
    if not (
        kinds
        and sizes
        and 0 < number <= MOST_TREES
        and 0 <= trees.feature.min(initial=0) <= trees.feature.max(initial=0) < width
        and np.isfinite(trees.leaf).all()
        and not np.isnan(trees.threshold).any()
    ):
        raise InputError("the learned decoder's trees are damaged", remedy="Copy the model again, or learn anew.")
    return Trees(*(np.ascontiguousarray(array) for array in trees))


def stages_of(trees: Sequence[Trees]) -> Stages:
    """As kernels take one stage or two."""
    none = Trees(*(array[:0] for array in trees[0]))
    return Stages(trees[0], trees[1] if len(trees) > 1 else none, WIDTHS[len(trees) - 1])


def stage_log_odds(
    trees: Sequence[Trees], lines: np.ndarray, numbers: np.ndarray, cells: np.ndarray, facts: np.ndarray
) -> np.ndarray:
    """What the last stage says of each candidate of some pieces, by what is known of them, float32 (facts, candidates)."""
    from dovetail.kernels.learned.judging import judge_told  # needs numba at once

    sums = np.empty(len(cells), np.float32)
    judge_told(0, len(lines), lines, numbers, cells, facts, stages_of(trees), LIMITS, sums)
    return sums


def blend(log_odds: np.ndarray, own: np.ndarray, weight: float) -> np.ndarray:
    """Trees' log-odds and the model's own, float64; that from its mean posterior."""
    if weight == 1.0:
        return log_odds.astype(np.float64)
    own = np.clip(own.astype(np.float64), SUREST, 1.0 - SUREST)
    return weight * log_odds.astype(np.float64) + (1.0 - weight) * np.log(own / (1.0 - own))


def probability_of(log_odds: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-np.maximum(log_odds.astype(np.float64), -700.0)))  # exp(700) still is a number


class Judging:
    """A model whose posteriors are those that a learned decoder makes of its own; all else is the model's."""

    def __init__(self, model: Model, decoder: LearnedDecoder, facts: WordFacts) -> None:
        self._model, self._decoder, self._facts = model, decoder, facts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def posteriors(self, block: Block, work: Workspace, pool: Pool) -> np.ndarray:
        """As every model's; both directions' are the same."""
        from dovetail.kernels.learned.judging import judge

        translations = work.copy()
        scores = self._model.posteriors(block, work, pool)
        stages, limits = stages_of(self._decoder.stages), self._decoder.limits

        def task(first: int, last: int) -> None:
            numbers, cells = candidates(first, last, block, work)
            sums = np.empty(len(cells), np.float32)
            judge(first, last, block.pieces, self._facts, translations, work, numbers, cells, stages, limits, sums)
            own = np.float32(0.5) * (work.forward[cells] + work.reverse[cells])
            feature_kernels.put(first, last, block.lines, cells, self._decoder.probabilities(sums, own), work)

        pool.map(task, block.tasks)
        return scores


def judging(model: Model, decoder: LearnedDecoder, facts: WordFacts) -> Model:
    """The model as decoders see it when a learned decoder stands between."""
    return cast(Model, Judging(model, decoder, facts))
