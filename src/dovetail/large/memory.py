"""How much memory a run will need, estimated from the text before the work begins.

The figures are measured ones (`python -m benchmarks.memory`), in bytes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dovetail.errors import InputError
from dovetail.recipes import Recipe
from dovetail.training.drawing import Lesson

MB = 1 << 20
PROGRAM = 210 * MB  # Python, numpy, numba and compiled kernels
ALIGNING = 130 * MB  # parts of a stream that are read, aligned and written at once
BESIDE = 50 * MB  # and for each further thread, which has a part of its own

# Bytes for each cell that is learned from, by training: cells themselves and the slots that they share.
CELL = {"joint": 31, "em": 14, "agreement": 14}
OTHER_CELL = 40
TOKEN = 24  # of a text that is in memory: its numbers, and where pieces lie
TEXT = 2  # bytes of text in memory for each byte of it, if it is kept


@dataclass(frozen=True)
class TextFacts:
    """What is known of a text when nothing has been learned yet: `cells` and `tokens` of what will be in memory at once."""

    pairs: int
    cells: int
    tokens: int
    words: int


def facts_of(learned: Lesson) -> TextFacts:
    """The facts of what is learned from."""
    from dovetail.bitext.source import pair_cells

    bitext = learned.bitext
    tokens = len(bitext.source.ids) + len(bitext.target.ids)
    words = len(bitext.source.vocabulary) + len(bitext.target.vocabulary)
    return TextFacts(len(bitext), int(pair_cells(bitext).sum()), tokens, words)


def required_memory(recipe: Recipe, facts: TextFacts, threads: int = 1) -> int:
    """Bytes of memory that learning from such a text, and aligning it, takes at its peak."""
    learning = CELL.get(recipe.training, OTHER_CELL) * facts.cells + TOKEN * facts.tokens
    return PROGRAM + max(learning, ALIGNING + (threads - 1) * BESIDE)


def check_budget(recipe: Recipe, learned: Lesson | None, budget: int | None, threads: int = 1) -> None:
    """InputError, with the smallest budget that would do, if more is needed; without one it is half of what is free.

    Without a lesson, a model that is in memory already aligns a text.
    """
    if learned is None:
        needed = used_memory() + ALIGNING + (threads - 1) * BESIDE
    else:
        needed = required_memory(recipe, facts_of(learned), threads)
    allowed = free_memory() // 2 if budget is None else budget
    if needed > allowed:
        whose = "half of what is free" if budget is None else "the budget"
        raise InputError(
            f"the recipe {recipe.name} needs about {_size(needed)} for this text, and {whose} is {_size(allowed)}",
            remedy=f"Pass --memory {_size(needed)} at least, or choose a smaller recipe: --recipe fast.",
        )


def _size(count: int) -> str:
    """As `--memory` takes it, rounded up."""
    return f"{-(-count // MB)}M" if count < 10 * 1024 * MB else f"{count / (1024 * MB):.1f}G"


def free_memory() -> int:
    """Bytes that could be had now: of the machine, or of the container."""
    free = _available()
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        folder = Path("/sys/fs/cgroup")
        try:
            free = min(free, int((folder / limit).read_text()) - int((folder / used).read_text()))
        except (OSError, ValueError):  # no container, or no limit
            continue
    return max(free, 0)


def used_memory() -> int:
    """Bytes that this process has now."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return PROGRAM


def _available() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pages = getattr(os, "sysconf_names", {}).get("SC_PHYS_PAGES")
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if pages else 1 << 60
