"""What a request asks for, done: one thread, one request after the other, and an eye on the clock."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail.bitext.corpus import Bitext
from dovetail.bitext.normalise import Normaliser
from dovetail.bitext.tokenize import tokenizer_pair, tokenizers
from dovetail.serve.limits import Deadline, Limits, Problem
from dovetail.serve.schema import SHOWN, Options, Sentences

if TYPE_CHECKING:
    from dovetail.aligner import Aligner
    from dovetail.alignments.alignments import Alignment
    from dovetail.bitext.vocabulary import Vocabulary

CHUNK_CELLS = 100_000  # pairs are aligned together up to this many cells: some milliseconds between looks at the clock


class Worker:
    """One thread, since an aligner already uses all threads that it was given, and the line before it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._thread = ThreadPoolExecutor(1, "align")
        self._waiting = 0

    async def do(self, work: Callable[[Deadline], bytes], gone: Callable[[], Awaitable[None]]) -> bytes:
        """What `work` returns, unless it takes too long or `gone` ends first: the caller has hung up."""
        if self._waiting >= self._limits.waiting:
            raise Problem(503, f"{self._waiting:,} requests are waiting already", "Try again in a second.")
        deadline = Deadline(self._limits.seconds)
        self._waiting += 1
        answer = asyncio.wrap_future(self._thread.submit(work, deadline))
        hung_up = asyncio.ensure_future(gone())
        either: set[asyncio.Future[Any]] = {answer, hung_up}
        try:
            await asyncio.wait(either, timeout=deadline.left, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise deadline.problem
            return answer.result()
        finally:
            self._waiting -= 1
            deadline.give_up()  # work that has begun ends at its next look at the clock ...
            answer.cancel()  # ... and work that has not never begins
            hung_up.cancel()


def find_models(aligners: Mapping[str, Aligner], asked: Options) -> dict[str, Aligner]:
    """The models that a request names."""
    names = list(aligners) if asked.models is None else asked.models
    for place, name in enumerate(names):
        if name not in aligners:
            raise Problem(400, f"no such model: {name[:SHOWN]!r}", f"Known are {', '.join(aligners)}.")
        if name in names[:place]:  # at most as long as the known ones, so this stays short
            raise Problem(400, f"the model {name!r} is asked for twice", "Name each once.")
    return {name: aligners[name] for name in names}


def answer_pairs(
    aligners: Mapping[str, Aligner], pairs: Sequence[Sentences], asked: Options, limits: Limits, deadline: Deadline
) -> list[dict[str, Any]]:
    """For each pair what all models say of it."""
    room = Room(limits.cells)
    by_model = [
        list(_answers(name, aligner, pairs, asked, limits, room, deadline)) for name, aligner in aligners.items()
    ]
    return [{"models": [answers[n] for answers in by_model]} for n in range(len(pairs))]


def to_json(value: Any) -> bytes:
    """All of ASCII: a lone surrogate that came in as an escape goes out as one."""
    return json.dumps(value, allow_nan=False).encode("ascii")


@dataclass
class Room:
    """How many more cells an answer may hold."""

    cells: int

    def take(self, cells: int) -> None:
        self.cells -= cells
        if self.cells < 0:
            raise Problem(413, "the answer would hold too many posteriors", "Ask for fewer pairs or models at a time.")


@dataclass(frozen=True)
class Reading:
    """How a request's text becomes a model's words."""

    cut: tuple[Callable[[str], list[str]], Callable[[str], list[str]]]  # source and target
    fold: Normaliser  # what the request wants of case, before ...
    own: Normaliser  # ... what the model does to every word

    @classmethod
    def of(cls, name: str, aligner: Aligner, asked: Options) -> Reading:
        text = aligner.text_options
        if asked.lower is False and text.normaliser.lower:
            raise Problem(400, f"the model {name!r} was trained to ignore case", "Drop 'lower', or name other models.")
        source, target = tokenizer_pair(text.tokenizer if asked.tokenizer is None else asked.tokenizer)
        cut = tokenizers[source].tokens, tokenizers[target].tokens
        return cls(cut, Normaliser(lower=bool(asked.lower)), text.normaliser)

    def words(self, side: int, sentence: str | list[str], limits: Limits) -> list[str]:
        """As they stand in the text."""
        words = self.cut[side](sentence) if isinstance(sentence, str) else sentence
        if len(words) > limits.words:
            raise Problem(413, f"a sentence of {len(words):,} words", f"At most {limits.words:,} are aligned here.")
        return words

    def folded(self, words: list[str]) -> list[str]:
        """As the model gets them."""
        return words if self.fold.identity else [self.fold(word) for word in words]

    def unseen(self, words: list[str], vocabulary: Vocabulary) -> list[int]:
        return [n for n, word in enumerate(words) if vocabulary.id(self.own(word)) < 0]


def _answers(
    name: str,
    aligner: Aligner,
    pairs: Sequence[Sentences],
    asked: Options,
    limits: Limits,
    room: Room,
    deadline: Deadline,
) -> Iterator[dict[str, Any]]:
    """What one model says of each pair."""
    reading = Reading.of(name, aligner, asked)
    for chunk in _chunks(pairs, reading, limits, deadline):
        folded = [(reading.folded(source), reading.folded(target)) for source, target in chunk]
        found = aligner.align(Bitext.from_pairs(folded))
        for shown, (source, target), alignment in zip(chunk, folded, found, strict=True):
            answer: dict[str, Any] = {
                "name": name,
                "source": shown[0],
                "target": shown[1],
                "links": [list(link) for link in alignment.links],
                "probabilities": [_number(p) for p in alignment.probabilities],
                "unseen_source": reading.unseen(source, aligner.source_vocabulary),
                "unseen_target": reading.unseen(target, aligner.target_vocabulary),
                **_details(alignment),
            }
            if asked.posteriors:
                deadline.check()
                room.take(len(source) * len(target))
                posteriors = aligner.posteriors(source, target).tolist()
                answer["posteriors"] = [[_number(p) for p in row] for row in posteriors]
            yield answer


def _chunks(
    pairs: Sequence[Sentences], reading: Reading, limits: Limits, deadline: Deadline
) -> Iterator[list[tuple[list[str], list[str]]]]:
    """The pairs' words, in chunks of bounded work."""
    chunk: list[tuple[list[str], list[str]]] = []
    cells = 0
    for pair in pairs:
        deadline.check()
        words = reading.words(0, pair.source, limits), reading.words(1, pair.target, limits)
        size = len(words[0]) * len(words[1])
        if chunk and cells + size > CHUNK_CELLS:
            yield chunk
            chunk, cells = [], 0
        chunk.append(words)
        cells += size
    if chunk:
        deadline.check()
        yield chunk


def _details(alignment: Alignment) -> dict[str, Any]:
    names = ("score_forward", "score_reverse", "certified", "score", "bound")
    values = {name: alignment.details[name] for name in names if name in alignment.details}
    return {name: value if isinstance(value, bool) else _number(value) for name, value in values.items()}


def _number(value: float) -> float | None:
    return round(float(value), 4) if math.isfinite(value) else None
