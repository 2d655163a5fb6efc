"""A virtual environment for each peer's package, from PyPI, made on first use."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dovetail.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

ENVIRONMENTS = Path(__file__).resolve().parent / ".peers"


def ensure(package: str, *, extra: str = "", offline: bool = False, root: Path = ENVIRONMENTS) -> tuple[Path, str]:
    """The package's own environment and the version in it; installs what is missing, with `extra`, unless `offline`."""
    with _alone(root):  # jobs side by side may want the same
        return _ensured(package, extra, offline, root / package)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """No other process installs anything there."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _ensured(package: str, extra: str, offline: bool, home: Path) -> tuple[Path, str]:
    version = installed_version(package, home)
    if version is None and offline:
        raise InputError(f"{package} is not installed in {home}", remedy="Run once without --offline.")
    if version is None:
        print(f"Installing {package} from PyPI into {home}", file=sys.stderr)
        venv.create(home, clear=True, with_pip=True)
        command = [
            str(home / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            f"{package}[{extra}]" if extra else package,
        ]
        # Our own constraints, where CI sets them, would have pip choose a peer's version of years ago.
        own = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=own)
        version = installed_version(package, home)
        if done.returncode != 0 or version is None:
            last_words = " / ".join(done.stderr.strip().splitlines()[-3:])
            remedy = "eflomal needs a C compiler; all of them need the network on first use."
            raise InputError(f"pip could not install {package}: {last_words}", remedy=remedy)
    return home, version


def installed_version(package: str, home: Path) -> str | None:
    """Version of `package` in the environment `home`; None if it is not there, or was only half made."""
    question = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    try:
        answer = subprocess.run(
            [str(home / "bin" / "python"), "-I", "-c", question], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
