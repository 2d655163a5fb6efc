"""Run again what the pages show: the picture, and the output behind every command in a `console` block.

    python docs/refresh.py

Each page's commands run in order, in a folder of their own that holds the demo's text.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGES = (HERE.parent / "README.md", HERE / "tutorial.md", *sorted((HERE / "uses").glob("*.md")))
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@contextmanager
def playground() -> Iterator[Path]:
    """A new folder with the demo's text."""
    with tempfile.TemporaryDirectory() as place, as_file(files("dovetail") / "data") as data:
        for path in sorted(data.glob("demo.*")):
            shutil.copy(path, place)
        yield Path(place)


def run(command: str, place: Path) -> str:
    """What the command prints there, standard error included; a failure is a RuntimeError."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        cwd=place,
        env={**os.environ, "PATH": programs, "COLUMNS": "120", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command}\nended with status {done.returncode}:\n{done.stdout}")
    # Whether kernels are compiled depends on earlier runs, not on the command.
    lines = done.stdout.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("Compiling kernels", "compiled ")))


def steps(block: str) -> list[tuple[str, str]]:
    """The commands of a block, each with the output that the page shows."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def blocks(page: str) -> list[str]:
    return BLOCK.findall(page)


def refreshed(page: str) -> str:
    """The page with the output of today."""
    with playground() as place:

        def renew(match: re.Match[str]) -> str:
            shown = "".join(f"$ {command}\n{run(command, place)}" for command, _ in steps(match[1]))
            return f"```console\n{shown}```"

        return BLOCK.sub(renew, page)


def main() -> None:
    from make_picture import main as make_picture

    for path in PAGES:
        path.write_text(refreshed(path.read_text("utf-8")), "utf-8")
    make_picture()


if __name__ == "__main__":
    main()
