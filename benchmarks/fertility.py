"""What fertility brings, what sampling costs, and how many alignments are proved optimal: three tables.

    python benchmarks/fertility.py accuracy en-fr-hansards:10000 de-en-europarl:10000 --decoders viterbi exact
    python benchmarks/fertility.py speed en-fr-hansards:10000
    python benchmarks/fertility.py certificates en-fr-hansards:10000 ja-en-kftt:20000

Sets lie in `shared/data` beside the repository (`--data` for another place); dev and test text is trained on too, and
test is scored.  Times are CPU seconds of this process; those of `speed` and `certificates` on one thread.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from xopen import xopen

from dovetail import Aligner, Bitext, evaluate, read_bitext
from dovetail.alignments.gold import Gold
from dovetail.decoding.exact_fertility import potentials
from dovetail.decoding.fertility import FertilityMap, fertility_map
from dovetail.models.fertile import FertilityModel
from texts import Task, find_set, write_text

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
DIRECTIONS = ("forward", "reverse")
KINDS = ("poisson", "categorical", "features")
METHODS = ("exact", "subgradient")
BUCKETS = ((1, 20), (21, 40), (41, 60), (61, 100))
TIME_LIMIT = 10.0  # seconds per sentence
MORE_PAIRS = 20_000  # of a set's whole training text are looked through for long ones
DECODERS = ("viterbi", "posterior", "samples", "exact")
PLAIN = ("viterbi", "posterior")
SYSTEMS: list[tuple[str, str, dict[str, Any], tuple[str, ...]]] = [
    ("IBM-1", "ibm1", {}, PLAIN),
    ("IBM-1 + Poisson", "ibm1-fertility", {}, DECODERS),
    ("HMM", "hmm", {}, PLAIN),
    ("HMM + Poisson, 1 sample", "hmm-fertility", {"samples": 1}, DECODERS),
    ("HMM + Poisson, 5 samples", "hmm-fertility", {"samples": 5}, DECODERS),
    ("HMM + Poisson, 30 samples", "hmm-fertility", {"samples": 30}, DECODERS),
    ("HMM + Poisson, 1 sample, hard counts", "hmm-fertility", {"samples": 1, "soft_counts": False}, DECODERS),
    ("HMM + Poisson, 5 samples, hard counts", "hmm-fertility", {"samples": 5, "soft_counts": False}, DECODERS),
    ("HMM + Poisson, 30 samples, hard counts", "hmm-fertility", {"samples": 30, "soft_counts": False}, DECODERS),
    ("HMM + categorical", "hmm-fertility", {"fertility": "categorical"}, DECODERS),
    ("HMM + features", "hmm-fertility-features", {}, DECODERS),
    ("HMM + Poisson, hard EM", "hmm-fertility-hard", {}, DECODERS),
]


def load(name: str, data: Path) -> tuple[Bitext, int, Gold]:
    """The set's text, the number of its first test pair, and the gold links of the test pairs."""
    with tempfile.TemporaryDirectory() as folder:
        text = write_text(find_set(name, data), Path(folder))
        if None in text.lines:
            raise SystemExit(f"{name}: a test pair has an empty side")
        return read_bitext(text.source, text.target), int(text.lines[0] or 0), text.gold


def accuracy(sets: list[str], data: Path, systems: list[str] | None, wanted: list[str]) -> Iterator[str]:
    """AER in per cent of each direction by system and decoder, with the CPU seconds of training."""
    yield "| set | system | training s | " + " | ".join(f"{d} {way}" for d in wanted for way in DIRECTIONS) + " |"
    yield "|---|---|---|" + "---|" * (2 * len(wanted))
    for name in sets:
        bitext, first, gold = load(name, data)
        test = bitext.part(first, len(bitext))
        for title, recipe, options, decoders in SYSTEMS:
            if systems and title not in systems:
                continue
            aligner = Aligner(recipe, seed=1, **options)
            began = process_time()
            aligner.fit(bitext)
            seconds = process_time() - began
            cells = []
            for decoder in wanted:
                for direction in DIRECTIONS:
                    if decoder not in decoders:
                        cells.append("")
                        continue
                    aligner.recipe = aligner.recipe.with_options({"decoder": decoder, "combine": direction})
                    cells.append(f"{100 * evaluate(aligner.align(test), gold).aer:.1f}")
            yield f"| {name} | {title} | {seconds:.1f} | {' | '.join(cells)} |"


