"""Many small texts, one after the other in one process: memory does not grow, and each takes its few milliseconds.

python tests/many_texts.py --texts 1000
"""

from __future__ import annotations

import argparse
import time
from importlib.resources import files
from pathlib import Path

from dovetail import Aligner, Bitext, read_bitext

PAIRS = 50


def memory() -> int:
    """Bytes that this process has of its own, or 0 where nobody can tell.

    Not its share of what it maps together with others, which grows when one of them ends.
    """
    rollup = Path("/proc/self/smaps_rollup")
    lines = rollup.read_text().splitlines() if rollup.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Anonymous:")), 0)


def align_many(texts: int, recipe: str = "default") -> tuple[list[float], list[int]]:
    """CPU seconds and memory after each of so many texts of 50 pairs of the demo, the first left out."""
    data = files("dovetail") / "data"
    demo = read_bitext(str(data / "demo.en"), str(data / "demo.fr"))
    pairs = [demo.tokens(n) for n in range(len(demo))]
    seconds, sizes = [], []
    for number in range(texts + 1):
        chosen = [pairs[(7 * number + n) % len(pairs)] for n in range(PAIRS)]
        began = time.process_time()
        bitext = Bitext.from_pairs(chosen)
        result = Aligner(recipe, threads=1).fit(bitext).align(bitext)
        seconds.append(time.process_time() - began)
        sizes.append(memory())
        assert len(result) == PAIRS
    return seconds[1:], sizes[1:]


def check(texts: int) -> str:
    """AssertionError if it grows or is slow; a line about it."""
    seconds, sizes = align_many(texts)
    # Others use this machine, too: a quarter of the texts says how fast it is when they do not.
    usual = sorted(seconds)[len(seconds) // 4]
    growth = max(sizes[-10:]) - max(sizes[10:20])
    assert usual < 0.05, f"{1000 * usual:.0f} ms a text"
    assert growth < 6e6, f"{growth / 1e6:.1f} MB more after {texts} texts than after 20"
    return f"{texts} texts of {PAIRS} pairs: {1000 * usual:.0f} ms each, memory {growth / 1e6:+.1f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=1000)
    print(check(parser.parse_args().texts))


if __name__ == "__main__":
    main()
