"""Annotated sentences in files: CoNLL-U, columns with BIO or other labels, JSON lines with character offsets, plain text.

Every format is read into the same `Annotated` sentence; what was carried to a target sentence (`Projected`) is written with
where it came from and how sure it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from dovetail.bitext import conllu
from dovetail.bitext.corpus import TextOptions
from dovetail.bitext.text import StrPath, display_name, read_lines
from dovetail.errors import InputError
from dovetail.registry import Registry
from dovetail.uses.carrying import LENT, CarriedSpan, Head, Label, Span

LABEL = "label"  # the only kind of label that columns have


@dataclass
class Annotated:
    """A sentence, its words as spans of characters, and what is known of them; None where nothing is.

    Words may share their characters: those of a multiword token do.  `labels` are one list per kind.  `spans` count words.
    """

    text: str
    words: list[tuple[int, int]]
    forms: list[str]
    labels: dict[str, list[str | None]] = field(default_factory=dict)
    heads: list[int | None] | None = None
    relations: list[str | None] | None = None
    spans: list[Span] | None = None
    line: int = 1
    sentence: conllu.Sentence | None = None
    record: dict[str, Any] = field(default_factory=dict)  # what else a line of JSON holds


@dataclass
class Projected:
    """What a target sentence got over links."""

    labels: dict[str, list[Label | None]] = field(default_factory=dict)
    heads: list[Head | None] | None = None
    spans: list[CarriedSpan] | None = None


@dataclass(frozen=True)
class AnnotationFormat:
    """`read(lines, path, how text is cut)` gives sentences; `write(source, target, what was carried)` a sentence's lines."""

    read: Callable[[Iterable[str], str, TextOptions], Iterator[Annotated]]
    write: Callable[[Annotated, Annotated, Projected], str] | None = None
    suffixes: tuple[str, ...] = ()


annotation_formats: Registry[AnnotationFormat] = Registry("annotation format")


def read_annotated(
    path: StrPath, options: TextOptions | None = None, *, plain: bool = False, format: str | None = None
) -> tuple[str, Iterator[Annotated]]:
    """The format of a file, seen by its name and first line unless given, and its sentences.

    `plain` allows text without annotation, one sentence per line, which is cut as `options` say.
    """
    name = display_name(path)
    lines = read_lines(path)
    if format is None:
        first = next(lines, "")
        lines = chain([first], lines)
        format = _format_of(name, first, plain)
    return format, annotation_formats[format].read(lines, name, options or TextOptions())


def _format_of(path: str, line: str, plain: bool) -> str:
    bare = re.sub(r"\.(gz|bz2|xz|zst)$", "", path.lower())
    for name, known in annotation_formats.items():
        if bare.endswith(known.suffixes):
            return name
    if line.lstrip().startswith("{"):
        return "jsonl"
    if re.match(r"#|1(-\d+)?\t", line) and (line.startswith("#") or line.count("\t") == 9):
        return "conllu"
    return "text" if plain else "bio"


# CoNLL-U


def _read_conllu(lines: Iterable[str], path: str, options: TextOptions) -> Iterator[Annotated]:
    for sentence in conllu.read_conllu(lines, path):
        yield Annotated(
            sentence.text,
            sentence.spans(path),
            sentence.forms,
            {name: sentence.column(number) for name, number in conllu.COLUMNS.items()},
            sentence.heads,
            sentence.column(conllu.DEPREL),
            line=sentence.line,
            sentence=sentence,
        )


