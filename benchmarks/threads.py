"""Two threads beside one: wall-clock seconds of recipes, from text to links, and of a saved model.

    python benchmarks/threads.py --output benchmarks/results/threads.md

One thread and two take turns, and the first of them changes from round to round.  What a run of ten pairs takes on as many
threads is the start-up, which is taken off.  Two processes of one thread each, at the same time, show what the machine
gives: no program can be faster on two threads than that.

    python benchmarks/threads.py --ray --recipe best --pairs 1128274 --rounds 2 --output benchmarks/results/ray.md

puts two workers of Ray, with one thread each, beside two threads of one process, start-up and all.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from statistics import median

import commits
from aligners import libraries
from dovetail.errors import InputError
from measure import CommandError, exit_when_terminated, machine_facts, run
from report import machine_line, markdown
from same_speed import DATA, SET, surroundings, work_folder, write_pairs

RECIPES = ("fast", "default", "best", "hmm")
SAVED = "a saved `default`"
FEW = 10  # pairs whose aligning is taken for the start-up
SOURCE = Path(__file__).resolve().parents[1] / "src"

Texts = Mapping[int, tuple[Path, Path]]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    with ExitStack() as stack:
        folder = stack.enter_context(work_folder(options.work))
        try:
            page = (_beside_ray if options.ray else _beside_one)(options, folder)
        except (CommandError, InputError, OSError) as error:
            print(f"threads.py: {error}", file=sys.stderr)
            return 2
    if options.output:
        options.output.write_text(page, encoding="utf-8")
    print(page, end="")
    return 0


def _beside_one(options: argparse.Namespace, folder: Path) -> str:
    """Two threads beside one."""
    texts = {pairs: write_pairs(options.data, pairs, folder) for pairs in (options.pairs, FEW)}
    model = folder / "model"
    _wall(texts[options.pairs], ["--recipe", "default", "--save", str(model)], 2, folder)
    asked = {recipe: ["--recipe", recipe] for recipe in options.recipe or RECIPES}
    asked[SAVED] = ["--load", str(model)]
    rows = [_row(name, words, texts, options.rounds, folder) for name, words in asked.items()]
    header = ["run", "start-up", "one thread", "two threads", "times as fast", "of rounds", "two processes"]
    return f"""# Two threads beside one

`python benchmarks/threads.py --pairs {options.pairs} --rounds {options.rounds}`

{machine_line(machine_facts())}; {libraries()}.
{commits.working_tree()}; the first {options.pairs:,} pairs of {SET}. Wall-clock seconds without the start-up, medians over
rounds in which both take turns; *times as fast* is the median of the rounds' ratios. *Two processes*: how many times as fast
the machine does the work of one thread in two processes at the same time.

{markdown(header, rows)}
"""


def _beside_ray(options: argparse.Namespace, folder: Path) -> str:
    """Two workers of Ray beside two threads; their start-up is a part of what they take."""
    text, few = (write_pairs(options.data, pairs, folder) for pairs in (options.pairs, FEW))
    sides: dict[str, tuple[list[str], int]] = {"threads": ([], 2), "ray": (["--engine", "ray"], 1)}
    rows = []
    for recipe in options.recipe or RECIPES:
        for words, threads in sides.values():  # compiles what is not compiled yet
            _wall(few, ["--recipe", recipe, *words], threads, folder)
        seconds: dict[str, list[float]] = {side: [] for side in sides}
        for number in range(options.rounds):
            for side in sides if number % 2 == 0 else reversed(sides):
                words, threads = sides[side]
                seconds[side].append(_wall(text, ["--recipe", recipe, *words], threads, folder))
            print(f"{recipe}: round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        ratios = [ray / own for own, ray in zip(seconds["threads"], seconds["ray"], strict=True)]
        walls = [f"{median(seconds[side]):.1f}" for side in sides]
        rows.append([recipe, *walls, f"{median(ratios):.2f}", f"{min(ratios):.2f} to {max(ratios):.2f}"])
    recipes = " ".join(f"--recipe {recipe}" for recipe in options.recipe or ())
    return f"""# Two workers of Ray beside two threads

`python benchmarks/threads.py --ray {recipes} --pairs {options.pairs} --rounds {options.rounds}`

{machine_line(machine_facts())}; {libraries()}, ray {version("ray")}.
{commits.working_tree()}; the first {options.pairs:,} pairs of {SET}, from text to links. Wall-clock seconds with the
start-up of Ray and of its workers, medians over rounds in which both take turns; *times as long* is the median of the
rounds' ratios.

{markdown(["recipe", "two threads", "two workers of one thread", "times as long", "of rounds"], rows)}
"""


def _row(name: str, words: Sequence[str], texts: Texts, rounds: int, folder: Path) -> list[str]:
    whole, few = texts[max(texts)], texts[FEW]
    for threads in (1, 2):  # compiles what is not compiled yet
        _wall(few, words, threads, folder)
    starts, seconds, beside = [], {1: [], 2: []}, []
    for number in range(rounds):
        for threads in (1, 2) if number % 2 == 0 else (2, 1):
            starts.append(_wall(few, words, threads, folder))
            seconds[threads].append(_wall(whole, words, threads, folder) - starts[-1])
        with ThreadPoolExecutor(2) as both:
            walls = both.map(lambda place: _wall(whole, words, 1, place), (folder / "one", folder / "other"))
            beside.append(2 * seconds[1][-1] / (max(walls) - starts[-1]))
        print(f"{name}: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    ratios = [one / two for one, two in zip(seconds[1], seconds[2], strict=True)]
    cells = [median(starts), median(seconds[1]), median(seconds[2]), median(ratios)]
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    return [name, *(f"{cell:.2f}" for cell in cells), spread, f"{median(beside):.2f}"]


def _wall(text: tuple[Path, Path], words: Sequence[str], threads: int, folder: Path) -> float:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "dovetail", "align", *map(str, text), *words, "-o", str(folder / "links")]
    return run([*command, "--quiet", "--threads", str(threads)], environment=surroundings(SOURCE)).wall


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--pairs", type=int, default=100_000, help="to align (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="in which both take turns (%(default)s)")
    parser.add_argument("--ray", action="store_true", help="put two workers of Ray beside two threads")
    parser.add_argument("--recipe", action="append", metavar="NAME", help=f"several times ({', '.join(RECIPES)})")
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder of the sets (shared/data beside the repository)"
    )
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="keep text and model there")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page there, too")
    return parser


if __name__ == "__main__":
    exit_when_terminated()
    sys.exit(main())
