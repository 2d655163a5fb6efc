"""What the uses of links need of memory and disk: the peak of each command's process tree, at several sizes of one text.

    python -m benchmarks.uses_memory SOURCE TARGET --model MODEL --pairs 100000 --pairs 1128274 [--use phrases ...]

The links are those of MODEL (`dovetail align --save`), over the first pairs of the text.  Memory and disk as of
`benchmarks.memory`: disk is what waits in temporary files, beside what is written.  Annotation, markup and pieces are made
up: every word has a label, every sentence two tags, every long word two pieces.  Linux only.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.memory import head, need_of, size_of

PIECE = 5  # letters of the first piece of a long word


@dataclass(frozen=True)
class Place:
    """The files of one size of the text: `source`, `target`, `links` and what is made of them."""

    folder: Path
    model: Path

    def __getitem__(self, name: str) -> str:
        return str(self.folder / name)

    @property
    def text(self) -> list[str]:
        return [self["source"], self["target"]]

    @property
    def linked(self) -> list[str]:
        return [*self.text, "--links", self["links"]]

    def made(self, name: str, side: str, line: Callable[[str], str]) -> str:
        """The path of a file with what `line` makes of every line of a side."""
        path = self.folder / f"{name}.{side}"
        if not path.exists():
            with open(self[side], encoding="utf-8", newline="\n") as text, path.open("w", encoding="utf-8") as out:
                out.writelines(map(line, text))
        return str(path)


def _labelled(line: str) -> str:
    return "".join(f"{word}\t{len(word)}\n" for word in line.split()) + "\n"


def _tagged(line: str) -> str:
    first, _, rest = line.rstrip("\n").replace("<", "").replace("{", "").partition(" ")
    return f"<b>{first}</b> {rest}<br/>\n"


def _pieces(line: str) -> str:
    words = (f"{word[:PIECE]}@@ {word[PIECE:]}" if len(word) > PIECE else word for word in line.split())
    return " ".join(words) + "\n"


def _phrases(place: Place) -> list[str]:
    return ["phrases", *place.linked, "-o", place["out/table"], "--quiet"]


def _lexicon(place: Place) -> list[str]:
    return ["lexicon", *place.linked, "-o", place["out/lexicon.tsv"], "--quiet"]


def _find(place: Place) -> list[str]:
    return ["find", "house", *place.linked, "--index", place["index"], "--quiet"]


def _score(place: Place) -> list[str]:
    return ["score", *place.text, "--load", str(place.model), "-o", place["out/scores"]]


def _remap(place: Place) -> list[str]:
    pieces = [place.made("pieces", side, _pieces) for side in ("source", "target")]
    return ["remap", place["links"], *place.text, *pieces, "-o", place["out/links"]]


def _project(place: Place) -> list[str]:
    labels = place.made("labels", "source", _labelled)
    return ["project", labels, place["target"], "--links", place["links"], "-o", place["out/labels"], "--quiet"]


def _tags(place: Place) -> list[str]:
    tagged = place.made("tags", "source", _tagged)
    return ["tags", tagged, place["target"], "--load", str(place.model), "-o", place["out/tagged"]]


USES: dict[str, Callable[[Place], list[str]]] = {
    "find, the index made": _find,
    "find, again": _find,
    "remap": _remap,
    "project": _project,
    "tags": _tags,
    "score": _score,
    "score, the best eight tenths": lambda place: [*_score(place), "--keep", "0.8"],
    "lexicon": _lexicon,
    "lexicon, up to 2 words": lambda place: [*_lexicon(place), "--longest", "2"],
    "lexicon, up to 4 words": lambda place: [*_lexicon(place), "--longest", "4"],
    "phrases": _phrases,
    "phrases, with reordering": lambda place: [*_phrases(place), "--reordering", place["out/reordering"]],
}


def rows(place: Place, pairs: int, uses: list[str]) -> Iterator[str]:
    """A row of the table for each use."""
    for use in uses:
        out, work = Path(place["out"]), Path(place["work"])
        for folder in (out, work):
            folder.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "dovetail", *USES[use](place)]
        before = size_of(place.folder)
        need = need_of(command, work, stdout=subprocess.DEVNULL)
        written = size_of(place.folder) - before
        sizes = " | ".join(f"{size / 1e6:,.0f}" for size in (need.memory, need.disk, written))
        shutil.rmtree(out)
        yield f"| {use} | {pairs:,} | {sizes} | {need.cpu:,.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="a saved model, which makes the links")
    parser.add_argument("--links", type=Path, help="that model's links of the whole text, if they are there already")
    parser.add_argument("--pairs", action="append", type=int, help="the first so many; all without")
    parser.add_argument("--use", action="append", choices=USES, help="all without")
    parser.add_argument("--work", type=Path, help="where files are made; they go in the end")
    chosen = parser.parse_args()
    print("| use | pairs | peak memory, MB | temporary files, MB | written, MB | CPU s |")
    print("|---|---|---|---|---|---|")
    for pairs in chosen.pairs or [None]:
        with tempfile.TemporaryDirectory(prefix="uses-", dir=chosen.work) as name:
            place = Place(Path(name), chosen.model)
            paths = zip((chosen.source, chosen.target), place.text, strict=True)
            count = min(head(path, pairs, Path(copy)) for path, copy in paths)
            if chosen.links:
                head(chosen.links, pairs, Path(place["links"]))
            else:
                align = ["align", *place.text, "--load", str(place.model), "-o", place["links"], "--quiet"]
                subprocess.run([sys.executable, "-m", "dovetail", *align], check=True)
            for row in rows(place, count, chosen.use or list(USES)):
                print(row, flush=True)


if __name__ == "__main__":
    main()
