"""Parts from outside the package: modules that the user names, which register them when they are imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from dovetail.errors import InputError


def load_plugins(names: Iterable[str]) -> None:
    """Import modules by name, or by path if the name ends in .py."""
    for name in names:
        path = Path(name)
        if path.suffix == ".py":
            if not path.is_file():
                raise InputError("no such file", path=name, remedy="Name a module, or a file of Python.")
            sys.path.insert(0, str(path.resolve().parent))
            name = path.stem
        elif "" not in sys.path:
            sys.path.insert(0, "")  # as `python -m` does: modules of the current folder
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name.split(".")[0] and error.name != name:
                raise
            raise InputError(
                f"no module {name!r} to be plugged in", remedy="Name a module on Python's path, or a .py file."
            ) from None
