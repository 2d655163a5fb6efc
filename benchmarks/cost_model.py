"""What a large text costs on a cluster: hours, bytes moved and what holds it up, computed from figures measured here.

    python benchmarks/cost_model.py --measure corpus.en corpus.fr --pairs 25000 --pairs 50000 --pairs 100000 \\
        --shard-cells 4194304 --figures FIGURES.json
    python benchmarks/cost_model.py --figures FIGURES.json > benchmarks/results/cost_model.md

The first command learns from the beginning of a text by `best`, going over all of it in small shards, and writes what every
part of the work takes per pair; how vocabularies' pairs grow is fitted to the sizes measured.  The second one plays the same
training through for larger texts and more machines: shards are handed to workers as the engine hands them out, tasks take
longer than they should by chance, some machines are slow for good, and some fail.
"""

from __future__ import annotations

import argparse
import heapq
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from commits import working_tree
from dovetail import Aligner, Bitext, fitting, read_bitext
from dovetail.bitext.sharding import SHARD_CELLS, ManyShards, cells_of
from dovetail.bitext.store import Folder
from dovetail.bitext.views import WORDS, Views
from dovetail.engines import Threads
from dovetail.errors import InputError
from dovetail.models.tree import kept
from dovetail.recipes import find_recipe

RECIPE, ITERATIONS = "best", 4  # iterations over the whole text
SAMPLE_CELLS = find_recipe(RECIPE).options.sample  # of a large text
VIEW_CELLS = Views().view_cells  # that other views learn from
PAIRS = (100_000_000, 400_000_000, 1_000_000_000)
MACHINES = (1, 4, 32, 256)


@dataclass(frozen=True)
class Figures:
    """Measured on one core: seconds and bytes per pair, unless a name says otherwise."""

    cells: float
    read_seconds: float
    layout_seconds: float
    expect_seconds: float  # of one iteration
    estimate_seconds: float  # of one M-step
    align_seconds: float
    sample_seconds: float  # in all: a sample is as large for any text,
    view_seconds: float  # and what other views learn from is, too
    start_seconds: float  # of a process
    add_seconds_per_shard: float  # in the first machine, in order
    shard_bytes: float
    memory_bytes: float  # what shards remember
    counts_bytes: float
    model_pairs: list[int]  # sizes at which the next was measured
    model_bytes: list[int]  # of the model that is sent
    machine: str = ""
    commit: str = ""

    def model(self, pairs: int) -> float:
        """Bytes of a model, by the power of pairs that the measured sizes follow."""
        if len(self.model_pairs) < 2:
            return float(self.model_bytes[-1]) * pairs / self.model_pairs[-1]
        power, log_scale = np.polyfit(np.log(self.model_pairs), np.log(self.model_bytes), 1)
        return float(np.exp(log_scale) * pairs**power)


