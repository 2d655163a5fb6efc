"""The packed bitext: sentence pairs as word numbers, and the text they came from."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from os import PathLike
from typing import Any, Protocol

import numpy as np

from dovetail.bitext.normalise import Normaliser
from dovetail.bitext.numbering import BATCH, LineBuffer, TokenNumbers
from dovetail.bitext.readers import Row, read_in_step, read_pairs
from dovetail.bitext.store import release
from dovetail.bitext.tokenize import tokenizer_pair, tokenizers
from dovetail.bitext.vocabulary import Vocabulary
from dovetail.errors import InputError

Sentence = str | Sequence[str]


@dataclass(frozen=True)
class TextOptions:
    """How raw text becomes words.  Saved with a model, so that new text is read as the training text was.

    `tokenizer` is one name, or the source's and the target's with a comma between them.
    """

    tokenizer: str = "whitespace"
    normaliser: Normaliser = field(default_factory=Normaliser)

    def of_side(self, side: int) -> TextOptions:
        """Those of the source (0) or the target (1), with one tokenizer."""
        return replace(self, tokenizer=tokenizer_pair(self.tokenizer)[side])

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where each word of the text begins and ends, in characters."""
        return tokenizers[self.tokenizer].spans(text)

    def to_dict(self) -> dict[str, Any]:
        """What `from_dict` takes, for JSON."""
        return {"tokenizer": self.tokenizer, "normaliser": self.normaliser.to_dict()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TextOptions:
        """What `to_dict` gave; InputError for a tokenizer that nobody knows, TypeError for something else altogether."""
        tokenizer_pair(values["tokenizer"])
        return cls(values["tokenizer"], Normaliser.from_dict(values["normaliser"]))


class Text(Protocol):
    """Raw sentences of one side: `text[n]` is the raw line and the character span of each of its tokens."""

    def __getitem__(self, n: int) -> tuple[str, list[tuple[int, int]]]: ...


class Lines:
    """Raw lines in one buffer; spans are found again when somebody asks, since most callers never do."""

    def __init__(self, options: TextOptions) -> None:
        self.options = options
        self.buffer = LineBuffer()

    def append(self, line: str) -> None:
        self.buffer.append(line)

    def __getitem__(self, n: int) -> tuple[str, list[tuple[int, int]]]:
        ends = self.buffer.ends
        line = self.buffer.content[ends[n] : ends[n + 1]].decode("utf-8", "surrogatepass")
        return line, self.options.spans(line)


class FileLines(Lines):
    """Lines of a file, which hold their ends."""

    def __getitem__(self, n: int) -> tuple[str, list[tuple[int, int]]]:
        ends = self.buffer.ends
        line = self.buffer.content[ends[n] : ends[n + 1]]
        if line.endswith(b"\n"):
            line = line[:-2] if line.endswith(b"\r\n") else line[:-1]
        text = line.decode("utf-8")
        return text, self.options.spans(text)


class TokenLists:
    """The caller's own token lists; the raw line is the tokens with a space between them."""

    def __init__(self) -> None:
        self._sentences: list[Sequence[str]] = []

    def append(self, tokens: Sequence[str]) -> None:
        self._sentences.append(list(tokens))  # a copy: the caller may go on using the list

    def __getitem__(self, n: int) -> tuple[str, list[tuple[int, int]]]:
        spans, start = [], 0
        for token in self._sentences[n]:
            spans.append((start, start + len(token)))
            start += len(token) + 1
        return " ".join(self._sentences[n]), spans


@dataclass(frozen=True)
class BitextText:
    """Raw sentences of both sides, each as (raw text, character spans of its tokens)."""

    sources: Text
    targets: Text

    def source(self, n: int) -> tuple[str, list[tuple[int, int]]]:
        return self.sources[n]

    def target(self, n: int) -> tuple[str, list[tuple[int, int]]]:
        return self.targets[n]


class _Numbers(dict[str, int]):
    """Token to word number; a new token is normalised once."""

    def __init__(self, normalise: Callable[[str], str]) -> None:
        self.words: dict[str, int] = {}
        self._normalise = normalise

    def __missing__(self, token: str) -> int:
        number = self[token] = self.words.setdefault(self._normalise(token), len(self.words))
        return number


@dataclass(frozen=True)
class Side:
    """One language: sentence n is `ids[offsets[n]:offsets[n + 1]]`; `text` is None when it was not kept."""

    ids: np.ndarray  # int32
    offsets: np.ndarray  # int64 (N + 1,)
    vocabulary: Vocabulary
    text: Text | None

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets).astype(np.int32)

    def tokens(self, n: int) -> list[str]:
        """The sentence's tokens as they stand in the text, or as normalised where the text was not kept."""
        if self.text is None:
            return [self.vocabulary[word] for word in self.ids[self.offsets[n] : self.offsets[n + 1]]]
        line, spans = self.text[n]
        return [line[start:end] for start, end in spans]


