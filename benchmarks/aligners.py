"""The aligners that are compared: the peers as black boxes, and dovetail's recipes through its command line.

Every aligner gets the same files and the same number of threads, and is timed from text to links in both
directions.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Protocol

import environments
from dovetail.alignments.alignments import Alignments
from dovetail.alignments.combine import combiners
from dovetail.errors import InputError
from dovetail.recipes import find_recipe
from measure import CommandError, Measurement, run
from texts import Text, read_test_links

COMBINATIONS = ("forward", "reverse", "intersection", "union", "grow-diag", "grow-diag-final-and")
OWN = "own"  # what the aligner puts out when nobody asks for a combination
RUNNERS = Path(__file__).resolve().parent / "runners"
WARMING_PAIRS = 50
WARMING_WORDS = 50_000  # more than the reader has room for at first


@dataclass(frozen=True)
class Run:
    """One timed run: its cost, and the test pairs' links by name of the combination."""

    measurement: Measurement
    links: dict[str, Alignments]


class Aligner(Protocol):
    @property
    def name(self) -> str:
        """As the tables call it."""

    def prepare(self, offline: bool) -> str:
        """Make it ready to run; the version, for the report."""

    def warm(self, text: Text, threads: int) -> None:
        """What should not be timed."""

    def align(self, text: Text, folder: Path, threads: int, timeout: float | None) -> Run:
        """One timed run; what it writes goes to `folder`, which is its own."""


# A peer's command: its environment, the text, the folder for `forward` and `reverse` (or `own`).
Command = Callable[[Path, Text, Path], list[str | Path]]


@dataclass
class Peer:
    """A package of PyPI in an environment of its own, run as a black box."""

    name: str
    package: str
    command: Command
    outputs: tuple[str, ...]  # the files it writes: ("forward", "reverse") or ("own",)
    description: str
    environment: Path | None = None

    def prepare(self, offline: bool) -> str:
        self.environment, found = environments.ensure(self.package, offline=offline)
        return f"{self.package} {found}"

    def warm(self, text: Text, threads: int) -> None:
        """Compiled long ago: nothing to warm."""

    def align(self, text: Text, folder: Path, threads: int, timeout: float | None) -> Run:
        if self.environment is None:
            raise RuntimeError(f"{self.name} was not prepared")
        command = self.command(self.environment, text, folder)
        measurement = run(command, environment=thread_settings(threads), timeout=timeout)
        written = {name: read_test_links(folder / name, text) for name in self.outputs}
        if OWN in written:
            return Run(measurement, written)
        forward, reverse = written["forward"], written["reverse"]
        return Run(measurement, {name: combiners[name](forward, reverse) for name in COMBINATIONS})


@dataclass
class Recipe:
    """A recipe of dovetail, run as anyone would run it: `dovetail align`.

    The timed run trains, writes the recipe's own output and saves the model; the other combinations are then made
    from the saved model, untimed.  A recipe that leaves each pair's own counts out while it trains can't do so for text
    that it meets with a saved model, so these may differ a little from a run that trains: `retrain` does that for each
    combination.  `only_own` leaves them out, and saves nothing: text to links, as the peers do.  `cold` gives every timed
    run an empty cache of compiled kernels.
    """

    recipe: str
    program: str | None = None
    cold: bool = False
    retrain: bool = False
    only_own: bool = False
    combined: dict[Path, dict[str, Alignments]] = field(default_factory=dict)  # by text: the same in every round

    @property
    def name(self) -> str:
        return f"dovetail {self.recipe}"

    def prepare(self, offline: bool) -> str:
        beside = Path(sys.executable).with_name("dovetail")
        self.program = self.program or (str(beside) if beside.exists() else shutil.which("dovetail"))
        if self.program is None:
            raise InputError("no command dovetail found", remedy="Install the project first: pip install -e .")
        return f"dovetail {version('dovetail-align')} ({libraries()})"

    def warm(self, text: Text, threads: int) -> None:
        """Tiny runs compile the kernels, those of large texts too, as earlier runs of the user's would have."""
        if self.cold:
            return
        with tempfile.TemporaryDirectory(prefix="dovetail-warm-") as name:
            folder = Path(name)
            few = write_warming_text(text.source, text.target, folder)
            sampling = ("--option", "sample=100") if "sample" in find_recipe(self.recipe).options else ()
            for options in (("--save", folder / "model"), sampling):
                run(self.command(*few, folder / OWN, threads, *options))

    def align(self, text: Text, folder: Path, threads: int, timeout: float | None) -> Run:
        model = folder / "model"
        saving = () if self.only_own else ("--save", model)
        command = self.command(text.source, text.target, folder / OWN, threads, *saving)
        environment = thread_settings(threads)
        if self.cold:
            environment["NUMBA_CACHE_DIR"] = str(folder / "kernels")
        measurement = run(command, environment=environment, timeout=timeout)
        if text.source not in self.combined:
            self.combined[text.source] = {} if self.only_own else self._combinations(text, folder, threads)
        shutil.rmtree(model, ignore_errors=True)
        return Run(measurement, {OWN: read_test_links(folder / OWN, text), **self.combined[text.source]})

    def _combinations(self, text: Text, folder: Path, threads: int) -> dict[str, Alignments]:
        links = {}
        for combination in COMBINATIONS:
            output = folder / combination
            saved = () if self.retrain else ("--load", folder / "model")
            try:
                run(self.command(text.source, text.target, output, threads, "--combine", combination, *saved))
            except CommandError as error:
                # A bidirectional recipe has no two directions to combine, and says so.
                print(f"{self.name}: no output for {combination}: {error}", file=sys.stderr)
                continue
            links[combination] = read_test_links(output, text)
        return links

    def command(self, source: Path, target: Path, output: Path, threads: int, *options: str | Path) -> list[str | Path]:
        # A loaded model brings its recipe along.
        chosen = () if "--load" in options else ("--recipe", self.recipe)
        words = (
            self.program or "dovetail",
            "align",
            source,
            target,
            *chosen,
            *options,
            "--threads",
            str(threads),
        )
        return [*words, "--quiet", "-o", output]


