"""What fertility brings, what sampling costs, and how many alignments are proved optimal: three tables.

    python benchmarks/fertility.py accuracy en-fr-hansards:10000 de-en-europarl:10000
    python benchmarks/fertility.py speed en-fr-hansards:10000
    python benchmarks/fertility.py certificates en-fr-hansards:10000 --longest 200

Sets lie in `shared/data` beside the repository (`--data` for another place); dev and test text is trained on too, and
test is scored.  Times are CPU seconds of this process on one thread.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from dovetail import Aligner, Bitext, evaluate, read_bitext
from dovetail.alignments.gold import Gold
from dovetail.bitext.cells import Cells
from dovetail.decoding.exact_fertility import potentials
from dovetail.decoding.fertility_map import FertilityMap, fertility_map
from dovetail.models.hmm import HMM
from dovetail.models.ibm1 import IBM1
from dovetail.models.lexicon import Workspace
from dovetail.training import em, sampling
from dovetail.training.monitor import Monitor
from texts import find_set, write_text

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
DIRECTIONS = ("forward", "reverse")
METHODS = ("exact", "subgradient")
BUCKETS = ((1, 20), (21, 40), (41, 60), (61, 100))
SYSTEMS: list[tuple[str, str, dict[str, Any], tuple[str, ...]]] = [
    ("IBM-1", "ibm1", {}, ("viterbi", "posterior")),
    ("IBM-1 + Poisson", "ibm1-fertility", {}, ("viterbi", "posterior", "samples", "exact")),
    ("HMM", "hmm", {}, ("viterbi", "posterior")),
    ("HMM + Poisson, 1 sample", "hmm-fertility", {"samples": 1}, ("viterbi", "posterior", "samples", "exact")),
    ("HMM + Poisson, 5 samples", "hmm-fertility", {"samples": 5}, ("viterbi", "posterior", "samples", "exact")),
    ("HMM + Poisson, 30 samples", "hmm-fertility", {"samples": 30}, ("viterbi", "posterior", "samples", "exact")),
    ("HMM + categorical", "hmm-fertility", {"fertility": "categorical"}, ("viterbi", "posterior", "samples", "exact")),
    ("HMM + features", "hmm-fertility-features", {}, ("viterbi", "posterior", "samples", "exact")),
    ("HMM + Poisson, hard EM", "hmm-fertility-hard", {}, ("viterbi", "posterior", "samples", "exact")),
]


def load(name: str, data: Path) -> tuple[Bitext, int, Gold]:
    """The set's text, the number of its first test pair, and the gold links of the test pairs."""
    with tempfile.TemporaryDirectory() as folder:
        text = write_text(find_set(name, data), Path(folder))
        if None in text.lines:
            raise SystemExit(f"{name}: a test pair has an empty side")
        return read_bitext(text.source, text.target), int(text.lines[0] or 0), text.gold


def accuracy(sets: list[str], data: Path, systems: list[str] | None) -> Iterator[str]:
    """AER in per cent of each direction by system and decoder, with the CPU seconds of training."""
    yield "| set | system | training s | " + " | ".join(f"{d} {way}" for d in DECODERS for way in DIRECTIONS) + " |"
    yield "|---|---|---|" + "---|" * (2 * len(DECODERS))
    for name in sets:
        bitext, first, gold = load(name, data)
        test = bitext.part(first, len(bitext))
        for title, recipe, options, decoders in SYSTEMS:
            if systems and title not in systems:
                continue
            aligner = Aligner(recipe, seed=1, threads=1, **options)
            began = process_time()
            aligner.fit(bitext)
            seconds = process_time() - began
            cells = []
            for decoder in DECODERS:
                for direction in DIRECTIONS:
                    if decoder not in decoders:
                        cells.append("")
                        continue
                    aligner.recipe = aligner.recipe.with_options({"decoder": decoder, "combine": direction})
                    cells.append(f"{100 * evaluate(aligner.align(test), gold).aer:.1f}")
            yield f"| {name} | {title} | {seconds:.1f} | {' | '.join(cells)} |"


DECODERS = ("viterbi", "posterior", "samples", "exact")


def speed(sets: list[str], data: Path, repeats: int) -> Iterator[str]:
    """CPU milliseconds of one E-step, both directions, best of some: the HMM's against sampling's."""
    yield "| set | E-step | CPU ms | times faster than the HMM |"
    yield "|---|---|---|---|"
    for name in sets:
        bitext, _, _ = load(name, data)
        aligner = Aligner("hmm-fertility", seed=1, threads=1, samples=1, fertility_iterations=2).fit(bitext)
        cells, model, engine = aligner._cells, aligner.model, aligner.engine
        assert isinstance(cells, Cells)
        work = Workspace.for_cells(cells)
        starts = sampling.best_words(IBM1(model.lexicon), cells, work, engine)
        hmm = HMM(model.lexicon, model.jumps, model.null)

        def sampled(n: int) -> Callable[[], Any]:
            how = sampling.Sampling(1, n, 1, 0)
            return lambda: sampling.expect(model, cells, work, engine, Monitor(), how, starts)  # noqa: B023

        steps = {"HMM": lambda: em.expect(hmm, cells, work, engine, Monitor())}  # noqa: B023
        steps |= {f"fertility HMM, {n} sample{'s' * (n > 1)}": sampled(n) for n in (1, 5, 30)}
        best = dict.fromkeys(steps, np.inf)
        for _ in range(repeats):  # interleaved: a busy machine is busy for all of them
            for title, step in steps.items():
                began = process_time()
                step()
                best[title] = min(best[title], process_time() - began)
        for title, seconds in best.items():
            yield f"| {name} | {title} | {1000 * seconds:.0f} | {best['HMM'] / seconds:.1f} |"


