"""Bayesian alignment beside EM: the paper's Tables 3 and 4 with AER, shards, starts, and where long chains end.

    python benchmarks/bayes.py tables en-fr-hansards:10000 de-en-europarl:10000
    python benchmarks/bayes.py shards en-fr-hansards:10000
    python benchmarks/bayes.py starts en-fr-hansards:2000
    python benchmarks/bayes.py frozen en-fr-hansards:5000
    python benchmarks/bayes.py long en-fr-hansards:500

Sets lie in `shared/data` beside the repository (`--data` for another place); dev and test text is trained on too, and
test is scored.  Times are CPU seconds of this process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from dovetail import Aligner, Alignments, Bitext, evaluate, read_bitext
from dovetail.alignments.assemble import assemble
from dovetail.alignments.gold import Gold
from dovetail.bitext.shards import Shard
from dovetail.decoding.decode import Links
from dovetail.evaluation.measures import dictionary_size, fertilities
from dovetail.kernels.hmm.viterbi import EITHER
from dovetail.kernels.links import collect as kernels
from dovetail.kernels.records import Workspace
from dovetail.recipes import find_recipe
from dovetail.training import bayes
from dovetail.training.bayes_chains import Chain, Marginals, Stage, sweep
from dovetail.training.monitor import Monitor
from texts import find_set, write_text

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
DIRECTIONS = ("forward", "reverse")
# The tie rule of `ibm1-bayes`: of partners that are as good, the nearest to the diagonal.  `viterbi` takes the first.
EM = {"decoder": "mode", "ibm1_iterations": 80}
ROW = "| {} | {} | {} | {:.0f} | {:,} | {:,} | {:,} | {} | {:,} | {:.3f} | {:.3f} | {:.1f} |"


def load(name: str, data: Path) -> tuple[Bitext, list[int], Gold]:
    """The set's text, the numbers of its test pairs, and their gold links."""
    with tempfile.TemporaryDirectory() as folder:
        text = write_text(find_set(name, data), Path(folder))
        lines = [line for line in text.lines if line is not None]
        if len(lines) != len(text.lines):
            raise SystemExit(f"{name}: a test pair has an empty side")
        return read_bitext(text.source, text.target), lines, text.gold


def tables(sets: list[str], data: Path, threads: int, systems: dict[str, tuple[str, dict[str, Any]]]) -> Iterator[str]:
    """Words with 4 to 7 links, with more than 7, the most; the dictionary, also as a share of EM's; AER in per cent.

    `types`: the share of EM's dictionary that any other one needs at least, a pair for each generated word.
    """
    yield "| set | system | direction | CPU s | words | 4-7 links | over 7 | most | dictionary | of EM's | types | AER |"
    yield "|---|---|---|" + "---|" * 9
    for name in sets:
        bitext, lines, gold = load(name, data)
        sides = bitext.source.ids, bitext.source.offsets, bitext.target.ids, bitext.target.offsets
        base: dict[str, int] = {}
        for title, (recipe, options) in systems.items():
            began = process_time()
            aligner = Aligner(recipe, seed=1, threads=threads, **options).fit(bitext)
            seconds = process_time() - began
            for direction in DIRECTIONS:
                aligner.recipe = aligner.recipe.with_options({"combine": direction})
                links = aligner.align(bitext)
                size = dictionary_size(links, *sides)
                shape = fertilities(links, "source" if direction == "forward" else "target")
                em_size = base.setdefault(direction, size)
                types = len(np.unique((bitext.target if direction == "forward" else bitext.source).ids))
                aer = 100 * evaluate(_test(links, lines), gold).aer
                yield ROW.format(
                    name,
                    title,
                    direction,
                    seconds,
                    shape.words,
                    shape.high,
                    shape.excessive,
                    shape.maximum,
                    size,
                    size / em_size,
                    types / em_size,
                    aer,
                )


def _test(links: Alignments, lines: list[int]) -> Alignments:
    if lines != list(range(lines[0], lines[0] + len(lines))):
        raise SystemExit("test pairs do not follow one another")
    return links[lines[0] : lines[0] + len(lines)]