@dataclass(frozen=True)
class Cluster:
    """What is assumed of machines, none of it measured."""

    machines: int
    cores: int = 32
    threads: int = 4  # of a worker
    efficiency: float = 0.85  # of a worker's threads
    network: float = 3e9  # bytes per second of a machine (25 Gb/s)
    storage: float = 2e9  # of the shared folder for one machine,
    all_storage: float = 4e10  # and for all together
    spread: float = 0.1  # of the logarithm of what a task takes
    slow: float = 0.02  # of machines take twice as long
    days_between_failures: float = 60.0  # of a machine
    restart_seconds: float = 60.0

    @property
    def workers(self) -> int:
        return max(self.machines * self.cores // self.threads, 1)

    @property
    def speed(self) -> float:
        """Of a worker, in cores."""
        return self.threads * self.efficiency


@dataclass(frozen=True)
class Cost:
    """Seconds by part of the work, bytes by kind, and how often something failed."""

    seconds: dict[str, float]
    ideal: float  # seconds of the same without stragglers and failures
    moved: dict[str, float]
    disk: float
    failures: int

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    @property
    def bottleneck(self) -> str:
        return max(self.seconds, key=self.seconds.__getitem__)


def simulate(figures: Figures, pairs: int, cluster: Cluster, seed: int = 1) -> Cost:
    """One training and the aligning of all pairs."""
    generator = np.random.default_rng(seed)
    shards = max(round(pairs * figures.cells / SHARD_CELLS), 1)
    per_shard = pairs / shards
    storage = min(cluster.storage, cluster.all_storage / cluster.machines)
    per_worker = storage * cluster.machines / cluster.workers
    model, counts = figures.model(pairs), figures.counts_bytes * pairs
    work = per_shard * figures.expect_seconds / cluster.speed
    bytes_of_shard = per_shard * (figures.shard_bytes + 2 * figures.memory_bytes + figures.counts_bytes)
    task = work + bytes_of_shard / per_worker
    expect, failures = 0.0, 0
    for _ in range(ITERATIONS):
        took, failed = makespan(shards, task, cluster, generator)
        # Sums are added in order while workers go on; the adding may be the slower of the two.
        expect += max(took, shards * figures.add_seconds_per_shard)
        failures += failed
    aligning, failed = makespan(shards, per_shard * figures.align_seconds / cluster.speed, cluster, generator)
    first = cluster.cores * cluster.efficiency
    seconds = {
        "reading": pairs * figures.read_seconds,
        "laying out": pairs * figures.layout_seconds / first + pairs * figures.shard_bytes / cluster.storage,
        "the sample": figures.sample_seconds / first,
        "other views": figures.view_seconds / (cluster.workers * cluster.speed),
        "E-steps": expect,
        "adding up": ITERATIONS * (pairs * figures.estimate_seconds / first + counts / cluster.storage),
        "sending the model": ITERATIONS * model / cluster.network * (1 + np.log2(cluster.machines)),
        "aligning": aligning,
        "starting": figures.start_seconds,
    }
    even = shards * (ITERATIONS * task + per_shard * figures.align_seconds / cluster.speed) / cluster.workers
    rest = sum(value for name, value in seconds.items() if name not in ("E-steps", "aligning"))
    moved = {
        "model": ITERATIONS * model * cluster.machines,
        "shards": ITERATIONS * pairs * figures.shard_bytes,
        "memory": 2 * ITERATIONS * pairs * figures.memory_bytes,
        "counts": 2 * ITERATIONS * counts,
    }
    disk = pairs * (figures.shard_bytes + 2 * figures.memory_bytes + figures.counts_bytes)
    return Cost(seconds, even + rest, moved, disk, failures + failed)


def makespan(tasks: int, seconds: float, cluster: Cluster, generator: np.random.Generator) -> tuple[float, int]:
    """How long workers take for so many tasks, each of which begins again if its machine fails; and how many did."""
    per_machine = max(cluster.workers // cluster.machines, 1)
    slow = generator.random(cluster.machines) < cluster.slow
    rate = 1.0 / (cluster.days_between_failures * 86_400)
    fails = generator.exponential(1.0 / rate, cluster.machines)
    free = [(0.0, worker) for worker in range(cluster.workers)]
    end, failures = 0.0, 0
    for took in seconds * np.exp(cluster.spread * generator.standard_normal(tasks)):
        begun, worker = heapq.heappop(free)
        machine = min(worker // per_machine, cluster.machines - 1)
        done = begun + took * (2.0 if slow[machine] else 1.0)
        while begun <= fails[machine] < done:  # the task is done again when the machine is back
            failures += 1
            begun = fails[machine] + cluster.restart_seconds
            done = begun + took * (2.0 if slow[machine] else 1.0)
            fails[machine] = begun + generator.exponential(1.0 / rate)
        end = max(end, done)
        heapq.heappush(free, (done, worker))
    return end, failures


class Measured(Threads):
    """Threads that say what an iteration over many shards took, and what it left in the store."""

    def __init__(self) -> None:
        super().__init__(1)
        self.expecting: list[float] = []
        self.estimating: list[float] = []
        self.begun = 0.0
        self.sizes: dict[str, int] = {}
        self.model_bytes = 0
        self._ended = 0.0

    def sum(self, model: Any, corpus: Any, memory: Any, worked: Any) -> Any:
        if not isinstance(corpus, ManyShards):
            return super().sum(model, corpus, memory, worked)
        now = time.process_time()
        if self._ended:
            self.estimating.append(now - self._ended)
        else:
            self.begun = now
        self.model_bytes = sum(values.nbytes for values in kept(model.sent(), _given(corpus)).values())
        found = super().sum(model, corpus, memory, worked)
        self._ended = time.process_time()
        self.expecting.append(self._ended - now)
        for kind in ("shard", "memory", "counts"):
            self.sizes[kind] = sum(path.stat().st_size for path in corpus.store.path.glob(f"{kind}-*"))
        return found


def _given(corpus: ManyShards) -> dict[str, Any]:
    return {"source": corpus.bitext.source.vocabulary, "target": corpus.bitext.target.vocabulary}


def measure(source: str, target: str, sizes: Sequence[int], shard_cells: int) -> Figures:
    """Learn from and align the beginnings of a text on one core."""
    began = time.process_time()
    bitext = read_bitext(source, target)
    reading = (time.process_time() - began) / len(bitext)
    model_bytes, figures = [], None
    fitting.WHOLE_CELLS = fitting.SHARD_CELLS = shard_cells
    for size in (min(sizes) // 10, *sizes):  # the first compiles, and is forgotten
        part = bitext.part(0, min(size, len(bitext)))
        engine, cells = Measured(), cells_of(part)
        options = {"sample": max(cells // 8, 1), "whole_iterations": ITERATIONS}
        began = time.process_time()
        Aligner(RECIPE, engine=engine, views=WORDS, **options).fit(part)
        viewing = time.process_time()
        aligner = Aligner(RECIPE, threads=1, **options).fit(part)
        align_began = time.process_time()
        aligner.align(part)
        aligned = time.process_time()
        if size < min(sizes):
            continue
        model_bytes.append(engine.model_bytes)
        laying_out = _laid_out(part, shard_cells)
        of_words, of_all = viewing - began, align_began - viewing
        # In the first iteration the model is still the sample's; memory lasts for two.
        figures = Figures(
            cells / len(part),
            reading,
            laying_out / len(part),
            float(np.mean(engine.expecting)) / len(part),
            float(np.mean(engine.estimating)) / len(part),
            (aligned - align_began) / len(part),
            (engine.begun - began - laying_out) * SAMPLE_CELLS / options["sample"],
            (of_all - of_words) * VIEW_CELLS / cells,
            _starting(),
            _adding(part, shard_cells),
            engine.sizes["shard"] / len(part),
            engine.sizes["memory"] / 2 / len(part),
            engine.sizes["counts"] / len(part),
            list(sizes[: len(model_bytes)]),
            model_bytes,
            _machine(),
            working_tree(),
        )
        print(json.dumps(asdict(figures)), file=sys.stderr)
    if figures is None:
        raise InputError("no sizes to measure", remedy="Say --pairs N.")
    return figures


def _laid_out(part: Bitext, shard_cells: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        _ = ManyShards(part, Threads(1).pool, Folder(folder), shard_cells).slots
        return time.process_time() - began


def _adding(part: Bitext, shard_cells: int) -> float:
    """Adding what one shard of ordinary size counts by word, block after block."""
    from dovetail.models.joint_statistics import BlockSums, SideSums, WordSums, no_ends

    sizes, blocks = (len(part.source.vocabulary), len(part.target.vocabulary)), SHARD_CELLS >> 22
    total = WordSums.zeros(sizes, 5)
    sides = (
        SideSums(
            np.arange(0, len(jumps) // 4 * 4, 4), jumps[: len(jumps) // 4].copy(), counts[: len(jumps) // 4].copy()
        )
        for jumps, counts in zip(total.jumps, total.fertility, strict=True)
    )
    one = BlockSums(tuple(sides), no_ends(), np.zeros(2))
    began = time.process_time()
    for _ in range(blocks):
        total.add(one)
    return time.process_time() - began


def _starting() -> float:
    """Of a process that imports the package; kernels come from their cache."""
    import subprocess

    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import dovetail.aligner"], check=True)
    return time.perf_counter() - began


def _machine() -> str:
    from measure import machine_facts

    facts = machine_facts()
    return ", ".join(f"{name} {facts[name]}" for name in ("cpu", "cores", "system", "python"))


def page(figures: Figures) -> str:
    """The table, with what it was made of."""
    from report import markdown

    lines = [
        "# Time and bytes for large texts",
        "",
        f"`{RECIPE}`, {ITERATIONS} iterations over all of the text, links of every pair; computed by"
        " `benchmarks/cost_model.py` from what it measured on one core",
        f"({figures.machine}; commit {figures.commit}; {', '.join(f'{size:,}' for size in figures.model_pairs)} pairs):",
        "",
        markdown(["figure", "value"], [[name, _told(getattr(figures, name))] for name in _numbers()]),
        "",
        "Assumed of machines, not measured:",
        "",
        markdown(["machines", "value"], [[f.name, str(f.default)] for f in fields(Cluster) if f.name != "machines"]),
        "",
        "Bytes moved are those of all iterations; the model's are extrapolated by the power of pairs that the measured sizes"
        " follow.",
        "The ideal is the same without stragglers and failures. Reading is by one core of the first machine.",
        "",
    ]
    rows = []
    for pairs in PAIRS:
        for machines in MACHINES:
            cost = simulate(figures, pairs, Cluster(machines))
            parts = sorted(cost.seconds.items(), key=lambda part: -part[1])[:3]
            rows.append(
                [
                    f"{pairs // 1_000_000:,} million",
                    str(machines),
                    f"{cost.total / 3600:,.1f}",
                    f"{cost.ideal / 3600:,.1f}",
                    f"{sum(cost.moved.values()) / 1e12:,.1f}",
                    f"{cost.disk / 1e12:,.2f}",
                    str(cost.failures),
                    "; ".join(f"{name} {100 * seconds / cost.total:.0f} %" for name, seconds in parts),
                ]
            )
    names = ["pairs", "machines", "hours", "ideal", "TB moved", "TB on disk", "failures", "held up by"]
    return "\n".join([*lines, markdown(names, rows), ""])


def _numbers() -> list[str]:
    return [f.name for f in fields(Figures) if f.name not in ("machine", "commit")]


def _told(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--measure", nargs=2, metavar=("SOURCE", "TARGET"), help="measure on this text, and write FIGURES"
    )
    parser.add_argument("--pairs", action="append", type=int, help="pairs to measure; repeat it (50,000 and 100,000)")
    parser.add_argument("--shard-cells", type=int, default=1 << 24, help="of the shards that are measured")
    parser.add_argument("--figures", type=Path, required=True, help="what was measured, as JSON")
    options = parser.parse_args(arguments)
    try:
        if options.measure:
            figures = measure(*options.measure, options.pairs or [50_000, 100_000], options.shard_cells)
            options.figures.write_text(json.dumps(asdict(figures), indent=1) + "\n", "utf-8")
        else:
            print(page(Figures(**json.loads(options.figures.read_text("utf-8")))), end="")
    except (InputError, OSError) as error:
        print(f"cost_model.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