class _Packer:
    """Collects one side, token by token."""

    def __init__(self, options: TextOptions, text: Lines | TokenLists | None) -> None:
        self.numbers = _Numbers(options.normaliser)
        self.ids = array("i")
        self.ends = array("q", [0])
        self.text = text
        self._tokens = tokenizers[options.tokenizer].tokens

    def add(self, sentence: Sentence) -> None:
        tokens = self._tokens(sentence) if isinstance(sentence, str) else sentence
        self.ids.extend(map(self.numbers.__getitem__, tokens))
        self.ends.append(len(self.ids))
        if self.text is not None:
            self.text.append(sentence)  # type: ignore[arg-type]

    def side(self) -> Side:
        ids = np.frombuffer(self.ids, np.int32) if len(self.ids) else np.empty(0, np.int32)
        return _side(ids, np.frombuffer(self.ends, np.int64), self.numbers.words, self.text)


class _LinePacker:
    """Collects one side of raw text that is cut at whitespace: many lines at a time, which is far faster."""

    def __init__(self, options: TextOptions, text: Lines | None) -> None:
        self.text = text
        self._buffer = LineBuffer() if text is None else text.buffer
        self._numbers = TokenNumbers()
        self._normalise = options.normaliser
        self._done = 0  # lines of the buffer that have been numbered
        self._limit = BATCH
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, sentence: Sentence) -> None:
        self._buffer.append(sentence)  # type: ignore[arg-type]
        if len(self._buffer.content) > self._limit:
            self._number()

    def add_lines(self, lines: bytes) -> None:
        """Whole lines of a file, with their ends."""
        self._buffer.extend(lines)
        if len(self._buffer.content) > self._limit:
            self._number()

    def _number(self) -> None:
        self._parts.append(self._numbers.number(self._buffer, self._done))
        if self.text is None:
            self._buffer = LineBuffer()
        self._done = len(self._buffer)
        self._limit = len(self._buffer.content) + BATCH

    def side(self) -> Side:
        self._number()
        ids = np.concatenate([ids for ids, _ in self._parts])
        words: Collection[str] | TokenNumbers = self._numbers
        if not self._normalise.identity:
            tokens = self._numbers.tokens()
            known: dict[str, int] = {}
            numbers = (known.setdefault(self._normalise(token), len(known)) for token in tokens)
            ids, words = np.fromiter(numbers, np.int32, len(tokens))[ids], known
        offsets = np.cumsum(np.concatenate([[0], *(counts for _, counts in self._parts)]), dtype=np.int64)
        return _side(ids, offsets, words, self.text)


def _side(ids: np.ndarray, offsets: np.ndarray, words: Collection[str] | TokenNumbers, text: Text | None) -> Side:
    return Side(ids, offsets, Vocabulary(words, np.bincount(ids, minlength=len(words))), text)


def _packer(options: TextOptions, raw: bool, keep_text: bool) -> _Packer | _LinePacker:
    if raw:
        text = Lines(options) if keep_text else None
        return _LinePacker(options, text) if options.tokenizer == "whitespace" else _Packer(options, text)
    return _Packer(options, TokenLists() if keep_text else None)


