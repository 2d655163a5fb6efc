"""What an aligner hands to a training: the text in shards, priors, where to begin, and what tells it from others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from hashlib import sha256
from os import PathLike
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.joining import joined_in, picked
from dovetail.bitext.sharding import SHARD_CELLS, WHOLE_CELLS, Corpus, ManyShards, OneShard, cells_of
from dovetail.bitext.shards import Slots, shard_of
from dovetail.bitext.source import Aside
from dovetail.bitext.store import Folder, PassingFolder, arrays_of
from dovetail.bitext.views import WORDS, Cuts, Entry, Seen, Views, changed_words, cut_vocabularies
from dovetail.engines import Engine
from dovetail.errors import InputError
from dovetail.models.lexicon.lexicon import Prior, PriorOptions
from dovetail.models.lexicon.table import TableLexicon
from dovetail.models.lexicon.words import WordMap
from dovetail.models.model import Model, moved
from dovetail.models.storage import FORMAT_VERSION
from dovetail.pool import Pool
from dovetail.recipes import Recipe, find_recipe
from dovetail.training.drawing import Lesson, lesson
from dovetail.training.keeping import digest
from dovetail.training.train import Start, Training, trainings

if TYPE_CHECKING:
    from dovetail.models.constraints import Constraint

SELDOM = 0.01  # a view that changes fewer of the words would cost a model, and say what the words say
AT_ONCE = 1 << 14  # pairs of a sample that are picked together
SHARDS = "shards"  # of a work folder
Dictionary = Mapping[Entry, float] | str | PathLike[str]


def check_told(
    recipe: Recipe,
    train: Training,
    constraints: Sequence[Constraint],
    priors: Sequence[Prior],
    dictionary: Dictionary | None,
) -> None:
    """InputError if the recipe's training does not take what it is told."""
    if constraints and not train.takes_constraints:
        raise InputError(
            f"the recipe {recipe.name} takes no constraints",
            remedy="Choose hmm-constrained, hmm-bijective, hmm-symmetric, or the same of ibm1.",
        )
    if constraints and recipe.options.of(Views).others:
        raise InputError("constraints speak of words, not of other views", remedy="Drop the constraints or the views.")
    told = "priors" if priors else "dictionary" if dictionary is not None else ""
    if told and PriorOptions not in recipe.owners:
        raise InputError(f"the recipe {recipe.name} takes no {told}", remedy="Choose default, hmm or ibm1, say.")


def entries_of(dictionary: Dictionary | None) -> Mapping[Entry, float] | None:
    """What a dictionary says, which may be a file."""
    if dictionary is None or isinstance(dictionary, Mapping):
        return dictionary
    from dovetail.bitext.dictionaries import read_dictionary

    return read_dictionary(dictionary)


def priors_of(recipe: Recipe, learned: Lesson, dictionary: Mapping[Entry, float] | None) -> tuple[Prior, ...]:
    """The recipe's priors on the lexicon, and a dictionary's."""
    if PriorOptions not in recipe.owners:
        return ()
    options = recipe.options.of(PriorOptions)
    if dictionary is None:
        return tuple(options.chosen())
    from dovetail.models.lexicon.dictionary import DictionaryPrior

    told = DictionaryPrior.of(dictionary, learned.bitext, options.dictionary_weight, learned.sampled)
    return (*options.chosen(), told)


def view_recipe(recipe: Recipe) -> Recipe:
    """What the models of other views are learned by."""
    name = recipe.options.of(Views).view_recipe
    return (find_recipe(name) if name else recipe).with_options({"views": WORDS})


def view_lessons(
    learned: Lesson, recipe: Recipe, pool: Pool, work: str | PathLike[str] | None = None
) -> Iterator[tuple[str, Cuts, Lesson]]:
    """The views that change a text, of alternatives the first, and what the models over them learn from.

    A sample is drawn of the words, before they are cut.
    """
    if recipe.options.of(Views).views == WORDS:
        return
    apart = aside(work)
    drawn = replace(lesson(learned.bitext, view_recipe(recipe).options), shard_cells=learned.shard_cells)
    drawn = _bounded(drawn, recipe.options.of(Views).view_cells, pool, apart)
    for either in recipe.options.of(Views).alternatives:
        for name, cuts in either.items():
            seen = _view_lesson(drawn, cuts, pool, apart)
            if seen is not None:
                yield name, cuts, seen
                break


