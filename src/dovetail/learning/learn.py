"""From gold pairs to a learned decoder, and what cross-validation says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.decoding.learned import MEAN, LearnedDecoder, blend, probability_of, stage_log_odds
from dovetail.evaluation.metrics import Metric, find_metric
from dovetail.evaluation.significance import Interval, percentile_interval, resample
from dovetail.kernels.learned.features import FEATURES, describe_beliefs
from dovetail.kernels.learned.records import Trees
from dovetail.learning.boosting import grow
from dovetail.learning.habits import Memory
from dovetail.learning.lesson import Lesson

# What `--favour` aims at: F0.5 weighs precision by 0.8 (1 / (1 + 0.5 ** 2)), F2 by 0.2.
AIMS = {"aer": "aer", "f1": "f1", "precision": "f0.8", "recall": "f0.2"}

FOLDS, INNER = 5, 3
GROWTH = 60, 0.2  # trees of a stage, and their rate of learning
CAREFUL = 100, 0.1  # the same where there is one stage only: few pairs do less harm so
TWO_STAGES = 80  # gold pairs from which a second stage pays
TRUSTED = 60  # gold pairs from which the trees' word alone counts; of fewer, their part
FEWEST = 8  # gold pairs below which nothing is learned
THRESHOLDS = np.linspace(0.10, 0.90, 81)
SMOOTH = 5  # neighbouring thresholds that are averaged: the best of a jagged curve is one by chance
SAMPLES = 1000  # of the bootstrap
WORTH_WHILE = 0.02  # the part of the value that a quarter of the pairs must have brought
SUPPORT = 0.8  # the share of resamples in which the learned decoder must be better,
MUCH_SUPPORT = 0.9  # and with fewer gold pairs than are trusted
FEW = 20  # gold pairs that move the threshold half-way from one half to where they want it


@dataclass(frozen=True)
class Validation:
    """What held-out folds say: counts (pairs, 4) before and after, by the metric aimed at."""

    metric: str
    before: np.ndarray
    after: np.ndarray

    def value(self, after: bool) -> float:
        return float(find_metric(self.metric)((self.after if after else self.before).sum(axis=0)))

    def interval(self, after: bool) -> Interval:
        drawn = resample(self.after if after else self.before, SAMPLES)
        return percentile_interval(find_metric(self.metric)(drawn))

    @property
    def support(self) -> float:
        """The share of resampled gold sets on which the learned decoder is better."""
        metric, drawn = find_metric(self.metric), resample(np.hstack([self.before, self.after]), SAMPLES)
        gain = metric(drawn[:, 4:]) - metric(drawn[:, :4])
        return float(np.mean(gain < 0 if metric.lower_is_better else gain > 0))


@dataclass(frozen=True)
class Settled:
    """What is decided besides the trees: calibration of log-odds, and the threshold of probabilities."""

    scale: float
    shift: float
    threshold: float

    @classmethod
    def by(cls, lesson: Lesson, log_odds: np.ndarray, metric: Metric) -> Settled:
        """From blended log-odds of candidates that the trees had not seen; few pairs do not settle a threshold."""
        scale, shift = calibrate(log_odds, lesson)
        probability = probability_of(scale * log_odds + shift)
        values = np.array([metric(lesson.counts(probability > t).sum(axis=0)) for t in THRESHOLDS])
        edges = np.pad(values, SMOOTH // 2, mode="edge")
        smooth = np.convolve(edges, np.full(SMOOTH, 1 / SMOOTH), mode="valid")
        best = float(THRESHOLDS[metric.best(smooth)])
        return cls(scale, shift, 0.5 + (best - 0.5) * len(lesson) / (len(lesson) + FEW))


def calibrate(log_odds: np.ndarray, lesson: Lesson) -> tuple[float, float]:
    """Scale and shift (Platt 1999) by Newton's method; what annotators left open says nothing."""
    z, right = log_odds[lesson.settled], lesson.sure[lesson.settled].astype(np.float64)
    design = np.stack([z, np.ones_like(z)], axis=1)
    weights, start = np.array([1.0, 0.0]), np.array([1.0, 0.0])
    for _ in range(20):
        p = probability_of(design @ weights)
        # A prior as strong as a few candidates keeps both near (1, 0) where there is little to go by.
        gradient = design.T @ (right - p) - (weights - start)
        curvature = design.T @ (design * (p * (1 - p))[:, None]) + np.eye(2)
        weights = weights + np.linalg.solve(curvature, gradient)
    return float(weights[0]), float(weights[1])


