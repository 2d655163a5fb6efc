"""Which alignment is best.  The two exact decoders are imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.decoding.bidirectional import bidirectional_map
    from dovetail.decoding.fertility import fertility_map

__all__ = ["bidirectional_map", "fertility_map"]

_HOMES = {"bidirectional_map": "bidirectional", "fertility_map": "fertility"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
