"""Quirk (2013): Table 1, and the share of sentences that have converged by iteration (section 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from papers.shown import Figure, Section, Table
from papers.store import Store
from papers.trial import DIRECTIONS, Job, Numbers, Trial
from papers.zhao import PAPER as ZHAO

PAPER = "Quirk 2013"
STEPS = (1, 2, 5, 10, 20, 30, 40)

# Table 1: AER of German to English and of English to German, per cent.
PRINTED = {"HMM": (24.0, 21.8), "FHMM Viterbi": (19.7, 19.6), "FHMM dual decomposition": (18.0, 17.4)}
PRINTED_CONVERGED = 55.0  # section 5: per cent of the test sentences after 40 iterations


def _hmm(trial: Trial, seed: int) -> Numbers:
    return trial.by_direction(trial.fit("hmm", seed), decoder="viterbi")


def _fertility(trial: Trial, seed: int) -> Numbers:
    """Both of the paper's decoders on one model."""
    aligner = trial.fit("quirk2013", seed)
    numbers = {f"viterbi {name}": value for name, value in trial.by_direction(aligner, decoder="viterbi").items()}
    for way in DIRECTIONS:
        links = trial.links(aligner, decoder="exact", combine=way)
        numbers |= {f"dual {way} {name}": value for name, value in trial.score(links).items()}
        proved, used = (np.asarray(links.details[name]) for name in ("certified", "iterations"))
        numbers[f"{way} converged"] = [[step, 100 * float((proved & (used <= step)).mean())] for step in STEPS]
        numbers[f"{way} converged share"] = 100 * float(proved.mean())
        free = trial.links(aligner, decoder="exact", combine=way, exact_method="quirk2013-free").details
        numbers[f"{way} converged share, free rows"] = 100 * float(np.asarray(free["certified"]).mean())
        aligner.recipe = aligner.recipe.with_options({"exact_method": "quirk2013"})
    return {**numbers, "signature": numbers[f"dual {DIRECTIONS[0]} signature"]}


def _unpooled(trial: Trial, seed: int) -> Numbers:
    """The categorical distributions that section 3 begins with."""
    return trial.by_direction(trial.fit("quirk2013", seed, fertility="unpooled"))


def _ours(trial: Trial, seed: int) -> Numbers:
    return trial.by_direction(trial.fit("hmm-fertility-features", seed), decoder="exact")


JOBS = [
    Job(PAPER, "HMM", _hmm),
    Job(PAPER, "quirk2013", _fertility, samples=True),
    Job(PAPER, "unpooled", _unpooled, samples=True),
    Job(PAPER, "ours", _ours, samples=True),
]


def sections(store: Store, texts: Sequence[tuple[str, int]]) -> list[Section]:
    return [Section.of("Quirk 2013: exact MAP alignment with fertility", store, _parts(store, texts))]


def _parts(store: Store, texts: Sequence[tuple[str, int]]) -> Iterator[Table | Figure]:
    head = ["system", *(f"{name}:{size} {way}" for name, size in texts for way in DIRECTIONS), "paper G→E", "paper E→G"]
    rows = []
    for title, paper, job, prefix, printed in (
        ("HMM", PAPER, "HMM", "", PRINTED["HMM"]),
        ("FHMM, Viterbi (`quirk2013`)", PAPER, "quirk2013", "viterbi ", PRINTED["FHMM Viterbi"]),
        ("FHMM, dual decomposition (`quirk2013`)", PAPER, "quirk2013", "dual ", PRINTED["FHMM dual decomposition"]),
        ("FHMM, one distribution per word, dual decomposition", PAPER, "unpooled", "", (None, None)),
        ("ours (`hmm-fertility-features`, exact)", PAPER, "ours", "", (None, None)),
        ("sil-thot, IBM Model 4", ZHAO, "IBM4", "", (None, None)),
    ):
        cells = [store.mean(paper, job, *text, f"{prefix}{way} AER") for text in texts for way in DIRECTIONS]
        rows.append([title, *cells, *printed])
    for title, number, printed in (
        ("converged after 40 iterations, per cent", "converged share", (PRINTED_CONVERGED,) * 2),
        ("the same with the rows of Figure 2 alone", "converged share, free rows", (None, None)),
    ):
        cells = [store.mean(PAPER, "quirk2013", *text, f"{way} {number}") for text in texts for way in DIRECTIONS]
        rows.append([title, *cells, *printed])
    note = (
        "IBM Model 4 is not in the paper's table; its cells are those of Zhao and Gildea's. Its links are its own best ones "
        "(`get_best_alignments`) of each direction, as all rows are of one direction alone, on the same test pairs."
    )
    yield Table("Table 1: AER, per cent", head, rows, printed=2, note=note)
    note = f"The paper has one point: {PRINTED_CONVERGED:.0f} per cent after 40 iterations (section 5)."
    for pairs in dict.fromkeys(size for _, size in texts):
        lines = {
            f"{name} {way}": store.curve(PAPER, "quirk2013", name, size, f"{way} converged")
            for name, size in texts
            if size == pairs
            for way in DIRECTIONS
        }
        title = f"Converged by iteration, {pairs:,} pairs"
        if any(lines.values()):
            yield Figure(title, "iteration", "per cent of sentences", dict(lines), note)
