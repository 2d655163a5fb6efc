"""The packed bitext: sentence pairs as word numbers, and the text they came from."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Protocol

import numpy as np

from dovetail.bitext.normalise import Normaliser
from dovetail.bitext.readers import read_pairs
from dovetail.bitext.tokenize import tokenizers
from dovetail.bitext.vocabulary import Vocabulary

Sentence = str | Sequence[str]


@dataclass(frozen=True)
class TextOptions:
    """How raw text becomes words.  Saved with a model, so that new text is read as the training text was."""

    tokenizer: str = "whitespace"
    normaliser: Normaliser = field(default_factory=Normaliser)

    def spans(self, text: str) -> list[tuple[int, int]]:
        return tokenizers[self.tokenizer].spans(text)

    def to_dict(self) -> dict[str, Any]:
        return {"tokenizer": self.tokenizer, "normaliser": self.normaliser.to_dict()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TextOptions:
        return cls(values["tokenizer"], Normaliser.from_dict(values["normaliser"]))


class Text(Protocol):
    """Raw sentences of one side: `text[n]` is the raw line and the character span of each of its tokens."""

    def __getitem__(self, n: int) -> tuple[str, list[tuple[int, int]]]: ...


class Lines:
    """Raw lines in one buffer; spans are found again when somebody asks, since most callers never do."""

    def __init__(self, options: TextOptions) -> None:
        self.options = options
        self._bytes = bytearray()
        self._ends = array("q", [0])

    def append(self, line: str) -> None:
        self._bytes += line.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._bytes))

    def __getitem__(self, n: int) -> tuple[str, list[tuple[int, int]]]:
        line = self._bytes[self._ends[n] : self._ends[n + 1]].decode("utf-8", "surrogatepass")
        return line, self.options.spans(line)


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


class _Numbers(dict[Any, int]):
    """Raw token (str, or bytes where no tokenizer needs more) to word number; a new token is normalised once."""

    def __init__(self, normalise: Callable[[str], str]) -> None:
        self.words: dict[str, int] = {}
        self._normalise = normalise

    def __missing__(self, token: str | bytes) -> int:
        text = token.decode("utf-8", "surrogatepass") if isinstance(token, bytes) else token
        number = self[token] = self.words.setdefault(self._normalise(text), len(self.words))
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
    """Collects one side."""

    def __init__(self, options: TextOptions, text: Lines | TokenLists | None) -> None:
        self.numbers = _Numbers(options.normaliser)
        self.ids = array("i")
        self.ends = array("q", [0])
        self.text = text
        # Splitting bytes cuts at ASCII whitespace and nowhere else, which is what `whitespace` promises, and is fast.
        self._split = None if options.tokenizer == "whitespace" else tokenizers[options.tokenizer].tokens

    def add_line(self, line: str) -> None:
        tokens = line.encode("utf-8", "surrogatepass").split() if self._split is None else self._split(line)
        self.ids.extend(map(self.numbers.__getitem__, tokens))
        self.ends.append(len(self.ids))
        if isinstance(self.text, Lines):
            self.text.append(line)

    def add_tokens(self, tokens: Sequence[str]) -> None:
        self.ids.extend(map(self.numbers.__getitem__, tokens))
        self.ends.append(len(self.ids))
        if isinstance(self.text, TokenLists):
            self.text.append(tokens)

    def side(self) -> Side:
        ids = np.frombuffer(self.ids, np.int32) if len(self.ids) else np.empty(0, np.int32)
        counts = np.bincount(ids, minlength=len(self.numbers.words))
        return Side(ids, np.frombuffer(self.ends, np.int64), Vocabulary(self.numbers.words, counts), self.text)


class Bitext:
    """Sentence pairs, packed.  `read_bitext` and `from_pairs` make one."""

    def __init__(self, source: Side, target: Side, options: TextOptions) -> None:
        self.source = source
        self.target = target
        self.options = options

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
        packers: tuple[_Packer, _Packer] | None = None
        raw = False
        for n, (source, target) in enumerate(pairs):
            if packers is None:
                raw = isinstance(source, str)
                texts = [(Lines(options) if raw else TokenLists()) if keep_text else None for _ in range(2)]
                packers = _Packer(options, texts[0]), _Packer(options, texts[1])
            for packer, sentence in zip(packers, (source, target), strict=True):
                if isinstance(sentence, str) != raw:
                    raise TypeError(f"pair {n}: some sentences are strings and some are lists of tokens")
                if isinstance(sentence, str):
                    packer.add_line(sentence)
                else:
                    packer.add_tokens(sentence)
        if packers is None:
            packers = _Packer(options, TokenLists()), _Packer(options, TokenLists())
        return cls(packers[0].side(), packers[1].side(), options)

    def __len__(self) -> int:
        return len(self.source.offsets) - 1

    @property
    def lengths(self) -> list[tuple[int, int]]:
        """(source, target) number of tokens of each pair."""
        return list(zip(self.source.lengths.tolist(), self.target.lengths.tolist(), strict=True))

    def tokens(self, n: int) -> tuple[list[str], list[str]]:
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
        return Bitext(sides[0], sides[1], self.options)

    def __repr__(self) -> str:
        return (
            f"<Bitext: {len(self):,} pairs, {len(self.source.ids):,} source and {len(self.target.ids):,} target tokens, "
            f"{len(self.source.vocabulary):,} and {len(self.target.vocabulary):,} words>"
        )


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
    **reading: Any,
) -> Bitext:
    """Read two files line by line, or one file (tab-separated, ` ||| `, TMX), compressed or not; `-` is standard input.

    `lower` and `form` (NFC, NFKC ...) change what counts as the same word, never the text itself; `tokenizer` cuts raw
    text.  `keep_text=False` saves memory where only links are wanted.  Bad input raises `InputError`.
    """
    options = TextOptions(tokenizer, Normaliser(lower, form))
    pairs = read_pairs(source, target, format=format, encoding_errors=encoding_errors, **reading)
    return Bitext.from_pairs(pairs, options=options, keep_text=keep_text)
