"""Models as arrays, for files and for other machines: a tree of this package's dataclasses and records, with arrays at its
leaves.  The tree is written as JSON, the arrays stand beside it; no pickle, and nothing but classes of this package is made
from what comes back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np

PACKAGE = __name__.partition(".")[0]


def kept(value: Any, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """A tree of values as arrays; `tree` is its JSON.  Values that are `given` are left to whoever takes it."""
    names = {id(known): name for name, known in given.items()}
    arrays: dict[str, np.ndarray] = {}
    places: dict[int, str] = {}  # arrays that two branches share are one again when they are read

    def branch(value: Any) -> Any:
        if id(value) in names:
            return {"given": names[id(value)]}
        if isinstance(value, np.ndarray):
            place = places.setdefault(id(value), str(len(places)))
            arrays[place] = value
            return {"array": place}
        if isinstance(value, np.generic):
            return {"scalar": value.dtype.str, "value": value.item()}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, type):
            return {"type": _path(value)}
        if is_dataclass(value):
            return {"class": _path(type(value)), "of": {f.name: branch(getattr(value, f.name)) for f in fields(value)}}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return {"record": _path(type(value)), "of": [branch(part) for part in value]}
        if isinstance(value, dict):
            return {"dict": [[branch(key), branch(part)] for key, part in value.items()]}
        if isinstance(value, list | tuple):
            return {type(value).__name__: [branch(part) for part in value]}
        raise TypeError(f"a {type(value).__name__} cannot be kept")

    arrays["tree"] = np.frombuffer(json.dumps(branch(value)).encode(), np.uint8)
    return arrays


def taken(arrays: Mapping[str, np.ndarray], given: Mapping[str, Any]) -> Any:
    """The values of `kept`."""

    def value(branch: Any) -> Any:
        if not isinstance(branch, dict):
            return branch
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
                return _found(path)(**{name: value(part) for name, part in parts.items()})
            case {"record": path, "of": parts}:
                return _found(path)(*map(value, parts))
            case {"dict": items}:
                return {value(key): value(part) for key, part in items}
            case {"list": parts}:
                return [value(part) for part in parts]
            case {"tuple": parts}:
                return tuple(value(part) for part in parts)
        raise ValueError("what was kept is of another version")

    return value(json.loads(arrays["tree"].tobytes()))


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
