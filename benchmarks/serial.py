"""What many cores would make of a recipe: seconds of one thread by stage, and which of them no other thread could share.

    python benchmarks/serial.py --output benchmarks/results/serial.md

One process learns from a text and links it, on one thread, after a run on ten pairs that compiled what there is to compile.
All that is ever handed to threads goes through `Pool`: each such task is timed (*shared*), and the rest is *serial*.  The
tasks of each call are then dealt, in their order, to 32 cores that are free.

What is done in a thread of its own beside other serial work that takes as long at least counts as shared, and takes no
time on many cores: reading while parts are aligned; of a stream, taking parts or going on with answers, whichever is less.
Shards that `Pool.side_by_side` works on at the same time share the cores; serial is then what each of them does alone, of so
many at a time, or what the caller does with their answers meanwhile, whichever takes longer.  Of looking words up, which is
done within Python, as much counts as serial as keeps two threads from being twice as fast at it as one.
What cores take from each other in caches and memory is not in these figures: `threads.py` shows it for two.
"""

from __future__ import annotations

import argparse
import heapq
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, NamedTuple

import commits
from aligners import libraries
from dovetail.errors import InputError
from dovetail.pool import side_by_side
from loaded_model import CORES, LOOK_UP, share_alone
from loaded_model import STAGES as OF_LOADED
from measure import CommandError, exit_when_terminated, machine_facts
from report import machine_line, markdown
from same_speed import DATA, SET, surroundings, work_folder, write_pairs
from stages import Stages

RECIPES = ("fast", "default", "best")
SIDE_BY_SIDE = side_by_side(CORES)
FEW, MANY = 10, 100_000  # pairs that compile; pairs whose words are looked up by two threads
SOURCE = Path(__file__).resolve().parents[1] / "src"
READ, ALIGN, REST = "read", "align and write", "the rest"
STAGES = {
    "number words and draw": ["dovetail.cli.run:lesson"],
    "estimate memory": ["dovetail.cli.run:check_budget"],
    "other views": ["dovetail.aligner:Aligner._fitted_views"],
    "lay out": [
        "dovetail.aligner:shards_of",
        "dovetail.bitext.sharding:ManyShards._lay_out",
        "dovetail.bitext.sharding:lay_out_pieces",
        "dovetail.bitext.sharding:unite",
    ],
    "prepare learning": ["dovetail.aligner:Aligner.fit"],
    "E-steps": ["dovetail.engines.threads:Threads.sum"],
    "M-steps": ["dovetail.training.em:fit"],
    LOOK_UP: OF_LOADED[LOOK_UP],
    ALIGN: ["dovetail.cli.run:Run._write"],
}


class Spent(NamedTuple):
    """Seconds of a stage: what one thread does for all, what threads share, and the latter on many cores."""

    serial: float = 0.0
    shared: float = 0.0
    on_cores: float = 0.0

    def __add__(self, other: Any) -> Spent:
        return Spent(*(own + more for own, more in zip(self, other, strict=True)))


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.one:
        print(json.dumps(stages_of(*options.one)))
        return 0
    with ExitStack() as stack:
        folder = stack.enter_context(work_folder(options.work))
        try:
            for pairs in (FEW, min(MANY, options.pairs), options.pairs):
                write_pairs(options.data, pairs, folder)
            found = {recipe: _measured(recipe, options.pairs, folder) for recipe in options.recipe or RECIPES}
        except (CommandError, InputError, OSError) as error:
            print(f"serial.py: {error}", file=sys.stderr)
            return 2
    page = f"""# Serial seconds, and what they allow {CORES} cores

`python benchmarks/serial.py --pairs {options.pairs}`

{machine_line(machine_facts())}; {libraries()}.
{commits.working_tree()}; the first {options.pairs:,} pairs of {SET}, from text to links, learning and start included but for
what is loaded and compiled at first. Seconds of one thread; *on {CORES} cores*: the serial ones, and the shared ones' tasks
dealt to so many cores as they are cut. What is read while parts are aligned, or cut into words, counts as shared. Shards of
`best` are worked on {SIDE_BY_SIDE} at a time, with {CORES // SIDE_BY_SIDE} of the cores for each: serial is what the longest
line of them does alone.

{"".join(f"## {recipe}{chr(10)}{chr(10)}{table(stages)}{chr(10)}{chr(10)}" for recipe, stages in found.items())}"""
    page = page.rstrip() + "\n"
    if options.output:
        options.output.write_text(page, encoding="utf-8")
    print(page, end="")
    return 0


