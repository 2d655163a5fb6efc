"""Annotation carried over links: parts of speech and heads, projected from one language's trees, beside the other's own.

    python benchmarks/projection.py --languages en de cs --output FILE
    python benchmarks/projection.py --choose --recipes default
    python benchmarks/projection.py --edges 0.02 0.1 0.3 0.5 0.7 0.9 --compatible

For pairs of languages without gold links: where links are right, a word mostly has its counterpart's part of speech, and
its head is its counterpart's head's counterpart.  Trains on the trees' own text alone, 1,000 pairs: a tiny corpus.

--choose finds the threshold of what is carried (`dovetail project --threshold`) that gives the best F on every second
sentence of all pairs of languages, and scores the other sentences with it.  --edges gives the share of right edges among so
many per sentence, threshold by threshold (Graça, Ganchev and Taskar 2010, Figure 10).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from itertools import permutations
from pathlib import Path

from aligners import OWN, PEERS, Aligner, Recipe
from dovetail.alignments.alignments import Alignments
from dovetail.alignments.formats import read_alignments
from dovetail.alignments.gold import Gold
from dovetail.errors import InputError
from dovetail.uses.annotation import Annotated, Projected, read_annotated
from dovetail.uses.carrying import LINK_THRESHOLD, THRESHOLD, Weighted, keep_compatible
from dovetail.uses.projection import Carry, ProjectionScore, in_step, learn_words, lend_words, project_pair
from measure import exit_when_terminated, run
from texts import Text

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "pud"
GRID = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)

Trees = list[Annotated]
Result = tuple[Annotated, Annotated, Projected]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--languages", nargs="+", default=["en", "de", "cs"], help="every ordered pair of them")
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder with LANGUAGE.conllu files, sentence by sentence"
    )
    parser.add_argument("--peers", nargs="*", default=["eflomal", "eflomal-stem"], choices=list(PEERS), metavar="PEER")
    parser.add_argument("--recipes", nargs="*", default=["fast", "default", "best"], metavar="RECIPE")
    parser.add_argument("--offline", action="store_true", help="use the peers that are installed")
    parser.add_argument(
        "--choose", action="store_true", help="the best threshold, on one half, and scores of the other"
    )
    parser.add_argument(
        "--edges", nargs="+", type=float, metavar="THRESHOLD", help="right edges, by threshold of links"
    )
    parser.add_argument("--compatible", action="store_true", help="only links between words of like parts of speech")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    recipes = [Recipe(name, only_own=True) for name in options.recipes]
    aligners: list[Aligner] = [*(PEERS[name] for name in options.peers), *recipes]
    if options.choose or options.edges:
        aligners = [*recipes]  # the others do not say how sure they are
    try:
        for aligner in aligners:
            aligner.prepare(options.offline)
        trees = {language: read_trees(options.data / f"{language}.conllu") for language in options.languages}
    except (InputError, OSError) as error:
        print(f"projection.py: {error}", file=sys.stderr)
        return 2
    pairs = {f"{one}, {other}": (trees[one], trees[other]) for one, other in permutations(options.languages, 2)}
    if options.choose:
        lines = choose(pairs, recipes)
    elif options.edges:
        lines = edges(pairs, recipes, options.edges, options.compatible)
    else:
        lines = [
            "| from, to | aligner | output | parts: P/R | F | heads: P/R | F |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        for name, (source, target) in pairs.items():
            lines += compare(name, source, target, aligners)
    text = "".join(f"{line}\n" for line in lines)
    print(text, end="")
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    return 0


def compare(name: str, source: Trees, target: Trees, aligners: Iterable[Aligner]) -> list[str]:
    """A row for each aligner, with the output whose heads have the best F."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="dovetail-projection-") as folder:
        text = write_trees(source, target, Path(folder))
        for aligner in aligners:
            place = Path(folder) / aligner.name.replace(" ", "-")
            place.mkdir()
            found = aligner.align(text, place, threads=1, timeout=None)
            scores = {output: score(carry(links, source, target, 0.0)) for output, links in found.links.items()}
            best = max(scores, key=lambda output: scores[output].tallies["heads"].f1)
            rows.append(f"| {name} | {aligner.name} | {best if best != OWN else ''} | {_cells(scores[best])} |")
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