class Stopwatch:
    """A function, and the CPU seconds spent in those of its calls that count."""

    def __init__(self, function: Callable[..., Any], counts: Callable[..., bool]) -> None:
        self.function = function
        self.counts = counts
        self.seconds = 0.0

    def __call__(self, *arguments: Any) -> Any:
        began = process_time()
        result = self.function(*arguments)
        if self.counts(*arguments):
            self.seconds += process_time() - began
        return result


def speed(sets: list[str], data: Path, repeats: int, wanted: list[str] | None = None) -> Iterator[str]:
    """CPU seconds on one thread, medians: five E-steps of the HMM against five of sampling, and text to links."""
    yield "| set | system | five E-steps, CPU s | times faster than the HMM | text to links, CPU s |"
    yield "|---|---|---|---|---|"
    systems: dict[str, tuple[str, dict[str, Any]]] = {"HMM": ("hmm", {})}
    for soft in (False, True):
        for n in (1, 5, 30):
            title = f"{n} sample{'s' * (n > 1)}, {'soft' if soft else 'hard'} counts"
            if not wanted or title in wanted:
                systems[title] = "hmm-fertility", {"samples": n, "soft_counts": soft}
    for name in sets:
        task = find_set(name, data)
        times: dict[str, list[tuple[float, float]]] = {title: [] for title in systems}
        with tempfile.TemporaryDirectory() as folder:
            text = write_text(task, Path(folder))
            for _ in range(repeats):  # interleaved: a busy machine is busy for all of them
                for title, (recipe, options) in systems.items():
                    times[title].append(_text_to_links(text.source, text.target, recipe, options))
        medians = {title: np.median(pairs, axis=0) for title, pairs in times.items()}
        for title, (steps, whole) in medians.items():
            yield f"| {name} | {title} | {steps:.3f} | {medians['HMM'][0] / steps:.1f} | {whole:.2f} |"


def _text_to_links(source: Path, target: Path, recipe: str, options: dict[str, Any]) -> tuple[float, float]:
    """CPU seconds of the E-steps after IBM Model 1's, and of everything from reading to links."""
    began = process_time()
    bitext = read_bitext(source, target)
    aligner = Aligner(recipe, seed=1, threads=1, decoder="viterbi", **options)
    # the pass over the alignments that training starts from, which draws nothing, is no part of it
    watch = Stopwatch(aligner.engine.sum, lambda model, *_: model.name == recipe and _draws(model))
    aligner.engine.sum = watch  # type: ignore[method-assign]
    aligner.fit(bitext)
    aligner.align(bitext)
    return watch.seconds, process_time() - began


def _draws(model: Any) -> bool:
    return not isinstance(model, FertilityModel) or model.sampling.samples > 0


def certificates(sets: list[str], data: Path, sentences: int, kinds: list[str]) -> Iterator[str]:
    """Share certified and CPU milliseconds per sentence by length, the exact method beside the paper's at 40 iterations.

    All test pairs; where a bucket has fewer than `sentences` of them, pairs of the other text fill it up.
    """
    yield (
        "| set | fertility | direction | words | sentences | certified % | mean ms | longest ms | mean gap of the rest "
        "| iterations | paper's: certified % | mean ms | mean gap of the rest |"
    )
    yield "|---" * 13 + "|"
    _compile()
    for name in sets:
        bitext, first, _ = load(name, data)
        pairs = _by_length(bitext, first, sentences, find_set(name, data), data)
        for kind in kinds:
            aligner = Aligner("hmm-fertility", seed=1, threads=1, fertility=kind).fit(bitext)
            rows: dict[tuple[str, int], list[tuple[FertilityMap, float, FertilityMap, float]]] = {}
            for bucket, pair in pairs:
                for direction, problem in enumerate(_problems(aligner, pair)):
                    both: list[Any] = []
                    for method in METHODS:
                        began = process_time()
                        result = fertility_map(*problem, method=method, time_limit=TIME_LIMIT)
                        both += [result, process_time() - began]
                    rows.setdefault((DIRECTIONS[direction], bucket), []).append(tuple(both))  # type: ignore[arg-type]
            for (direction, bucket), results in sorted(rows.items()):
                ours = _summary([(r[0], r[1]) for r in results])
                papers = _summary([(r[2], r[3]) for r in results])
                slowest = 1000 * max(r[1] for r in results)
                iterations = np.mean([r[0].iterations for r in results])
                low, high = BUCKETS[bucket]
                yield (
                    f"| {name} | {kind} | {direction} | {low}-{high} | {len(results)} | {ours[0]} | {ours[1]} "
                    f"| {slowest:.1f} | {ours[2]} | {iterations:.0f} | {papers[0]} | {papers[1]} | {papers[2]} |"
                )


