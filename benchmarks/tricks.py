"""What each trick beyond numba's public interface, and each at the start of a command, buys: with it and without.

    python benchmarks/tricks.py --rounds 5 --output FILE

A trick is taken out of a copy of `src` by replacing some of its text, so that this finds out by itself when the code has
moved on.  Copies take turns within a round, one thread each; links must stay the same.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import commits
from dovetail.errors import InputError
from measure import CommandError, exit_when_terminated, machine_facts, run
from report import machine_line, markdown
from same_speed import DATA, SET, surroundings, write_pairs

NUMBA, COMMANDS, SAMPLERS = "kernels/_numba.py", "cli/__init__.py", "kernels/gibbs"
OCTETS = Path(__file__).with_name("plain_octets.py")
FEW = 10


class Work(NamedTuple):
    """A run that is timed; `cold`: it finds no compiled kernels."""

    recipe: str
    pairs: int
    cold: bool = False

    def __str__(self) -> str:
        return f"{self.recipe}, {self.pairs:,} pairs{', compiling' if self.cold else ''}"


COMPILING, START = Work("default", 100, cold=True), Work("default", FEW)
PRESET, FERTILITY, BAYES = Work("default", 10_000), Work("hmm-fertility", 10_000), Work("hmm-bayes", 2_000)


class Trick(NamedTuple):
    """What is replaced by what in which files to be without it, and where that should show."""

    name: str
    edits: tuple[tuple[str, str, str], ...]
    where: tuple[Work, ...]


TRICKS = (
    Trick(
        "parts: kernels within kernels are compiled once, with their callers",
        ((NUMBA, 'return {"pipeline_class": PartCompiler, "no_cpython_wrapper": True} if known else {}', "return {}"),),
        (COMPILING, START, PRESET),
    ),
    Trick(
        "parts are compiled once for all numbers of a type",
        (
            (
                NUMBA,
                "    if numba.version_info.short not in KNOWN_INSIDE:\n        return compiled\n",
                "    return compiled\n",
            ),
        ),
        (COMPILING, PRESET),
    ),
    Trick(
        "indices are taken as they stand",
        (
            (
                NUMBA,
                "    _numbas_index, arrayobj.fix_integer_index = arrayobj.fix_integer_index, _index\n",
                "    pass\n",
            ),
        ),
        (COMPILING, PRESET),
    ),
    Trick(
        "loading compiled kernels without preparing the compiler",
        ((NUMBA, "        _load_quickly(compiled)\n", "        pass\n"),),
        (START, PRESET),
    ),
    Trick(
        "leaves: no counting of references in innermost loops",
        ((NUMBA, ", _nrt=False, forceinline=True)", ")"),),
        (FERTILITY, BAYES),
    ),
    Trick(
        "fetch: memory is asked for before it is needed",
        ((NUMBA, "builder.call(prefetch, [place, number(0), number(3), number(1)])", "prefetch"),),
        (FERTILITY, BAYES),
    ),
    Trick(
        "octets: vectors of eight in the samplers",
        (
            (f"{SAMPLERS}/sweep.py", "dovetail.kernels._numba", f"{OCTETS.stem}"),
            (f"{SAMPLERS}/cells.py", "import OCTET, fetch, first_of, nothing, store", "import fetch, first_of"),
            (
                f"{SAMPLERS}/cells.py",
                "from dovetail.kernels.gibbs.layout",
                f"from {OCTETS.stem} import OCTET, nothing, store\nfrom dovetail.kernels.gibbs.layout",
            ),
        ),
        (FERTILITY,),
    ),
    Trick(
        "the command looks for garbage less often",
        ((COMMANDS, "        gc.set_threshold(1_000_000)\n", ""),),
        (START, PRESET),
    ),
)


def without(trick: Trick, source: Path, folder: Path) -> Path:
    """A copy of `src` without the trick; InputError if its text is not there any more."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(OCTETS, folder)
    for name, old, new in trick.edits:
        path = folder / "dovetail" / name
        text = path.read_text(encoding="utf-8")
        if old not in text:
            raise InputError(f"no {old.strip()!r} here any more", path=path, remedy="Mend benchmarks/tricks.py.")
        path.write_text(text.replace(old, new), encoding="utf-8")
    return folder


