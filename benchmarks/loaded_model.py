"""How fast a saved model aligns text: the code as it is beside an earlier commit, its stages, and what 32 cores would do.

    python benchmarks/loaded_model.py --against 8a7c7db --work FOLDER --output benchmarks/results/loaded_model.md

Each side trains and saves a model of its own, and aligns the same text with it, in turns, from text to links, on one thread.
What a run of ten pairs costs is the start-up, which is taken off.  Then the stages of the code as it is are timed within one
process.  (`threads.py` puts two threads beside one.)
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

import commits
from aligners import libraries
from dovetail.errors import InputError
from measure import CommandError, exit_when_terminated, machine_facts, run
from report import machine_line, markdown
from same_speed import AFTER, BEFORE, DATA, SET, SIDES, prepare, surroundings, work_folder, write_pairs
from stages import Stages

FEW = 10  # pairs whose aligning is taken for the start-up
CORES = 32
WHOLE = 1_130_000  # pairs of the whole text, for which serial seconds are stated

SERIAL = ("read", "write")  # what one thread does for all others: files, in order
WAITING = "waiting"
LOOK_UP = "look words up"  # between kernels it is Python and NumPy, where one thread may wait for another: measured
TURNS = 5

# Functions whose time makes a stage, without that of the stages within.  The rest is Python's between them.
STAGES = {
    "number words": ["dovetail.bitext.corpus:Bitext.from_lines"],
    LOOK_UP: [
        "dovetail.trained:Trained._words",
        "dovetail.models.lexicon.counted:CountedLexicon.for_words",
        "dovetail.models.joint:JointHMM.with_lexicon",
    ],
    "lay out": ["dovetail.trained:shard_of"],
    "gather": ["dovetail.models.lexicon.counted:CountedLexicon.gather"],
    "infer": ["dovetail.models.joint:JointHMM.posteriors"],
    "mark": ["dovetail.decoding.decode:_marked"],
    "collect": ["dovetail.decoding.decode:_collected"],
    "assemble": ["dovetail.alignments.align:assemble", "dovetail.alignments.align:sentence_scores"],
    "form lines": ["dovetail.cli.links_out:Form.__call__"],
    "write": ["dovetail.cli.links_out:LinksOut.take"],
}


class Run(NamedTuple):
    """CPU seconds of one run, and a hash of its links."""

    cpu: float
    links: str


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.stages:
        print(json.dumps(stage_seconds(*options.stages)))
        return 0
    with ExitStack() as stack:
        folder = stack.enter_context(work_folder(options.work))
        try:
            sizes, after = (options.train, options.pairs, FEW), commits.working_tree()
            texts = {pairs: write_pairs(options.data, pairs, folder) for pairs in sizes}
            sources = prepare(options.against, folder, texts).sources
            models = {side: _trained(side, sources[side], texts[options.train], folder) for side in SIDES}
            page = _page(options, after, sources, models, texts, folder)
        except (CommandError, InputError, OSError) as error:
            print(f"loaded_model.py: {error}", file=sys.stderr)
            return 2
    if options.output:
        options.output.write_text(page, encoding="utf-8")
    print(page, end="")
    return 0


def _page(
    options: argparse.Namespace,
    after: str,
    sources: Mapping[str, Path],
    models: Mapping[str, Path],
    texts: Mapping[int, tuple[Path, Path]],
    folder: Path,
) -> str:
    text, few = texts[options.pairs], texts[FEW]

    def align(side: str, which: tuple[Path, Path]) -> Run:
        return _aligned(sources[side], models[side], which, folder / f"links.{side}")

    for side in SIDES:  # compiles what is not compiled yet
        align(side, text)
    rounds = []
    for number in range(options.rounds):
        sides = SIDES if number % 2 == 0 else SIDES[::-1]
        rounds.append({side: (align(side, few), align(side, text)) for side in sides})
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    stages = _staged(sources[AFTER], models[AFTER], text)
    words = f"--against {options.against} --train {options.train} --pairs {options.pairs} --rounds {options.rounds}"
    return f"""# A saved model aligns text

`python benchmarks/loaded_model.py {words}`

{machine_line(machine_facts())}; {libraries()}.
Before: {options.against}. After: {after}.

`default`, trained on the first {options.train:,} pairs of {SET}, saved, aligns the first {options.pairs:,}: text to links,
one thread. CPU seconds without the start-up, a run of {FEW} pairs; medians over rounds in which both sides take turns.

{_speed_table(rounds, options.pairs)}

The stages of the code as it is, one thread, in one process, CPU seconds per pair. What one thread does for all others is
serial: {" and ".join(SERIAL)}; and of looking words up, where threads may wait for each other within Python, what keeps two
threads from being twice as fast at it as one (medians of {TURNS} turns each).

