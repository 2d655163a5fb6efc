"""Annotation carried over links: parts of speech and heads, projected from one language's trees, beside the other's own.

    python benchmarks/projection.py --languages en de cs --output FILE

For pairs of languages without gold links: where links are right, a word mostly has its counterpart's part of speech, and
its head is its counterpart's head's counterpart.  Trains on the trees' own text alone, 1,000 pairs: a tiny corpus.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from aligners import OWN, PEERS, Aligner, Recipe
from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold
from dovetail.errors import InputError
from measure import exit_when_terminated
from texts import Text

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "pud"
PUNCTUATION = "PUNCT"
ROOT = -1


@dataclass(frozen=True)
class Word:
    form: str
    part: str  # of speech
    head: int  # 0-based; ROOT has none


Tree = list[Word]


@dataclass
class Tally:
    """How many annotations were carried over, and how many of those agree (a share of one, where several compete)."""

    carried: int = 0
    right: float = 0.0

    def percent(self, words: int) -> tuple[float, float, float]:
        """Precision, recall over all words, and F."""
        precision, recall = self.right / max(self.carried, 1), self.right / max(words, 1)
        return 100 * precision, 100 * recall, 200 * precision * recall / max(precision + recall, 1e-9)


@dataclass
class Score:
    """What came over to the target side's words, punctuation left aside."""

    words: int
    parts: Tally
    heads: Tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--languages", nargs="+", default=["en", "de", "cs"], help="every ordered pair of them")
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder with LANGUAGE.conllu files, sentence by sentence"
    )
    parser.add_argument("--peers", nargs="*", default=["eflomal", "eflomal-stem"], choices=list(PEERS), metavar="PEER")
    parser.add_argument("--recipes", nargs="*", default=["fast", "default", "best"], metavar="RECIPE")
    parser.add_argument("--offline", action="store_true", help="use the peers that are installed")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    aligners: list[Aligner] = [PEERS[name] for name in options.peers]
    aligners += [Recipe(name, only_own=True) for name in options.recipes]
    try:
        for aligner in aligners:
            aligner.prepare(options.offline)
        trees = {language: read_trees(options.data / f"{language}.conllu") for language in options.languages}
    except (InputError, OSError) as error:
        print(f"projection.py: {error}", file=sys.stderr)
        return 2
    lines = [
        "| from, to | aligner | output | parts: P/R | F | heads: P/R | F |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one, other in permutations(options.languages, 2):
        for row in compare(f"{one}, {other}", trees[one], trees[other], aligners):
            print(row, flush=True)
            lines.append(row)
    if options.output is not None:
        options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def compare(name: str, source: Sequence[Tree], target: Sequence[Tree], aligners: Iterable[Aligner]) -> list[str]:
    """A row for each aligner, with the output whose heads have the best F."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="dovetail-projection-") as folder:
        text = write_trees(source, target, Path(folder))
        for aligner in aligners:
            place = Path(folder) / aligner.name.replace(" ", "-")
            place.mkdir()
            run = aligner.align(text, place, threads=1, timeout=None)
            scores = {output: project(links, source, target) for output, links in run.links.items()}
            best = max(scores, key=lambda output: scores[output].heads.percent(scores[output].words)[2])
            score = scores[best]
            cells = []
            for tally in (score.parts, score.heads):
                precision, recall, f = tally.percent(score.words)
                cells.append(f"{precision:.1f}/{recall:.1f} | {f:.1f}")
            rows.append(f"| {name} | {aligner.name} | {best if best != OWN else ''} | {' | '.join(cells)} |")
    return rows


def project(links: Alignments, source: Sequence[Tree], target: Sequence[Tree]) -> Score:
    """Carry parts of speech and heads over the links, and compare with the target's own."""
    score = Score(0, Tally(), Tally())
    for pair, here, there in zip(links, source, target, strict=True):
        partners: dict[int, list[int]] = {}
        counterparts: dict[int, set[int]] = {ROOT: {ROOT}}
        for i, j in map(tuple, pair):
            partners.setdefault(j, []).append(i)
            counterparts.setdefault(i, set()).add(j)
        for j, word in enumerate(there):
            if word.part == PUNCTUATION:
                continue
            score.words += 1
            linked = partners.get(j, [])
            if linked:
                score.parts.carried += 1
                score.parts.right += sum(here[i].part == word.part for i in linked) / len(linked)
            heads = {head for i in linked for head in counterparts.get(here[i].head, ())} - {j}
            if heads:
                score.heads.carried += 1
                score.heads.right += (word.head in heads) / len(heads)
    return score


def read_trees(path: Path) -> list[Tree]:
    """Sentences of a CoNLL-U file; ranges of words and empty nodes are passed over."""
    trees: list[Tree] = [[]]
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            fields = line.rstrip("\n").split("\t")
            if fields == [""]:
                trees.append([])
            elif not line.startswith("#") and fields[0].isdecimal():
                if len(fields) < 8 or not fields[6].isdecimal():
                    raise InputError("not a word of a CoNLL-U tree", path=path, line=number)
                trees[-1].append(Word("_".join(fields[1].split()), fields[3], int(fields[6]) - 1))
    return [tree for tree in trees if tree]


def write_trees(source: Sequence[Tree], target: Sequence[Tree], folder: Path) -> Text:
    """The trees' words as a text to be aligned, all of whose pairs are looked at."""
    if len(source) != len(target):
        raise InputError(
            f"{len(source):,} trees beside {len(target):,}", remedy="Give the same sentences in each language."
        )
    sides = [[" ".join(word.form for word in tree) for tree in trees] for trees in (source, target)]
    files = [folder / name for name in ("text.source", "text.target", "text.joined")]
    for path, lines in zip(files, (*sides, map(" ||| ".join, zip(*sides, strict=True))), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    lengths = [(len(one), len(other)) for one, other in zip(source, target, strict=True)]
    pairs = len(lengths)
    return Text(*files, pairs, pairs, list(range(pairs)), lengths, Gold.from_links([[] for _ in lengths]))


if __name__ == "__main__":
    exit_when_terminated()
    sys.exit(main())