def folds(group: np.ndarray, number: int, seed: int) -> np.ndarray:
    """The fold of each pair; pairs of one group share a fold."""
    members, which = np.unique(group, return_inverse=True)
    order = np.random.Generator(np.random.Philox(seed)).permutation(len(members))
    return (order % number)[which]


def train(lesson: Lesson, pairs: int) -> tuple[tuple[Trees, ...], Memory]:
    """One stage, or two where the gold set has enough `pairs`; and what was learned of words."""
    memory = Memory(lesson)
    # Of each pair's words the others speak: what trees are told of new text comes from other pairs too.
    memory.tell(lesson, own=True)
    first = _grown(lesson, lesson.facts[: len(FEATURES)], pairs)
    if pairs < TWO_STAGES:
        return (first,), memory
    # What the second stage is told in training must be as unsure as it will be of new text: from trees that had not
    # seen the pair.
    facts = lesson.facts.copy()
    fold = folds(lesson.group, INNER, seed=2)
    for k in range(INNER):
        rest, held = lesson.of(fold != k), lesson.of(fold == k)
        inner = _grown(rest, rest.facts[: len(FEATURES)], pairs)
        belief = probability_of(judge((inner,), held)).astype(np.float32)
        everyone = np.ones(len(belief), bool)
        describe_beliefs(
            0, len(held), held.lines, held.numbers, held.cells, belief, everyone, len(FEATURES), held.facts
        )
        facts[:, (fold == k)[lesson.pair]] = held.facts
    return (first, _grown(lesson, facts, pairs)), memory


def _grown(lesson: Lesson, facts: np.ndarray, pairs: int) -> Trees:
    growth = GROWTH if pairs >= TWO_STAGES else CAREFUL
    return grow(facts[:, lesson.settled].T, lesson.sure[lesson.settled], *growth)


def judge(stages: tuple[Trees, ...], lesson: Lesson) -> np.ndarray:
    """Log-odds of the last stage."""
    return stage_log_odds(stages, lesson.lines, lesson.numbers, lesson.cells, lesson.facts)


def weight_of(pairs: int) -> float:
    """How much the trees' word weighs against the model's own."""
    return min(1.0, pairs / TRUSTED)


def held_out(lesson: Lesson, fold: np.ndarray, share: float = 1.0) -> np.ndarray:
    """Blended log-odds of every candidate by trees that saw neither its pair nor one like it.

    `share` of the other folds' groups is learned from: for learning curves.
    """
    found = np.empty(len(lesson.cells))
    for k in range(int(fold.max()) + 1):
        others = fold != k
        if share < 1.0:
            groups = np.unique(lesson.group[others])
            drawn = np.random.Generator(np.random.Philox(3)).permutation(groups)[: max(2, round(share * len(groups)))]
            others = others & np.isin(lesson.group, drawn)
        # As many pairs as the gold set has, or would have, decide on stages and weight.
        pairs = round(share * len(lesson))
        stages, memory = train(lesson.of(others), pairs)
        held = lesson.of(fold == k)
        memory.tell(held)
        found[(fold == k)[lesson.pair]] = blend(judge(stages, held), held.facts[MEAN], weight_of(pairs))
    return found


def validate(lesson: Lesson, before: np.ndarray, metric: str, share: float = 1.0) -> tuple[Validation, np.ndarray]:
    """Scores of held-out folds, calibration and threshold settled by the other folds; and the held-out log-odds."""
    fold = folds(lesson.group, FOLDS, seed=1)
    log_odds = held_out(lesson, fold, share)
    after = np.zeros_like(before)
    for k in range(FOLDS):
        of_fold = (fold == k)[lesson.pair]
        settled = Settled.by(lesson.of(fold != k), log_odds[~of_fold], find_metric(metric))
        probability = probability_of(settled.scale * log_odds + settled.shift)
        after[fold == k] = lesson.counts(probability > settled.threshold)[fold == k]
    return Validation(metric, before, after), log_odds


