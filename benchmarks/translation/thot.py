"""The translation system as a black box, in an environment of its own: what it learns once per set, and what per system."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from sys import executable
from typing import Any

import environments
from aligners import RUNNERS, thread_settings
from dovetail import Alignments, Bitext
from dovetail.alignments.formats import write_alignments
from measure import run
from translation.tables import filter_table, spans

LONGEST = 7  # words of a phrase, on both sides
EVALUATIONS = 20  # sets of weights that the tuner tries


def python() -> tuple[Path, str]:
    """The Python that has sil-machine, which is this one with the extra `translation`, and sil-machine's version."""
    try:
        return Path(executable), version("sil-machine")
    except PackageNotFoundError:
        pass
    home, found = environments.ensure("sil-machine", extra="thot")
    return home / "bin" / "python", found


@dataclass
class Thot:
    """One set's translation system; `folder` has the text's parts (see split) and gets all that it learns."""

    folder: Path
    interpreter: Path
    evaluations: int = EVALUATIONS

    @property
    def base(self) -> Path:
        return self.folder / "base"

    @property
    def weights(self) -> Path:
        return self.base / "weights.json"

    def learn(self) -> None:
        """The n-gram model, the lexical models and their links, unless they are there."""
        if self.base.exists():
            return
        part = self.folder / "base.part"
        shutil.rmtree(part, ignore_errors=True)
        files = (self.folder / name for name in ("train.source", "train.target", "tune.target"))
        self._run("learn", part, *files)
        part.replace(self.base)

    def tune(self, table: Path) -> dict[str, Any]:
        """Weights for a phrase table, unless there are some."""
        if not self.weights.exists():
            place = self._system(self.folder / "tuning", table, "tune")
            sides = (self.folder / f"tune.{side}" for side in ("source", "target"))
            self._run("tune", place, *sides, self.weights, str(self.evaluations))
        facts: dict[str, Any] = json.loads(self.weights.read_text("utf-8"))
        return facts

    def phrases(self, links: Alignments, bitext: Bitext, folder: Path) -> Path:
        """The phrase table of these links, as Thot's phrase model makes it."""
        # Thot reads A3 files from the other side: each target word with the source words it has.
        swapped = Bitext.from_pairs((target, source) for source, target in map(bitext.tokens, range(len(bitext))))
        with (folder / "links.A3").open("w", encoding="utf-8", newline="\n") as handle:
            write_alignments(handle, links.swapped(), "giza", swapped.text)
        self._run("phrases", folder / "links.A3", folder / "table.whole", str(LONGEST))
        (folder / "links.A3").unlink()
        return folder / "table.whole"

    def translate(self, table: Path, folder: Path) -> tuple[list[str], int, int]:
        """The test text's translation; size of the whole phrase table, and of what the text needs of it."""
        place = self._system(folder, table, "test")
        count, kept = json.loads((place / "sizes.json").read_text("utf-8"))
        self._run("translate", place, self.folder / "test.source", self.weights, folder / "translation")
        return (folder / "translation").read_text("utf-8").splitlines(), count, kept

    def _system(self, place: Path, table: Path, text: str) -> Path:
        """A folder with the phrases that a text needs and the models that all systems share."""
        (place / "tm").mkdir(parents=True, exist_ok=True)
        sentences = [line.split() for line in (self.folder / f"{text}.source").read_text("utf-8").splitlines()]
        sizes = filter_table(table, spans(sentences, LONGEST), place / "tm" / "model.ttable")
        (place / "sizes.json").write_text(json.dumps(sizes), "utf-8")
        for shared in (*(self.base / "tm").iterdir(), self.base / "lm"):
            link = place / shared.relative_to(self.base)
            if not link.exists():
                link.symlink_to(shared.resolve())
        return place

    def _run(self, *words: str | Path) -> None:
        command = [self.interpreter, RUNNERS / "run_sil_machine.py", *words]
        run(command, environment=thread_settings(1))