class Bitext:
    """Sentence pairs, packed.  `read_bitext` and `from_pairs` make one."""

    def __init__(self, source: Side, target: Side, options: TextOptions, first: int = 0) -> None:
        self.source = source
        self.target = target
        self.options = options
        self.first = first  # the number of its first pair, in the text that it is a part of
        self.rest: list[str] | None = None  # what each line had besides, where columns were chosen

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable[tuple[Sentence, Sentence]],
        *,
        options: TextOptions | None = None,
        keep_text: bool = True,
    ) -> Bitext:
        """From (source, target) pairs, each side a list of tokens, or a string that `options` say how to cut."""
        options = options or TextOptions()
        packers: list[_Packer | _LinePacker] = []
        raw = False
        rest: list[str] = []
        for n, pair in enumerate(pairs):
            source, target = pair
            if isinstance(pair, Row):
                rest.append(pair.rest)
            if not packers:
                raw = isinstance(source, str)
                packers = [_packer(options.of_side(side), raw, keep_text) for side in range(2)]
            for packer, sentence in zip(packers, (source, target), strict=True):
                if isinstance(sentence, str) != raw:
                    raise TypeError(f"pair {n}: some sentences are strings and some are lists of tokens")
                packer.add(sentence)
        if not packers:
            packers = [_packer(options.of_side(side), raw, keep_text) for side in range(2)]
        bitext = cls(packers[0].side(), packers[1].side(), options)
        bitext.rest = rest if len(rest) == len(bitext) and any(rest) else None
        return bitext

    @classmethod
    def from_lines(cls, blocks: Iterable[tuple[int, bytes]], *, options: TextOptions, keep_text: bool = True) -> Bitext:
        """From blocks of whole lines, (0, the source's) and (1, the target's), which are cut at whitespace."""
        packers = [_LinePacker(options, FileLines(options) if keep_text else None) for _ in range(2)]
        for side, lines in blocks:
            packers[side].add_lines(lines)
        return cls(packers[0].side(), packers[1].side(), options)

    @classmethod
    def from_dataset(
        cls,
        dataset: Iterable[Mapping[str, Any]],
        source: str,
        target: str,
        *,
        options: TextOptions | None = None,
        keep_text: bool = True,
    ) -> Bitext:
        """From a Hugging Face dataset, or any rows of dicts: two of its columns, or two languages of `translation`.

        `Bitext.from_dataset(load_dataset("opus_books", "en-fr", split="train"), "en", "fr")`
        """
        return cls.from_pairs(_rows(dataset, source, target), options=options, keep_text=keep_text)

    def __len__(self) -> int:
        return len(self.source.offsets) - 1

    @property
    def lengths(self) -> list[tuple[int, int]]:
        """(source, target) number of tokens of each pair."""
        return list(zip(self.source.lengths.tolist(), self.target.lengths.tolist(), strict=True))

    def tokens(self, n: int) -> tuple[list[str], list[str]]:
        """The source and the target words of pair n, counted from 0."""
        return self.source.tokens(n), self.target.tokens(n)

    @property
    def text(self) -> BitextText | None:
        """The raw sentences, for writers that show words; None when they were not kept."""
        if self.source.text is None or self.target.text is None:
            return None
        return BitextText(self.source.text, self.target.text)

    def part(self, first: int, last: int) -> Bitext:
        """Pairs first..last - 1, sharing vocabularies and ids; without the text."""
        sides = []
        for side in (self.source, self.target):
            low, high = side.offsets[first], side.offsets[last]
            sides.append(Side(side.ids[low:high], side.offsets[first : last + 1] - low, side.vocabulary, None))
        return Bitext(sides[0], sides[1], self.options, self.first + first)

    def runs(self, pairs: int = 1 << 14) -> Iterator[Bitext]:
        """Parts of so many pairs, at least one; in memory is, of a text in mapped files, no more than that of them."""
        for first in range(0, max(len(self), 1), pairs):
            yield self.part(first, min(first + pairs, len(self)))
            self.release()

    def release(self) -> None:
        """Let what has been read of a text in mapped files go, out of memory."""
        for side in (self.source, self.target):
            release(side.ids)
            release(side.offsets)

    def with_vocabularies(self, source: Vocabulary, target: Vocabulary) -> Bitext:
        """The same numbers of words, in these vocabularies; without the text.

        A part is sent to another process with empty ones and gets there those of the whole text, which came before it.
        """
        sides = [
            replace(side, vocabulary=vocabulary, text=None)
            for side, vocabulary in ((self.source, source), (self.target, target))
        ]
        return Bitext(sides[0], sides[1], self.options, self.first)

    def kept(self, pairs: np.ndarray) -> Bitext:
        """The pairs that a mask tells, sharing vocabularies; without the text."""
        sides = []
        for side in (self.source, self.target):
            ids = side.ids[np.repeat(pairs, side.lengths)]
            offsets = np.append(0, np.cumsum(side.lengths[pairs], dtype=np.int64))
            sides.append(Side(ids, offsets, side.vocabulary, None))
        return Bitext(sides[0], sides[1], self.options)

    def __repr__(self) -> str:
        return (
            f"<Bitext: {len(self):,} pairs, {len(self.source.ids):,} source and {len(self.target.ids):,} target tokens, "
            f"{len(self.source.vocabulary):,} and {len(self.target.vocabulary):,} words>"
        )

    def _repr_html_(self, rows: int = 10) -> str:
        """For notebooks: a table of the first pairs."""
        from dovetail import markup

        shown = range(min(rows, len(self)))
        cells = [[f"{self.first + n}", *map(" ".join, self.tokens(n))] for n in shown]
        return markup.table(["pair", "source", "target"], cells, repr(self).strip("<>"))


