"""How much memory a run will need, estimated from the text before the work begins.

The figures are measured ones (`python -m benchmarks.memory`), in bytes.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.joining import picked
from dovetail.bitext.shards import BLOCK_CELLS, shard_of
from dovetail.bitext.source import pair_cells
from dovetail.bitext.views import Views
from dovetail.errors import InputError
from dovetail.fitting import in_shards, shard_sizes, view_recipe
from dovetail.kernels.compiled import compilation
from dovetail.options import Settings
from dovetail.pool import Pool, side_by_side
from dovetail.recipes import PRESETS, Recipe
from dovetail.training.drawing import Lesson, SampleOptions

MB = 1 << 20
PROGRAM = 140 * MB  # Python, numpy, numba and compiled kernels
KERNELS, FEW_KERNELS = 90 * MB, 20 * MB  # of that, what is loaded when it is first called: with numba, or without
COMPILING = 180 * MB  # what a run takes besides that has to compile its kernels
ALIGNING = 12  # for each cell of the parts of a stream that are read, aligned and written at once
PART_CELLS = 9 * MB  # of such parts, if pairs are of usual length
BESIDE = 50 * MB  # for each further thread, which has a part of its own
# The same of a model that was loaded, where it looks cells up by their words; and of each further thread beside its part.
LOADED_ALIGNING, LOADED_BESIDE = {"joint-hmm": 6}, 15 * MB
BESIDE_OTHERS = 0.4  # of what a shard takes, for each further one at the same time: their peaks do not all meet
PASSING = 170 * MB  # of IN_SHARDS, however large shards are: runs of slots of all of them, which M-steps go over
SEEN = 6  # for each slot of the model of another view, which stays while words are learned: few have a count by then
TOKEN = 16  # of a text that is in memory: its numbers, and where pieces lie; of one in shards they are in mapped files


class Needs(NamedTuple):
    """Bytes for each cell, for each cell of a block (the largest that is worked on at once), for each slot and each word."""

    cell: float
    block_cell: float
    slot: float
    word: float = 0.0  # of either vocabulary


# Of live cells (the presets), all at once or, with less, after a part was learned from first, and of fewer of them without
# fertilities; and of all other models.  Languages with many forms of each word need most: their words and stems do.
ALL_AT_ONCE, PART_FIRST = Needs(5, 3, 80, 5900), Needs(5.5, 20, 62, 3000)
WITHOUT_FERTILITY, DENSE = Needs(15.7, 24, 10, 3500), Needs(2.5, 12, 24)
LIVE_KERNELS = 55 * MB  # compiled, beside those of all models
NEEDS = {
    "joint-hmm": ALL_AT_ONCE,
    "hmm-bayes": Needs(10, 12, 24),
    "graca2010": Needs(3, 12, 24),  # the text is laid out once more, without long pairs
    "mermer2011": Needs(13, 20, 24),
}
IN_SHARDS = Needs(2.5, 12, 24, 700)
SWEPT = Needs(6.5, 12, 24, 700)  # of chains over shards, each block of which has a copy of the shard's counts
NEEDS_IN_SHARDS = {
    "joint-hmm": PART_FIRST,
    "hmm-bayes": SWEPT,
    "ibm1-bayes": SWEPT,
    "mermer2011": SWEPT,
    "graca2010": Needs(5, 12, 24, 700),
}
# Of the whole text, in shards, too: of that without long pairs; of links that were in samples, which the model remembers.
MORE_PER_TOKEN = {"graca2010": 8, "mermer2011": 48}

LOOKED_AT = 4000  # pairs whose slots are counted, and those of every fourth of them
FLATTENING = 0.03  # by which slots grow less, as an exponent of cells, from there to ten times as many pairs and more


@dataclass(frozen=True)
class TextFacts:
    """What is known of what will be learned from when nothing has been learned yet; `slots` are estimated.

    They grow as cells to the power of `growth`: 0.76 to 0.88, most where words have many forms.
    """

    pairs: int
    tokens: int
    cells: int
    slots: int
    words: int
    growth: float
    sampled: bool

    def slots_of(self, cells: int) -> float:
        """Slots of a part of so many cells: they grow less than these."""
        return self.slots * (min(cells, self.cells) / max(self.cells, 1)) ** self.growth

    def words_of(self, cells: int) -> float:
        """Words of a part of so many cells: they grow as the square root, about."""
        return self.words * (min(cells, self.cells) / max(self.cells, 1)) ** 0.5

    def learning(self, needs: Needs, cells: int, words: float) -> float:
        """Bytes for a part of so many cells."""
        each = needs.cell * cells + needs.block_cell * min(cells, BLOCK_CELLS) + needs.slot * self.slots_of(cells)
        return each + needs.word * words


def facts_of(learned: Lesson) -> TextFacts:
    """The facts of all that is learned from."""
    bitext = learned.bitext
    cells = int(pair_cells(bitext).sum())
    few = min(LOOKED_AT, len(bitext))
    (seen, slots), (fewer, least) = (_slots_of(bitext, number) for number in (few, -(-few // 4)))
    growth = float(np.log(slots / least) / np.log(seen / fewer)) - FLATTENING if seen > fewer > 0 else 1.0
    growth = min(max(growth, 0.5), 1.0)
    slots = int(slots * (cells / seen) ** growth) if seen else 0
    tokens, words = (sum(sizes) for sizes in zip(*_sizes(bitext), strict=True))
    return TextFacts(len(bitext), tokens, cells, slots, words, growth, learned.sampled)


def _sizes(bitext: Bitext) -> list[tuple[int, int]]:
    """Tokens and words of both sides."""
    return [(len(side.ids), len(side.vocabulary)) for side in (bitext.source, bitext.target)]


def _slots_of(bitext: Bitext, number: int) -> tuple[int, int]:
    """Cells and slots of so many pairs, drawn evenly."""
    part = picked(bitext, np.arange(number) * len(bitext) // max(number, 1))
    return int(pair_cells(part).sum()), len(shard_of(part, Pool(1)).slots)


def required_memory(recipe: Recipe, facts: TextFacts, threads: int = 1, shard_cells: int | None = None) -> int:
    """Bytes of memory that learning from such a text and aligning it takes at its peak.

    A large one is in shards of so many cells, or of the usual ones.
    """
    needs = NEEDS.get(recipe.model, DENSE)
    if needs is ALL_AT_ONCE and not recipe.options["largest_fertility"]:
        needs = WITHOUT_FERTILITY
    stages = [(needs, facts.cells, float(facts.words))]
    if samples_first(recipe.options, facts):
        sample = recipe.options.sample
        stages = [(needs, sample, facts.words_of(sample)), (PART_FIRST, facts.cells, float(facts.words))]
    per_token, beside, passing = TOKEN, 0.0, 0
    if in_shards(recipe, facts.sampled, facts.cells):
        in_all, shard_cells = NEEDS_IN_SHARDS.get(recipe.model, IN_SHARDS), shard_cells or shard_sizes()[0]
        stages[-1] = in_all, shard_cells, float(facts.words)
        beside = BESIDE_OTHERS * (side_by_side(threads) - 1) * facts.learning(in_all, shard_cells, 0.0)
        per_token, passing = 0, PASSING if in_all is IN_SHARDS else 0  # others were measured with it
    per_token += MORE_PER_TOKEN.get(recipe.model, 0)
    *before, last = (facts.learning(*stage) for stage in stages)
    learning = max([*before, last + beside])
    learning += per_token * facts.tokens + _seen(recipe, facts)
    aligning = ALIGNING * min(facts.cells, PART_CELLS) + (threads - 1) * BESIDE
    kernels = LIVE_KERNELS if recipe.model == "joint-hmm" else 0
    return int(PROGRAM + kernels + max(learning + passing, aligning))


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


def check_budget(
    recipe: Recipe, learned: Lesson | None, budget: int | None, threads: int = 1, laid_out: int = 0
) -> int:
    """Cells of the shards that a large text is to be cut into: the largest that keep to the budget.

    InputError, with the smallest budget that would do, if none do; without a budget it is half of what is free.  Shards of
    `laid_out` cells are there already.  Without a lesson, a model that is in memory already aligns a text, or a stream of
    any length.
    """
    if learned is None:
        seen = 1 + len(recipe.options.of(Views).alternatives)
        part = seen * LOADED_ALIGNING.get(recipe.model, ALIGNING) * PART_CELLS
        kernels = FEW_KERNELS if "numba" in sys.modules else KERNELS
        needs = {0: used_memory() + kernels + threads * part + (threads - 1) * LOADED_BESIDE}
    else:
        facts, sizes = facts_of(learned), [size for size in shard_sizes() if size >= laid_out] or [laid_out]
        needs = {size: required_memory(recipe, facts, threads, size) for size in sizes}
    compiling = COMPILING if compilation.kernels else 0  # to read the text; then there are others to come
    allowed = free_memory() // 2 if budget is None else budget
    for size, needed in needs.items():
        if needed + compiling <= allowed:
            return size
    smallest = _size(min(needs.values()) + compiling)
    choice = learned is not None and recipe.name != PRESETS["fast"]  # a model that is loaded has its recipe
    smaller = ", or choose a smaller recipe: --recipe fast" if choice else ""
    whose = "half of what is free" if budget is None else "the budget"
    raise InputError(
        f"the recipe {recipe.name} needs about {smallest} for this text, and {whose} is {_size(allowed)}",
        remedy=f"Pass --memory {smallest} at least{smaller}.",
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
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("Rss:"))
    except (OSError, StopIteration):
        return PROGRAM


def _available() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pages = getattr(os, "sysconf_names", {}).get("SC_PHYS_PAGES")
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if pages else 1 << 60
