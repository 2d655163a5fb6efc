"""A trained model, its other views and what gold pairs taught: aligns text, answers questions, is saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from itertools import chain
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from dovetail.alignments.align import Choice, align_shard, posterior_matrices
from dovetail.alignments.alignments import Alignment, Alignments
from dovetail.alignments.views import Cells, cells_of, mixed
from dovetail.bitext.corpus import Bitext, TextOptions
from dovetail.bitext.shards import Shard, shard_of
from dovetail.bitext.source import TextSource
from dovetail.bitext.views import Cuts, Seen
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.bitext.windows import cut
from dovetail.decoding.candidates import word_facts
from dovetail.decoding.learned import LearnedDecoder, judging
from dovetail.decoding.tempering import Tempering, temper
from dovetail.engines import Engine
from dovetail.errors import InputError
from dovetail.kernels.learned.records import WordFacts
from dovetail.models.fertility.entries import FertilityEntry, FertilityMeans, fertility_table, side_of
from dovetail.models.fertility.expected import ExpectedLinks
from dovetail.models.lexicon.words import WordMap
from dovetail.models.model import Model, Worked, moved
from dovetail.models.storage import Content, model_files, save_model
from dovetail.recipes import Recipe
from dovetail.training.monitor import Monitor, Watch

if TYPE_CHECKING:  # what few runs need is imported there: a start should not wait for it
    from dovetail.uses.lexicon import Lexicon

T = TypeVar("T")

CHUNK_PAIRS = 1 << 14  # new text is laid out this many pairs at a time: bounded memory, and work for all threads


class Trained:
    """What an `Aligner` is once it has learned; nothing here learns."""

    def __init__(self, recipe: Recipe, seed: int, engine: Engine) -> None:
        self.recipe = recipe
        self.seed = seed
        self.engine = engine
        self.text_options = TextOptions()
        self.model: Model | None = None
        self.source_vocabulary = Vocabulary([])
        self.target_vocabulary = Vocabulary([])
        # What was fitted: aligning it again needs no look-up.  Of a sample, and of many shards, the layout is not kept.
        self._fitted: tuple[Bitext, Shard | None] | None = None
        self._compact: Model | None = None
        # For every other view of the text: who has the model, and what the view makes of words.
        self._views: dict[str, tuple[Trained, Cuts]] = {}
        self.learned: LearnedDecoder | None = None  # what gold pairs taught, if they did
        self._facts: tuple[Vocabulary, Vocabulary, WordFacts] | None = None  # of the text that was aligned last

    @overload
    def align_stream(
        self, text: TextSource, *, first: int = 0, keep_text: bool = True
    ) -> Iterator[tuple[Bitext, Alignments]]: ...

    @overload
    def align_stream(
        self, text: TextSource, *, first: int = 0, keep_text: bool = True, each: Callable[[Bitext, Alignments], T]
    ) -> Iterator[T]: ...

    def align_stream(
        self,
        text: TextSource,
        *,
        first: int = 0,
        keep_text: bool = True,
        each: Callable[[Bitext, Alignments], Any] = lambda part, alignments: (part, alignments),
    ) -> Iterator[Any]:
        """Each part of a text in its files, from pair `first` on, with its alignments; memory does not grow.

        `each` makes something else of the two, in the thread, or on the machine, that has aligned the part.
        """
        return self._align_parts(text.uncut(first, keep_text), each)

    def align_streams(
        self, texts: Iterable[TextSource], *, keep_text: bool = True, each: Callable[[Bitext, Alignments], T]
    ) -> Iterator[T | None]:
        """What `each` makes of the parts of many texts, which are worked on side by side; None behind the last of a text."""
        parts = chain.from_iterable(chain(text.uncut(0, keep_text), [None]) for text in texts)
        return self._align_parts(parts, each)

    def _align_parts(
        self, parts: Iterable[Callable[[], Bitext] | None], each: Callable[[Bitext, Alignments], Any]
    ) -> Iterator[Any]:
        compact, worker = self._compacted(), self  # once, not in every thread
        if not self.engine.local:
            worker = self._sent()
            worker.model = worker._compact = compact
        return self.engine.map(partial(_aligned, worker, each), parts)

    def align(self, bitext: Bitext, progress: Watch = None) -> Alignments:
        """Exactly one alignment for each pair of the bitext, in order."""
        monitor = Monitor(progress)
        fitted, shard = self._fitted or (None, None)
        if bitext is fitted and shard is not None:
            monitor.begin("align", 1, len(shard.pieces))
            result = self._align(self._trained(), bitext, shard, monitor.worked)
        else:
            compact = self._compacted()
            monitor.begin("align", 1, len(cut(bitext.source.offsets, bitext.target.offsets)))
            words = self._words(bitext)
            lexicon = compact.lexicon.for_words(words, self.engine.pool)
            ready = lexicon is not None
            model = compact.with_lexicon(lexicon).for_words(words) if ready else compact
            worker = self if self.engine.local else self._sent()
            align_part = partial(worker._align_part, model, words, ready)
            parts, found = _parts(bitext), []
            if not self.engine.local:  # vocabularies are sent with the function, once, and not with every part
                parts = [part.with_vocabularies(Vocabulary([]), Vocabulary([])) for part in parts]
            # A single part has all threads to itself.
            for alignments, pieces in self.engine.map(align_part, parts) if len(parts) > 1 else map(align_part, parts):
                monitor.worked(pieces)
                found.append(alignments)
            result = Alignments.concatenate(found)
        result.text = bitext.text  # only to show the words in a notebook
        return result

    def align_pair(self, source: str | Sequence[str], target: str | Sequence[str]) -> Alignment:
        """Align one pair, given as tokens or as strings that are cut as the training text was."""
        return self.align(self._one_pair(source, target))[0]

    def posteriors(self, source: str | Sequence[str], target: str | Sequence[str]) -> np.ndarray:
        """Link probabilities (I, J) of one pair: the mean of the two directions', tempered as the recipe says."""
        forward, reverse = self.directional_posteriors(source, target)
        return temper((forward + reverse) / 2, self.recipe.options.of(Tempering).temper)

    def directional_posteriors(
        self, source: str | Sequence[str], target: str | Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray]:
        """P(a_j = i) and P(b_i = j), both (I, J), of one pair."""
        self._trained()
        pair = self._one_pair(source, target)
        shard = self._lay_out(pair)
        model = self._transferred(pair, shard)
        return posterior_matrices(self._decodable(model, pair, shard), pair, shard, self.engine.pool)

    def fertilities(
        self, direction: str = "forward", minimum: int = 1, bitext: Bitext | None = None
    ) -> list[FertilityEntry]:
        """How many links each word takes on average: NULL, then words by how often they were seen.

        `direction` forward: how many target words a source word yields; reverse: how many source words a target word does.
        Words seen less often than `minimum` are left out.  Models that learn fertilities say what they learned.  Of the
        others, and of any model if a `bitext` is given, links are counted there (else in the text that was fitted) by
        their posteriors; words that the model does not know are then left out.
        """
        side, compact = side_of(direction), self._compacted()
        vocabularies = self.source_vocabulary, self.target_vocabulary
        means = compact.fertility_means(side) if bitext is None else None
        if means is None:
            means = self._expected_fertilities(side, bitext)
        return fertility_table(means, compact.lexicon, vocabularies, side, minimum)

    def lexicon(
        self,
        bitext: Bitext,
        *,
        longest: int = 1,
        count: int = 1,
        examples: int = 3,
        view: str | None = None,
        languages: str = "",
    ) -> Lexicon:
        """The dictionary of a text as this aligner links it: see `dovetail.uses.lexicon.lexicon`.

        With the view `lemmas` (of languages such as "en,fr") or `stems`, of these in the place of words.
        """
        from dovetail.uses.aligned import Aligned, AlignedText
        from dovetail.uses.lemmas import Viewed
        from dovetail.uses.lexicon import lexicon

        surface = AlignedText(bitext, self.align(bitext))
        aligned: Aligned = surface if view is None else Viewed(surface, view, languages)
        return lexicon(aligned, longest=longest, count=count, examples=examples)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a directory: safetensors and JSON, no pickle."""
        save_model(path, self._files())

    def _files(self) -> dict[str, Content]:
        """What a model directory holds."""
        about = {
            "recipe": self.recipe.to_dict(),
            "seed": self.seed,
            "text": self.text_options.to_dict(),
            **({"learned": self.learned.about()} if self.learned else {}),
        }
        return model_files(
            self._compacted(),
            self.source_vocabulary,
            self.target_vocabulary,
            about,
            self.learned.arrays() if self.learned else None,
            {name: other._files() for name, (other, _) in self._views.items()},
        )

    def _trained(self) -> Model:
        if self.model is None:
            raise InputError("this aligner has no model yet", remedy="Call fit first, or load a saved model.")
        return self.model

    def _compacted(self) -> Model:
        if self._compact is None:
            model = self._trained()
            self._compact = model.with_lexicon(model.lexicon.compact())
        return self._compact

    def _one_pair(self, source: str | Sequence[str], target: str | Sequence[str]) -> Bitext:
        return Bitext.from_pairs([(source, target)], options=self.text_options)

    def _words(self, bitext: Bitext) -> WordMap:
        """Where the model has the bitext's words, which may have been read without the model's normalising."""
        return WordMap.between(bitext, self.source_vocabulary, self.target_vocabulary, self.text_options.normaliser)

    def _lay_out(self, bitext: Bitext, ranked: bool = True) -> Shard:
        return shard_of(bitext, self.engine.pool, ranked=ranked)

    def _transferred(self, bitext: Bitext, shard: Shard) -> Model:
        """The model for the words of another text."""
        return moved(self._compacted(), shard.slots, self._words(bitext), self.engine.pool)

    def _decodable(self, model: Model, bitext: Bitext, shard: Shard, words: WordMap | None = None) -> Model:
        """The model as decoders see it; `words` are the bitext's, where they have been looked up."""
        decodable = self._undecided(model, bitext, shard)
        if self.learned is None:
            return decodable
        source, target = bitext.source.vocabulary, bitext.target.vocabulary
        facts = self._facts  # parts of a text may be worked on side by side
        if facts is None or facts[0] is not source or facts[1] is not target:
            facts = self._facts = source, target, word_facts(words or self._words(bitext), self.learned.habits)
        return judging(decodable, self.learned, facts[2])

    def _undecided(self, model: Model, bitext: Bitext, shard: Shard) -> Model:
        """The same without a learned decoder, which stands on it: for this text, and with all views of it."""
        decodable = model.for_decoding(self.recipe.options, self.seed, bitext, shard)
        return mixed(decodable, shard.pieces, self._seen(bitext)) if self._views else decodable

    def _seen(self, bitext: Bitext) -> list[Cells]:
        """What the models of the other views say; part by part, so that never a whole text is laid out beside its words'."""
        parts = _parts(bitext) or [bitext]
        return [
            Cells.concatenate([*self.engine.pool.stream(partial(self._seen_part, other, cuts), parts)])
            for other, cuts in self._views.values()
        ]

    def _seen_part(self, other: Trained, cuts: Cuts, part: Bitext) -> Cells:
        seen = Seen.of(part, cuts, self.text_options.normaliser)
        shard = other._lay_out(seen.bitext)
        model = other._decodable(other._transferred(seen.bitext, shard), seen.bitext, shard)
        return cells_of(model, seen, shard, self.engine.pool)

    def _align(
        self,
        model: Model,
        bitext: Bitext,
        shard: Shard,
        worked: Worked = lambda pieces: None,
        words: WordMap | None = None,
    ) -> Alignments:
        decodable = self._decodable(model, bitext, shard, words)
        return align_shard(decodable, bitext, shard, choice_of(self.recipe), self.engine.pool, worked)

    def _align_part(self, model: Model, words: WordMap, ready: bool, part: Bitext) -> tuple[Alignments, int]:
        """A part of a text, whose words the model is `ready` for or has to be told where they are; and its pieces."""
        part = part.with_vocabularies(*words.vocabularies)
        shard = self._lay_out(part, ranked=not ready)
        own = model if ready else moved(model, shard.slots, words, self.engine.pool)
        return self._align(own, part, shard, words=words), len(shard.pieces)

    def _sent(self) -> Trained:
        """As it is sent to other machines: without the text that it was fitted to, and its whole model."""
        other = copy(self)
        other._fitted = other.model = other._compact = other._facts = None
        return other

    def _expected_fertilities(self, side: int, bitext: Bitext | None) -> FertilityMeans:
        text = self._fitted[0] if bitext is None and self._fitted is not None else bitext
        if text is None:
            raise InputError(
                f"the model {self._trained().name} has learned no fertility",
                remedy="Name a text, too, in which links are to be counted.",
            )
        words = self._words(text)
        numbers = words.source, words.target
        found = ExpectedLinks.zeros(*map(len, numbers))
        for part in _parts(text):
            shard = self._lay_out(part)
            model = moved(self._compacted(), shard.slots, words, self.engine.pool)
            found.add(self._decodable(model, part, shard), shard, self.engine.pool)
        return found.means(side, numbers[side], len((self.source_vocabulary, self.target_vocabulary)[side]))


def _aligned(trained: Trained, each: Callable[[Bitext, Alignments], Any], made: Callable[[], Bitext] | None) -> Any:
    if made is None:
        return None
    part = made()
    return each(part, trained.align(part))


def _parts(bitext: Bitext) -> list[Bitext]:
    """A text as it is laid out; none of an empty one."""
    starts = range(0, len(bitext), CHUNK_PAIRS)
    return [bitext.part(first, min(first + CHUNK_PAIRS, len(bitext))) for first in starts]


def choice_of(recipe: Recipe) -> Choice:
    return Choice(recipe.decoder, recipe.combine, recipe.options)