@dataclass(frozen=True)
class Learned:
    """What was learned, or None with the reason why not; `validation` speaks of pairs that were held out.

    `curve` has the metric for shares of the gold pairs, where it was asked for: (pairs learned from, value).
    """

    decoder: LearnedDecoder | None
    threshold: float
    pairs: int
    validation: Validation | None
    reason: str
    curve: tuple[tuple[int, float], ...] = ()

    def __str__(self) -> str:
        if self.validation is None:
            return self.reason
        checked, name = self.validation, self.validation.metric
        name = {"aer": "AER", "f1": "F1", "f0.8": "F0.5", "f0.2": "F2"}[name]
        said = [
            "{:.2f} [{:.2f}, {:.2f}]".format(*(100 * x for x in (checked.value(after), *checked.interval(after))))
            for after in (False, True)
        ]
        return f"{name} of held-out gold pairs: {said[0]} before, {said[1]} after. {self.reason}"

    @property
    def prospect(self) -> str:
        """What the curve's last step says of annotating more."""
        (fewer, earlier), (all_pairs, latest) = self.curve[-2:]
        gained = abs(latest - earlier) if self._better(latest, earlier) else 0.0
        if gained < WORTH_WHILE * latest:
            return (
                f"From {fewer:,} to {all_pairs:,} pairs hardly anything was gained: annotating more would pay little."
            )
        return (
            f"From {fewer:,} to {all_pairs:,} pairs {100 * gained:.2f} were gained: annotating more would probably pay."
        )

    def _better(self, value: float, other: float) -> bool:
        assert self.validation is not None
        return (value < other) == find_metric(self.validation.metric).lower_is_better

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        found: dict[str, Any] = {"learned": self.decoder is not None, "pairs": self.pairs, "reason": self.reason}
        if self.validation is not None:
            found["metric"] = self.validation.metric
            for name, after in (("before", False), ("after", True)):
                found[name] = self.validation.value(after)
                found[f"{name}_interval"] = list(self.validation.interval(after))
            found["support"] = self.validation.support
        if self.decoder is not None:
            found["threshold"] = self.threshold
        if self.curve:
            found["curve"] = [list(point) for point in self.curve]
        return found


def learn(
    lesson: Lesson,
    before: np.ndarray,
    digests: list[str],
    favour: str = "aer",
    shares: tuple[float, ...] = (),
) -> Learned:
    """A decoder, if cross-validation supports it; `before` are the counts (pairs, 4) of the model as it is."""
    pairs = len(np.unique(lesson.group))
    if pairs < FEWEST or not 0 < lesson.sure.sum() < len(lesson.sure):
        reason = (
            f"The model stays as it is: {pairs:,} different gold pairs are too few to learn from (at least {FEWEST})."
        )
        return Learned(None, 0.5, len(lesson), None, reason)
    metric = AIMS[favour]
    validation, log_odds = validate(lesson, before, metric)
    curve = [(round(share * len(lesson)), validate(lesson, before, metric, share)[0].value(True)) for share in shares]
    curve = [(0, validation.value(False)), *curve, (len(lesson), validation.value(True))] if shares else []
    support = f"better in {100 * validation.support:.0f} per cent of resampled gold sets"
    asked = SUPPORT if len(lesson) >= TRUSTED else MUCH_SUPPORT
    if validation.support < asked:
        reason = f"The model stays as it is: {support}, and {100 * asked:.0f} are asked for."
        return Learned(None, 0.5, len(lesson), validation, reason, tuple(curve))
    settled = Settled.by(lesson, log_odds, find_metric(metric))
    stages, memory = train(lesson, len(lesson))
    weight = weight_of(len(lesson))
    decoder = LearnedDecoder(stages, weight, settled.scale, settled.shift, memory.habits(), tuple(digests))
    return Learned(decoder, settled.threshold, len(lesson), validation, f"Learned: {support}.", tuple(curve))