def _write_conllu(source: Annotated, target: Annotated, projected: Projected) -> str:
    """The target's rows with what was carried in its columns, and its origin in MISC, as numbers of source words."""
    sentence = target.sentence or conllu.plain_sentence(target.text, target.words)
    written = conllu.Sentence(sentence.comments, [list(row) for row in sentence.rows])
    for name, labels in projected.labels.items():
        for row, label in zip(written.words, labels, strict=True):
            row[conllu.COLUMNS[name]] = "_" if label is None else label.label
            if label is not None:
                origin = "word" if label.source == LENT else str(label.source + 1)
                _note(row, f"{name.capitalize()}From={origin}", f"{name.capitalize()}Sure={label.probability:.3f}")
    if projected.heads is not None:
        relations = source.relations or [None] * len(source.words)
        for row, head in zip(written.words, projected.heads, strict=True):
            row[conllu.HEAD] = row[conllu.DEPREL] = row[conllu.DEPS] = "_"
            if head is not None:
                row[conllu.HEAD] = str(head.head + 1)
                row[conllu.DEPREL] = ("root" if head.head == conllu.ROOT else relations[head.source]) or "_"
                _note(row, f"HeadFrom={head.source + 1}", f"HeadSure={head.probability:.3f}")
    return str(written)


def _note(row: list[str], *facts: str) -> None:
    before = [] if row[conllu.MISC] == "_" else [row[conllu.MISC]]
    row[conllu.MISC] = "|".join((*before, *facts))


annotation_formats.add(
    "conllu",
    AnnotationFormat(_read_conllu, _write_conllu, (".conllu", ".conll-u")),
    "CoNLL-U: parts of speech and other columns, dependency trees",
)


# Columns: a word and its label, a blank line behind each sentence

_TAG = re.compile(r"([BIOESLU])(?:-(.+))?")


def _read_columns(lines: Iterable[str], path: str, options: TextOptions) -> Iterator[Annotated]:
    words: list[str] = []
    labels: list[str] = []
    first = 1
    for number, line in enumerate(chain(lines, [""]), 1):
        if line.strip():
            columns = line.split("\t") if "\t" in line else line.split()
            if len(columns) < 2 or not columns[0]:
                raise InputError(
                    "not a word and its label", path=path, line=number, remedy="Put a tab or a space between them."
                )
            words.append(columns[0])
            labels.append(columns[-1].strip())
            continue
        if words:
            yield _of_columns(words, labels, first, path)
        words, labels, first = [], [], number + 1


def _of_columns(words: list[str], labels: list[str], line: int, path: str) -> Annotated:
    places, start = [], 0
    for word in words:
        places.append((start, start + len(word)))
        start += len(word) + 1
    found = Annotated(" ".join(words), places, words, line=line)
    found.labels[LABEL] = list(labels)
    if all(_TAG.fullmatch(label) for label in labels):
        found.spans = spans_of(labels)
    return found


def spans_of(tags: Sequence[str]) -> list[Span]:
    """The spans of BIO, IOB1, BIOES or BILOU tags; a tag that continues nothing begins a span.

    >>> spans_of(["B-PER", "I-PER", "O", "S-LOC", "I-LOC"])
    [Span(first=0, last=2, label='PER'), Span(first=3, last=4, label='LOC'), Span(first=4, last=5, label='LOC')]
    """
    spans: list[Span] = []
    goes_on = False
    for n, tag in enumerate(tags):
        kind, label = tag[:1], tag[2:]
        if kind == "O":
            goes_on = False
            continue
        if goes_on and kind in "IEL" and spans[-1].label == label:
            spans[-1] = Span(spans[-1].first, n + 1, label)
        else:
            spans.append(Span(n, n + 1, label))
        goes_on = kind in "BI"
    return spans


def tags_of(spans: Iterable[Span | CarriedSpan], length: int, single_and_end: bool = False) -> list[str]:
    """BIO tags of spans, BIOES ones with `single_and_end`; of spans that overlap the longer one is told."""
    tags = ["O"] * length
    for span in sorted(spans, key=lambda span: (span.first - span.last, span.first)):
        words = range(span.first, span.last)
        if any(tags[n] != "O" for n in words):
            continue
        for n in words:
            tags[n] = f"{'B' if n == span.first else 'I'}-{span.label}"
        if single_and_end:
            tags[words[-1]] = f"{'S' if len(words) == 1 else 'E'}-{span.label}"
    return tags


