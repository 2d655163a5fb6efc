"""Tables for pandas and Hugging Face's datasets, which are imported when somebody asks for one."""

from __future__ import annotations

from typing import Any

from dovetail.errors import InputError


def pandas_module() -> Any:
    return _module("pandas")


def datasets_module() -> Any:
    return _module("datasets")


def _module(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise InputError(
            f"{name} is not installed", remedy=f"Install it: pip install 'dovetail-align[{name}]'."
        ) from None
