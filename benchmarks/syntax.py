"""Edges of parse trees carried over links, right ones against all (Graça, Ganchev and Taskar 2010, section 5.2, Figure 10).

    python -m benchmarks.syntax --out build/syntax --tables benchmarks/results

Every link above a threshold is kept, with and without those between words of unlike parts of speech, and the source side's
tree is carried over; the target side's own tree tells which edges are right.  Systems without probabilities have a point for
each way to combine their two directions.  Learns from the trees' own text, 1,000 pairs, alone, and in lower case with 20,000
pairs of another text behind it (`--more`).  A finished system is not run again.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice, pairwise, product
from pathlib import Path

from aligners import PEERS
from commits import working_tree
from dovetail import Aligner, Alignments, read_bitext
from dovetail.errors import InputError
from measure import CommandError, cpu_seconds, exit_when_terminated
from papers.shown import Figure, Section, Table, drawn, rows_of
from papers.store import EDGES, Cell, Store, made_at
from projection import DATA, Trees, carry, read_trees, score, write_trees
from texts import Text, find_set, read_pairs

PAIRS = ("en-de", "en-cs")
SETS = {"en-de": "de-en-europarl", "en-cs": "en-cs-czenali"}  # of further pairs
MORE = (0, 20_000)  # of them are learned from, too
SYSTEMS = ("hmm", "graca2010-bijective", "graca2010-symmetric", "default", "eflomal")
THRESHOLDS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
COMBINATIONS = ("union", "grow-diag-final-and", "grow-diag", "intersection")
GRACA = "Graça, Ganchev and Taskar 2010"
PRINTED = (
    "The paper's Figure 10 has curves (English to Bulgarian and to Spanish) and no numbers: both constrained models lie "
    "above the HMM's at all numbers of edges."
)
LIKE = "like parts of speech"
FILTERS = ("all links", LIKE)

Point = list[float]  # edges per sentence, share of them that is right, share of all edges that is right, in per cent
Kept = tuple[float | str, Alignments, float]  # what a point is called; links, and the least probability of those kept


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    pairs = options.pair or PAIRS
    try:
        store = Store.open(options.out / "cells.jsonl")
        for pair, more in product(pairs, options.more or MORE):
            run(store, pair, more, options)
    except (InputError, CommandError) as error:
        print(f"syntax: {error}", file=sys.stderr)
        return 2
    write(store, pairs, options.seed, options.tables or options.out)
    return 0


def run(store: Store, pair: str, more: int, options: argparse.Namespace) -> None:
    """The systems that are not finished for a pair of languages, `en-de`: trees go from the first to the second.

    They learn from so many pairs more than the trees have.
    """
    trees = [read_trees(options.data / f"{language}.conllu") for language in pair.split("-")]
    size = len(trees[0]) + more
    missing = [name for name in options.system or SYSTEMS if ("syntax", name, pair, size, options.seed) not in store]
    with tempfile.TemporaryDirectory(prefix="dovetail-syntax-") as folder:
        text = write_trees(trees[0], trees[1], Path(folder))
        if more and missing:
            text = with_more(text, further(pair, more, options.data.parent))
        for name in missing:
            cpu = cpu_seconds()
            kept, signature = links_of(name, text, Path(folder), options.seed, options.threads)
            numbers = {
                kind: [[label, *point(links, least, trees, kind == LIKE)] for label, links, least in kept]
                for kind in FILTERS
            }
            spent = cpu_seconds() - cpu
            store.add(Cell("syntax", name, pair, size, options.seed, numbers, signature, working_tree(), spent))
            print(f"{pair} {name}: {spent:.0f} s", file=sys.stderr, flush=True)


def further(pair: str, number: int, data: Path) -> Iterator[tuple[list[str], list[str]]]:
    """So many pairs of another text in the two languages, in their order; InputError if it has fewer."""
    turned, found = not SETS[pair].startswith(pair), 0
    for source, target in islice(filter(all, read_pairs(find_set(SETS[pair], data).train)), number):
        yield (target, source) if turned else (source, target)
        found += 1
    if found < number:
        raise InputError(f"{SETS[pair]} has {found:,} pairs, not {number:,}", remedy="Ask for fewer: --more.")


def with_more(text: Text, pairs: Iterable[tuple[list[str], list[str]]]) -> Text:
    """The trees' text in lower case, as the sets are, with further pairs behind it."""
    sides = [path.read_text("utf-8").lower().splitlines() for path in (text.source, text.target)]
    for pair in pairs:
        for lines, words in zip(sides, pair, strict=True):
            lines.append(" ".join(words))
    for path, lines in zip(
        (text.source, text.target, text.joined), (*sides, map(" ||| ".join, zip(*sides, strict=True))), strict=True
    ):
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return replace(text, pairs=len(sides[0]))


def point(links: Alignments, threshold: float, trees: Sequence[Trees], compatible: bool) -> Point:
    """What links of that probability and above carry."""
    results = carry(links, trees[0], trees[1], 0.0, lambda probability: probability >= threshold, compatible)
    tally = score(results).tallies["heads"]
    return [tally.carried / len(results), 100 * tally.precision, 100 * tally.recall]