def choose(pairs: dict[str, tuple[Trees, Trees]], recipes: Iterable[Recipe]) -> list[str]:
    """The threshold with the best mean F of parts and heads on sentences 1, 3, 5 ..., and what it gives on the others."""
    lines = []
    for recipe in recipes:
        links = {name: weighted_links(recipe, *both) for name, both in pairs.items()}
        plain = {name: plain_links(recipe, *both) for name, both in pairs.items()}

        def mean(threshold: float, links: dict[str, Alignments] = links) -> float:
            halves = [score(carry(links[name], *both, threshold)[0::2]) for name, both in pairs.items()]
            return sum(half.tallies[kind].f1 for half in halves for kind in ("upos", "heads")) / (2 * len(halves))

        means = {threshold: mean(threshold) for threshold in GRID}
        best = max(means, key=lambda threshold: means[threshold])
        shown = ", ".join(f"{threshold:g}: {100 * value:.2f}" for threshold, value in means.items())
        lines += [
            f"{recipe.name}: threshold {best:g} (mean F on sentences 1, 3, 5 ...: {shown}).",
            "Scores of sentences 2, 4, 6 ...:",
            "",
            "| from, to | links | parts: P/R | F | heads: P/R | F |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for name, both in pairs.items():
            results = carry(links[name], *both, best)
            lines.append(f"| {name} | as aligned | {_cells(score(carry(plain[name], *both, 0.0)[1::2]))} |")
            lines.append(f"| {name} | from {LINK_THRESHOLD:g} on | {_cells(score(results[1::2]))} |")
            words = learn_words(results)
            for _, target, projected in results:
                lend_words(projected, target, words)
            lines.append(f"| {name} | the same, words lend | {_cells(score(results[1::2]))} |")
        lines.append("")
    return lines


def edges(
    pairs: dict[str, tuple[Trees, Trees]], recipes: Iterable[Recipe], thresholds: Sequence[float], compatible: bool
) -> list[str]:
    """Edges carried over links above each threshold, and the share of them that is right; all sentences."""
    lines = ["| from, to | aligner | links above | edges per sentence | right |", "| --- | --- | --- | --- | --- |"]
    for (name, both), recipe in ((pair, recipe) for pair in pairs.items() for recipe in recipes):
        links = weighted_links(recipe, *both)
        for threshold in thresholds:
            results = carry(links, *both, 0.0, lambda p, least=threshold: p >= least, compatible)  # type: ignore[misc]
            tally = score(results).tallies["heads"]
            each = tally.carried / len(results)
            lines.append(f"| {name} | {recipe.name} | {threshold:g} | {each:.2f} | {100 * tally.precision:.1f} |")
    return lines


def carry(
    links: Alignments,
    source: Trees,
    target: Trees,
    threshold: float = THRESHOLD,
    keep: Callable[[float], bool] = lambda probability: True,
    compatible: bool = False,
) -> list[Result]:
    """What each target sentence gets over those of its links that are kept."""
    results = []
    for alignment, (here, there) in zip(links, in_step(source, target), strict=True):
        weights: Weighted = {
            link: p for link, p in zip(alignment.links, alignment.probabilities, strict=True) if keep(p)
        }
        if compatible:
            weights = keep_compatible(weights, here.labels["upos"], there.labels["upos"])
        results.append((here, there, project_pair(here, there, weights, Carry(threshold=threshold))))
    return results


def score(results: Iterable[Result]) -> ProjectionScore:
    total = ProjectionScore()
    for result in results:
        total.add(*result)
    return total


def _cells(found: ProjectionScore) -> str:
    tallies = (found.tallies[kind] for kind in ("upos", "heads"))
    return " | ".join(f"{100 * t.precision:.1f}/{100 * t.recall:.1f} | {100 * t.f1:.1f}" for t in tallies)


def plain_links(recipe: Recipe, source: Trees, target: Trees) -> Alignments:
    """A recipe's links as anyone gets them."""
    return _links(recipe, source, target, "--probabilities")


def weighted_links(recipe: Recipe, source: Trees, target: Trees) -> Alignments:
    """A recipe's links, the doubtful ones too, as `dovetail project --load` takes them."""
    return _links(recipe, source, target, "--probabilities", "--threshold", str(LINK_THRESHOLD))


def _links(recipe: Recipe, source: Trees, target: Trees, *options: str) -> Alignments:
    with tempfile.TemporaryDirectory(prefix="dovetail-projection-") as folder:
        text = write_trees(source, target, Path(folder))
        run(recipe.command(text.source, text.target, Path(folder) / "links", 1, *options))
        return read_alignments(Path(folder) / "links", "probabilities", text.lengths)


def read_trees(path: Path) -> Trees:
    return list(read_annotated(path, format="conllu")[1])


def write_trees(source: Trees, target: Trees, folder: Path) -> Text:
    """The trees' words as a text to be aligned, all of whose pairs are looked at."""
    pairs = list(in_step(source, target))
    sides = [[" ".join("_".join(form.split()) for form in pair[side].forms) for pair in pairs] for side in range(2)]
    files = [folder / name for name in ("text.source", "text.target", "text.joined")]
    for path, lines in zip(files, (*sides, map(" ||| ".join, zip(*sides, strict=True))), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    lengths = [(len(one.forms), len(other.forms)) for one, other in pairs]
    return Text(
        *files, len(pairs), len(pairs), list(range(len(pairs))), lengths, Gold.from_links([[] for _ in lengths])
    )


if __name__ == "__main__":
    exit_when_terminated()
    sys.exit(main())
