"""Graça, Ganchev and Taskar (2010): Figures 4 to 8, the precision experiment, one-to-one links and symmetry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import Aligner, precision_recall_curve
from dovetail.evaluation.measures import evaluate_by_frequency, one_to_one_share, symmetry
from papers.shown import Figure, Section, Table
from papers.store import Store
from papers.trial import DIRECTIONS, Job, Numbers, Trial

PAPER = "Graça et al. 2010"
CANDIDATE = 0.001  # cells below it have no place on a curve
RARE = 5  # words seen less often (section 2.2)
SIDES = (*DIRECTIONS, "soft-union")
POINTS = 60

# Sections 3.3, 3.4 (En-Fr): shares of one-to-one links and symmetry, per cent; section 4.1: areas by precision, per cent.
PRINTED_ONE_TO_ONE = {"hmm": 78.0, "graca2010-bijective": 97.3}
PRINTED_SYMMETRY = {"hmm": 48.0, "graca2010-symmetric": 89.9}
PRINTED_AREA = {0.1: 70.0, 0.001: 85.0}
RECALL = 0.8  # where precision by size is compared: that of IBM Model 4 changes with the size

ALIGNING: dict[str, dict[str, Any]] = {
    "as printed": {"project_decoding": True, "every_constraint": False},
    "every constraint met": {"project_decoding": True, "every_constraint": True},
    "not projected": {"project_decoding": False},
}

SYSTEMS: dict[str, dict[str, Any]] = {
    "hmm": {"hmm_iterations": 4},
    "graca2010-bijective": {},
    "graca2010-symmetric": {},
    "hmm-bijective": {},
    "hmm-symmetric": {},
}


def _curves(recipe: str, options: dict[str, Any]) -> Any:
    def run(trial: Trial, seed: int) -> Numbers:
        aligner = trial.fit(recipe, seed, **options)
        numbers: Numbers = {}
        half = {side: trial.links(aligner, threshold=0.5, combine=side) for side in SIDES}
        numbers["symmetry"] = 100 * symmetry(half["forward"], half["reverse"])
        for side in SIDES:
            curve = precision_recall_curve(trial.links(aligner, threshold=CANDIDATE, combine=side), trial.gold)
            numbers[f"{side} area"] = 100 * curve.area
            reach = curve.recall[-1]
            numbers[f"{side} curve"] = [
                [100 * float(r), 100 * float(curve.precision_at(r))] for r in np.linspace(0.02, reach, POINTS)
            ]
            if reach >= RECALL:
                numbers[f"{side} P at R"] = 100 * curve.precision_at(RECALL)
            numbers[f"{side} one-to-one"] = 100 * one_to_one_share(half[side])
            numbers |= {f"{side} {name}": value for name, value in trial.score(half[side]).items()}
            numbers |= _by_frequency(trial, aligner, side)
        return {**numbers, "signature": numbers["forward signature"]}

    return run


def _by_frequency(trial: Trial, aligner: Aligner, side: str) -> Numbers:
    """Figure 7: words of the side that generates, by how often the text has them."""
    reverse = side == "reverse"
    words, trained = (trial.test.target, trial.bitext.target) if reverse else (trial.test.source, trial.bitext.source)
    links = trial.links(aligner, threshold=0.5, combine=side)
    counts = trained.vocabulary.counts[words.ids]
    parts = evaluate_by_frequency(links, trial.gold, counts, words.offsets, "target" if reverse else "source", RARE)
    return {
        f"{side} rare P": 100 * parts.rare.precision,
        f"{side} rare R": 100 * parts.rare.recall,
        f"{side} common P": 100 * parts.common.precision,
    }


def _precision(value: float) -> Any:
    """Areas where aligning ends as the paper says, where every constraint is met, and without projection when aligning."""

    def run(trial: Trial, seed: int) -> Numbers:
        aligner = trial.fit("graca2010-symmetric", seed, precision=value, hmm_iterations=4)
        numbers: Numbers = {"passes": aligner.model.effort.mean_passes}
        for name, options in ALIGNING.items():
            links = trial.links(aligner, threshold=CANDIDATE, combine="forward", **options)
            numbers[name] = 100 * precision_recall_curve(links, trial.gold).area
            numbers["signature"] = trial.score(links)["signature"]
        return numbers

    return run


JOBS = [Job(PAPER, name, _curves(name, options)) for name, options in SYSTEMS.items()]
JOBS += [Job(PAPER, f"precision {value}", _precision(value)) for value in PRINTED_AREA]
JOBS.append(Job(PAPER, "IBM4", lambda trial, seed: trial.peer("sil-thot-ibm4")))


def sections(store: Store, texts: Sequence[tuple[str, int]]) -> list[Section]:
    section = Section("Graça, Ganchev and Taskar 2010: constraints on posteriors")
    heads = [f"{name}:{size}" for name, size in texts]

    def table(title: str, number: str, printed: dict[str, float] | None = None, note: str = "") -> Table:
        rows = [
            [f"`{system}`", *(store.mean(PAPER, system, *text, number) for text in texts), *_last(system, printed)]
            for system in SYSTEMS
        ]
        return Table(title, ["system", *heads, *(["paper, En-Fr"] if printed else [])], rows, int(bool(printed)), note)

    for way in DIRECTIONS:
        rows = [
            [f"`{system}`", *(_precision_at_ibm4(store, system, text, way) for text in texts)] for system in SYSTEMS
        ]
        rows.append(["IBM Model 4 (sil-thot)", *(store.mean(PAPER, "IBM4", *text, f"{way} P") for text in texts)])
        rows.append(["its recall", *(store.mean(PAPER, "IBM4", *text, f"{way} R") for text in texts)])
        note = "The paper's bars have no numbers: constraints gain 11 and 14 per cent over the HMM, IBM Model 4 10."
        section.tables.append(
            Table(f"Figure 5: precision at IBM Model 4's recall, {way}", ["system", *heads], rows, 0, note)
        )
    section.tables += [
        table(
            "One-to-one links of the forward direction, per cent",
            "forward one-to-one",
            PRINTED_ONE_TO_ONE,
            "Section 3.3.",
        ),
        table("Symmetry, per cent", "symmetry", PRINTED_SYMMETRY, "Section 3.4."),
        table("Figure 7: precision of rare words, forward", "forward rare P"),
        table("Figure 7: recall of rare words, forward", "forward rare R"),
        table("Figure 7: precision of common words, forward", "forward common P"),
        table("AER of the soft union at 0.5", "soft-union AER"),
        Table(
            "The precision experiment: area under the curve after four iterations, symmetric, forward",
            ["precision, and how aligning projects", *heads, "paper, En-Fr 10k"],
            [
                [
                    f"{value}, {aligning}",
                    *(store.mean(PAPER, f"precision {value}", *text, aligning) for text in texts),
                    printed if aligning == "as printed" else None,
                ]
                for aligning in ALIGNING
                for value, printed in PRINTED_AREA.items()
            ],
            1,
            "Section 4.1: as printed, a projection ends when the gradient's length divided by the number of constraints is "
            "below the precision. A pair has as many symmetric constraints as cells: at 0.1 next to nothing is projected.",
        ),
    ]
    for name, size in texts:
        for side, title in (("forward", "Figure 4"), ("soft-union", "Figure 8")):
            lines = {system: store.curve(PAPER, system, name, size, f"{side} curve") for system in SYSTEMS}
            section.figures.append(Figure(f"{title}: {name}:{size}, {side}", "recall", "precision", dict(lines)))
    for name in dict.fromkeys(name for name, _ in texts):
        sizes = sorted(size for other, size in texts if other == name)
        lines = {
            system: [
                [size, value]
                for size in sizes
                if (value := store.mean(PAPER, system, name, size, "forward P at R")) is not None
            ]
            for system in SYSTEMS
        }
        if len(sizes) > 1:
            title = f"Figure 6: {name}, precision at a recall of {RECALL:.0%} by size"
            section.figures.append(Figure(title, "pairs", "precision", dict(lines)))
    return [section]


def _precision_at_ibm4(store: Store, system: str, text: tuple[str, int], way: str) -> float | None:
    """On the system's curve, between the points that were kept; None beyond its last one."""
    recall = store.mean(PAPER, "IBM4", *text, f"{way} R")
    points = np.array(store.curve(PAPER, system, *text, f"{way} curve"))
    if recall is None or not len(points) or recall > points[-1, 0]:
        return None
    return float(np.interp(recall, points[:, 0], points[:, 1]))


def _last(system: str, printed: dict[str, float] | None) -> list[float | None]:
    return [] if printed is None else [printed.get(system)]
