"""One table of named values for each choice: command line, docs and conformance tests are all made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from dovetail.errors import InputError

T = TypeVar("T")


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

    def register(self, name: str, description: str) -> Callable[[T], T]:
        """Decorator form of `add`."""
        return lambda value: self.add(name, value, description)

    def __getitem__(self, name: str) -> T:
        try:
            return self._values[name]
        except KeyError:
            raise InputError(f"no {self.kind} {name!r}", remedy=f"Choose one of: {', '.join(self._values)}.") from None

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