def links_of(name: str, text: Text, folder: Path, seed: int, threads: int) -> tuple[list[Kept], str]:
    """Ever fewer links of a system, and what made them."""
    if name in PEERS:
        version = PEERS[name].prepare(offline=False)
        found = PEERS[name].align(text, folder, threads, timeout=None).links
        return [(way, found[way], 0.0) for way in COMBINATIONS], version
    bitext = read_bitext(text.source, text.target)
    aligner = Aligner(name, seed=seed, threads=threads).fit(bitext)
    aligner.recipe = aligner.recipe.with_options({"threshold": THRESHOLDS[0]})
    links = aligner.align(bitext.part(0, len(text.lines)))
    return [(threshold, links, threshold) for threshold in THRESHOLDS], f"recipe:{name}|seed:{seed}"


def write(store: Store, pairs: Sequence[str], seed: int, tables: Path) -> None:
    """`syntax.md`, `syntax.csv`, and a plot per pair of languages and filter."""
    tables.mkdir(parents=True, exist_ok=True)
    parts = ["# Syntax transfer", _about()]
    rows: list[list[object]] = []
    for pair in pairs:
        of_pair = cells_of(store, pair, seed)
        if not of_pair:
            parts.append(f"{pair}: not run.")
        for size, cells in of_pair:
            missing = [name for name in SYSTEMS if name not in {cell.job for cell in cells}]
            if missing:
                parts.append(f"{pair}, {size:,} pairs, not run: {', '.join(missing)}.")
            for kind in FILTERS:
                title = f"{pair}, {size:,} pairs, {kind}"
                file = f"syntax-{pair}-{size}-{kind.replace(' ', '-')}.svg"
                (tables / file).write_text(drawn(figure(title, cells, kind)), "utf-8")
                made = table(title, cells, kind)
                parts += [f"## {title}", f"![{title}]({file})", rows_of(made), made.made_at]
                rows += (
                    [cell.job, pair, size, seed, kind, *each, cell.commit, cell.signature]
                    for cell in cells
                    for each in cell.numbers[kind]
                )
    (tables / "syntax.md").write_text("\n\n".join(parts) + "\n", "utf-8")
    with (tables / "syntax.csv").open("w", newline="", encoding="utf-8") as handle:
        out = csv.writer(handle)
        out.writerow(["system", "pair", "pairs", "seed", "links", "kept", *EDGES, "commit", "signature"])
        out.writerows(rows)


def section(store: Store, pairs: Sequence[str], seed: int) -> Section:
    """The same for the page of the papers' tables."""
    made = Section(f"{GRACA}: Figure 10, edges of parse trees carried over links")
    for pair in pairs:
        for size, cells in cells_of(store, pair, seed):
            for kind in FILTERS:
                title = f"Figure 10: {pair}, {size:,} pairs, {kind}"
                made.tables.append(table(title, cells, kind))
                made.figures.append(figure(title, cells, kind))
    return made


def cells_of(store: Store, pair: str, seed: int) -> list[tuple[int, list[Cell]]]:
    """What is finished of a pair of languages, for each size of text in the order of SYSTEMS."""
    cells = [cell for cell in store.cells.values() if cell.paper == "syntax" and cell.set == pair and cell.seed == seed]
    cells.sort(key=lambda cell: (cell.size, SYSTEMS.index(cell.job)))
    return [(size, list(own)) for size, own in groupby(cells, lambda cell: cell.size)]


def figure(title: str, cells: Sequence[Cell], kind: str) -> Figure:
    lines = {cell.job: [each[1:3] for each in cell.numbers[kind]] for cell in cells}
    return Figure(title, "edges carried per sentence", "right, per cent", lines, PRINTED, made_at=made_at(cells))


def right_at(points: Sequence[Point], edges: float) -> float | None:
    """Share of right edges where so many are carried per sentence, on the straight line between two points; None outside."""
    for (more, above), (fewer, below) in pairwise(points):
        if fewer <= edges <= more:
            return above if more == fewer else below + (above - below) * (edges - fewer) / (more - fewer)
    return None


def table(title: str, cells: Sequence[Cell], kind: str) -> Table:
    """Right edges at equal numbers of them, and the best F."""
    curves = {cell.job: [list(each[1:3]) for each in cell.numbers[kind]] for cell in cells}
    most = max((edges for curve in curves.values() for edges, _ in curve), default=0.0)
    counts = [number for number in range(2, 40, 2) if number <= most]
    rows = []
    for cell in cells:
        shares = (right_at(curves[cell.job], number) for number in counts)
        best = max(2 * p * r / (p + r) if p + r else 0.0 for _, _, p, r in cell.numbers[kind])
        rows.append([f"`{cell.job}`", *shares, max(edges for edges, _ in curves[cell.job]), best])
    head = ["system", *(f"right at {number}" for number in counts), "most edges", "best F"]
    return Table(title, head, rows, made_at=made_at(cells))


def _about() -> str:
    return (
        "Made by `python -m benchmarks.syntax`, at the commits that stand under each table; seeds and signatures are in"
        " `syntax.csv`. English trees of the parallel treebanks (PUD) are carried over links to German and to Czech; *right"
        f" at n* is the share of right edges, in per cent, where n are carried per sentence. {PRINTED}"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.syntax", description=__doc__, allow_abbrev=False)
    parser.add_argument("--pair", action="append", metavar="FROM-TO", help="two languages of --data (several times)")
    parser.add_argument("--system", action="append", choices=SYSTEMS, help="only this one (several times)")
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder with LANGUAGE.conllu files, sentence by sentence"
    )
    parser.add_argument(
        "--more", action="append", type=int, metavar="N", help="pairs of another text to learn from (several times)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the finished cells")
    parser.add_argument("--tables", type=Path, metavar="DIR", help="where tables and plots go (--out)")
    return parser


if __name__ == "__main__":
    exit_when_terminated()
    sys.exit(main())