def shards(sets: list[str], data: Path, threads: int, seeds: int) -> Iterator[str]:
    """What shards change: AER and dictionary of `ibm1-bayes` (forward) and AER of `hmm-bayes`, mean and range over seeds."""
    yield "| set | shards | ibm1-bayes AER | dictionary | CPU s | hmm-bayes AER | CPU s |"
    yield "|---|---|---|---|---|---|---|"
    for name in sets:
        bitext, lines, gold = load(name, data)
        sides = bitext.source.ids, bitext.source.offsets, bitext.target.ids, bitext.target.offsets
        for number in (1, 2, 8, 32):
            found: dict[str, list[float]] = {}
            for seed in range(1, seeds + 1):
                for recipe, options in (("ibm1-bayes", {"combine": "forward"}), ("hmm-bayes", {})):
                    began = process_time()
                    aligner = Aligner(recipe, seed=seed, threads=threads, shards=number, **options).fit(bitext)
                    found.setdefault(f"{recipe} seconds", []).append(process_time() - began)
                    links = aligner.align(bitext)
                    found.setdefault(recipe, []).append(100 * evaluate(_test(links, lines), gold).aer)
                    found.setdefault(f"{recipe} dictionary", []).append(dictionary_size(links, *sides))
            yield (
                f"| {name} | {number} | {_range(found['ibm1-bayes'])} | {np.mean(found['ibm1-bayes dictionary']):,.0f} "
                f"| {np.mean(found['ibm1-bayes seconds']):.1f} | {_range(found['hmm-bayes'])} "
                f"| {np.mean(found['hmm-bayes seconds']):.1f} |"
            )


def frozen(sets: list[str], data: Path, threads: int) -> Iterator[str]:
    """AER of `hmm-bayes` by the marginals of its training samples, and by its mean counts with and without a discount."""
    yield "| set | marginals of training | mean counts | mean counts, discounted |"
    yield "|---|---|---|---|"
    for name in sets:
        bitext, lines, gold = load(name, data)
        aligner = Aligner("hmm-bayes", seed=1, threads=threads).fit(bitext)
        options, pool = aligner.recipe.options, aligner.engine.pool
        ibm1 = Aligner("ibm1", threads=threads).fit(bitext)
        shard = ibm1._lay_out(bitext)
        chains = bayes.begin(ibm1.model.lexicon, shard, options, 1, pool)
        *before, samples = bayes.hmm_stages(shard.total, options)
        bayes.run(chains, before, pool, Monitor())
        marginals = [_room(chain, shard, samples.sweeps) for chain in chains]
        for _ in range(samples.sweeps):
            sweep(chains, samples, pool, marginals)
        row = [100 * evaluate(_test(_sampled_links(chains, marginals, shard, bitext), lines), gold).aer]
        for discount in (0.0, options.discount):
            lexicon = replace(aligner.model.lexicon, discount=discount)
            aligner.model = aligner.model.with_lexicon(lexicon)
            row.append(100 * evaluate(_test(aligner.align(bitext), lines), gold).aer)
        yield f"| {name} | " + " | ".join(f"{aer:.2f}" for aer in row) + " |"


def _room(chain: Chain, shard: Shard, sweeps: int) -> Marginals:
    """Room for the mean of so many sweeps."""
    blocks = []
    for block in shard:
        tokens = (block.columns, block.rows)[chain.direction]
        blocks.append((np.zeros(block.cells, np.float32), np.zeros(tokens, np.float32)))
    return Marginals(1.0 / sweeps, blocks)


def _sampled_links(chains: list[Chain], marginals: list[Marginals], shard: Shard, bitext: Bitext) -> Alignments:
    """Links whose marginal, averaged over samples, chains and directions, exceeds one half."""
    parts = []
    for number, block in enumerate(shard):
        means = []
        for direction in range(2):
            own = [one for chain, one in zip(chains, marginals, strict=True) if chain.direction == direction]
            means.append(np.mean([one.blocks[number][0] for one in own], axis=0).astype(np.float32))
        work = Workspace(means[0], means[1], means[0][:0], means[1][:0])
        marks = np.zeros(block.cells, np.uint8)
        kernels.mark_threshold(0, len(block.lines), block.lines, work, np.float32(0.5), marks)
        pieces = slice(block.first, block.last)
        cores = shard.pieces.source_core[pieces], shard.pieces.target_core[pieces]
        parts.append(kernels.collect(0, len(block.lines), block.lines, *cores, marks, EITHER, work, 0.5))
    return assemble(Links.concatenate(parts), shard.pieces, bitext.source.lengths, bitext.target.lengths)


