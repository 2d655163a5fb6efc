"""What a person gives to a constraint, in Python or in a file, checked before anything is trained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from dovetail.errors import InputError


def check_number(name: str, value: Any, above: float = -math.inf, at_most: float = math.inf) -> None:
    """InputError unless it is a number of 0 or more, more than `above`, and no more than `at_most`."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and value >= 0 and value > above and value <= at_most):
        least = "more than 0" if above == 0 else "0 or more"
        most = "" if at_most == math.inf else f" and at most {at_most:g}"
        raise InputError(f"{name} is {value!r}", remedy=f"It must be a number, {least}{most}.")


def check_bounds(at_most: Any, at_least: Any) -> None:
    """InputError unless there is a bound, and no at_least above the at_most; that each is a number is checked before."""
    if at_most is None and at_least is None:
        raise InputError("neither at_most nor at_least is given", remedy="Give one of them, or both.")
    if at_most is not None and at_least is not None and at_most < at_least:
        raise InputError(
            f"at_most is {at_most!r}, less than at_least, {at_least!r}", remedy="Raise the one, or lower the other."
        )


def check_real(name: str, value: Any, *never: float) -> None:
    """InputError unless it is a number, of any sign; NaN is none, nor is any of `never`."""
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value) or value in never:
        raise InputError(f"{name} is {value!r}", remedy="It must be a number.")


def check_words(name: str, value: Any, of: type) -> None:
    """InputError unless it maps words to words (`of` str) or to numbers of 0 or more (`of` float)."""
    example = '{"the": "DET"}' if of is str else '{"the": 1.0}'
    if not isinstance(value, Mapping):
        raise InputError(f"{name} is {value!r}", remedy=f"It maps words, as {example} does.")
    for word, entry in value.items():
        if not isinstance(word, str) or (of is str and not isinstance(entry, str)):
            raise InputError(f"{name} maps {word!r} to {entry!r}", remedy=f"It maps words, as {example} does.")
        if of is not str:
            check_number(f"{name}[{word!r}]", entry)


def checked_pairs(name: str, value: Any) -> tuple[tuple[str, str], ...]:
    """Pairs of words as tuples; lists, as JSON has them, are as good."""
    remedy = 'It is a list of pairs, as [["house", "maison"]] is.'
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InputError(f"{name} is {value!r}", remedy=remedy)
    for pair in value:
        is_pair = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
        if not (is_pair and all(isinstance(word, str) for word in pair)):
            raise InputError(f"{name} has {pair!r}, which is not a pair of words", remedy=remedy)
    return tuple((first, second) for first, second in value)