def certificates(sets: list[str], data: Path, longest: int, options: dict[str, Any]) -> Iterator[str]:
    """Share certified and CPU milliseconds a sentence by length, the exact method beside the paper's at 40 iterations."""
    yield (
        "| set | direction | words | sentences | certified % | mean ms | mean gap of the rest | iterations "
        "| paper's: certified % | mean ms | mean gap of the rest |"
    )
    yield "|---" * 11 + "|"
    for name in sets:
        bitext, first, _ = load(name, data)
        aligner = Aligner("hmm-fertility", seed=1, threads=1, **options).fit(bitext)
        by_length = np.argsort(-np.maximum(bitext.source.lengths, bitext.target.lengths), kind="stable")
        long = np.maximum(bitext.source.lengths, bitext.target.lengths)
        chosen = [n for n in by_length.tolist() if BUCKETS[2][0] <= long[n] <= BUCKETS[-1][1] and n < first]
        pairs = [*range(first, len(bitext)), *_spread(chosen, longest)]
        aligner.recipe = aligner.recipe.with_options({"decoder": "exact"})
        for problem in _problems(aligner, bitext.part(first, first + 1)):  # compile before the clock runs
            for method in METHODS:
                fertility_map(*problem, method=method)
        rows: dict[tuple[str, int], list[tuple[FertilityMap, float, FertilityMap, float]]] = {}
        for n in pairs:
            pair = bitext.part(n, n + 1)
            size = int(max(pair.lengths[0]))
            bucket = next((k for k, (low, high) in enumerate(BUCKETS) if low <= size <= high), None)
            if bucket is None or min(pair.lengths[0]) == 0:
                continue
            for direction, problem in enumerate(_problems(aligner, pair)):
                both = []
                for method in METHODS:
                    began = process_time()
                    result = fertility_map(*problem, method=method)
                    both += [result, process_time() - began]
                rows.setdefault((DIRECTIONS[direction], bucket), []).append(tuple(both))  # type: ignore[arg-type]
        for (direction, bucket), results in sorted(rows.items()):
            ours = _summary([(r[0], r[1]) for r in results])
            papers = _summary([(r[2], r[3]) for r in results])
            iterations = np.mean([r[0].iterations for r in results])
            low, high = BUCKETS[bucket]
            yield (
                f"| {name} | {direction} | {low}-{high} | {len(results)} | {ours[0]} | {ours[1]} | {ours[2]} "
                f"| {iterations:.0f} | {papers[0]} | {papers[1]} | {papers[2]} |"
            )


def _spread(pairs: list[int], number: int) -> list[int]:
    """About so many of them, evenly."""
    return pairs[:: max(1, len(pairs) // max(number, 1))][:number]


def _problems(aligner: Aligner, pair: Bitext) -> Iterator[tuple[Any, ...]]:
    """What `fertility_map` takes, for both directions of one pair."""
    from dovetail.models.lexicon import WordMap

    cells = aligner._lay_out(pair)
    words = WordMap.between(pair, aligner.source_vocabulary, aligner.target_vocabulary)
    model = aligner._transferred(cells, words)
    (block,) = cells.blocks
    work = Workspace.for_cells(cells).view(block)
    model.lexicon.gather(cells, block, work, aligner.engine)
    for direction in range(2):
        p = potentials(model, cells, work, block.lines[0], direction)
        yield p.emission, p.transition, p.null, p.fertility, p.null_fertility


def _summary(results: list[tuple[FertilityMap, float]]) -> tuple[str, str, str]:
    open_gaps = [result.bound - result.score for result, _ in results if not result.certified]
    certified = 100 * (1 - len(open_gaps) / len(results))
    gap = f"{np.mean(open_gaps):.3g}" if open_gaps else "–"
    return f"{certified:.1f}", f"{1000 * np.mean([seconds for _, seconds in results]):.2f}", gap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["accuracy", "speed", "certificates"])
    parser.add_argument("sets", nargs="+", metavar="SET", help="NAME or NAME:PAIRS")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets")
    parser.add_argument(
        "--systems", nargs="+", metavar="TITLE", help="accuracy: only these, by the table's second column"
    )
    parser.add_argument("--repeats", type=int, default=5, help="speed: the best of so many")
    parser.add_argument("--longest", type=int, default=100, metavar="N", help="certificates: N long training pairs too")
    parser.add_argument("--fertility", default="poisson", help="certificates: poisson, categorical or features")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table there as well")
    arguments = parser.parse_args()
    if arguments.table == "accuracy":
        lines = accuracy(arguments.sets, arguments.data, arguments.systems)
    elif arguments.table == "speed":
        lines = speed(arguments.sets, arguments.data, arguments.repeats)
    else:
        options = {"fertility": arguments.fertility}
        lines = certificates(arguments.sets, arguments.data, arguments.longest, options)
    written = []
    for line in lines:
        print(line, flush=True)
        written.append(line)
    if arguments.output:
        arguments.output.write_text("\n".join(written) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
