"""Commits of this repository, unpacked so that they can stand beside the working tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

from dovetail.errors import InputError

ROOT = Path(__file__).resolve().parents[1]
EARLIER = "8a7c7db"  # the last commit before the inside of the package was put in order


def full_name(commit: str) -> str:
    """All forty letters of a commit's name."""
    try:
        return _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}").decode().strip()
    except subprocess.CalledProcessError:
        raise InputError(f"no commit {commit!r}", path=ROOT, remedy="`git log` lists them.") from None


def unpack(commit: str, folder: Path) -> Path:
    """The commit's `src`, in `folder`; files are as old as the commit."""
    archive = _git("archive", full_name(commit), "src")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
    return folder / "src"


def working_tree() -> str:
    """What to call the code as it is: the commit, and whether `src` or what measures it was changed since."""
    name = _git("rev-parse", "--short", "HEAD").decode().strip()
    return f"{name}, changed" if _git("status", "--porcelain", "--", "src", "benchmarks/*.py") else name


def _git(*words: str) -> bytes:
    return subprocess.run(["git", "-C", ROOT, *words], stdout=subprocess.PIPE, check=True).stdout
