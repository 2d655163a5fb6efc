"""What a job gets: a text with its gold links, and what is asked of every system's links."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from aligners import PEERS
from dovetail import Aligner, Alignments, Bitext, Gold, evaluate, read_bitext
from dovetail.alignments.formats import read_alignments
from texts import Text, find_set, write_text

DIRECTIONS = ("forward", "reverse")
FEW = 20  # pairs that compile all kernels
Numbers = dict[str, Any]  # numbers by name, and lists of them for curves


class PeerRun(NamedTuple):
    """Another aligner's scores of each direction with its CPU seconds; its links of the whole text and of the test pairs."""

    numbers: Numbers
    whole: dict[str, Alignments]
    test: dict[str, Alignments]


@dataclass(frozen=True)
class Trial:
    """A text that is learned from whole; its test pairs come last.  What peers wrote is `kept`."""

    bitext: Bitext
    first: int
    gold: Gold
    text: Text
    kept: Path
    threads: int
    known: dict[str, Numbers] = field(default_factory=dict)  # scores of peers that finished cells have
    _peers: dict[str, PeerRun] = field(default_factory=dict)  # several papers ask for the same one

    @property
    def test(self) -> Bitext:
        return self.bitext.part(self.first, self.first + len(self.gold))

    def score(self, links: Alignments) -> Numbers:
        """Precision, recall and AER in per cent, and the signature."""
        score = evaluate(links, self.gold)
        numbers = {"P": 100 * score.precision, "R": 100 * score.recall, "AER": 100 * score.aer}
        return {**numbers, "signature": score.signature}

    def fit(self, recipe: str, seed: int, **options: Any) -> Aligner:
        return Aligner(recipe, seed=seed, threads=self.threads, **options).fit(self.bitext)

    def warm(self, recipe: str, **options: Any) -> None:
        """Have its kernels compiled, before its time is taken."""
        Aligner(recipe, threads=self.threads, **options).fit(self.bitext.part(0, FEW))

    def links(self, aligner: Aligner, whole: bool = False, **options: Any) -> Alignments:
        """Of the test pairs, or of the whole text, by other options of aligning."""
        aligner.recipe = aligner.recipe.with_options(options)
        return aligner.align(self.bitext if whole else self.test)

    def by_direction(self, aligner: Aligner, **options: Any) -> Numbers:
        """Scores of each direction alone: `forward AER` and so on."""
        return flat({way: self.score(self.links(aligner, combine=way, **options)) for way in DIRECTIONS})

    def peer(self, name: str) -> PeerRun:
        """Another aligner's links of each direction; it is run once, and what it wrote is kept."""
        if name not in self._peers:
            folder = self.kept / name
            about = folder / "about.json"
            if not about.exists():
                folder.mkdir(parents=True, exist_ok=True)
                version = PEERS[name].prepare(offline=False)
                run = PEERS[name].align(self.text, folder, self.threads, timeout=None)
                about.write_text(json.dumps({"CPU s": run.measurement.cpu, "version": version}), "utf-8")
            whole = {way: read_alignments(folder / way, "pharaoh", self.bitext.lengths) for way in DIRECTIONS}
            test = {way: links[self.first : self.first + len(self.gold)] for way, links in whole.items()}
            scores = flat({way: self.score(links) for way, links in test.items()})
            self._peers[name] = PeerRun({**scores, **json.loads(about.read_text("utf-8"))}, whole, test)
        return self._peers[name]

    def peer_scores(self, name: str) -> Numbers:
        """What `peer` has of numbers; another aligner is not run again for them alone."""
        return self.known.get(name) or self.peer(name).numbers


def flat(parts: dict[str, Numbers]) -> Numbers:
    """`{"forward": {"AER": 1}}` as `{"forward AER": 1}`; one signature for all."""
    found: Numbers = {}
    for part, numbers in parts.items():
        for name, value in numbers.items():
            found["signature" if name == "signature" else f"{part} {name}"] = value
    return found


@dataclass(frozen=True)
class Job:
    """One training of one system.  `samples`: it is run with several seeds."""

    paper: str
    name: str
    run: Callable[[Trial, int], Numbers]
    samples: bool = False


@contextmanager
def open_trial(name: str, size: int, data: Path, threads: int, kept: Path) -> Iterator[Trial]:
    """The first so many pairs of a set, then dev and test; what peers write goes to a folder of the text in `kept`."""
    with TemporaryDirectory() as folder:
        text = write_text(find_set(f"{name}:{size}", data), Path(folder))
        if None in text.lines:
            raise SystemExit(f"{name}: a test pair has an empty side")
        yield Trial(
            read_bitext(text.source, text.target),
            int(text.lines[0] or 0),
            text.gold,
            text,
            kept / f"{name}-{size}",
            threads,
        )
