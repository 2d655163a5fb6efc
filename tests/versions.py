"""Every Python on this machine with the lowest and the newest numba that it takes: `python tests/versions.py dist`.

Each combination gets an empty environment, takes the newcomer's tour and runs a part of the tests (with `--all`, the whole
suite).  What was not there is reported as untested.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from clean import Environment, Failed, clean_environment, only_wheel, tour

ROOT = Path(__file__).resolve().parents[1]
KNOWN = ("3.10", "3.11", "3.12", "3.13", "3.14")  # what numba has been made for, and we promise
TOOLS = ("pytest>=8.0", "hypothesis>=6.90", "scipy>=1.11", "jinja2>=3.1")
SHARE = ("test_kernel_cache", "test_text", "test_gold", "test_formats", "test_models", "test_joint", "test_tuning")


def pythons() -> Iterator[tuple[str, str]]:
    """(3.12, its program) for each version that we know, as far as it is here: on the path, or among pyenv's."""
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    for version in KNOWN:
        candidates = [shutil.which(f"python{version}")]
        candidates += [str(place) for root in roots for place in root.glob(f"{version}.*/bin/python{version}")]
        for program in filter(None, candidates):
            asked = [program, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
            done = subprocess.run(asked, capture_output=True, text=True, check=False)
            if done.stdout.strip() == version:  # a shim of pyenv may lead nowhere
                yield version, program
                break


def numbas(environment: Environment, least: str) -> list[str]:
    """The lowest and the newest version of numba that has a file for this Python, from `least` on."""
    listed = environment.python("-m", "pip", "index", "versions", "numba", "--only-binary", ":all:")
    found = re.search(r"Available versions: (.*)", listed)
    versions = found[1].split(", ") if found else []
    fitting = [version for version in versions if _numbers(version) >= _numbers(least)]
    newest, lowest = (
        next((version for version in order if has_file(environment, version)), None)
        for order in (fitting, fitting[::-1])
    )
    return list(dict.fromkeys(filter(None, [lowest, newest])))


def has_file(environment: Environment, version: str) -> bool:
    """Whether this version of numba has a file for this Python: the list has those to be built from source, too."""
    try:
        environment.python(
            *("-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--only-binary", ":all:"),
            f"numba=={version}",
        )
    except Failed:
        return False
    return True


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def least_numba() -> str:
    found = re.search(r'"numba>=([\d.]+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert found is not None
    return found[1]


def trial(environment: Environment, wheel: Path, numba: str, everything: bool) -> str:
    """What came of one combination, in a few words."""
    environment.install(str(wheel), f"numba=={numba}", *TOOLS)
    score = tour(environment).split(" |")[0]
    files = ["tests"] if everything else [f"tests/{name}.py" for name in SHARE]
    words = [str(ROOT / name) for name in files]
    # Away from the tree, so that the installed package is what is tested.
    environment.python("-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", "-c", os.devnull, *words)
    return f"passed, demo {score}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=only_wheel)
    parser.add_argument("--python", action="append", choices=KNOWN, help="these versions only")
    parser.add_argument("--all", action="store_true", help="the whole test suite with each of them")
    chosen = parser.parse_args()
    wanted, failures = chosen.python or KNOWN, 0
    present = {version: program for version, program in pythons() if version in wanted}
    for version, program in present.items():
        with clean_environment(program) as looking:
            tried = numbas(looking, least_numba())
        if not tried:
            print(f"Python {version}: untested, no numba has a file for it here", flush=True)
        for numba in tried:
            try:
                with clean_environment(program) as environment:
                    result = trial(environment, chosen.wheel, numba, chosen.all)
            except Failed as failure:
                result, failures = f"FAILED\n{failure}", failures + 1
            print(f"Python {version}, numba {numba}: {result}", flush=True)
    for version in wanted:
        if version not in present:
            print(f"Python {version}: untested, it is not on this machine", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