def _measured(recipe: str, pairs: int, folder: Path) -> dict[str, Spent]:
    """`stages_of` in a process of its own."""
    print(f"{recipe}, {pairs:,} pairs", file=sys.stderr, flush=True)
    command = [sys.executable, str(Path(__file__).resolve()), "--one", recipe, str(pairs), str(folder)]
    environment = surroundings(SOURCE)
    environment["PYTHONPATH"] += f":{Path(__file__).parent}"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CommandError(f"{recipe}: {done.stderr.strip().rpartition(chr(10))[2]}")
    return {stage: Spent(*seconds) for stage, seconds in json.loads(done.stdout).items()}


def stages_of(recipe: str, pairs: str, work: str) -> dict[str, Spent]:
    """The seconds of each stage of learning from a text and linking it."""
    from dovetail.cli import dovetail

    def align(number: int | str) -> None:
        texts = [str(Path(work, f"{number}.{side}")) for side in ("source", "target")]
        words = ["align", *texts, "--recipe", recipe, "--threads", "1", "--quiet", "-o", str(Path(work, "links"))]
        dovetail(words, standalone_mode=False)

    align(FEW)
    clock = Watch()
    aligners = clock.watch()
    align(pairs)
    found = dict(clock.shared)
    for stage, seconds in clock.stages.spent.items():
        found[stage] = found.get(stage, Spent()) + Spent(serial=seconds)
    clock.stages.end()
    # A text is read on while it is aligned.
    aligned = sum((found.get(stage, Spent()) for stage in (LOOK_UP, ALIGN)), Spent())
    read = min(found[READ].serial, aligned.serial + aligned.shared / CORES) if READ in found else 0.0
    found[READ] = found.get(READ, Spent()) + Spent(-read, read)
    if LOOK_UP in found:  # not for a text that is aligned at once
        many = min(MANY, int(pairs))
        share = share_alone(aligners[0], *(str(Path(work, f"{many}.{side}")) for side in ("source", "target")))
        looked = found[LOOK_UP].serial  # of parts that are aligned side by side, but for what they wait for each other
        alone = share * looked
        found[LOOK_UP] += Spent(alone - looked, looked - alone, (looked - alone) / CORES)
    return found


