"""What a job gets: a text with its gold links, and what is asked of every system's links."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aligners import PEERS
from dovetail import Aligner, Alignments, Bitext, Gold, evaluate, read_bitext
from texts import Text, find_set, write_text

DIRECTIONS = ("forward", "reverse")
Numbers = dict[str, Any]  # numbers by name, and lists of them for curves


@dataclass(frozen=True)
class Trial:
    """A text that is learned from whole; its test pairs come last.  `folder` is for what peers write."""

    bitext: Bitext
    first: int
    gold: Gold
    text: Text
    folder: Path
    threads: int
    _peers: dict[str, Numbers] = field(default_factory=dict)  # two papers may ask for the same one

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

    def links(self, aligner: Aligner, whole: bool = False, **options: Any) -> Alignments:
        """Of the test pairs, or of the whole text, by other options of aligning."""
        aligner.recipe = aligner.recipe.with_options(options)
        return aligner.align(self.bitext if whole else self.test)

    def by_direction(self, aligner: Aligner, **options: Any) -> Numbers:
        """Scores of each direction alone: `forward AER` and so on."""
        return flat({way: self.score(self.links(aligner, combine=way, **options)) for way in DIRECTIONS})

    def peer(self, name: str) -> Numbers:
        """Scores of each direction of another aligner, and its CPU seconds."""
        if name not in self._peers:
            one = PEERS[name]
            version = one.prepare(offline=False)
            run = one.align(self.text, self.folder, self.threads, timeout=None)
            numbers = flat({way: self.score(run.links[way]) for way in DIRECTIONS})
            self._peers[name] = {**numbers, "CPU s": run.measurement.cpu, "version": version}
        return dict(self._peers[name])


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
def open_trial(name: str, size: int, data: Path, threads: int) -> Iterator[Trial]:
    """The first so many pairs of a set, then dev and test."""
    with TemporaryDirectory() as folder:
        text = write_text(find_set(f"{name}:{size}", data), Path(folder))
        if None in text.lines:
            raise SystemExit(f"{name}: a test pair has an empty side")
        yield Trial(
            read_bitext(text.source, text.target), int(text.lines[0] or 0), text.gold, text, Path(folder), threads
        )