class Trial:
    """All works with the code as it is and without each trick, in turns."""

    def __init__(self, folder: Path, data: Path, tricks: Sequence[Trick]) -> None:
        source = commits.ROOT / "src"
        self.folder, self.tricks = folder, tricks
        self.copies = {"": without(Trick("", (), ()), source, folder / "as-it-is")}
        for number, trick in enumerate(tricks):
            self.copies[trick.name] = without(trick, source, folder / f"without-{number}")
        sizes = {work.pairs for trick in tricks for work in trick.where}
        self.texts = {size: write_pairs(data, size, folder) for size in sizes}
        self.costs: dict[tuple[str, Work], list[float]] = {}
        self.links: dict[Work, str] = {}
        self.warmed: set[tuple[str, Work]] = set()

    def round(self, number: int) -> None:
        for work in dict.fromkeys(work for trick in self.tricks for work in trick.where):
            names = ["", *(trick.name for trick in self.tricks if work in trick.where)]
            for name in names if number % 2 == 0 else names[::-1]:
                self.costs.setdefault((name, work), []).append(self._cost(name, work))

    def _cost(self, name: str, work: Work) -> float:
        if not work.cold and (name, work) not in self.warmed:
            self._align(name, work, "")
            self.warmed.add((name, work))
        if not work.cold:
            return self._align(name, work, "")
        with tempfile.TemporaryDirectory(dir=self.folder) as kernels:
            return self._align(name, work, kernels)

    def _align(self, name: str, work: Work, kernels: str) -> float:
        output = self.folder / "links"
        command = [sys.executable, "-m", "dovetail", "align", *self.texts[work.pairs], "-o", output, "--quiet"]
        command += ["--seed", "1", "--threads", "1", "--recipe", work.recipe]
        cpu = run(command, environment=surroundings(self.copies[name], kernels)).cpu
        links = hashlib.sha256(output.read_bytes()).hexdigest()
        if self.links.setdefault(work, links) != links:
            raise InputError(f"other links without {name!r} for {work}")
        print(f"{work}, {'without ' + name if name else 'as it is'}: {cpu:.2f} s", file=sys.stderr, flush=True)
        return cpu

    def table(self) -> str:
        rows = []
        for trick in self.tricks:
            for work in trick.where:
                with_it, bare = self.costs.get(("", work), []), self.costs.get((trick.name, work), [])
                rounds = list(zip(with_it, bare, strict=False))
                if rounds:
                    gain, saved = median(b / a for a, b in rounds), median(b - a for a, b in rounds)
                    costs = [f"{median(a for a, _ in rounds):.2f}", f"{median(b for _, b in rounds):.2f}"]
                    rows.append([trick.name, str(work), str(len(rounds)), *costs, f"{gain:.3f}", f"{saved:+.2f}"])
        return markdown(["trick", "work", "rounds", "CPU s with it", "without", "ratio", "saved, s"], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    tricks = [trick for trick in TRICKS if options.only in trick.name]
    with tempfile.TemporaryDirectory(prefix="dovetail-tricks-") as name:
        try:
            trial = Trial(Path(name), options.data, tricks)
            for number in range(options.rounds):
                trial.round(number)
        except (InputError, CommandError, OSError) as error:
            print(f"tricks.py: {error}", file=sys.stderr)
            return 2
    page = f"""# What tricks buy

`python benchmarks/tricks.py --rounds {options.rounds}`, {commits.working_tree()}

{machine_line(machine_facts())}. First pairs of {SET}, one thread; CPU seconds of the process tree, medians of rounds in
which the code as it is and the code without each trick take turns. Ratio: without over with.

{trial.table()}
"""
    print(page, end="")
    if options.output:
        options.output.write_text(page, encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="(%(default)s)")
    parser.add_argument("--only", default="", metavar="WORDS", help="tricks whose name has these words")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table there too")
    return parser


if __name__ == "__main__":
    exit_when_terminated()
    sys.exit(main())