{_stages_table(stages, options.pairs)}
"""


def _trained(side: str, source: Path, text: tuple[Path, Path], folder: Path) -> Path:
    model = folder / f"model.{source.name}"
    if not model.exists():
        print(f"training {side}", file=sys.stderr, flush=True)
        _dovetail(source, "align", *text, "--save", model, "-o", folder / "links.trained", "--seed", "1")
    return model


def _aligned(source: Path, model: Path, text: tuple[Path, Path], output: Path) -> Run:
    cost = _dovetail(source, "align", *text, "--load", model, "-o", output)
    links = hashlib.sha256(output.read_bytes()).hexdigest()
    output.unlink()
    return Run(cost.cpu, links)


def _dovetail(source: Path, *words: str | Path) -> Any:
    command = [sys.executable, "-m", "dovetail", *words, "--quiet", "--threads", "1"]
    return run(command, environment=surroundings(source))


def _staged(source: Path, model: Path, text: tuple[Path, Path]) -> dict[str, float]:
    """`stage_seconds` in a process of its own, which imports the code as it is."""
    command = [sys.executable, str(Path(__file__).resolve()), "--stages", str(model), *map(str, text)]
    folder = str(Path(__file__).parent)
    environment = surroundings(source)
    environment["PYTHONPATH"] += f":{folder}"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CommandError(f"the stages: {done.stderr.strip().rpartition(chr(10))[2]}")
    return dict(json.loads(done.stdout))


def stage_seconds(model: str, source: str, target: str) -> dict[str, float]:
    """CPU seconds of each stage of aligning a text with a saved model, on one thread, once all kernels are there."""
    from dovetail.aligner import Aligner
    from dovetail.bitext.stream import stream_bitext
    from dovetail.cli.links_out import links_out

    stages = Stages(process_time)
    stages.watch(STAGES)
    aligner = Aligner.load(model, threads=1)

    def align() -> None:
        with tempfile.NamedTemporaryFile(suffix=".links") as output, links_out(output.name, "pharaoh") as out:
            parts = stream_bitext(source, target, keep_text=False)
            following = stages.timed("read", lambda: next(parts, None))
            while (part := following()) is not None:
                out.take(stages.timed("the rest", lambda part=part: out.form(part, aligner.align(part)))())

    align()
    stages.spent.clear()
    align()
    found = dict(stages.spent)
    found[WAITING] = found[LOOK_UP] * share_alone(aligner, source, target)
    return found


def share_alone(aligner: Any, source: str, target: str) -> float:
    """The share of looking words up that two threads cannot do side by side: s of T2 / T1 = s + (1 - s) / 2."""
    from dovetail.bitext.stream import stream_bitext

    compact = aligner._compacted()

    def look_up(part: Any) -> None:
        words = aligner._words(part)
        compact.with_lexicon(compact.lexicon.for_words(words, aligner.engine.pool)).for_words(words)

    def wall(threads: int) -> float:
        parts = list(stream_bitext(source, target, keep_text=False))  # new ones: they remember what was looked up
        with ThreadPoolExecutor(threads) as pool:
            began = perf_counter()
            list(pool.map(look_up, parts))
            return perf_counter() - began

    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(TURNS):
        for threads, walls in seconds.items():
            walls.append(wall(threads))
    return min(max(2 * median(seconds[2]) / median(seconds[1]) - 1, 0.0), 1.0)


def _speed_table(rounds: Sequence[Mapping[str, tuple[Run, Run]]], pairs: int) -> str:
    """One row per side: CPU seconds and pairs a second."""
    seconds = {side: [whole.cpu - few.cpu for few, whole in (one[side] for one in rounds)] for side in SIDES}
    ratios = [before / after for before, after in zip(seconds[BEFORE], seconds[AFTER], strict=True)]
    same = len({one[side][1].links for one in rounds for side in SIDES}) == 1
    rows = []
    for side in SIDES:
        start, typical = median(one[side][0].cpu for one in rounds), median(seconds[side])
        times = f"{median(ratios):.2f}" if side == AFTER else "1"
        cells = [f"{start:.2f}", f"{typical:.2f}", f"{1e6 * typical / pairs:.1f}", f"{pairs / typical:,.0f}", times]
        rows.append([side, str(len(rounds)), *cells, "yes" if same else "**no**"])
    header = ["side", "rounds", "start-up s", "CPU s", "µs a pair", "pairs a second", "times as fast", "same links"]
    return markdown(header, rows)


def _stages_table(stages: Mapping[str, float], pairs: int) -> str:
    order = [stage for stage in ["read", *STAGES, "the rest"] if stage in stages]
    total = sum(stages[stage] for stage in order)
    alone = {**{stage: stages[stage] for stage in SERIAL}, LOOK_UP: stages[WAITING]}
    rows = [
        [stage, f"{1e6 * stages[stage] / pairs:.2f}", f"{1e6 * alone[stage] / pairs:.2f}" if stage in alone else ""]
        for stage in order
    ]
    serial = sum(alone.values())
    speedup = total / (serial + (total - serial) / CORES)
    rows.append(["all", f"{1e6 * total / pairs:.2f}", ""])
    return (
        markdown(["stage", "µs a pair", "of it serial"], rows)
        + f"\n\nOf {WHOLE:,} pairs, {serial / pairs * WHOLE:.1f} of {total / pairs * WHOLE:.1f} seconds are serial, which"
        f" allows {CORES} cores to be {speedup:.1f} times as fast as one."
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--against", default=commits.EARLIER, metavar="COMMIT", help="the earlier one (%(default)s)")
    parser.add_argument("--train", type=int, default=20_000, metavar="PAIRS", help="to train on (%(default)s)")
    parser.add_argument("--pairs", type=int, default=100_000, help="to align (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="in which both sides take turns (%(default)s)")
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder of the sets (shared/data beside the repository)"
    )
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="keep code, text and models there")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page there, too")
    parser.add_argument("--stages", nargs=3, metavar=("MODEL", "SOURCE", "TARGET"), help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    exit_when_terminated()
    sys.exit(main())