def _rows(dataset: Iterable[Mapping[str, Any]], *names: str) -> Iterator[tuple[Sentence, Sentence]]:
    """Two columns of each row, or of what its column `translation` holds."""
    for n, row in enumerate(dataset):
        within = row.get("translation")
        columns = within if isinstance(within, Mapping) and not set(names) <= set(row) else row
        for name in names:
            if name not in columns:
                raise InputError(f"row {n}: no column {name!r}", remedy=f"There are: {', '.join(columns)}.")
            if not isinstance(columns[name], (str, list, tuple)):
                raise InputError(
                    f"row {n}: the column {name!r} holds no text, but {type(columns[name]).__name__}",
                    remedy="Give strings or lists of tokens; drop rows without.",
                )
        yield columns[names[0]], columns[names[1]]


def read_bitext(
    source: str | PathLike[str],
    target: str | PathLike[str] | None = None,
    *,
    format: str | None = None,
    lower: bool = False,
    form: str | None = None,
    tokenizer: str = "whitespace",
    encoding_errors: str = "strict",
    keep_text: bool = True,
    source_language: str | None = None,
    target_language: str | None = None,
    columns: tuple[int, int] | None = None,
) -> Bitext:
    """Read two files line by line, or one file (tab-separated, ` ||| `, TMX), compressed or not; `-` is standard input.

    `lower` and `form` (NFC, NFKC ...) change what counts as the same word, never the text itself; `tokenizer` cuts raw
    text, the two sides differently with two names and a comma between them.  `keep_text=False` saves memory where only links
    are wanted.  The languages choose among those of a translation memory, `columns` (from 1) among those between tabs.  Bad
    input raises `InputError`.
    """
    options = TextOptions(tokenizer, Normaliser(lower, form))
    tokenizer_pair(tokenizer)
    if target is not None and format in (None, "lines") and tokenizer == "whitespace" and columns is None:
        blocks = ((side, block.raw) for side, block in read_in_step(source, target, encoding_errors))
        return Bitext.from_lines(blocks, options=options, keep_text=keep_text)
    pairs = read_pairs(
        source,
        target,
        format=format,
        encoding_errors=encoding_errors,
        source_language=source_language,
        target_language=target_language,
        columns=columns,
    )
    return Bitext.from_pairs(pairs, options=options, keep_text=keep_text)


def read_bitext_parts(
    source: str | PathLike[str],
    target: str | PathLike[str] | None = None,
    *,
    lower: bool = False,
    form: str | None = None,
    tokenizer: str = "whitespace",
    pairs: int = 1 << 14,
    **reading: Any,
) -> Iterator[Bitext]:
    """As `read_bitext`, so many pairs at a time: each part has vocabularies of its own, and memory does not grow."""
    options = TextOptions(tokenizer, Normaliser(lower, form))
    remaining = read_pairs(source, target, **reading)
    while part := list(islice(remaining, pairs)):
        yield Bitext.from_pairs(part, options=options)
