"""Options with owners: a small dataclass beside each part that has any, one line per field.

    @dataclass(frozen=True)
    class Sampling(Options):
        samples: int = option(30, at_least=1, help="sweeps whose draws are counted, per sentence and iteration")

Checks, the command line and the documentation read the same lines.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from numbers import Integral, Real
from reprlib import repr as short  # a stranger's model may hold anything, at any length
from typing import Any, TypeVar

from dovetail.errors import InputError

T = TypeVar("T", bound="Options")
LIMITS = {"at_least": operator.ge, "at_most": operator.le, "above": operator.gt, "below": operator.lt}

LARGEST = 1e15  # of any option: kernels count in 64 bits, and floats are exact up to here


def option(
    default: Any,
    *,
    help: str,
    at_least: float | None = None,
    at_most: float | None = None,
    above: float | None = None,
    below: float | None = None,
    choices: Iterable[str] | None = None,
) -> Any:
    """A field with its limits: `at_least` and `at_most` are allowed themselves, `above` and `below` are not.

    `choices` are the words to choose from: a registry may be given, which others can add to.
    """
    limits = {"at_least": at_least, "at_most": at_most, "above": above, "below": below}
    return field(default=default, metadata={"help": help, "choices": choices, **limits})


@dataclass(frozen=True)
class Options:
    """Checks its fields when it is made; an InputError names the option, its value and what it may be."""

    def __post_init__(self) -> None:
        for entry in fields(self):
            object.__setattr__(self, entry.name, checked(entry, getattr(self, entry.name)))


def checked(entry: Field[Any], value: Any) -> Any:
    """The value as the type of the option's default (numpy's numbers become Python's); InputError if it is none such."""
    kind: Any = type(entry.default)
    about = entry.metadata
    if kind is bool and not isinstance(value, bool):
        raise InputError(f"{entry.name} is {short(value)}", remedy="It must be true or false.")
    if kind in (int, float):
        number: Any = value if isinstance(value, Real) and not isinstance(value, bool) else math.nan
        if not abs(number) <= LARGEST:  # which NaN is not
            raise InputError(
                f"{entry.name} is {short(value)}", remedy=f"It must be a number, {_missed(entry, number)}."
            )
        if kind is int and not isinstance(value, Integral) and not float(value).is_integer():
            raise InputError(f"{entry.name} is {short(value)}", remedy="It must be a whole number.")
        value = kind(value)
        if not all(about[name] is None or holds(value, about[name]) for name, holds in LIMITS.items()):
            raise InputError(f"{entry.name} is {value}", remedy=f"It must be {limits(entry)}.")
    if kind is str:
        choices = about["choices"]
        if not isinstance(value, str):
            raise InputError(f"{entry.name} is {short(value)}", remedy="It must be a word.")
        if choices is not None and value not in choices:
            raise InputError(f"{entry.name} is {short(value)}", remedy=f"Choose from: {', '.join(choices)}.")
    return value


def limits(entry: Field[Any]) -> str:
    """What a value may be, in words."""
    kind, about = type(entry.default), entry.metadata
    if kind is bool:
        return "true or false"
    if kind is str:
        return f"one of {', '.join(about['choices'])}" if about["choices"] is not None else "a word"
    return " and ".join(_bounds(entry)) or "any number"


def _bounds(entry: Field[Any]) -> list[str]:
    about = entry.metadata
    return [f"{name.replace('_', ' ')} {about[name]:g}" for name in LIMITS if about[name] is not None]


def _missed(entry: Field[Any], number: Any) -> str:
    """The limits in words, with those of all options where a number has no others on the side where it is too far out."""
    found, about = _bounds(entry), entry.metadata
    if number > 0 and about["at_most"] is None and about["below"] is None:
        found.append(f"at most {LARGEST:g}")
    if number < 0 and about["at_least"] is None and about["above"] is None:
        found.append(f"at least {-LARGEST:g}")
    return " and ".join(found) or "any number"


class Settings(Mapping[str, Any]):
    """Values of the options of some parts, by name; `settings.of(Sampling)` makes one owner's dataclass of them."""

    def __init__(self, owners: Iterable[type[Options]], values: Mapping[str, Any]) -> None:
        self._owners = tuple(owners)
        self.entries = {entry.name: entry for owner in self._owners for entry in fields(owner)}
        self._values = {name: values.get(name, entry.default) for name, entry in self.entries.items()}
        for name, entry in self.entries.items():
            self._values[name] = checked(entry, self._values[name])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by owners and values: fields of dataclasses cannot be."""
        return Settings, (self._owners, self._values)

    def of(self, owner: type[T]) -> T:
        return owner(**{entry.name: self._values[entry.name] for entry in fields(owner)})

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
