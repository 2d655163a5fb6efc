"""How much memory a run will need, estimated from the text before the work begins.

The figures are measured ones (`python -m benchmarks.memory`), in bytes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dovetail.bitext.joining import picked
from dovetail.bitext.sharding import SHARD_CELLS
from dovetail.bitext.shards import BLOCK_CELLS, shard_of
from dovetail.bitext.source import pair_cells
from dovetail.bitext.views import Views
from dovetail.errors import InputError
from dovetail.fitting import in_shards, view_recipe
from dovetail.options import Settings
from dovetail.pool import Pool
from dovetail.recipes import Recipe
from dovetail.training.drawing import Lesson, SampleOptions

MB = 1 << 20
PROGRAM = 140 * MB  # Python, numpy, numba and compiled kernels
ALIGNING = 12  # for each cell of the parts of a stream that are read, aligned and written at once
PART_CELLS = 9 * MB  # of such parts, if pairs are of usual length
BESIDE = 50 * MB  # for each further thread, which has a part of its own
SEEN = 6  # for each slot of the model of another view, which stays while words are learned: few have a count by then
TOKEN = 16  # of a text that is in memory: its numbers, and where pieces lie
TOKEN_IN_SHARDS = 2  # of one whose numbers are in mapped files: what vocabularies grow by, and pages on their way


class Needs(NamedTuple):
    """Bytes for each cell, for each cell of a block (the largest that is worked on at once), and for each slot."""

    cell: float
    block_cell: float
    slot: float


# Of live cells (the presets), all at once or, with less, after a part was learned from first; and of all other models.
ALL_AT_ONCE, PART_FIRST, DENSE = Needs(8.5, 44, 62), Needs(6, 20, 62), Needs(2.5, 12, 24)
NEEDS = {
    "joint-hmm": ALL_AT_ONCE,
    "hmm-bayes": Needs(10, 12, 24),
    "graca2010": Needs(3, 12, 24),  # the text is laid out once more, without long pairs
    "mermer2011": Needs(13, 20, 24),
}
SWEPT = Needs(6.5, 12, 24)  # of chains over shards, each block of which has a copy of the shard's counts
NEEDS_IN_SHARDS = {"hmm-bayes": SWEPT, "ibm1-bayes": SWEPT, "mermer2011": SWEPT, "graca2010": Needs(5, 12, 24)}
# Of the whole text, in shards, too: of that without long pairs; of links that were in samples, which the model remembers.
MORE_PER_TOKEN = {"graca2010": 8, "mermer2011": 48}

LOOKED_AT = 2000  # pairs whose slots are counted
GROWTH = 0.75  # of slots with cells, an exponent: 0.72 to 0.80 on 2,000 to 40,000 pairs of en-fr and de-en


@dataclass(frozen=True)
class TextFacts:
    """What is known of what will be learned from when nothing has been learned yet; `slots` are estimated."""

    pairs: int
    tokens: int
    cells: int
    slots: int
    sampled: bool

    def slots_of(self, cells: int) -> float:
        """Slots of a part of so many cells: they grow less than these."""
        return self.slots * (min(cells, self.cells) / max(self.cells, 1)) ** GROWTH

    def learning(self, needs: Needs, cells: int) -> float:
        """Bytes for a part of so many cells."""
        return needs.cell * cells + needs.block_cell * min(cells, BLOCK_CELLS) + needs.slot * self.slots_of(cells)


def facts_of(learned: Lesson) -> TextFacts:
    """The facts of all that is learned from."""
    bitext = learned.bitext
    cells = int(pair_cells(bitext).sum())
    few = min(LOOKED_AT, len(bitext))
    part = picked(bitext, np.arange(few) * len(bitext) // max(few, 1))
    seen = int(pair_cells(part).sum())
    slots = len(shard_of(part, Pool(1)).slots) * (cells / seen) ** GROWTH if seen else 0
    return TextFacts(len(bitext), len(bitext.source.ids) + len(bitext.target.ids), cells, int(slots), learned.sampled)


def required_memory(recipe: Recipe, facts: TextFacts, threads: int = 1) -> int:
    """Bytes of memory that learning from such a text, and aligning it, takes at its peak."""
    needs = NEEDS.get(recipe.model, DENSE)
    stages = [(needs, facts.cells)]
    if samples_first(recipe.options, facts):
        stages = [(needs, recipe.options.sample), (PART_FIRST, facts.cells)]
    per_token = TOKEN
    if in_shards(recipe, facts.sampled, facts.cells):
        stages[-1] = NEEDS_IN_SHARDS.get(recipe.model, stages[-1][0]), SHARD_CELLS
        per_token = TOKEN_IN_SHARDS
    per_token += MORE_PER_TOKEN.get(recipe.model, 0)
    learning = per_token * facts.tokens + max(facts.learning(*stage) for stage in stages) + _seen(recipe, facts)
    aligning = ALIGNING * min(facts.cells, PART_CELLS) + (threads - 1) * BESIDE
    return int(PROGRAM + max(learning, aligning))


def _seen(recipe: Recipe, facts: TextFacts) -> float:
    """Bytes of the models of other views, which have been learned by then."""
    settings = view_recipe(recipe).options
    drawn = settings.of(SampleOptions).drawn(facts.cells) if "largest_sample" in settings else None
    seen = recipe.options.of(Views)
    return len(seen.alternatives) * SEEN * facts.slots_of(drawn or min(facts.cells, seen.view_cells))


def samples_first(settings: Settings, facts: TextFacts) -> bool:
    """Whether learning begins with a part, and then goes on with all of it."""
    size = settings.sample if "largest_sample" in settings and not facts.sampled else 0
    return size > 0 and facts.cells // size > 2


def check_budget(recipe: Recipe, learned: Lesson | None, budget: int | None, threads: int = 1) -> None:
    """InputError, with the smallest budget that would do, if more is needed; without one it is half of what is free.

    Without a lesson, a model that is in memory already aligns a text.
    """
    if learned is None:
        needed = used_memory() + ALIGNING * PART_CELLS + (threads - 1) * BESIDE
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
        try:
            folder = Path("/sys/fs/cgroup")
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
