"""Mermer and Saraçlar (2011): Table 3 (fertilities) and Table 4 (dictionaries), with AER, which the paper does not have.

All systems but sil-thot's IBM Model 4 break ties alike: of partners that are as good, the one nearest to the diagonal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dovetail import Alignments
from dovetail.evaluation.measures import dictionary_size, fertilities
from papers.shown import Section, Table
from papers.store import Store
from papers.trial import DIRECTIONS, Job, Numbers, Trial

PAPER = "Mermer and Saraçlar 2011"
PAIRS = ("TE", "ET", "CE", "EC", "AE", "EA")  # Turkish, Czech, Arabic with English; the generating side first

# Tables 3 and 4, in thousands where the paper has K or M.
WORDS = (140000, 183000, 1630000, 1780000, 1490000, 1820000)
PRINTED: dict[str, dict[str, tuple[float, ...]]] = {
    "4-7 links": {
        "EM-80": (5070, 2910, 52900, 45000, 69100, 29400),
        "IBM4": (5350, 3100, 36800, 36600, 55600, 36500),
        "GS-80": (755, 419, 14000, 10900, 47600, 18700),
    },
    "over 7": {
        "EM-80": (426, 227, 10500, 18600, 21400, 24200),
        "IBM4": (81, 163, 2570, 10600, 9850, 21800),
        "GS-80": (1, 1, 39, 110, 689, 525),
    },
    "most": {"EM-80": (24, 24, 28, 30, 44, 46), "IBM4": (9,) * 6, "GS-80": (8, 8, 13, 18, 20, 19)},
    "dictionary": {
        "EM-80": (52500, 38500, 440000, 461000, 383000, 388000),
        "IBM4": (57600, 40500, 439000, 441000, 422000, 405000),
        "GS-80": (23500, 25400, 180000, 209000, 158000, 176000),
    },
}


def _system(recipe: str, **options: Any) -> Any:
    def run(trial: Trial, seed: int) -> Numbers:
        aligner = trial.fit(recipe, seed, **options)
        links = {way: trial.links(aligner, whole=True, decoder="mode", combine=way) for way in DIRECTIONS}
        return _measured(trial, links)

    return run


def _ibm4(trial: Trial, seed: int) -> Numbers:
    return _measured(trial, trial.peer("sil-thot-ibm4").whole)


def _measured(trial: Trial, links: dict[str, Alignments]) -> Numbers:
    """Fertilities, dictionary and scores of each direction's links of the whole text."""
    text, numbers = trial.bitext, {}
    for way, found in links.items():
        shape = fertilities(found, "source" if way == "forward" else "target")
        size = dictionary_size(found, text.source.ids, text.source.offsets, text.target.ids, text.target.offsets)
        counts = {"words": shape.words, "4-7 links": shape.high, "over 7": shape.excessive, "most": shape.maximum}
        counts |= {"dictionary": size}
        counts |= trial.score(found[trial.first : trial.first + len(trial.gold)])
        numbers |= {f"{way} {name}": value for name, value in counts.items()}
    return {**numbers, "signature": numbers["forward signature"]}


SYSTEMS = {
    "EM-5": (_system("ibm1"), False),
    "EM-80": (_system("ibm1", ibm1_iterations=80), False),
    "GS-N": (_system("mermer2011", start="cooccurrence"), True),
    "GS-5": (_system("mermer2011"), True),
    "GS-80": (_system("mermer2011", ibm1_iterations=80), True),
    "IBM4": (_ibm4, False),
    "ours (`ibm1-bayes`)": (_system("ibm1-bayes"), True),
}
JOBS = [Job(PAPER, name, run, samples) for name, (run, samples) in SYSTEMS.items()]


def sections(store: Store, texts: Sequence[tuple[str, int]]) -> list[Section]:
    return [Section.of("Mermer and Saraçlar 2011: Bayesian IBM Model 1", store, _parts(store, texts))]


def _parts(store: Store, texts: Sequence[tuple[str, int]]) -> Iterator[Table]:
    ways = [f"{name}:{size} {way}" for name, size in texts for way in DIRECTIONS]
    paper = [f"paper {pair}" for pair in PAIRS]
    words = [store.mean(PAPER, "EM-80", *text, f"{way} words") for text in texts for way in DIRECTIONS]
    yield Table("Table 3: all words", ["", *ways, *paper], [["of the side that generates", *words, *WORDS]], len(PAIRS))
    for number, title in (
        ("AER", "AER, per cent (not in the paper)"),
        ("4-7 links", "Table 3: words with 4 to 7 links"),
        ("over 7", "Table 3: words with more than 7"),
        ("most", "Table 3: most links of a word"),
        ("dictionary", "Table 4: word pairs in the dictionary"),
    ):
        printed = PRINTED.get(number, {})
        rows = [
            [
                system,
                *(store.mean(PAPER, system, *text, f"{way} {number}") for text in texts for way in DIRECTIONS),
                *(printed.get(system, (None,) * len(PAIRS)) if printed else ()),
            ]
            for system in SYSTEMS
        ]
        last = paper if printed else []
        yield Table(title, ["system", *ways, *last], rows, len(last))
