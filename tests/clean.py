"""Environments with nothing in them but what is asked for: a wheel, as a stranger would install it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


def only_wheel(place: str) -> Path:
    """The wheel itself, or the one in a folder."""
    path = Path(place).resolve()
    if path.is_dir():
        (path,) = path.glob("*.whl")
    return path


class Failed(Exception):
    """A command that ended badly, with what it said."""


class Environment:
    """A virtual environment in a folder of its own, and a cache of kernels of its own."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        self.run([python, "-m", "venv", str(folder / "venv")])
        self._programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")

    def install(self, *requirements: str) -> None:
        self.python("-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements)

    def python(self, *words: str, **settings: str) -> str:
        return self.run([str(self._programs / "python"), *words], **settings)

    def dovetail(self, *words: str, **settings: str) -> str:
        return self.run([str(self._programs / "dovetail"), *words], **settings)

    def run(self, words: list[str], **settings: str) -> str:
        """What the command prints to standard output; nothing of the tree or of the caller's environment is seen."""
        keep = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        environment = {**keep, "NUMBA_CACHE_DIR": str(self.folder / "kernels"), **settings}
        done = subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout


@contextmanager
def clean_environment(python: str = sys.executable) -> Iterator[Environment]:
    with TemporaryDirectory(prefix="dovetail-") as folder:
        yield Environment(Path(folder), python)


def tour(environment: Environment) -> str:
    """The first minutes of a newcomer, from the installed files alone; the score of the demo."""
    environment.dovetail("--version")
    environment.dovetail("demo", "--copy", "tour")
    sides = "tour/demo.en", "tour/demo.fr"
    environment.dovetail("align", *sides, "--save", "model", "-o", "links.txt")
    environment.dovetail("align", *sides, "--load", "model", "-o", "again.txt")
    links, again = (Path(environment.folder / name).read_bytes() for name in ("links.txt", "again.txt"))
    if links != again or links.count(b"\n") != 679:
        raise Failed("the saved model gives other links")
    return environment.dovetail("evaluate", "links.txt", "tour/demo.gold").strip()
