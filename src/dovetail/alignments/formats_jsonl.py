"""`jsonl`: one JSON object a pair, with words, character offsets, probabilities and scores."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn, TextIO

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.formats_packing import LARGEST_INDEX, check_pairs, outside_error, pack
from dovetail.alignments.formats_text import Text, sentences, tokens
from dovetail.errors import InputError

SCORES = ("score_forward", "score_reverse")
TEXT = ("source", "target", "source_offsets", "target_offsets", "source_text", "target_text")
OWN = {"id", *TEXT, "links", "probabilities"}


def write_jsonl(handle: TextIO, alignments: Alignments, text: Text | None, first_id: int) -> None:
    """Scores that are not known are null; without `text` the entries that show words are left out."""
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    for n, alignment in enumerate(alignments):
        entry: dict[str, Any] = {"id": first_id + n}
        if text is not None:
            source, target = sentences(text, alignments, n)
            words = (tokens(source), tokens(target), source[1], target[1], source[0], target[0])
            entry.update(zip(TEXT, words, strict=True))
        entry["links"] = alignment.links
        entry["probabilities"] = [_clean(round(p, 6)) for p in alignment.probabilities]
        entry.update(dict.fromkeys(SCORES))
        entry.update((name, _clean(value)) for name, value in alignment.details.items() if name not in OWN)
        handle.write(encode(entry) + "\n")


def _clean(value: Any) -> Any:
    """What JSON can say: no NaN, no infinity, no array."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _clean(item) for name, item in value.items()}
    return value


def read_jsonl(lines: Iterable[str], path: str, lengths: np.ndarray | None) -> Alignments:
    """Links, probabilities and details; the lengths are those of the token lists where there are any."""
    counts: list[int] = []
    sizes: list[tuple[int, int]] = []
    links: list[list[int]] = []
    probabilities: list[float] = []
    entries: list[dict[str, Any]] = []
    number = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        entry = _parse(line, path, number)
        row = _links(entry, path, number)
        if lengths is not None and len(counts) < len(lengths):
            size = (int(lengths[len(counts), 0]), int(lengths[len(counts), 1]))
        else:
            size = (
                _length(entry, "source", row, 0, path, number),
                _length(entry, "target", row, 1, path, number),
            )
        for i, j in row:
            if i >= size[0] or j >= size[1]:
                raise outside_error(path, number, f"[{i}, {j}]", size)
        counts.append(len(row))
        sizes.append(size)
        links += row
        probabilities += _probabilities(entry, len(row), path, number)
        entries.append({name: value for name, value in entry.items() if name not in OWN})
    if lengths is not None:
        check_pairs(path, number, len(counts), len(lengths))
    source, target = np.array(links, np.int32).reshape(-1, 2).T
    weights, own = np.array(probabilities, np.float32), np.array(sizes, np.int64).reshape(-1, 2)
    return pack(np.array(counts, np.int64), source, target, weights, own, _details(entries))


def _parse(line: str, path: str, number: int) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        problem = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
        _refuse(f"not JSON ({problem})", path, number)
    if not isinstance(entry, dict):
        _refuse("not a JSON object", path, number)
    return entry


def _links(entry: dict[str, Any], path: str, number: int) -> list[list[int]]:
    row = entry.get("links")
    if not isinstance(row, list):
        _refuse("no list of links", path, number)
    for link in row:
        if not (
            isinstance(link, list) and len(link) == 2 and all(type(k) is int and 0 <= k <= LARGEST_INDEX for k in link)
        ):
            _refuse(f"{link!r} is not a link", path, number)
    return row


def _length(entry: dict[str, Any], side: str, row: list[list[int]], column: int, path: str, number: int) -> int:
    words = entry.get(side)
    if words is None:
        return max((link[column] for link in row), default=-1) + 1
    if not isinstance(words, list):
        _refuse(f"`{side}` is not a list of words", path, number)
    return len(words)


def _probabilities(entry: dict[str, Any], links: int, path: str, number: int) -> list[float]:
    values = entry.get("probabilities")
    if values is None:
        return [1.0] * links
    if not isinstance(values, list) or len(values) != links:
        _refuse(f"not one probability for each of {links} links", path, number)
    for value in values:
        if value is not None and not (type(value) in (int, float) and 0 <= value <= 1):
            _refuse(f"{value!r} is not a probability", path, number)
    return [math.nan if value is None else float(value) for value in values]


def _details(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """One value a pair for each name that is not always null; numbers as an array, in which null is NaN."""
    details: dict[str, Any] = {}
    for name in dict.fromkeys(name for entry in entries for name in entry):
        values = [entry.get(name) for entry in entries]
        kinds = {type(value) for value in values}
        if kinds == {type(None)}:
            continue
        if kinds <= {int, float, type(None)} and kinds != {int}:
            details[name] = np.array([math.nan if value is None else value for value in values], np.float64)
        else:
            details[name] = values
    return details


def _refuse(problem: str, path: str, line: int) -> NoReturn:
    raise InputError(
        problem,
        path=path,
        line=line,
        remedy='A line is one object with links counted from 0, such as {"links": [[0, 0], [1, 2]]}.',
    )