def libraries() -> str:
    """Versions of what dovetail's speed depends on."""
    return ", ".join(f"{package} {version(package)}" for package in ("numba", "numpy"))


def write_warming_text(source: Path, target: Path, folder: Path) -> tuple[Path, Path]:
    """The first pairs of a text and very many words: few enough to be quick, with all that compiles in the reader."""
    few = folder / "few.source", folder / "few.target"
    words = "".join(" ".join(str(k) for k in range(n, n + 100)) + "\n" for n in range(0, WARMING_WORDS, 100))
    for whole, part, more in zip((source, target), few, (words, "1\n" * words.count("\n")), strict=True):
        with whole.open(encoding="utf-8") as lines:
            part.write_text("".join(islice(lines, WARMING_PAIRS)) + more, encoding="utf-8")
    return few


def thread_settings(threads: int) -> dict[str, str]:
    """All peers use OpenMP; the others keep numpy's libraries from taking more than their share."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {name: str(threads) for name in names}


def _eflomal(*options: str) -> Command:
    def command(environment: Path, text: Text, folder: Path) -> list[str | Path]:
        files = ("-s", text.source, "-t", text.target, "-f", folder / "forward", "-r", folder / "reverse")
        return [environment / "bin" / "eflomal-align", *files, *options]

    return command


def _systran_align(environment: Path, text: Text, folder: Path) -> list[str | Path]:
    python, script = environment / "bin" / "python", RUNNERS / "run_systran_align.py"
    return [python, script, text.joined, text.source, text.target, folder / OWN]


def _sil_thot(model: str) -> Command:
    def command(environment: Path, text: Text, folder: Path) -> list[str | Path]:
        python, script = environment / "bin" / "python", RUNNERS / "run_sil_thot.py"
        return [python, script, model, text.source, text.target, folder / "forward", folder / "reverse"]

    return command


BOTH = ("forward", "reverse")
PEERS = {
    peer.name: peer
    for peer in (
        Peer("eflomal", "eflomal", _eflomal(), BOTH, "default settings"),
        Peer(
            "eflomal-stem",
            "eflomal",
            _eflomal("--source-prefix", "5", "--target-prefix", "5"),
            BOTH,
            "words cut to 5 letters",
        ),
        Peer("systran-align", "systran-align", _systran_align, (OWN,), "fast_align's model with -d -o -v"),
        Peer("sil-thot-hmm", "sil-thot", _sil_thot("hmm"), BOTH, "IBM-1, HMM: 5 iterations each"),
        Peer("sil-thot-ibm4", "sil-thot", _sil_thot("ibm4"), BOTH, "IBM-1, HMM, IBM-4: 5 iterations each"),
        Peer(
            "sil-thot-fast-align",
            "sil-thot",
            _sil_thot("fast-align"),
            BOTH,
            "5 iterations, variational Bayes",
        ),
        Peer("sil-thot-eflomal", "sil-thot", _sil_thot("eflomal"), BOTH, "default settings"),
    )
}
