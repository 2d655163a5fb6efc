"""The Aligner: a recipe, a trained model, and what one does with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import index
from os import PathLike
from typing import Any

import numpy as np

from dovetail.alignments.alignments import Alignment, Alignments
from dovetail.alignments.assemble import assemble, pair_details, sentence_scores
from dovetail.alignments.combine import combiners
from dovetail.alignments.gold import Gold
from dovetail.bitext.corpus import Bitext, TextOptions
from dovetail.bitext.shards import Shard, Slots, lay_out
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.bitext.windows import cut
from dovetail.decoding.decode import Wanted, decode
from dovetail.decoding.marks import EITHER, FORWARD, REVERSE, PosteriorThreshold, decoders
from dovetail.decoding.tempering import temper
from dovetail.engines import Threads
from dovetail.errors import InputError
from dovetail.evaluation.curve import Curve, precision_recall_curve
from dovetail.kernels.records import CELL
from dovetail.models.constraints import Constraint
from dovetail.models.fertility.entries import FertilityEntry, fertility_table
from dovetail.models.hmm import HMM
from dovetail.models.lexicon.table import Lexicon, Smoothing, WordMap
from dovetail.models.storage import load_model, save_model
from dovetail.recipes import Recipe, find_recipe
from dovetail.training.development import Development
from dovetail.training.monitor import Callback, Monitor
from dovetail.training.train import Start, trainings

trainings.add_later(
    "hard-em",
    "dovetail.decoding.hard_em:train_hard_em",
    "Monte Carlo EM, then EM that counts only the best alignment, found exactly",
)

CANDIDATE = 0.001  # cells with a lower posterior have no place on a development set's curve
CHUNK_PAIRS = 1 << 16  # new text is laid out this many pairs at a time: bounded memory for a corpus of any size


class Aligner:
    """Aligns the words of sentence pairs by a named recipe.

    >>> aligner = Aligner("hmm", seed=1)
    >>> aligner.fit(bitext)
    >>> aligner.align(bitext)[0].links
    [(0, 0), (1, 1)]

    `threads` (default: all cores) never changes the result.  Further options override parts of the recipe: `decoder`,
    `combine`, and everything in `dovetail.recipes.Options`.
    """

    def __init__(self, recipe: str | Recipe = "default", *, seed: int = 0, threads: int | None = None, **options: Any):
        chosen = find_recipe(recipe) if isinstance(recipe, str) else recipe
        self.recipe = chosen.with_options(options)
        self._check_choices()
        self.seed = index(seed)
        self.engine = Threads(threads)
        self.text_options = TextOptions()
        self.history: list[tuple[str, np.ndarray]] = []
        self.development_areas: list[float] = []  # under the development set's curve, one an iteration
        self.model: Any = None
        self.source_vocabulary = Vocabulary([])
        self.target_vocabulary = Vocabulary([])
        self._bitext: Bitext | None = None  # what was fitted, and its cells: aligning it again needs no look-up
        self._cells: Shard | None = None
        self._compact: Any = None

    def _check_choices(self) -> None:
        decoder = decoders[self.recipe.decoder]
        combine = self.recipe.combine or decoder.default_combination
        if combine == "soft-union":
            if self.recipe.decoder != "posterior":
                raise InputError(
                    f"soft-union needs posteriors, not the decoder {self.recipe.decoder!r}",
                    remedy="Choose the decoder posterior, or another combination.",
                )
        else:
            combiners[combine]

    def fit(
        self,
        bitext: Bitext,
        progress: Callback | None = None,
        *,
        warm_start: Aligner | str | PathLike[str] | None = None,
        dictionary: Mapping[tuple[str, str], float] | None = None,
        constraints: Sequence[Constraint] = (),
        development: tuple[Bitext | int, Gold] | None = None,
    ) -> Aligner:
        """Learn the recipe's model from a bitext.

        `warm_start` is a trained aligner (or its saved directory) whose parameters are where training begins;
        `dictionary` maps (source word, target word) to a probability that the lexicon begins with.  `constraints` are
        added to the recipe's own.  `development` is a small bitext (or the number of the first pair of this one) and its
        gold links: EM stops when the area under their precision/recall curve stops rising, and the threshold becomes the
        one with the lowest AER there.  `progress` is called with a `Progress`; an exception it raises cancels the training.
        """
        monitor = Monitor(progress, self.recipe.options.tolerance)
        shard = self._lay_out(bitext)
        start = self._start(bitext, shard, warm_start, dictionary)
        if constraints and self.recipe.training != "constrained":
            raise InputError(
                f"the recipe {self.recipe.name} takes no constraints",
                remedy="Choose hmm-constrained, hmm-bijective, hmm-symmetric, or the same of ibm1.",
            )
        watched = None if development is None else self._development(bitext, *development)
        watch = None if watched is None else Development(lambda model: watched(model).area)
        start = replace(start, bitext=bitext, constraints=tuple(constraints), watch=watch, seed=self.seed)
        model = trainings[self.recipe.training](
            self.recipe.model, shard, start, self.recipe.options, self.engine, monitor
        )
        self.model, self._compact = model, None
        self.development_areas = [] if watch is None else watch.areas
        if watched is not None:
            best = np.array([min(1.0, watched(model).best_threshold("aer"))])
            self.recipe = self.recipe.with_options({"threshold": float(temper(best, self.recipe.options.temper)[0])})
        self._bitext, self._cells = bitext, shard
        self.source_vocabulary, self.target_vocabulary = bitext.source.vocabulary, bitext.target.vocabulary
        self.text_options = bitext.options
        self.history = monitor.history
        return self

    def align(self, bitext: Bitext, progress: Callback | None = None) -> Alignments:
        """Exactly one alignment for each pair of the bitext, in order."""
        self._require_model()
        monitor = Monitor(progress)
        if bitext is self._bitext and self._cells is not None:
            monitor.begin("align", 1, len(self._cells.pieces))
            model = self._decodable(self.model, bitext, self._cells)
            result = self._align_cells(bitext, self._cells, model, monitor)
            result.text = bitext.text
            return result
        monitor.begin("align", 1, len(cut(bitext.source.offsets, bitext.target.offsets)))
        words = self._words(bitext)
        parts = []
        for first in range(0, len(bitext), CHUNK_PAIRS):
            part = bitext.part(first, min(first + CHUNK_PAIRS, len(bitext)))
            shard = self._lay_out(part)
            model = self._decodable(self._transferred(shard, words), part, shard)
            parts.append(self._align_cells(part, shard, model, monitor))
        result = Alignments.concatenate(parts)
        result.text = bitext.text  # only to show the words in a notebook
        return result

    def align_pair(self, source: str | Sequence[str], target: str | Sequence[str]) -> Alignment:
        """Align one pair, given as tokens or as strings that are cut as the training text was."""
        return self.align(self._one_pair(source, target))[0]

    def posteriors(self, source: str | Sequence[str], target: str | Sequence[str]) -> np.ndarray:
        """Link probabilities (I, J) of one pair: the mean of the two directions', tempered as the recipe says."""
        forward, reverse = self.directional_posteriors(source, target)
        return temper((forward + reverse) / 2, self.recipe.options.temper)

    def directional_posteriors(
        self, source: str | Sequence[str], target: str | Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray]:
        """P(a_j = i) and P(b_i = j), both (I, J), of one pair."""
        self._require_model()
        pair = self._one_pair(source, target)
        I, J = pair.lengths[0]
        result = np.zeros((2, I, J), np.float32)
        shard = self._lay_out(pair)
        words = self._words(pair)
        model = self._decodable(self._transferred(shard, words), pair, shard)
        work = shard.workspace()
        pieces = shard.pieces
        for block in shard:
            view = block.view(work)
            model.lexicon.gather(shard, block, view, self.engine)
            model.posteriors(shard, block, view, self.engine)
            for p, line in zip(range(block.first, block.last), block.lines, strict=True):
                shape = pieces.source_length[p], pieces.target_length[p]
                (low, high), j0, i0 = pieces.target_core[p], pieces.target_offset[p], pieces.source_offset[p]
                for direction, values in enumerate((view.forward, view.reverse)):
                    values = values[line[CELL] : line[CELL] + shape[0] * shape[1]].reshape(shape)
                    result[direction, i0 : i0 + shape[0], j0 + low : j0 + high] = values[:, low:high]
        return result[0], result[1]

    def fertilities(self, direction: str = "forward", minimum: int = 1) -> list[FertilityEntry]:
        """How many links each word takes, for models with fertility: words by how often they were seen.

        `direction` forward: of source words; reverse: of target words.  Words seen less often than `minimum` are left out.
        """
        self._require_model()
        return fertility_table(self._compacted(), (self.source_vocabulary, self.target_vocabulary), direction, minimum)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a directory: safetensors and JSON, no pickle."""
        self._require_model()
        save_model(
            path,
            self._compacted(),
            self.source_vocabulary,
            self.target_vocabulary,
            {"recipe": self.recipe.to_dict(), "seed": self.seed, "text": self.text_options.to_dict()},
        )

    @classmethod
    def load(cls, path: str | PathLike[str], *, threads: int | None = None, **options: Any) -> Aligner:
        """Read a model directory; `options` override decoding choices of its recipe."""
        model, source, target, about = load_model(path)
        try:
            recipe, seed = Recipe.from_dict(about["recipe"]), about["seed"]
            text_options = TextOptions.from_dict(about["text"])
        except (KeyError, TypeError) as error:
            raise InputError(
                f"the model was saved by another version of dovetail ({error})", path=path, remedy="Train it again."
            ) from error
        aligner = cls(recipe, seed=seed, threads=threads, **options)
        aligner.model = aligner._compact = model
        aligner.source_vocabulary, aligner.target_vocabulary = source, target
        aligner.text_options = text_options
        return aligner

    def _require_model(self) -> None:
        if self.model is None:
            raise InputError("this aligner has no model yet", remedy="Call fit first, or load a saved model.")

    def _one_pair(self, source: str | Sequence[str], target: str | Sequence[str]) -> Bitext:
        return Bitext.from_pairs([(source, target)], options=self.text_options)

    def _words(self, bitext: Bitext) -> WordMap:
        """Where the model has the bitext's words, which may have been read without the model's normalising."""
        return WordMap.between(bitext, self.source_vocabulary, self.target_vocabulary, self.text_options.normaliser)

    def _lay_out(self, bitext: Bitext) -> Shard:
        source, target = bitext.source, bitext.target
        return lay_out(
            source.ids,
            source.offsets,
            target.ids,
            target.offsets,
            len(source.vocabulary),
            len(target.vocabulary),
            self.engine,
        )

    def _compacted(self) -> Any:
        if self._compact is None:
            self._compact = self.model.with_lexicon(self.model.lexicon.compact())
        return self._compact

    def _transferred(self, shard: Shard, words: WordMap) -> Any:
        compact = self._compacted()
        moved = compact.with_lexicon(compact.lexicon.transfer(shard.slots, words, self.engine))
        return _for_words(moved, words, (self.source_vocabulary, self.target_vocabulary))

    def _decodable(self, model: Any, bitext: Bitext, shard: Shard) -> Any:
        """The model as decoders see it: one with constraints is bound to this text, or goes without them."""
        if hasattr(model, "with_options"):
            model = model.with_options(self.recipe.options, self.seed)
        if not hasattr(model, "for_decoding"):
            return model
        if not self.recipe.options.project_decoding:
            return model.unconstrained()
        return model.for_decoding(bitext, shard)

    def _development(self, bitext: Bitext, where: Bitext | int, gold: Gold) -> Callable[[Any], Curve]:
        """A model's precision/recall curve on the development set, from the mean of both directions' posteriors."""
        text = bitext.part(where, where + len(gold)) if isinstance(where, int) else where
        if len(text) != len(gold):
            raise InputError(
                f"the development set has {len(text):,} pairs, but gold links of {len(gold):,}",
                remedy="Give one line of gold links for each pair.",
            )
        shard = self._lay_out(text)
        words = WordMap.between(text, bitext.source.vocabulary, bitext.target.vocabulary)

        def curve(model: Any) -> Curve:
            compact = model.lexicon.compact()
            moved = model.with_lexicon(compact.transfer(shard.slots, words, self.engine))
            moved = _for_words(moved, words, (bitext.source.vocabulary, bitext.target.vocabulary))
            moved = self._decodable(moved, text, shard)
            wanted = [Wanted(EITHER, 0.5)]
            (links,), _ = decode(moved, shard, PosteriorThreshold(CANDIDATE), wanted, self.engine, Monitor())
            return precision_recall_curve(assemble(links, shard.pieces, text.source.lengths, text.target.lengths), gold)

        return curve

    def _start(
        self,
        bitext: Bitext,
        shard: Shard,
        warm_start: Aligner | str | PathLike[str] | None,
        dictionary: Mapping[tuple[str, str], float] | None,
    ) -> Start:
        other, words, jumps, warm = None, None, None, None
        if warm_start is not None:
            other = warm_start if isinstance(warm_start, Aligner) else Aligner.load(warm_start)
            other._require_model()
            words = other._words(bitext)
            jumps = other.model.jumps if isinstance(other.model, HMM) else None
            warm = partial(other._transferred, shard, words)
        entries = _dictionary_entries(bitext, dictionary or {})

        def lexicon(slots: Slots) -> Lexicon:
            first = Lexicon.uniform(slots, Smoothing())
            if other is not None and words is not None:
                first = first.primed_by(other._compacted().lexicon, words, self.engine)
            return first.primed_by_dictionary(entries)

        return Start(lexicon, (bitext.source.vocabulary, bitext.target.vocabulary), jumps, warm=warm)

    def _align_cells(self, bitext: Bitext, shard: Shard, model: Any, monitor: Monitor) -> Alignments:
        kind = decoders[self.recipe.decoder]
        decoder = kind.of(self.recipe.options)
        combine = self.recipe.combine or kind.default_combination
        lengths = bitext.source.lengths, bitext.target.lengths
        single = {
            "soft-union": Wanted(EITHER, 0.5),
            "forward": Wanted(FORWARD, 0.0),
            "reverse": Wanted(REVERSE, 1.0),
        }
        if combine in single:
            wanted = [single[combine]]
            if combine != "soft-union" and hasattr(decoder, "only"):
                decoder.only = combine
        else:
            both = np.uint8(FORWARD | REVERSE)
            wanted = [single["forward"], single["reverse"], Wanted(both, 0.0), Wanted(both, 1.0)]
        found, scores = decode(model, shard, decoder, wanted, self.engine, monitor)
        sets = [assemble(links, shard.pieces, *lengths) for links in found]
        result = sets[0] if combine in single else combiners[combine](sets[0], sets[1], (sets[2], sets[3]))
        result.probability = temper(result.probability, self.recipe.options.temper)
        totals = sentence_scores(scores, shard.pieces, len(bitext))
        result.details = {
            "score_forward": totals[:, 0],
            "score_reverse": totals[:, 1],
            **pair_details(getattr(decoder, "details", {}), shard.pieces, len(bitext)),
        }
        return result


def _dictionary_entries(bitext: Bitext, dictionary: Mapping[tuple[str, str], float]) -> list[tuple[int, int, float]]:
    """Entries of a user's dictionary by word numbers; those with a word that the text does not have are left out."""
    source, target, word = bitext.source.vocabulary, bitext.target.vocabulary, bitext.options.normaliser
    for pair, probability in dictionary.items():
        if not 0 < probability <= 1:
            raise InputError(
                f"dictionary entry {pair} has the probability {probability}",
                remedy="It must be more than 0 and at most 1.",
            )
    numbers = [(source.id(word(e)), target.id(word(f)), p) for (e, f), p in dictionary.items()]
    return [entry for entry in numbers if min(entry[:2]) >= 0]


def _for_words(model: Any, words: WordMap, known: tuple[Vocabulary, Vocabulary]) -> Any:
    """A model with parameters for each word, besides the lexicon's, takes them along to another text."""
    return model.for_words(words, words.vocabularies, known) if hasattr(model, "for_words") else model