def _view_lesson(drawn: Lesson, cuts: Cuts, pool: Pool, apart: Aside) -> Lesson | None:
    """What is learned from of a view, without what else is known of its tokens; None if it changes hardly any word."""
    normaliser = drawn.bitext.options.normaliser
    if changed_words(drawn.bitext, cuts, normaliser, pool) < SELDOM:
        return None
    cut_vocabularies(drawn.bitext, cuts, normaliser)
    parts = pool.stream(lambda part: Seen.of(part, cuts, normaliser).bitext, drawn.bitext.runs())
    seen = joined_in(apart.store(drawn.cells), parts, pool)
    return Lesson(seen, seen, len(seen), cells_of(seen), drawn.sampled, drawn.shard_cells)


def _bounded(learned: Lesson, cells: int, pool: Pool, apart: Aside) -> Lesson:
    """The same, or an even sample of it that has about so many cells."""
    if learned.sampled or learned.cells <= cells:
        return learned
    chosen = max(1, learned.pairs * cells // learned.cells)
    numbers = np.arange(chosen) * learned.pairs // chosen
    parts = (picked(learned.bitext, numbers[first : first + AT_ONCE]) for first in range(0, chosen, AT_ONCE))
    return replace(learned, bitext=joined_in(apart.store(cells), parts, pool))


def aside(work: str | PathLike[str] | None) -> Aside:
    """Where large texts go: a work folder, or that of temporary files."""
    return Aside(WHOLE_CELLS, gettempdir() if work is None else work)


def in_shards(recipe: Recipe, sampled: bool, cells: int) -> bool:
    """Whether a text of so many cells is gone over shard by shard."""
    return not sampled and cells > WHOLE_CELLS and trainings[recipe.training].many_shards(recipe.options, cells)


def shards_of(
    learned: Lesson, recipe: Recipe, pool: Pool, work: str | PathLike[str] | None
) -> tuple[Corpus, AbstractContextManager[Any]]:
    """The text as its training goes over it: one shard, or many in a folder; and what is left when training ends."""
    bitext = learned.bitext
    if not in_shards(recipe, learned.sampled, learned.cells):
        return OneShard(shard_of(bitext, pool)), nullcontext()
    cells = learned.shard_cells or SHARD_CELLS
    if work is not None:
        return ManyShards(bitext, pool, Folder(Path(work) / SHARDS), cells), nullcontext()
    folder = PassingFolder(pool)
    return ManyShards(bitext, pool, Folder(folder.name), cells), folder


def shard_sizes() -> list[int]:
    """Cells of the shards that a large text may be cut into, the usual size first; what is learned does not depend on it."""
    return [SHARD_CELLS >> n for n in range(4)]  # down to a single block


def laid_out(work: str | PathLike[str]) -> int:
    """Cells of the largest shard of any view that a run before has laid out in its folder; 0 if there is none."""
    shards = map(arrays_of, Path(work).glob(f"**/{SHARDS}/shard-*.safetensors"))
    return max((int(shard["blocks"][:, -1].sum()) for shard in shards if "blocks" in shard), default=0)


def start_at(compact: Model, words: WordMap, engine: Engine) -> Start:
    """Where a trained model is, which has the text's words at `words`."""

    def lexicon(slots: Slots, table: np.ndarray | None, pool: Pool) -> TableLexicon:
        return TableLexicon.uniform(slots, table=table, pool=pool).primed_by(compact.lexicon, words, pool)

    return Start(lexicon, compact.jumps_to_start, lambda slots: moved(compact, slots, words, engine.pool))


def signature(
    recipe: Recipe,
    seed: int,
    bitext: Bitext,
    warm: Model | None,
    priors: Sequence[Prior],
    constraints: Sequence[Constraint],
) -> dict[str, Any]:
    """What tells a training from others: all that its iterations depend on."""
    return {
        "format": FORMAT_VERSION,
        "recipe": recipe.to_dict(),
        "seed": seed,
        "shards": [WHOLE_CELLS, SHARD_CELLS],
        "text": digest(bitext),
        "start": None if warm is None else _digest(warm),
        "priors": [[type(prior).__name__, vars(prior)] for prior in priors],
        "constraints": [[constraint.name, constraint.to_dict()] for constraint in constraints],
    }


def _digest(model: Model) -> str:
    found = sha256()
    for name, values in sorted({**model.lexicon.arrays(), **model.arrays()}.items()):
        found.update(name.encode() + np.ascontiguousarray(values).tobytes())
    return found.hexdigest()


def given(bitext: Bitext, corpus: Corpus, priors: Sequence[Prior], constraints: Sequence[Constraint]) -> dict[str, Any]:
    """Values that a training has before it begins, and need not keep."""
    known = {"source": bitext.source.vocabulary, "target": bitext.target.vocabulary, "slots": corpus.slots}
    known |= {f"prior {number}": prior for number, prior in enumerate(priors)}
    return known | {f"constraint {number}": constraint for number, constraint in enumerate(constraints)}
