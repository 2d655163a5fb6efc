"""The code as it is beside an earlier commit: CPU seconds, peak memory, and whether both write the same bytes.

    python benchmarks/same_speed.py --against 8a7c7db --work FOLDER --output FILE

Both are run from copies of their `src`, so that nobody's editing reaches a run and each has its own compiled kernels.
They take turns within a round, and the first of them changes from round to round.  With --work, runs that are finished
are written down there and not done again, as long as the code is the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

from xopen import xopen

import commits
from aligners import libraries, thread_settings, write_warming_text
from dovetail.errors import InputError
from dovetail.recipes import PRESETS
from measure import CommandError, Measurement, exit_when_terminated, machine_facts, run
from report import machine_line, markdown
from texts import find_set

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SET = "en-fr-hansards"
RECIPES = ("fast", "default", "best", "hmm", "hmm-symmetric", "hmm-fertility", "ibm1-bayes", "hmm-bayes")
COLD_PAIRS = 100
BEFORE, AFTER = SIDES = ("before", "after")


class Block(NamedTuple):
    """So many rounds of every recipe on so many pairs; `cold`: each run finds no compiled kernels."""

    pairs: int
    rounds: int
    cold: bool = False


BLOCKS = (Block(10_000, 7), Block(100_000, 3))


class Turn(NamedTuple):
    """Which run it is."""

    cold: bool
    pairs: int
    recipe: str
    round: int
    side: str


class Cost(NamedTuple):
    """CPU seconds of the whole process tree, bytes of its largest process, and a hash of the links."""

    cpu: float
    peak_memory: int
    links: str


Runs = Mapping[Turn, Cost]


@dataclass
class Race:
    """Both sides, and the runs that are finished; in `record`, if there is one, every line is a run."""

    sources: Mapping[str, Path]
    code: str  # names both sides' code: a run of any other does not count
    folder: Path
    texts: Mapping[int, tuple[Path, Path]]  # by number of pairs
    record: Path | None = None
    runs: dict[Turn, Cost] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)  # of a recipe: it is left out from then on
    warmed: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.record is None or not self.record.exists():
            return
        for line in self.record.read_text(encoding="utf-8").splitlines():
            facts = json.loads(line)
            if facts["code"] == self.code:
                self.runs[Turn(*(facts[name] for name in Turn._fields))] = Cost(*(facts[name] for name in Cost._fields))

    def round(self, block: Block, recipes: Sequence[str], number: int) -> None:
        """Every recipe on both sides, but for what is finished."""
        for recipe in recipes:
            for side in SIDES if number % 2 == 0 else SIDES[::-1]:
                turn = Turn(block.cold, block.pairs, recipe, number, side)
                if turn in self.runs or recipe in self.failures:
                    continue
                label = f"{block.pairs:,} pairs, round {number + 1} of {block.rounds}: {recipe} {side}"
                try:
                    cost = self._cost(turn)
                except CommandError as error:
                    self.failures[recipe] = f"{side}: {error}"
                    print(f"{label}: {error}", file=sys.stderr)
                    continue
                self._keep(turn, cost)
                cold = ", compiling" if block.cold else ""
                costs = f"CPU {cost.cpu:.2f} s, {cost.peak_memory / 1e6:.0f} MB"
                print(f"{label}{cold}: {costs}", file=sys.stderr, flush=True)

    def _cost(self, turn: Turn) -> Cost:
        text, output = self.texts[turn.pairs], self.folder / f"links.{turn.side}"
        if turn.cold:
            with tempfile.TemporaryDirectory(prefix="kernels-", dir=self.folder) as kernels:
                measurement = self._align(turn.side, turn.recipe, text, output, kernels=kernels)
        else:
            self._warm(turn, text)
            # Until a run adds no compiled kernel: a path that only this text takes must not be timed with its compiling.
            while True:
                known = self._kernels(turn.side)
                measurement = self._align(turn.side, turn.recipe, text, output)
                if self._kernels(turn.side) == known:
                    break
                print(f"{turn.recipe} {turn.side} compiled what warming had not: once more", file=sys.stderr)
        links = hashlib.sha256(output.read_bytes()).hexdigest()
        output.unlink()
        return Cost(measurement.cpu, measurement.peak_memory, links)

    def _warm(self, turn: Turn, text: tuple[Path, Path]) -> None:
        """Short runs compile the kernels, those that only large texts need too."""
        if (turn.recipe, turn.side) in self.warmed:
            return
        print(f"warming {turn.recipe} {turn.side}", file=sys.stderr, flush=True)
        few = write_warming_text(*text, self.folder)
        sampling = ("--option", "sample=100") if turn.recipe in PRESETS else ()  # what large texts are learned by
        for options in ((), sampling):
            self._align(turn.side, turn.recipe, few, self.folder / "links.few", *options)
        self.warmed.add((turn.recipe, turn.side))

    def _align(
        self, side: str, recipe: str, text: tuple[Path, Path], output: Path, *options: str, kernels: str = ""
    ) -> Measurement:
        command = [sys.executable, "-m", "dovetail", "align", *text, "-o", output, "--quiet", "--seed", "1"]
        command += ["--threads", "1", "--recipe", recipe, *options]
        return run(command, environment=surroundings(self.sources[side], kernels))

    def _kernels(self, side: str) -> set[Path]:
        return set(self.sources[side].rglob("*.nbc"))

    def _keep(self, turn: Turn, cost: Cost) -> None:
        self.runs[turn] = cost
        if self.record is not None:
            line = json.dumps({"code": self.code, **turn._asdict(), **cost._asdict()})
            with self.record.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


@contextmanager
def work_folder(wanted: Path | None) -> Iterator[Path]:
    """The folder that was asked for, made if need be; else a temporary one."""
    if wanted is None:
        with tempfile.TemporaryDirectory(prefix="dovetail-race-") as name:
            yield Path(name)
        return
    wanted.mkdir(parents=True, exist_ok=True)
    yield wanted.resolve()


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    recipes = options.recipe or list(RECIPES)
    blocks = options.pairs or list(BLOCKS)
    if options.compiling:
        blocks = [*blocks, Block(COLD_PAIRS, options.compiling, cold=True)]
    with ExitStack() as stack:
        folder = stack.enter_context(work_folder(options.work))
        try:
            texts = {block.pairs: write_pairs(options.data, block.pairs, folder) for block in blocks}
            race = prepare(options.against, folder, texts, folder / "runs.jsonl" if options.work else None)
        except (InputError, OSError) as error:
            print(f"same_speed.py: {error}", file=sys.stderr)
            return 2
        head = _preamble(options.against, recipes, blocks)

        def page() -> str:
            tables = [speed_table(race.runs, blocks, recipes), compiling_table(race.runs, blocks, recipes)]
            failed = [f"{recipe} failed {failure}" for recipe, failure in race.failures.items()]
            return "\n\n".join(part for part in (head, *tables, *failed) if part) + "\n"

        try:
            for block in blocks:
                for number in range(block.rounds):
                    race.round(block, recipes, number)
                    # After every round, so that whoever stops a long run has a table of what there is.
                    if options.output:
                        options.output.write_text(page(), encoding="utf-8")
        finally:
            print(page(), end="", flush=True)
    return 1 if race.failures else 0


def prepare(against: str, folder: Path, texts: Mapping[int, tuple[Path, Path]], record: Path | None = None) -> Race:
    """Both sides' `src` in `folder`, where an earlier call may have put them with the kernels they compiled since."""
    with tempfile.TemporaryDirectory(prefix="unpacking-", dir=folder) as name:
        unpacked = {BEFORE: commits.unpack(against, Path(name)), AFTER: Path(name, "after")}
        shutil.copytree(commits.ROOT / "src", unpacked[AFTER], ignore=shutil.ignore_patterns("__pycache__"))
        names = {side: digest(source)[:12] for side, source in unpacked.items()}
        sources = {side: folder / f"{side}-{names[side]}" for side in SIDES}
        for side, source in sources.items():
            if not source.exists():
                unpacked[side].rename(source)
    for source in sources.values():
        _must_be_imported(source)
    return Race(sources, " ".join(names.values()), folder, texts, record)