def long(sets: list[str], data: Path, threads: int) -> Iterator[str]:
    """Dictionaries of the links that long chains of `ibm1-bayes` have, also as a share of EM's, and log P(words | links).

    In the end each chain is cooled, with block moves.
    """
    yield "| set | chain | sweeps | forward | of EM's | log P | reverse | of EM's | log P |"
    yield "|---|---|---|---|---|---|---|---|---|"
    options = find_recipe("ibm1-bayes").options
    for name in sets:
        bitext, _, _ = load(name, data)
        sides = bitext.source.ids, bitext.source.offsets, bitext.target.ids, bitext.target.offsets
        em = Aligner("ibm1", threads=threads, **EM).fit(bitext)
        base = []
        for direction in DIRECTIONS:
            em.recipe = em.recipe.with_options({"combine": direction})
            base.append(dictionary_size(em.align(bitext), *sides))
        start = Aligner("ibm1", threads=threads).fit(bitext)
        shard, pool = start._lay_out(bitext), start.engine.pool
        for title, hot in (("plain", 0), ("heated", 100)):
            chains = bayes.begin(start.model.lexicon, shard, options, 1, pool)
            bayes.run(chains, [Stage("hot", hot, quarters=2), Stage("warm", hot, quarters=3)], pool, Monitor())
            done = 0
            for sweeps in (100, 1000, 5000):
                bayes.run(chains, [Stage("sweeps", sweeps - done)], pool, Monitor())
                done = sweeps
                yield f"| {name} | {title} | {sweeps:,} | {_pairs(chains, base)} |"
            bayes.run(chains, [Stage("cool", 10, quarters=8, climb=True)] * 10, pool, Monitor())
            yield f"| {name} | {title} | then 100 cool, with block moves | {_pairs(chains, base)} |"


def _pairs(chains: list[Chain], base: list[int]) -> str:
    sizes = [np.count_nonzero(chain.counts.links) for chain in chains]
    return " | ".join(
        f"{size:,} | {size / em_size:.2f} | {chain.log_probability():,.0f}"
        for chain, size, em_size in zip(chains, sizes, base, strict=True)
    )


def _range(values: list[float]) -> str:
    return f"{np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


TABLES: dict[str, tuple[str, dict[str, Any]]] = {
    "EM-80": ("ibm1", EM),
    "GS-5": ("ibm1-bayes", {}),
    "GS-5, most frequent value": ("mermer2011", {}),
}
STARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "EM-80": ("ibm1", EM),
    "EM-80, ties to the first": ("ibm1", {**EM, "decoder": "viterbi"}),
    "EM-5": ("ibm1", {"decoder": "mode"}),
    "GS-N": ("ibm1-bayes", {"start": "cooccurrence"}),
    "GS-5": ("ibm1-bayes", {}),
    "GS-5, not annealed": ("ibm1-bayes", {"annealing": False}),
    "GS-80": ("ibm1-bayes", {"ibm1_iterations": 80}),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("table", choices=("tables", "shards", "starts", "frozen", "long"))
    parser.add_argument("set", nargs="+", metavar="NAME[:PAIRS]")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--full", action="store_true", help="also with all the sweeps that the paper's small texts get")
    parser.add_argument("--seeds", type=int, default=2, help="runs that `shards` averages")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table there too (Markdown)")
    options = parser.parse_args()
    if options.table == "shards":
        rows = shards(options.set, options.data, options.threads, options.seeds)
    elif options.table == "frozen":
        rows = frozen(options.set, options.data, options.threads)
    elif options.table == "long":
        rows = long(options.set, options.data, options.threads)
    else:
        systems = TABLES if options.table == "tables" else STARTS
        if options.full:
            systems = {**systems, "GS-5, 1,400 sweeps": ("ibm1-bayes", {"adapt_sweeps": False})}
        rows = tables(options.set, options.data, options.threads, systems)
    found = []
    for row in rows:
        print(row, flush=True)
        found.append(row)
    if options.output:
        options.output.write_text("\n".join(found) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
