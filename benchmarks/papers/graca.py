"""Graça, Ganchev and Taskar (2010): Figures 4 to 8, the precision experiment, one-to-one links and symmetry."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail import Alignments, precision_recall_curve
from dovetail.evaluation.measures import evaluate_by_frequency, one_to_one_share, symmetry
from papers.shown import Figure, Section, Table
from papers.store import Store
from papers.trial import DIRECTIONS, Job, Numbers, Trial

PAPER = "Graça et al. 2010"
CANDIDATE = 0.001  # cells below it have no place on a curve
RARE = 4  # words that occur less than five times (section 2.2)
RARE_TOLD = (
    "At IBM Model 4's recall; rare words occur less than five times. The paper has curves without numbers: precision on "
    "rare words rises by up to 50 points over the HMM's, their recall falls a little, common words gain as all words do. "
    "sil-thot's HMM is at its own recall."
)
GAINS = "In the paper constraints gain 20 to 30 per cent with little text, and 15 with a million pairs."
SIDES = (*DIRECTIONS, "soft-union")
POINTS = 60

# Sections 3.3, 3.4 (En-Fr): shares of one-to-one links and symmetry, per cent; section 4.1: areas by precision, per cent.
PRINTED_ONE_TO_ONE = {"HMM": 78.0, "graca2010-bijective": 97.3}
PRINTED_SYMMETRY = {"HMM": 48.0, "graca2010-symmetric": 89.9}
PRINTED_AREA = {0.1: 70.0, 0.001: 85.0}
IBM4 = "sil-thot-ibm4"  # at whose recall precision is compared, as in the paper
PEERS = {"IBM4": IBM4, "sil-thot HMM": "sil-thot-hmm"}
PEERS_TOLD = (
    "sil-thot's rows are of its own best links (`get_best_alignments`) of each direction on the same test pairs: they have "
    "no probabilities, and stand at their own recall."
)
BASELINE = "HMM"
TITLES = {BASELINE: "HMM of pairs up to 40 words", "IBM4": "IBM Model 4 (sil-thot)", "sil-thot HMM": "HMM (sil-thot)"}
BASELINE_TOLD = (
    "The HMM is `graca2010-bijective` without its constraints, four iterations: like the paper's systems it learns from "
    "pairs of at most 40 words per side, `hmm` and ours from all."
)

ALIGNING: dict[str, dict[str, Any]] = {
    "as printed": {"project_decoding": True, "every_constraint": False},
    "every constraint met": {"project_decoding": True, "every_constraint": True},
    "not projected": {"project_decoding": False},
}

SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    BASELINE: ("graca2010-bijective", {"constraints": "", "hmm_iterations": 4}),
    "hmm": ("hmm", {"hmm_iterations": 4}),
    "graca2010-bijective": ("graca2010-bijective", {}),
    "graca2010-symmetric": ("graca2010-symmetric", {}),
    "hmm-bijective": ("hmm-bijective", {}),
    "hmm-symmetric": ("hmm-symmetric", {}),
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
            numbers[f"{side} curve"] = [
                [100 * float(r), 100 * float(curve.precision_at(r))]
                for r in np.linspace(0.02, curve.recall[-1], POINTS)
            ]
            numbers[f"{side} one-to-one"] = 100 * one_to_one_share(half[side])
            numbers |= {f"{side} {name}": value for name, value in trial.score(half[side]).items()}
            recall = trial.peer_scores(IBM4).get(f"{side} R", math.inf) / 100
            if recall <= curve.recall[-1]:
                numbers[f"{side} P at R"] = 100 * curve.precision_at(recall)
                links = trial.links(aligner, threshold=curve.threshold_at(recall), combine=side)
                numbers |= _by_frequency(trial, links, side)
        return {**numbers, "signature": numbers["forward signature"]}

    return run


def _peer(name: str) -> Any:
    def run(trial: Trial, seed: int) -> Numbers:
        peer = trial.peer(name)
        numbers = dict(peer.numbers)
        for way, links in peer.test.items():
            numbers |= _by_frequency(trial, links, way)
            numbers[f"{way} one-to-one"] = 100 * one_to_one_share(links)
        return {**numbers, "symmetry": 100 * symmetry(peer.test["forward"], peer.test["reverse"])}

    return run


def _by_frequency(trial: Trial, links: Alignments, side: str) -> Numbers:
    """Figure 7: words of the side that generates, by how often the text has them."""
    reverse = side == "reverse"
    words, trained = (trial.test.target, trial.bitext.target) if reverse else (trial.test.source, trial.bitext.source)
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


JOBS = [Job(PAPER, name, _curves(recipe, options)) for name, (recipe, options) in SYSTEMS.items()]
JOBS += [Job(PAPER, f"precision {value}", _precision(value)) for value in PRINTED_AREA]
JOBS += [Job(PAPER, name, _peer(peer)) for name, peer in PEERS.items()]


def sections(store: Store, texts: Sequence[tuple[str, int]]) -> list[Section]:
    return [Section.of("Graça, Ganchev and Taskar 2010: constraints on posteriors", store, _parts(store, texts))]


def _parts(store: Store, texts: Sequence[tuple[str, int]]) -> Iterator[Table | Figure]:
    heads = [f"{name}:{size}" for name, size in texts]

    def table(title: str, number: str, printed: dict[str, float] | None = None, note: str = "") -> Table:
        rows = [
            [title_of(system), *(store.mean(PAPER, system, *text, number) for text in texts), *_last(system, printed)]
            for system in (*SYSTEMS, *PEERS)
        ]
        return Table(title, ["system", *heads, *(["paper, En-Fr"] if printed else [])], rows, int(bool(printed)), note)

    for way in DIRECTIONS:
        rows = [
            [title_of(system), *(precision_at_recall(store, system, text, way) for text in texts)]
            for system in (*SYSTEMS, *PEERS)
        ]
        for peer in PEERS:
            rows.append(
                [f"{title_of(peer)}: its recall", *(store.mean(PAPER, peer, *text, f"{way} R") for text in texts)]
            )
        told = "The paper's bars have no numbers: constraints gain 11 and 14 per cent over the HMM, IBM Model 4 10."
        title = f"Figure 5: precision at IBM Model 4's recall, {way}"
        yield Table(title, ["system", *heads], rows, 0, f"{told} {BASELINE_TOLD} {PEERS_TOLD}")
    for way in DIRECTIONS:
        printed = PRINTED_ONE_TO_ONE if way == "forward" else None
        yield table(f"One-to-one links of the {way} direction, per cent", f"{way} one-to-one", printed, "Section 3.3.")
        yield table(f"Figure 7: precision of rare words, {way}", f"{way} rare P", note=RARE_TOLD)
        yield table(f"Figure 7: recall of rare words, {way}", f"{way} rare R", note=RARE_TOLD)
        yield table(f"Figure 7: precision of common words, {way}", f"{way} common P", note=RARE_TOLD)
    yield table("Symmetry, per cent", "symmetry", PRINTED_SYMMETRY, "Section 3.4.")
    for way in DIRECTIONS:
        yield table(f"AER of links above 0.5, {way} (not in the paper)", f"{way} AER", note=PEERS_TOLD)
    yield table("AER of the soft union at 0.5", "soft-union AER")
    yield Table(
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
    )
    yield Table(
        "The precision experiment: forward-backward passes per pair and iteration",
        ["precision", *heads],
        [
            [f"{value}", *(store.mean(PAPER, f"precision {value}", *text, "passes") for text in texts)]
            for value in PRINTED_AREA
        ],
    )
    for name, size in texts:
        for side, title in (*((way, "Figure 4") for way in DIRECTIONS), ("soft-union", "Figure 8")):
            lines = {system: store.curve(PAPER, system, name, size, f"{side} curve") for system in SYSTEMS}
            for peer in PEERS:
                found = [store.mean(PAPER, peer, name, size, f"{side} {number}") for number in "RP"]
                if None not in found:
                    lines[title_of(peer)] = [found]  # it has no probabilities
            yield Figure(f"{title}: {name}:{size}, {side}", "recall", "precision", dict(lines))
    for name in dict.fromkeys(name for name, _ in texts):
        sizes = sorted(size for other, size in texts if other == name)
        for way in DIRECTIONS if len(sizes) > 1 else ():
            lines = {
                system: [
                    [size, value]
                    for size in sizes
                    if (value := precision_at_recall(store, system, (name, size), way)) is not None
                ]
                for system in (*SYSTEMS, "IBM4")
            }
            title = f"Figure 6: {name}, precision at IBM Model 4's recall by size, {way}"
            yield Figure(title, "pairs", "precision", dict(lines), GAINS)


def title_of(system: str) -> str:
    return TITLES.get(system, f"`{system}`")


def precision_at_recall(store: Store, system: str, text: tuple[str, int], way: str) -> float | None:
    """At IBM Model 4's recall, None where a system does not reach it; a peer's at its own."""
    return store.mean(PAPER, system, *text, f"{way} P" if system in PEERS else f"{way} P at R")


def _last(system: str, printed: dict[str, float] | None) -> list[float | None]:
    return [] if printed is None else [printed.get(system)]
