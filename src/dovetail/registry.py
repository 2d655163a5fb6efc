"""One table of named values for each choice: command line, docs and conformance tests are all made from it.

A name that nobody here has registered may be an installed package's: the modules that packages name in the group of entry
points `dovetail` are imported then, and register what they bring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Generic, TypeVar

from dovetail.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class _Later:
    where: str

    def imported(self) -> Any:
        module, attribute = self.where.split(":")
        return getattr(import_module(module), attribute)


@cache
def _load_entry_points() -> None:
    from importlib.metadata import entry_points

    for entry in entry_points(group="dovetail"):
        entry.load()


class Registry(Mapping[str, T], Generic[T]):
    """Named values of one choice, in the order in which they were registered, each with a line that describes it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.descriptions: dict[str, str] = {}
        self._values: dict[str, T] = {}

    def add(self, name: str, value: T, description: str) -> T:
        if name in self._values:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        self._values[name] = value
        self.descriptions[name] = description
        return value

    def add_later(self, name: str, where: str, description: str) -> None:
        """Add `module:attribute`, imported when somebody asks for it: most runs need one value of each choice."""
        self.add(name, _Later(where), description)  # type: ignore[arg-type]

    def register(self, name: str, description: str) -> Callable[[T], T]:
        """Decorator form of `add`."""
        return lambda value: self.add(name, value, description)

    def __getitem__(self, name: str) -> T:
        if name not in self:
            raise InputError(f"no {self.kind} {name!r}", remedy=f"Choose one of: {', '.join(self._values)}.")
        value = self._values[name]
        if isinstance(value, _Later):
            value = self._values[name] = value.imported()
        return value

    def __contains__(self, name: object) -> bool:
        if name not in self._values:
            _load_entry_points()
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
