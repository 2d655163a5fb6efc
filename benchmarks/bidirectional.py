"""One alignment from two models: which methods prove what in what time, what it brings, and how the relaxation proceeds.

    python benchmarks/bidirectional.py table1 en-fr-hansards:10000 ja-en-kftt:10000
    python benchmarks/bidirectional.py table2 en-fr-hansards:10000 ja-en-kftt:10000
    python benchmarks/bidirectional.py figure7 en-fr-hansards:10000 --picture docs/images/relaxation.svg

After Tables 1, 2 and Figure 7 of Chang et al. (2014).  Sets lie in `shared/data` beside the repository (`--data` for
another place); dev and test text is trained on too, by `hmm-agreement` unless told otherwise.  Times are CPU milliseconds of
one thread.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from dovetail import Aligner, Alignments, Bitext, evaluate
from dovetail.decoding.bidirectional import BidirectionalMap, bidirectional_map
from dovetail.decoding.bidirectional_decoder import piece_potentials
from dovetail.decoding.bidirectional_problem import checked_problem
from dovetail.laboratory.relaxation import trace_relaxation
from dovetail.uses.phrases import evaluate_phrases
from fertility import load

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
MOST = 400  # pairs of a length that are held in memory
BUCKETS = ((1, 20), (21, 40), (41, 60))
METHODS = {
    "exact": "ours",
    "relaxation": "relaxation",
    "relaxation+constraints": "relaxation, constraints, pruning",
    "dual-decomposition": "dual decomposition",
    "integer": "integer program",
}
Problem = tuple[np.ndarray, np.ndarray]


def problems(aligner: Aligner, bitext: Bitext, pairs: list[int]) -> Iterator[Problem]:
    """theta and omega of some pairs."""
    for n in pairs:
        pair = bitext.part(n, n + 1)
        shard = aligner._lay_out(pair)
        model = aligner._transferred(pair, shard)
        (block,) = shard.blocks
        work = block.view(shard.workspace())
        model.lexicon.gather(block, work, aligner.engine.pool)
        yield piece_potentials(model, block, work, block.lines[0])


def buckets(bitext: Bitext, first: int, fill: int, most: int = MOST) -> list[list[int]]:
    """Test pairs by the length of their longer side; where there are fewer than `fill`, the longest training pairs too."""
    lengths = np.array(bitext.lengths)
    longer = np.where(lengths.min(1) > 0, lengths.max(1), 0)
    result = []
    for low, high in BUCKETS:
        inside = np.flatnonzero((longer >= low) & (longer <= high))
        test, train = inside[inside >= first], inside[inside < first]
        longest = train[np.argsort(-longer[train], kind="stable")]
        result.append([*spread(test.tolist(), most), *longest[: max(0, fill - len(test))].tolist()])
    return result


def spread(pairs: list[Any], number: int) -> list[Any]:
    """So many of them, evenly."""
    return [pairs[n * len(pairs) // number] for n in range(min(number, len(pairs)))] if len(pairs) > number else pairs


def solve(problem: Problem, **settings: Any) -> tuple[BidirectionalMap, float]:
    began = process_time()
    result = bidirectional_map(*problem, **settings)
    return result, 1000 * (process_time() - began)


def table1(arguments: argparse.Namespace) -> Iterator[str]:
    yield "ms: mean CPU time of a pair.  proved, exact: per cent of pairs with a certificate, and with the best score known."
    yield "Constraints: mean number put back (ours: events decided by branching) where there were any.  Ours: all pairs; the"
    yield "others: a sample."
    yield ""
    yield (
        "| set | agreement | method | "
        + "".join(f"{low}-{high}: pairs | ms | proved | exact | " for low, high in BUCKETS)
        + "all: ms | proved | exact | constraints | pruned |"
    )
    yield "|---" * (3 + 4 * len(BUCKETS) + 5) + "|"
    for name in arguments.sets:
        bitext, first, _ = load(name, arguments.data)
        aligner = Aligner(arguments.recipe, threads=1).fit(bitext)
        chosen = [list(problems(aligner, bitext, pairs)) for pairs in buckets(bitext, first, arguments.fill)]
        for title, penalty in (("full", {}), (f"adjacent {arguments.adjacency:g}", {"adjacency": arguments.adjacency})):
            compile_all(penalty)
            ours = [[solve(problem, time_limit=arguments.seconds, **penalty) for problem in part] for part in chosen]
            yield _row(f"| {name} | {title} | {METHODS['exact']} |", ours, ours)
            for method in list(METHODS)[1:]:
                number = arguments.integer if method == "integer" else arguments.sample
                if not number:
                    continue
                places = [spread(list(range(len(part))), number) for part in chosen]
                limit = arguments.integer_seconds if method == "integer" else arguments.seconds
                found = [
                    [solve(part[n], method=method, time_limit=limit, **penalty) for n in place]
                    for part, place in zip(chosen, places, strict=True)
                ]
                known = [[part[n] for n in place] for part, place in zip(ours, places, strict=True)]
                yield _row(f"| {name} | {title} | {METHODS[method]} |", found, known)


def compile_all(penalty: dict[str, float]) -> None:
    """Run everything once before the clock does, on problems that need branching and constraints."""
    random = np.random.default_rng(1)
    for _ in range(3):
        problem = [3.0 * random.normal(size=(5, 6, 6)) for _ in range(2)]
        for method in METHODS:
            bidirectional_map(*problem, method=method, **penalty)
        bidirectional_map(*problem, **penalty, _root_iterations=1, _node_iterations=1)


Solved = list[tuple[BidirectionalMap, float]]


def _row(start: str, found: list[Solved], known: list[Solved]) -> str:
    cells: list[str] = []
    everything: tuple[Solved, Solved] = ([], [])
    for part, best in zip(found, known, strict=True):
        cells += [str(len(part)), *_figures(part, best)] if part else ["0", "", "", ""]
        everything[0].extend(part)
        everything[1].extend(best)
    added = [result.constraints for result, _ in everything[0] if result.constraints]
    cells += _figures(*everything)
    cells += [f"{np.mean(added):.1f}" if added else "0", f"{100 * np.mean([r.pruned for r, _ in everything[0]]):.0f} %"]
    return f"{start} {' | '.join(cells)} |"


def _figures(part: Solved, best: Solved) -> list[str]:
    time = np.mean([ms for _, ms in part])
    proved = np.mean([result.certified for result, _ in part])
    exact = np.mean([r.score >= b.score - 1e-6 for (r, _), (b, _) in zip(part, best, strict=True)])
    return [f"{time:.2f}" if time < 10 else f"{time:,.0f}", f"{100 * proved:.1f}", f"{100 * exact:.1f}"]


def table2(arguments: argparse.Namespace) -> Iterator[str]:
    yield "Per cent.  Phrase pairs of up to 7 words against those of the gold links, possible ones too; F1 (sure): of sure"
    yield "ones alone.  Proved: alignments with a certificate.  Dual decomposition: combined where it does not converge."
    yield ""
    yield "| set | model | combination | P | R | AER | phrases: P | R | F1 | F1 (sure) | proved |"
    yield "|---" * 11 + "|"
    for name in arguments.sets:
        bitext, first, gold = load(name, arguments.data)
        aligner = Aligner(arguments.recipe, threads=1).fit(bitext)
        test = bitext.part(first, len(bitext))

        def row(model: str, combination: str, links: Alignments, proved: Any = None) -> str:
            score, phrases = evaluate(links, gold), evaluate_phrases(links, gold)  # noqa: B023
            values = [score.precision, score.recall, score.aer, phrases.precision, phrases.recall, phrases.f1]
            values.append(evaluate_phrases(links, gold, sure_only=True).f1)  # noqa: B023
            shown = "" if proved is None else f"{100 * np.mean(proved):.1f}"
            numbers = " | ".join(f"{100 * value:.1f}" for value in values)
            return f"| {name} | {model} | {combination} | {numbers} | {shown} |"  # noqa: B023

        for combination in ("union", "intersection", "grow-diag"):
            yield row("directional", combination, decode(aligner, test, "viterbi", combination))
        yield row("posteriors", "soft-union", decode(aligner, test, "posterior", "soft-union"))
        apart = {"agreement": "adjacent", "penalty": arguments.adjacency, "method": "dual-decomposition"}
        union = decode(aligner, test, "bidirectional", "union", **apart)
        proved = union.details["certified"]
        for combination in ("union", "intersection", "grow-diag"):
            other = decode(aligner, test, "bidirectional", combination, **apart)
            links = [(union if sure else other)[n].links for n, sure in enumerate(proved)]
            combined = Alignments.from_links(links, lengths=test.lengths)
            yield row("dual decomposition", combination, combined, proved)
        for agreement, penalty in (("full", 0.0), ("adjacent", arguments.adjacency), ("soft", arguments.soft)):
            links = decode(aligner, test, "bidirectional", "union", agreement=agreement, penalty=penalty)
            title = agreement if agreement == "full" else f"{agreement} {penalty:g}"
            yield row(f"ours, {title}", "", links, links.details["certified"])


def decode(aligner: Aligner, text: Bitext, decoder: str, combine: str, **options: Any) -> Alignments:
    defaults = {"agreement": "full", "penalty": -1.0, "method": "exact"}
    settings = {f"bidirectional_{name}": value for name, value in {**defaults, **options}.items()}
    aligner.recipe = aligner.recipe.with_options({"decoder": decoder, "combine": combine, **settings})
    return aligner.align(text)


def figure7(arguments: argparse.Namespace) -> Iterator[str]:
    (name, *_) = arguments.sets
    bitext, first, _ = load(name, arguments.data)
    aligner = Aligner(arguments.recipe, threads=1).fit(bitext)
    chosen = [n for part in buckets(bitext, first, arguments.fill) for n in spread(part, -(-arguments.sample // 3))]
    curves = np.zeros((len(chosen), 4, arguments.iterations))
    for curve, (theta, omega) in zip(curves, problems(aligner, bitext, chosen), strict=True):
        best = bidirectional_map(theta, omega, arguments.adjacency, time_limit=arguments.seconds).score
        problem = checked_problem(theta, omega, arguments.adjacency)
        steps = np.array(trace_relaxation(problem, arguments.iterations)).T
        steps[:3] -= best
        curve[:, : steps.shape[1]] = steps
        curve[:, steps.shape[1] :] = steps[:, -1:]  # proved: nothing changes any more
    mean = curves.mean(0)
    yield f"{name}, adjacency {arguments.adjacency:g}, means over {len(chosen)} pairs; scores relative to the optimal one."
    yield ""
    yield "| iteration | best dual | best primal, greedy | best primal, intersection | lattice left |"
    yield "|---|---|---|---|---|"
    shown = [t for t in (1, 2, 5, 10, 20, 50, 100, 150, 200, 250, 300, 350, 400) if t <= arguments.iterations]
    for t in shown:
        dual, primal, intersection, left = mean[:, t - 1]
        yield f"| {t} | {dual:.2f} | {primal:.2f} | {intersection:.2f} | {100 * left:.1f} % |"
    if arguments.picture:
        draw(mean, arguments.picture)


def draw(mean: np.ndarray, picture: Path) -> None:
    """The paper's two curves, side by side."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "dovetail"  # the same picture is the same bytes
    from matplotlib import pyplot

    figure, (scores, sizes) = pyplot.subplots(1, 2, figsize=(9, 3.2))
    t = np.arange(1, mean.shape[1] + 1)
    for curve, label in zip(mean, ("best dual", "best primal", "intersection"), strict=False):
        scores.plot(t, curve, label=label)
    scores.set(xlabel="iteration", ylabel="score relative to optimal")
    scores.legend()
    sizes.plot(t, mean[3])
    sizes.set(xlabel="iteration", ylabel="relative search space size", yscale="log")
    figure.tight_layout()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["table1", "table2", "figure7"])
    parser.add_argument("sets", nargs="+", metavar="SET", help="NAME or NAME:PAIRS; figure7 takes one")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets")
    parser.add_argument("--recipe", default="hmm-agreement")
    parser.add_argument("--adjacency", type=float, default=-1.0, help="what an off-by-one costs, the paper's alpha")
    parser.add_argument("--soft", type=float, default=-2.0, help="table2: what a link of one direction alone costs")
    parser.add_argument(
        "--fill", type=int, default=100, help="pairs of a length, with training pairs if test has fewer"
    )
    parser.add_argument("--sample", type=int, default=20, help="pairs of a length for slow methods; of figure7, in all")
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of a pair")
    parser.add_argument("--integer", type=int, default=3, help="table1: pairs of a length for the integer program")
    parser.add_argument("--integer-seconds", type=float, default=20.0, help="its limit of a pair")
    parser.add_argument("--iterations", type=int, default=400, help="figure7: of the relaxation")
    parser.add_argument("--picture", type=Path, help="figure7: draw it there, .svg or .png")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table there as well")
    arguments = parser.parse_args()
    written = []
    for line in {"table1": table1, "table2": table2, "figure7": figure7}[arguments.what](arguments):
        print(line, flush=True)
        written.append(line)
    if arguments.output:
        arguments.output.write_text("\n".join(written) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
