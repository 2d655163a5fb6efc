"""The kernels' tests with every access to an array checked: `make bounds`, or `python tests/bounds.py --share` as CI does.

numba checks bounds if NUMBA_BOUNDSCHECK says so while it compiles, and compiled kernels in a cache stay as they are: so the
run has a cache of its own, empty at first.  Kernels that are bad on purpose must be caught there, else nothing would be
checked at all.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bad_kernels import BAD

TESTS = Path(__file__).parent
# The kernels' own tests: those of a CI run, 150 s of one core with all compiling, and the others.
SHARE = (
    "test_shards.py",
    "test_live.py",
    "test_models.py",
    "test_joint.py",
    "test_combine.py",
    "test_links.py",
    "test_phrases.py",
    "test_gibbs.py",
    "test_bayes.py",
    "test_bayes_climb.py",
    "test_fertility_models.py",
    "test_fuzz.py",
)
REST = (
    "test_learned.py",
    "test_learned_habits.py",
    "test_projection.py",
    "test_fertility_map.py",
    "test_bidirectional_map.py",
    "test_bidirectional_decoder.py",
    "test_same_bytes.py",
)


def environment(cache: str) -> dict[str, str]:
    return {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache}


def uncaught(cache: str) -> list[str]:
    """Names of bad kernels that were not caught; a good call of each must pass."""
    missed = []
    for name in BAD:
        statuses = []
        for places in ("0", "1"):
            command = [sys.executable, str(TESTS / "bad_kernels.py"), name, places]
            done = subprocess.run(command, env=environment(cache), capture_output=True, text=True)
            statuses.append("IndexError" in done.stderr if done.returncode else None)
        if statuses != [None, True]:
            missed.append(name)
    return missed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", action="store_true", help="the part that fits in a CI run")
    parser.add_argument("arguments", nargs="*", help="pytest's, in place of the kernels' tests")
    asked = parser.parse_args()
    tests = asked.arguments or [str(TESTS / name) for name in (SHARE if asked.share else SHARE + REST)]
    with tempfile.TemporaryDirectory() as cache:
        if missed := uncaught(cache):
            sys.exit(f"bounds are not checked: {', '.join(missed)} went beyond its array")
        command = [sys.executable, "-m", "pytest", "-x", "-n", "auto", "--dist", "loadfile", *tests]
        sys.exit(subprocess.run(command, env=environment(cache)).returncode)


if __name__ == "__main__":
    main()
