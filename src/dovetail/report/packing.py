"""A bitext, its systems and its gold links as one compact JSON value, which the page's data.js opens again.

Words are numbers into a list, numbers are typed arrays in base64, probabilities are 16-bit integers.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.alignments.gold import Gold
from dovetail.bitext.corpus import Bitext, Side
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.errors import InputError
from dovetail.evaluation.matching import word_numbers
from dovetail.report.systems import FLOOR, System

# A probability p is kept as ceil(SCALE p), so that p > k / 100 holds just if the integer exceeds 655 k: every step of
# the page's slider takes exactly the links that a decoder with that threshold takes.
SCALE = 65500

# What must not stand in a page's text: the end of a script, and characters that reorder or hide what an editor shows.
UNSAFE = re.compile("[<>&\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def quantised(probability: np.ndarray) -> np.ndarray:
    """ceil(SCALE p) as 16-bit integers; the product of 24 and 16 bits is exact in float64."""
    return np.ceil(probability.astype(np.float64) * SCALE).astype(np.uint16)


def packed(array: np.ndarray) -> list[str]:
    """[kind, base64]: little-endian, integers in the smallest unsigned type that holds them."""
    if array.dtype.kind == "f":
        kind = "f4"
    else:
        largest = int(array.max(initial=0))
        kind = "u1" if largest < 1 << 8 else "u2" if largest < 1 << 16 else "u4"
    return [kind, base64.b64encode(array.astype(f"<{kind}").tobytes()).decode("ascii")]


def pack(
    bitext: Bitext,
    systems: Sequence[System],
    gold: Gold | None = None,
    *,
    title: str = "",
    gold_start: int = 0,
    limit: int | None = None,
    vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
) -> dict[str, Any]:
    """Everything that the page shows of the first `limit` pairs.

    `gold` belongs to the pairs from `gold_start` on.  `vocabularies`, those of a model, tell how often a word was seen
    in training; without them it is how often it occurs in the bitext.
    """
    pairs = len(bitext) if limit is None else min(limit, len(bitext))
    for system in systems:
        if len(system.candidates) not in (len(bitext), pairs):  # those that are not shown need not be aligned
            raise InputError(
                f"{len(system.candidates):,} pairs in the alignment {system.name}, but {len(bitext):,} in the bitext"
            )
        cells = system.candidates[:pairs]
        for positions, side in ((cells.source, bitext.source), (cells.target, bitext.target)):
            word_numbers(cells.offsets, positions, side.offsets[: pairs + 1])  # refuses links outside a sentence
    own = (bitext.source.vocabulary, bitext.target.vocabulary)
    counted = vocabularies or own
    return {
        "title": title,
        "pairs": pairs,
        "all": len(bitext),
        "scale": SCALE,
        "floor": FLOOR,
        "trained": vocabularies is not None,
        "source": _side(bitext.source, pairs, counted[0], bitext),
        "target": _side(bitext.target, pairs, counted[1], bitext),
        "gold": None if gold is None else _gold(gold, gold_start, pairs),
        "systems": [_system(system, pairs) for system in systems],
    }


def _side(side: Side, pairs: int, counted: Vocabulary, bitext: Bitext) -> dict[str, Any]:
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(word, len(numbers)) for n in range(pairs) for word in side.tokens(n)]
    normalise = bitext.options.normaliser
    found = (counted.id(normalise(word)) for word in numbers)
    counts = np.fromiter((counted.counts[number] if number >= 0 else 0 for number in found), np.int64, len(numbers))
    return {
        "words": list(numbers),
        "counts": packed(counts),
        "ids": packed(np.array(ids, np.int64)),
        "lengths": packed(side.lengths[:pairs]),
    }


def _gold(gold: Gold, start: int, pairs: int) -> dict[str, Any]:
    shown = gold[: max(0, pairs - start)]
    return {
        "start": start,
        "counts": packed(np.diff(shown.offsets)),
        "i": packed(shown.source),
        "j": packed(shown.target),
        "sure": packed(shown.sure),
        "annotated": None if shown.annotated.all() else packed(shown.annotated),
    }


def _system(system: System, pairs: int) -> dict[str, Any]:
    cells = system.candidates
    last = cells.offsets[pairs]
    details = cells.details
    scores = [np.asarray(details[name], np.float64)[:pairs] for name in SCORES if name in details]
    words = (cells.source_lengths + cells.target_lengths)[:pairs]
    certified = details.get("certified")
    return {
        "name": system.name,
        "graded": system.graded,
        "counts": packed(np.diff(cells.offsets[: pairs + 1])),
        "i": packed(cells.source[:last]),
        "j": packed(cells.target[:last]),
        "p": packed(quantised(cells.probability[:last])) if system.graded else None,
        "taken": packed(system.taken[:last]) if not system.taken[:last].all() else None,
        "score": packed(sum(scores) / np.maximum(words, 1)) if scores else None,
        # 1 proved, 0 not, 2 where nobody says
        "certified": None
        if certified is None
        else packed(
            np.array([2 if mark is None or mark != mark else int(mark) for mark in certified[:pairs]], np.uint8)
        ),
    }


SCORES = ("score_forward", "score_reverse")  # log-probabilities; the page shows their sum, a word


def to_json(value: Any) -> str:
    """JSON that can stand inside a script element: no character in it can end the element or disturb a reader."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
