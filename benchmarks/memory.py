"""What `dovetail align` needs of memory and disk: the peak of its whole process tree, at several sizes of one text.

    python -m benchmarks.memory SOURCE TARGET --recipe default --recipe fast --pairs 100000 --pairs 1128274 [--json FILE] \\
        [-- OPTIONS OF DOVETAIL ALIGN]

Memory is the sum of the PSS of all processes (`smaps_rollup`), mapped pages included, looked at ten times a second.  Disk is
the largest size of the work folder.  `--gold FILE` says what the last pairs should look like: their AER is in the table.
Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice, takewhile
from pathlib import Path

EVERY = 0.1  # seconds between two looks


@dataclass(frozen=True)
class Need:
    """What one run took: bytes of memory and disk at their peaks, seconds."""

    memory: int
    disk: int
    wall: float
    cpu: float


def processes(root: int) -> Iterator[int]:
    """A process and all that descend from it."""
    yield root
    for children in Path(f"/proc/{root}/task").glob("*/children"):
        try:
            found = children.read_text().split()
        except OSError:  # it has ended
            continue
        for child in found:
            yield from processes(int(child))


def size_in_memory(process: int, kind: str = "Pss") -> int:
    """Bytes of memory that a process has: Pss, with its share of what it shares with others, or Rss, with all of that."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{kind}:")), 0)


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total


def need_of(command: Sequence[str], folder: Path, kind: str = "Pss", stdout: int | None = None) -> Need:
    """Run a command that works in `folder`, and watch it."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(command, env={**os.environ, "TMPDIR": os.fspath(folder)}, stdout=stdout)
    memory = disk = 0
    while process.poll() is None:
        memory = max(memory, sum(size_in_memory(one, kind) for one in set(processes(process.pid))))
        disk = max(disk, size_of(folder))
        time.sleep(EVERY)
    if process.returncode:
        raise SystemExit(f"status {process.returncode}: {' '.join(command)}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Need(memory, disk, time.monotonic() - began, cpu)


def head(path: Path, lines: int | None, out: Path) -> int:
    """The first lines of a file in another; how many there were."""
    from xopen import xopen

    count = 0
    with xopen(path, "rb", threads=0) as handle, out.open("wb") as copy:
        for line in islice(handle, lines):
            copy.write(line)
            count += 1
    return count


def aer_of(links: Path, gold: Path) -> float:
    """AER of the last lines of a file of links, which `gold` is for."""
    from dovetail import evaluate, read_alignments, read_gold

    known = read_gold(gold)
    with tempfile.TemporaryDirectory() as folder:
        last = Path(folder, "last")
        last.write_text("".join(links.read_text("utf-8").splitlines(keepends=True)[-len(known) :]), "utf-8")
        return evaluate(read_alignments(last), known).aer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--recipe", action="append")
    parser.add_argument("--pairs", action="append", type=int, help="the first so many; all without")
    parser.add_argument("--gold", type=Path, help="gold links of the last pairs of the whole text")
    parser.add_argument("--json", type=Path, help="append the rows to this file")
    ours = list(takewhile(lambda word: word != "--", sys.argv[1:]))
    rest, chosen = sys.argv[len(ours) + 2 :], parser.parse_args(ours)
    print("| recipe | pairs | peak memory, MB | estimate, MB | disk, MB | wall s | CPU s | AER |")
    print("|---|---|---|---|---|---|---|---|")
    for pairs in chosen.pairs or [None]:
        with tempfile.TemporaryDirectory(prefix="memory-") as name:
            folder = Path(name)
            files = folder / "source", folder / "target"
            count = min(
                head(path, pairs, file) for path, file in zip((chosen.source, chosen.target), files, strict=True)
            )
            for recipe in chosen.recipe or ["default"]:
                work = folder / "work"
                work.mkdir(exist_ok=True)
                links = folder / "links"
                command = [sys.executable, "-m", "dovetail", "align", *map(str, files), "-o", str(links)]
                need = need_of([*command, "--recipe", recipe, "--quiet", *rest], work)
                estimate = estimated(recipe, files)
                scored = aer_of(links, chosen.gold) if chosen.gold and pairs is None else None
                row = {"recipe": recipe, "pairs": count, **asdict(need), "estimate": estimate, "aer": scored}
                aer = "–" if scored is None else f"{100 * scored:.2f}"
                sizes = f"{need.memory / 1e6:,.0f} | {estimate / 1e6:,.0f} | {need.disk / 1e6:,.0f}"
                print(f"| {recipe} | {count:,} | {sizes} | {need.wall:.0f} | {need.cpu:.0f} | {aer} |", flush=True)
                if chosen.json is not None:
                    with chosen.json.open("a", encoding="utf-8") as handle:
                        handle.write(json.dumps(row) + "\n")


def estimated(recipe: str, files: tuple[Path, Path]) -> int:
    """Bytes that dovetail says beforehand."""
    from dovetail.bitext.source import TextSource
    from dovetail.large.memory import facts_of, required_memory
    from dovetail.recipes import find_recipe
    from dovetail.training.drawing import lesson

    found = find_recipe(recipe)
    return required_memory(found, facts_of(lesson(TextSource(*files), found.options)))


if __name__ == "__main__":
    main()