def digest(source: Path) -> str:
    """Names the code: other files, another name."""
    found = hashlib.sha256()
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            content = path.read_bytes()
            found.update(f"{path.relative_to(source)} {len(content)}\n".encode() + content)
    return found.hexdigest()


def surroundings(source: Path, kernels: str = "") -> dict[str, str]:
    """Environment in which `python -m dovetail` is that of `source`; compiled kernels are beside it, or in `kernels`."""
    own = {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": kernels}
    # No dovetail of the folder where this was started, and no run that has to read the source again.
    return {**thread_settings(1), **own, "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": ""}


def _must_be_imported(source: Path) -> None:
    question = [sys.executable, "-c", "import dovetail; print(dovetail.__file__)"]
    environment = {**os.environ, **surroundings(source)}
    answer = subprocess.run(question, env=environment, capture_output=True, text=True, check=False)
    if source.resolve() not in Path(answer.stdout.strip()).resolve().parents:
        found = answer.stdout.strip() or answer.stderr.strip().rpartition("\n")[2]
        raise InputError(f"Python does not import this dovetail: {found}", path=source)


def write_pairs(data: Path, pairs: int, folder: Path) -> tuple[Path, Path]:
    """The first so many pairs as two plain files."""
    task = find_set(f"{SET}:{pairs}", data)
    written = folder / f"{pairs}.source", folder / f"{pairs}.target"
    for packed, plain in zip(task.train, written, strict=True):
        with xopen(packed, encoding="utf-8", newline="\n") as lines:
            chosen = list(islice(lines, pairs))
        if len(chosen) < pairs:
            raise InputError(f"{len(chosen):,} lines, not {pairs:,}", path=packed, remedy="Ask for fewer --pairs.")
        plain.write_text("".join(chosen), encoding="utf-8", newline="\n")
    return written


def finished(runs: Runs, block: Block, recipe: str) -> list[tuple[Cost, Cost]]:
    """Before and after, of every round that has both."""
    rounds = [
        [runs.get(Turn(block.cold, block.pairs, recipe, number, side)) for side in SIDES]
        for number in range(block.rounds)
    ]
    return [(before, after) for before, after in rounds if before is not None and after is not None]


def speed_table(runs: Runs, blocks: Sequence[Block], recipes: Sequence[str]) -> str:
    """One row per recipe and number of pairs: medians over the rounds, and whether all of them wrote the same links."""
    header = ["recipe", "pairs", "rounds", "CPU s before", "after", "ratio", "median of rounds' ratios"]
    header += ["peak MB before", "after", "same bytes"]
    rows = []
    for block, recipe in ((block, recipe) for block in blocks if not block.cold for recipe in recipes):
        rounds = finished(runs, block, recipe)
        if not rounds:
            continue
        before, after = (median(cost.cpu for cost in costs) for costs in zip(*rounds, strict=True))
        peaks = [median(cost.peak_memory for cost in costs) / 1e6 for costs in zip(*rounds, strict=True)]
        typical = median(new.cpu / old.cpu for old, new in rounds)
        same = len({cost.links for costs in rounds for cost in costs}) == 1
        cells = [f"{before:.2f}", f"{after:.2f}", f"{after / before:.3f}", f"{typical:.3f}"]
        cells += [*(f"{peak:.0f}" for peak in peaks), "yes" if same else "**no**"]
        rows.append([recipe, f"{block.pairs:,}", str(len(rounds)), *cells])
    return markdown(header, rows) if rows else ""


def compiling_table(runs: Runs, blocks: Sequence[Block], recipes: Sequence[str]) -> str:
    """One row per recipe: what the first run costs, which compiles its kernels."""
    rows = []
    for block, recipe in ((block, recipe) for block in blocks if block.cold for recipe in recipes):
        rounds = finished(runs, block, recipe)
        if rounds:
            before, after = (median(cost.cpu for cost in costs) for costs in zip(*rounds, strict=True))
            costs = [f"{before:.1f}", f"{after:.1f}", f"{after / before:.3f}"]
            rows.append([recipe, str(len(rounds)), *costs])
    if not rows:
        return ""
    title = f"The first run, which compiles its kernels, on {COLD_PAIRS} pairs:"
    return f"{title}\n\n{markdown(['recipe', 'rounds', 'CPU s before', 'after', 'ratio'], rows)}"


def _preamble(against: str, recipes: Sequence[str], blocks: Sequence[Block]) -> str:
    words = [f"--against {against}"]
    words += [f"--pairs {block.pairs}:{block.rounds}" for block in blocks if not block.cold]
    words += [f"--recipe {recipe}" for recipe in recipes]
    words += [f"--compiling {sum(block.rounds for block in blocks if block.cold)}"]
    return f"""# As fast as before?

`python benchmarks/same_speed.py {" ".join(words)}`

{machine_line(machine_facts())}; {libraries()}.
Before: {against}. After: {commits.working_tree()}.

Text to links, first pairs of {SET}, one thread. CPU: user and system seconds of the whole process tree. Peak: its
largest process (MB = 10^6 bytes). Medians over rounds in which both sides take turns; ratios are after over before."""


def _block(words: str) -> Block:
    pairs, _, rounds = words.partition(":")
    if not (pairs.isdecimal() and rounds.isdecimal() and int(pairs) and int(rounds)):
        raise argparse.ArgumentTypeError(f"{words!r} is not a number of pairs and one of rounds, like 10000:7")
    return Block(int(pairs), int(rounds))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    repeated = {"action": "append", "default": []}
    usual = " ".join(f"{block.pairs}:{block.rounds}" for block in BLOCKS)
    parser.add_argument("--against", default=commits.EARLIER, metavar="COMMIT", help="the earlier one (%(default)s)")
    parser.add_argument("--pairs", type=_block, metavar="N:ROUNDS", help=f"repeatable ({usual})", **repeated)
    parser.add_argument("--recipe", help=f"repeatable ({' '.join(RECIPES)})", **repeated)
    parser.add_argument(
        "--compiling", type=int, default=3, metavar="ROUNDS", help="rounds of the first, compiling run (3; 0: none)"
    )
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder of the sets (shared/data beside the repository)"
    )
    parser.add_argument(
        "--work", type=Path, metavar="FOLDER", help="keep code, text and finished runs there, and go on"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the tables there too, after every round")
    return parser


if __name__ == "__main__":
    exit_when_terminated()
    sys.exit(main())