def _compile() -> None:
    """Have every kernel of both methods compiled before the clock runs: potentials without structure need them all."""
    generator = np.random.default_rng(0)
    for _ in range(5):
        shapes = (9, 8), (9, 8), (8, 9), (9,)
        emission, transition, fertility, null = (2 * generator.standard_normal(shape) for shape in shapes)
        for method in METHODS:
            fertility_map(emission, transition, -1.0, fertility, null, method=method)


def _by_length(bitext: Bitext, first: int, wanted: int, task: Task, data: Path) -> list[tuple[int, Bitext]]:
    """Pairs with their buckets: those from `first` on, and up to `wanted` a bucket of what comes before, the last first.

    A sample may hold no long pairs: what is missing then comes from the set's whole training text, and is not trained on.
    """
    found: list[list[Bitext]] = [[] for _ in BUCKETS]
    for n in [*range(first, len(bitext)), *range(first - 1, -1, -1)]:
        bucket = _bucket(bitext.source.lengths[n], bitext.target.lengths[n])
        if bucket is not None and (n >= first or len(found[bucket]) < wanted):
            found[bucket].append(bitext.part(n, n + 1))
    whole = find_set(task.name, data)
    if whole.train != task.train:
        with xopen(whole.train[0]) as source, xopen(whole.train[1]) as target:
            for lines in islice(zip(source, target, strict=True), MORE_PAIRS):
                words = lines[0].split(), lines[1].split()
                bucket = _bucket(len(words[0]), len(words[1]))
                if bucket is not None and len(found[bucket]) < wanted:
                    found[bucket].append(Bitext.from_pairs([words]))
    return [(k, pair) for k, bucket_pairs in enumerate(found) for pair in bucket_pairs]


def _bucket(I: int, J: int) -> int | None:
    return next((k for k, (low, high) in enumerate(BUCKETS) if min(I, J) > 0 and low <= max(I, J) <= high), None)


def _problems(aligner: Aligner, pair: Bitext) -> Iterator[tuple[Any, ...]]:
    """What `fertility_map` takes, for both directions of one pair."""
    shard = aligner._lay_out(pair)
    model = aligner._transferred(pair, shard)
    (block,) = shard.blocks
    work = block.view(shard.workspace())
    model.lexicon.gather(block, work, aligner.engine.pool)
    for direction in range(2):
        yield potentials(model, block, work, block.lines[0], direction)


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
        "--systems", nargs="+", metavar="TITLE", help="accuracy and speed: only these, by the table's second column"
    )
    parser.add_argument(
        "--decoders", nargs="+", choices=DECODERS, default=list(DECODERS), help="accuracy: only these (default: all)"
    )
    parser.add_argument("--repeats", type=int, default=3, help="speed: medians of so many")
    parser.add_argument(
        "--sentences",
        type=int,
        default=100,
        metavar="N",
        help="certificates: at least N of each length, from dev and training text where there are fewer test pairs",
    )
    parser.add_argument(
        "--fertility", nargs="+", choices=KINDS, default=list(KINDS), help="certificates: only these (default: all)"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table there as well")
    arguments = parser.parse_args()
    if arguments.table == "accuracy":
        lines = accuracy(arguments.sets, arguments.data, arguments.systems, arguments.decoders)
    elif arguments.table == "speed":
        lines = speed(arguments.sets, arguments.data, arguments.repeats, arguments.systems)
    else:
        lines = certificates(arguments.sets, arguments.data, arguments.sentences, arguments.fertility)
    written = []
    for line in lines:
        print(line, flush=True)
        written.append(line)
    if arguments.output:
        arguments.output.write_text("\n".join(written) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