def _write_columns(single_and_end: bool) -> Callable[[Annotated, Annotated, Projected], str]:
    def write(source: Annotated, target: Annotated, projected: Projected) -> str:
        """Word, source word or words counted from 0, probability, label: the label last, where readers look for it."""
        if projected.spans is None:
            labels = projected.labels.get(LABEL, [None] * len(target.forms))
            rows = [_evidence(label) for label in labels]
        else:
            rows = [("_", "_", tag) for tag in tags_of(projected.spans, len(target.forms), single_and_end)]
            for span in projected.spans:
                origin = (source.spans or [])[span.source]
                for n in range(span.first, span.last):
                    rows[n] = (f"{origin.first}-{origin.last - 1}", f"{span.probability:.3f}", rows[n][2])
        lines = ("\t".join((form, *row)) for form, row in zip(target.forms, rows, strict=True))
        return "".join(f"{line}\n" for line in lines) + "\n"

    return write


def _evidence(label: Label | None) -> tuple[str, str, str]:
    if label is None:
        return "_", "_", "_"
    return "word" if label.source == LENT else str(label.source), f"{label.probability:.3f}", label.label


annotation_formats.add(
    "bio",
    AnnotationFormat(_read_columns, _write_columns(False), (".bio", ".iob", ".iob2", ".conll")),
    "columns: a word first, its label last (BIO or any other), a blank line behind each sentence",
)
annotation_formats.add(
    "bioes",
    AnnotationFormat(_read_columns, _write_columns(True), (".bioes", ".bilou")),
    "the same, with S and E tags for single words and ends",
)


# JSON lines

_SPAN_KEYS = ("spans", "entities", "label", "labels")


def _read_jsonl(lines: Iterable[str], path: str, options: TextOptions) -> Iterator[Annotated]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            text = record["text"]
            places = options.spans(text)
            key = next((key for key in _SPAN_KEYS if key in record), None)
            spans = None if key is None else [_span_of(entry, text, places) for entry in record[key]]
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise InputError(
                f"not a sentence with spans ({error})",
                path=path,
                line=number,
                remedy='Expected {"text": "...", "spans": [{"start": 0, "end": 5, "label": "PER"}]}.',
            ) from None
        known = None if spans is None else [span for span in spans if span is not None]
        forms = [text[start:end] for start, end in places]
        rest = {name: value for name, value in record.items() if name not in ("text", *_SPAN_KEYS)}
        yield Annotated(text, places, forms, spans=known, line=number, record=rest)


def _span_of(entry: Any, text: str, places: Sequence[tuple[int, int]]) -> Span | None:
    """A span of characters as one of words: all that share a character with it."""
    start, end, label = (entry[key] for key in ("start", "end", "label")) if isinstance(entry, dict) else entry
    if not 0 <= start < end <= len(text):
        raise ValueError(f"{start}-{end} is no part of a text of {len(text)} characters")
    words = [n for n, (low, high) in enumerate(places) if low < end and high > start]
    return Span(words[0], words[-1] + 1, str(label)) if words else None


def _write_jsonl(source: Annotated, target: Annotated, projected: Projected) -> str:
    spans = []
    for span in projected.spans or ():
        origin = (source.spans or [])[span.source]
        spans.append(
            {
                "start": target.words[span.first][0],
                "end": target.words[span.last - 1][1],
                "label": span.label,
                "probability": round(span.probability, 3),
                "source": [source.words[origin.first][0], source.words[origin.last - 1][1]],
            }
        )
    spans.sort(key=lambda span: (span["start"], span["end"]))
    return json.dumps({"text": target.text, "spans": spans, **target.record}, ensure_ascii=False) + "\n"


annotation_formats.add(
    "jsonl",
    AnnotationFormat(_read_jsonl, _write_jsonl, (".jsonl", ".ndjson")),
    "one JSON object per sentence: text, and spans by character offsets",
)


# Plain text


def _read_text(lines: Iterable[str], path: str, options: TextOptions) -> Iterator[Annotated]:
    for number, line in enumerate(lines, 1):
        places = options.spans(line)
        yield Annotated(line, places, [line[start:end] for start, end in places], line=number)


annotation_formats.add(
    "text", AnnotationFormat(_read_text, None, (".txt",)), "no annotation, to be carried to: one sentence per line"
)
