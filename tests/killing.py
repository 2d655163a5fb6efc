"""`align` in a work folder, killed again and again: what it writes in the end is what an undisturbed run writes.

    python tests/killing.py --kills 20 --seed 1

Kills come at random moments of a run (SIGKILL), on a small text that options make a large one.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Parts of 40 pairs, so that there are many moments between two of them.
PROGRAM = """
import os, signal, sys
from dovetail.bitext import stream
stream.PART_PAIRS = 40
left = int(os.environ.get("KILL_AT", 0))
def counted(function):
    def call(*arguments):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments)
    return call
if left:
    os.fsync, os.replace = counted(os.fsync), counted(os.replace)
from dovetail.__main__ import main
main()
"""
LARGE = [f"--option={option}" for option in ("sample=2000", "whole_cells=5000", "largest_sample=3000")]


def write_text(folder: Path, pairs: int = 400) -> None:
    """x.en and x.fr, which translate each other word by word."""
    chance = random.Random(0)
    sides: tuple[list[str], list[str]] = [], []
    for n in range(pairs):
        words = chance.choices([f"w{k}" for k in range(60)], k=chance.randrange(9)) + [f"rare{n}"] * (n % 7 == 0)
        sides[0].append(" ".join(words))
        sides[1].append(" ".join(word.upper() for word in words))
    for name, lines in zip(("x.en", "x.fr"), sides, strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def command(*arguments: str) -> list[str]:
    text = ["align", "x.en", "x.fr", "--recipe", "fast", "--threads", "1", "--format", "jsonl"]
    return [sys.executable, "-c", PROGRAM, *text, *LARGE, *arguments]


def killed_at_random(folder: Path, kills: int, seed: int) -> int:
    """Run in the folder `work`, killed so many times; how many kills hit a run that was not done.  Then run to the end."""
    chance = random.Random(seed)
    began = time.monotonic()
    subprocess.run(command("-o", "expected"), cwd=folder, check=True, capture_output=True)
    usual, hits = time.monotonic() - began, 0
    resumed = command("-o", "links", "--work", "work")
    for _ in range(kills):
        process = subprocess.Popen(resumed, cwd=folder, stderr=subprocess.DEVNULL)
        try:
            process.wait(chance.uniform(0.2, 1.0) * usual)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            hits += 1
    done = subprocess.run(resumed, cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "links").read_bytes() == (folder / "expected").read_bytes(), f"other bytes with seed {seed}"
    return hits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_text(Path(folder))
        hits = killed_at_random(Path(folder), chosen.kills, chosen.seed)
        print(f"{chosen.kills} kills, {hits} of them in the midst of a run: the same bytes ({os.uname().sysname})")


if __name__ == "__main__":
    main()
