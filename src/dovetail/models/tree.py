"""Models as arrays, for files and for other machines: a tree of this package's dataclasses and records, with arrays at its
leaves.  The tree is written as JSON, the arrays stand beside it; no pickle, and nothing but classes of this package is made
from what comes back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np

PACKAGE = __name__.partition(".")[0]


def kept(value: Any, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """A tree of values as arrays; `tree` is its JSON.  Values that are `given` are left to whoever takes it."""
    keeping = _Keeping(given)
    tree = json.dumps(keeping.branch(value))
    return {**keeping.arrays, "tree": np.frombuffer(tree.encode(), np.uint8)}


def taken(arrays: Mapping[str, np.ndarray], given: Mapping[str, Any]) -> Any:
    """The values of `kept`."""
    return _value(json.loads(arrays["tree"].tobytes()), arrays, given)


class _Keeping:
    """Branches of a tree, and the arrays that stand beside it."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._names = {id(known): name for name, known in given.items()}
        self._places: dict[int, str] = {}  # arrays that two branches share are one again when they are read

    def branch(self, value: Any) -> Any:
        if id(value) in self._names:
            return {"given": self._names[id(value)]}
        if isinstance(value, np.ndarray):
            place = self._places.setdefault(id(value), str(len(self._places)))
            self.arrays[place] = value
            return {"array": place}
        if isinstance(value, np.generic):
            return {"scalar": value.dtype.str, "value": value.item()}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, type):
            return {"type": _path(value)}
        if is_dataclass(value):
            parts = {part.name: self.branch(getattr(value, part.name)) for part in fields(value)}
            return {"class": _path(type(value)), "of": parts}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return {"record": _path(type(value)), "of": [self.branch(part) for part in value]}
        if isinstance(value, dict):
            return {"dict": [[self.branch(key), self.branch(part)] for key, part in value.items()]}
        if isinstance(value, list | tuple):
            return {type(value).__name__: [self.branch(part) for part in value]}
        raise TypeError(f"a {type(value).__name__} cannot be kept")


def _value(branch: Any, arrays: Mapping[str, np.ndarray], given: Mapping[str, Any]) -> Any:
    def values(parts: Iterable[Any]) -> list[Any]:
        return [_value(part, arrays, given) for part in parts]

    match branch:
        case {"given": name}:
            return given[name]
        case {"array": place}:
            return arrays[place]
        case {"scalar": dtype, "value": number}:
            return np.dtype(dtype).type(number)
        case {"type": path}:
            return _found(path)
        case {"class": path, "of": parts}:
            return _found(path)(**dict(zip(parts, values(parts.values()), strict=True)))
        case {"record": path, "of": parts}:
            return _found(path)(*values(parts))
        case {"dict": items}:
            return dict(map(values, items))
        case {"list": parts}:
            return values(parts)
        case {"tuple": parts}:
            return tuple(values(parts))
        case dict():
            raise ValueError("what was kept is of another version")
    return branch


def _path(kind: type) -> str:
    if kind.__module__.partition(".")[0] != PACKAGE:
        raise TypeError(f"a {kind.__qualname__} cannot be kept")
    return f"{kind.__module__}:{kind.__qualname__}"


def _found(path: str) -> Any:
    module, _, name = path.partition(":")
    if module.partition(".")[0] != PACKAGE or "." in name:
        raise ValueError(f"{path} is no class of this package")
    found = getattr(import_module(module), name)
    if not isinstance(found, type):
        raise ValueError(f"{path} is no class of this package")
    return found
