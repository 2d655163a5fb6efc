"""Tables for pandas and Hugging Face's datasets, which are imported when somebody asks for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.errors import InputError

if TYPE_CHECKING:
    from dovetail.alignments.alignments import Alignments


def records(alignments: Alignments, by: str) -> list[dict[str, Any]]:
    """Alignments as dicts, one per `link` or one per `pair`."""
    if by not in ("link", "pair"):
        raise InputError(f"no records by {by!r}", remedy="Choose link or pair.")
    found: list[dict[str, Any]] = []
    for n, alignment in enumerate(alignments):
        source, target = alignment.words() if alignment.text is not None else ([], [])
        if by == "pair":
            sentences = {"source": source, "target": target} if alignment.text is not None else {}
            found.append(
                {
                    "pair": n,
                    **sentences,
                    "links": [list(link) for link in alignment.links],
                    "probabilities": alignment.probabilities,
                    "source_length": alignment.source_length,
                    "target_length": alignment.target_length,
                    **alignment.details,
                }
            )
            continue
        for (i, j), probability in zip(alignment.links, alignment.probabilities, strict=True):
            words = {"source_word": source[i], "target_word": target[j]} if alignment.text is not None else {}
            found.append({"pair": n, "source": i, "target": j, "probability": probability, **words})
    return found


def pandas_module() -> Any:
    return _module("pandas")


def datasets_module() -> Any:
    return _module("datasets")


def _module(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"{name} is not installed", remedy=f"Install it: python -m pip install {name}.") from None