class Watch:
    """Times stages, and within them what is handed to the pool's threads."""

    def __init__(self) -> None:
        self.stages = Stages(thread_time)  # the caller's own seconds: it has none while it waits for the pool
        self.shared: dict[str, Spent] = {}
        self.within = False  # a part that is worked on side by side with others
        self.elsewhere = (
            0.0  # seconds of such parts, and of other threads than the one that a stream's own seconds are of
        )
        self.beside: list[Spent] | None = None  # what tasks took that a shard beside others handed to threads

    def watch(self) -> list[Any]:
        """Begin; the list will have the aligner that links."""
        aligners: list[Any] = []
        self.stages.watch(STAGES)

        def known(write: Callable[..., Any]) -> Callable[..., Any]:
            def call(run: Any, *arguments: Any) -> Any:
                aligners.append(run.aligner)
                return write(run, *arguments)

            return call

        self.stages.put("dovetail.cli.run:Run._write", known)
        self.stages.put("dovetail.cli.run:Run.all", lambda function: self.stages.timed(REST, function))
        self.stages.put("dovetail.bitext.stream:_Reader.run", self._reading)
        self.stages.put("dovetail.pool:Pool.map", self._mapping)
        self.stages.put("dovetail.pool:Pool.stream", self._streaming)
        self.stages.put("dovetail.pool:Pool.side_by_side", self._beside)
        return aligners

    def add(self, stage: str, seconds: Sequence[float]) -> None:
        cores = CORES if self.beside is None else CORES // SIDE_BY_SIDE
        spent = Spent(0.0, sum(seconds), makespan(seconds, cores))
        if self.beside is not None:
            self.beside.append(spent)
        self.shared[stage] = self.shared.get(stage, Spent()) + spent

    def _own(self) -> float:
        """The caller's own seconds so far, without those that other threads would have spent."""
        return thread_time() - self.elsewhere

    def _at_once(self, stage: str, seconds: float) -> None:
        """So many serial seconds are spent beside others, which take as long at least."""
        self.shared[stage] = self.shared.get(stage, Spent()) + Spent(-seconds, seconds)
        self.elsewhere += seconds

    def _reading(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def call(reader: Any) -> None:
            began = thread_time()
            try:
                run(reader)
            finally:
                self.shared[READ] = self.shared.get(READ, Spent()) + Spent(serial=thread_time() - began)

        return call

    def _mapping(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def call(pool: Any, function: Callable[..., Any], tasks: Iterable[Any], *shared: Any) -> Any:
            if self.within:
                return run(pool, function, tasks, *shared)
            seconds: list[float] = []
            try:
                return run(pool, _timing(function, seconds), tasks, *shared)
            finally:
                self.add(self.stages.running[-1], seconds)

        return call

    def _streaming(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def call(pool: Any, function: Callable[..., Any], parts: Iterable[Any]) -> Iterator[Any]:
            if self.within:
                yield from run(pool, function, parts)
                return
            stage, seconds = self.stages.running[-1], []
            timed = _timing(self.stages.timed("", function), seconds)

            def work(part: Any) -> Any:
                began, self.within = thread_time(), True
                try:
                    return timed(part)
                finally:
                    self.within = False
                    self.elsewhere += thread_time() - began

            taken, used = [0.0], [0.0]

            def each() -> Iterator[Any]:
                waiting = iter(parts)
                while True:
                    began = self._own()
                    part = next(waiting, None)
                    taken[0] += self._own() - began
                    if part is None:
                        return
                    yield part

            try:
                for answer in run(pool, work, each()):
                    began = self._own()
                    yield answer
                    on_answer = self._own() - began
                    used[0] += on_answer
                    self.elsewhere += on_answer  # for a stream that this one takes its parts from
            finally:
                self.stages.spent.pop("", None)  # they are in `seconds`
                self.add(stage, seconds)
                self._at_once(stage, min(taken[0], used[0]))

        return call

    def _beside(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def call(pool: Any, function: Callable[..., Any], parts: Iterable[Any]) -> Iterator[Any]:
            own: list[Spent] = []  # of each part
            rest = [0.0]  # what the caller did with each answer

            def work(part: Any) -> Any:
                began, self.beside = thread_time(), []
                try:
                    return function(part)
                finally:
                    on_cores = sum(spent.on_cores for spent in self.beside)
                    own.append(Spent(serial=thread_time() - began, on_cores=on_cores))
                    self.beside = None

            stage = self.stages.running[-1]
            for answer in run(pool, work, parts):
                began = thread_time()
                yield answer
                rest.append(thread_time() - began)
            alone, all_of_it = [spent.serial for spent in own], [spent.serial + spent.on_cores for spent in own]
            less = _less(alone, rest)
            self.shared[stage] = self.shared.get(stage, Spent()) + Spent(-less, less, less - _less(all_of_it, rest))

        return call


def _less(parts: Sequence[float], rest: Sequence[float]) -> float:
    """By how much sooner parts and what the caller does with their answers are done side by side than in turn."""
    return sum(parts) + sum(rest) - max(makespan(parts, SIDE_BY_SIDE), sum(rest[:-1])) - rest[-1]


def _timing(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        began = perf_counter()
        try:
            return function(*arguments)
        finally:
            seconds.append(perf_counter() - began)

    return call


def makespan(seconds: Iterable[float], cores: int) -> float:
    """When the last of these tasks ends, if each in turn goes to the core that is free first."""
    free = [0.0] * cores
    for own in seconds:
        heapq.heapreplace(free, free[0] + own)
    return max(free)


def table(stages: Mapping[str, Spent]) -> str:
    """A row for each stage, their sum, and how much faster many cores could be."""
    order = [stage for stage in (READ, *STAGES, REST) if stage in stages]
    assert len(order) == len(stages), f"one stage is unknown: {[*stages]}"
    total = Spent()
    rows = []
    for stage in order:
        total += stages[stage]
        rows.append([stage, *_cells(stages[stage])])
    rows.append(["all", *_cells(total)])
    one = total.serial + total.shared
    at_best, as_cut = one / (total.serial + total.shared / CORES), one / (total.serial + total.on_cores)
    rows_text = markdown(["stage", "serial s", "shared s", f"on {CORES} cores s"], rows)
    return f"""{rows_text}

{total.serial:.1f} of {one:.1f} seconds are serial, which allows {CORES} cores to be {at_best:.1f} times as fast as one, and
{as_cut:.1f} times with tasks as they are cut."""


def _cells(spent: Spent) -> list[str]:
    return [f"{spent.serial:.2f}", f"{spent.shared:.2f}", f"{spent.serial + spent.on_cores:.2f}"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--pairs", type=int, default=1_128_274, help="to learn from and to align (%(default)s)")
    parser.add_argument("--recipe", action="append", metavar="NAME", help=f"several times ({', '.join(RECIPES)})")
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder of the sets (shared/data beside the repository)"
    )
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="keep the texts there")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page there, too")
    parser.add_argument("--one", nargs=3, metavar=("RECIPE", "PAIRS", "FOLDER"), help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    exit_when_terminated()
    sys.exit(main())
