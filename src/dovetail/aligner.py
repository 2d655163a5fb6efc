"""The Aligner: learns by a recipe, from text and from gold links; then it is what `Trained` is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import index
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold
from dovetail.bitext.corpus import Bitext, TextOptions
from dovetail.bitext.paths import check_on_disk
from dovetail.bitext.source import TextSource
from dovetail.bitext.store import Folder, give_back
from dovetail.bitext.views import Cuts, Entry, Views, cut_entries
from dovetail.decoding.decoders import Threshold
from dovetail.decoding.learned import LearnedDecoder
from dovetail.decoding.tempering import Tempering
from dovetail.engines import Engine, engine_of
from dovetail.errors import InputError
from dovetail.fitting import (
    Dictionary,
    aside,
    check_told,
    entries_of,
    given,
    priors_of,
    shards_of,
    signature,
    start_at,
    view_lessons,
    view_recipe,
)
from dovetail.models.lexicon.lexicon import Prior
from dovetail.models.lexicon.words import WordMap
from dovetail.models.model import Model, moved
from dovetail.models.registry import models
from dovetail.models.storage import Saved, load_model, one_line
from dovetail.recipes import Recipe, find_recipe
from dovetail.trained import Trained, choice_of
from dovetail.training.development import Development
from dovetail.training.drawing import Lesson, lesson
from dovetail.training.keeping import Keeper, claim
from dovetail.training.monitor import Monitor, Watch
from dovetail.training.train import Convergence, Start, Task, trainings

if TYPE_CHECKING:  # what few runs need is imported there: a start should not wait for it
    from dovetail.learning.learn import Learned
    from dovetail.models.constraints import Constraint
    from dovetail.tuning import DevelopmentSet, Knobs


class Aligner(Trained):
    """Aligns the words of sentence pairs by a named recipe.

    >>> aligner = Aligner("hmm", seed=1)
    >>> aligner.fit(bitext)
    >>> aligner.align(bitext)[0].links
    [(0, 0), (1, 1)]

    `threads` (default: all cores) never changes the result, nor does the `engine`: threads, ray, or an Engine.  Further
    options override parts of the recipe: `decoder`, `combine`, `views` (such as "words,characters"), and what the recipe's
    parts own (`dovetail recipes NAME` lists it).
    """

    def __init__(
        self,
        recipe: str | Recipe = "default",
        *,
        seed: int = 0,
        threads: int | None = None,
        engine: Engine | str | None = None,
        **options: Any,
    ):
        chosen = find_recipe(recipe) if isinstance(recipe, str) else recipe
        self._chosen = chosen.with_options(options)  # development gold changes `recipe`, for one fit
        self._asked = frozenset(options)
        choice_of(self._chosen).check(models[self._chosen.model])
        super().__init__(self._chosen, index(seed), engine_of(engine, threads))
        self.history: list[tuple[str, np.ndarray]] = []
        self.development_areas: list[float] = []  # under the development set's curve, one per iteration
        self.tuned: Knobs | None = None  # what the development set chose
        view_recipe(self.recipe)  # what cannot be had is refused now
        self.recipe.options.of(Views).others  # noqa: B018 (and so is this)

    def fit(
        self,
        bitext: Bitext | TextSource | Lesson,
        progress: Watch = None,
        *,
        warm_start: Aligner | str | PathLike[str] | None = None,
        dictionary: Dictionary | None = None,
        constraints: Sequence[Constraint] = (),
        priors: Sequence[Prior] = (),
        development: tuple[Bitext | int, Gold] | None = None,
        work: str | PathLike[str] | None = None,
    ) -> Aligner:
        """Learn the recipe's model from a bitext, or from one that stays in its files.

        Of a large text some recipes learn from a sample (see `dovetail.training.drawing`); then a `TextSource` is never all
        in memory.  `warm_start` is a trained aligner (or its saved directory) whose parameters are where training begins;
        `dictionary` maps (source, target) words or phrases to probabilities, or is a file that `read_dictionary` reads: a
        prior on the lexicon, as heavy as `dictionary_weight` says.  `constraints` are added to the recipe's own, and so are
        further `priors` on the lexicon; but for the dictionary, all of these are for the model over words, not for those
        over other views.
        `development` is a small bitext (or the number of the first pair of this one) and its gold links: EM stops when the
        area under their precision/recall curve stops rising, and threshold and growing, unless you asked for a threshold,
        become those with the lowest AER there (`tuned` says which).  `progress` is called with a `Progress`; an exception
        it raises cancels the training; without one, notebooks show bars (extra `notebook`), with False none.  `work` is a
        folder that keeps every iteration of EM: the same call goes on there, and to the same bytes, after the first was
        killed.
        """
        monitor = Monitor(progress, self.recipe.options.of(Convergence).tolerance)
        train = trainings[self.recipe.training]
        check_told(self.recipe, train, constraints, priors, dictionary)
        if isinstance(bitext, Lesson):
            learned = bitext
        else:
            apart = aside(work)
            learned = lesson(bitext, self.recipe.options, pool=self.engine.pool, aside=apart)
        bitext = learned.bitext
        for constraint in constraints:
            constraint.check(bitext)
        gold = None if development is None else self._development(learned, *development, work=work)
        watch = Development(None if gold is None else lambda model: gold.curve(model).area)
        warm = Aligner.load(warm_start) if isinstance(warm_start, str | PathLike) else warm_start
        warm_model = None if warm is None else warm._compacted()
        start = Start() if warm is None else start_at(warm._compacted(), warm._words(bitext), self.engine)
        entries = entries_of(dictionary)
        all_priors = (*priors_of(self.recipe, learned, entries), *priors)
        if work is not None:
            check_on_disk(work)
            claim(work, signature(self.recipe, self.seed, bitext, warm_model, all_priors, constraints))
        self._views = self._fitted_views(learned, entries, work, progress)
        corpus, folder = shards_of(learned, self.recipe, self.engine.pool, work)
        if work is not None and train.resumes and development is None:  # which has seen what no file knows
            monitor.keeper = Keeper(Folder(Path(work) / "training"), given(bitext, corpus, all_priors, constraints))
        task = Task(
            self.recipe.model,
            corpus,
            bitext,
            self.recipe.options,
            self.engine,
            monitor,
            start,
            self.seed,
            tuple(constraints),
            all_priors,
            watch,
            learned.sampled,
        )
        with folder:
            model = train(task)
            if corpus.only is None:  # its slots are in the folder
                model = model.with_lexicon(model.lexicon.compact(corpus.store))
                give_back()
        self.model, self._compact = model, model if corpus.only is None else None
        self.development_areas = watch.areas
        self.recipe, self.tuned, self.learned = self._chosen, None, None
        if gold is not None and Threshold in self.recipe.decoding_owners and "threshold" not in self._asked:
            grow = self.recipe.options.of(Threshold).grow if "grow" in self._asked else None
            self.tuned = gold.knobs(model, self.recipe.options.of(Tempering).temper, grow)
            self.recipe = self.recipe.with_options({"threshold": self.tuned.threshold, "grow": self.tuned.grow})
        self._fitted = bitext, None if learned.sampled else corpus.only
        if learned.sampled:  # what is aligned is another text: the sample's own slots have done their work
            self.model = self._compacted()
        self.source_vocabulary, self.target_vocabulary = bitext.source.vocabulary, bitext.target.vocabulary
        self.text_options = bitext.options
        self.history = monitor.history
        return self

    def learn(
        self, bitext: Bitext, gold: Gold, *, favour: str = "aer", curve: bool = False, progress: Watch = None
    ) -> Learned:
        """Learn from gold links of some pairs how this text's annotators link: a decoder on top of the trained model.

        `gold` has one entry per pair of the bitext, or fewer; pairs that nobody annotated teach nothing.  `favour` is what
        the threshold aims at: aer, f1, precision (F0.5) or recall (F2).  The aligner changes only if held-out gold pairs
        support it; the answer says so, with the scores of cross-validation, and with `curve` those of a quarter, a half and
        three quarters of the pairs.  Needs the extra `learn`; aligning with what was learned does not.
        """
        from dovetail.evaluation.score import statistics
        from dovetail.learning.favour import check_aim
        from dovetail.learning.learn import learn
        from dovetail.learning.lesson import digests, lesson_of

        check_aim(favour)
        if self.learned is not None:
            raise InputError(
                "this model has learned from gold pairs already",
                remedy="Learn from the model that it was made of, and give all gold pairs at once.",
            )
        if len(gold) > len(bitext):
            raise InputError(f"gold links of {len(gold):,} pairs, but the bitext has {len(bitext):,}")
        gold = gold.padded(len(bitext))
        before = self.align(bitext, progress)
        shard = self._lay_out(bitext)
        model = self._undecided(self._transferred(bitext, shard), bitext, shard)
        lesson, pairs = lesson_of(model, bitext, shard, gold, self._words(bitext), self.engine.pool)
        annotated = np.cumsum(gold.annotated) - 1
        result = learn(
            lesson,
            statistics(before, gold)[annotated[pairs]],
            digests(bitext, pairs, self.text_options.normaliser),
            favour,
            (0.25, 0.5, 0.75) if curve else (),
        )
        if result.decoder is not None:
            self.learned = result.decoder
            changes = {
                "decoder": "posterior",
                "combine": None,
                "threshold": result.threshold,
                "grow": 1.0,
                "temper": 1.0,
            }
            self.recipe = self.recipe.with_options(changes)
        return result

    def favour(self, aim: str, bitext: Bitext | TextSource) -> float:
        """Move the threshold, without any gold, to where `aim` is best by the aligner's own probabilities.

        `aim` is precision (F0.5), recall (F2), f1 or aer; growing is off then.  The beginning of the bitext is looked at.
        """
        from dovetail.learning.favour import CANDIDATE, SAMPLE, check_aim, expected_best

        check_aim(aim)
        last = min(SAMPLE, len(bitext)) if isinstance(bitext, Bitext) else SAMPLE
        candidates = self._candidates(bitext.part(0, last), CANDIDATE)
        threshold = expected_best(candidates.probability, aim)
        self.recipe = self.recipe.with_options({"threshold": threshold})
        return threshold

    def pick(self, bitext: Bitext, number: int = 50) -> list[int]:
        """Numbers (from 0) of the pairs whose gold links would teach this aligner most, best first."""
        from dovetail.learning.pick import CANDIDATE, worth_annotating

        return worth_annotating(self._candidates(bitext, CANDIDATE), bitext, number)

    def _candidates(self, bitext: Bitext, least: float) -> Alignments:
        """Every cell above a probability as a link."""
        recipe = self.recipe
        changes = {"decoder": "posterior", "combine": None, "threshold": least, "grow": 1.0}
        try:
            self.recipe = recipe.with_options(changes)
            return self.align(bitext)
        finally:
            self.recipe = recipe

    def learned_from(self, bitext: Bitext) -> np.ndarray:
        """Which pairs of a bitext are among the gold pairs that this aligner learned from, bool (N,)."""
        from dovetail.learning.lesson import digests

        known = frozenset(self.learned.digests if self.learned else ())
        found = digests(bitext, np.arange(len(bitext)), self.text_options.normaliser) if known else [""] * len(bitext)
        return np.array([digest in known for digest in found], bool)

    def __repr__(self) -> str:
        return f"<Aligner {self.recipe.name}: {self._state()}>"

    def _state(self) -> str:
        if self.model is None:
            return "not trained"
        return f"{len(self.source_vocabulary):,} source and {len(self.target_vocabulary):,} target words"

    def _repr_html_(self) -> str:
        """For notebooks: the recipe, how it decodes, what it was told, what it knows, and how it was trained."""
        from dovetail import markup

        recipe, stages = self.recipe, Counter(stage for stage, _ in self.history)
        rows = [
            ("recipe", f"{recipe.name}: {recipe.description}"),
            ("decoder", recipe.decoder + (f", {recipe.combine}" if recipe.combine else "")),
            (
                "options",
                ", ".join(f"{name}={recipe.options[name]}" for name in sorted(self._asked & {*recipe.options})),
            ),
            ("knows", self._state()),
            ("trained", ", ".join(f"{stage}: {n} iterations" for stage, n in stages.items())),
            ("learned", "from gold links" if self.learned is not None else ""),
        ]
        return markup.table(["Aligner", ""], [row for row in rows if row[1]])

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        threads: int | None = None,
        engine: Engine | str | None = None,
        mapped: bool = False,
        **options: Any,
    ) -> Aligner:
        """Read a model directory; `options` override decoding choices of its recipe.

        With `mapped`, parameters stay in their file, which must stay as it is, and come into memory as they are read.
        """
        saved = load_model(path, mapped)
        with one_line(path):
            aligner = cls._from_saved(saved, threads, engine)
        aligner.recipe = aligner._chosen = aligner.recipe.with_options(options, trained=True)
        choice_of(aligner.recipe).check(type(saved.model))
        return aligner

    @classmethod
    def _from_saved(cls, saved: Saved, threads: int | None, engine: Engine | str | None) -> Aligner:
        about = saved.about
        try:
            recipe = Recipe.from_dict({**about["recipe"], "model": about["model"]})
            text_options, seed = TextOptions.from_dict(about["text"]), index(about["seed"])
            decoder = LearnedDecoder.from_saved(about["learned"], saved.learned) if "learned" in about else None
            others = recipe.options.of(Views).others
        except (KeyError, TypeError) as error:
            raise InputError(
                f"the model was saved by another version of dovetail ({error})", remedy="Train it again."
            ) from error
        choice_of(recipe).check(type(saved.model))
        aligner = cls(recipe, seed=seed, threads=threads, engine=engine)
        aligner.model = aligner._compact = saved.model
        aligner.source_vocabulary, aligner.target_vocabulary = saved.source, saved.target
        aligner.text_options = text_options
        aligner.learned = decoder
        aligner._views = {
            name: (cls._from_saved(other, threads, engine), others[name]) for name, other in saved.views.items()
        }
        return aligner

    def _fitted_views(
        self,
        learned: Lesson,
        dictionary: Mapping[Entry, float] | None,
        work: str | PathLike[str] | None,
        progress: Watch,
    ) -> dict[str, tuple[Trained, Cuts]]:
        """Models over the views that differ from the words of this text."""
        found: dict[str, tuple[Trained, Cuts]] = {}
        for name, cuts, seen in view_lessons(learned, self.recipe, self.engine.pool, work):
            other = Aligner(view_recipe(self.recipe), seed=self.seed, engine=self.engine)
            told = None if dictionary is None else cut_entries(dictionary, learned.bitext.options, cuts)
            other.fit(seen, progress, dictionary=told, work=None if work is None else Path(work) / name)
            other.model, other._fitted = other._compacted(), None  # its text is not needed any more
            found[name] = other, cuts
        return found

    def _development(
        self, learned: Lesson, where: Bitext | int, gold: Gold, work: str | PathLike[str] | None = None
    ) -> DevelopmentSet:
        from dovetail.tuning import DevelopmentSet

        bitext = learned.bitext
        if isinstance(where, int):
            if not 0 <= where <= learned.pairs - len(gold):
                raise InputError(
                    f"the development set has gold links of {len(gold):,} pairs from pair {where:,} on, but the bitext has"
                    f" {learned.pairs:,}",
                    remedy="Name the first of these pairs, counted from 0.",
                )
            where = learned.part(where, where + len(gold))
        if len(where) == len(gold) and gold.annotated.any():  # those that nobody annotated tell nothing, but take time
            where, gold = where.kept(gold.annotated), gold.kept(gold.annotated)
        text, shard = where, self._lay_out(where)
        words = WordMap.between(text, bitext.source.vocabulary, bitext.target.vocabulary)
        store = aside(work).store(learned.cells)  # the lexicon may be as large as the text's own

        def decodable(model: Model) -> Model:
            compact = model.with_lexicon(model.lexicon.compact(store))
            return self._decodable(moved(compact, shard.slots, words, self.engine.pool), text, shard)

        return DevelopmentSet(text, shard, gold, decodable, self.engine.pool)
