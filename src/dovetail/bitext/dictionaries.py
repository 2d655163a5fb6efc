"""Dictionaries of the user's own: words and phrases with their translations, read from what people have them in."""

from __future__ import annotations

import csv
import json
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal, NamedTuple

from dovetail.bitext.dictionaries_dictd import content, read_dictd
from dovetail.bitext.text import StrPath, display_name, read_lines
from dovetail.bitext.tmx import XML_LANGUAGE, choose_languages, language_of, matching_tag, xml_elements
from dovetail.errors import InputError
from dovetail.registry import Registry


class Found(NamedTuple):
    """A source and a target word or phrase, the line where they stand, and how probable the translation is."""

    line: int
    source: str
    target: str
    probability: float = 1.0


class Question(NamedTuple):
    """The file to be read, and the languages of a termbase (None: its first two)."""

    path: str
    source_language: str | None = None
    target_language: str | None = None


@dataclass(frozen=True)
class DictionaryFormat:
    """`read` gives what a file holds; `is_it` knows one by its name and its first line that is no comment."""

    read: Callable[[Question], Iterator[Found]]
    is_it: Callable[[str, str], bool]


dictionary_formats: Registry[DictionaryFormat] = Registry("dictionary format")


def read_dictionary(
    path: StrPath, *, source_language: str | None = None, target_language: str | None = None
) -> dict[tuple[str, str], float]:
    """Probabilities by (source, target), words or phrases: what `fit(dictionary=...)` takes.

    The file's kind is seen by its name and first line; 1 where it has no probabilities.  The languages choose among those of
    a termbase.  Anything amiss is an InputError with the file and the line.
    """
    question = Question(str(path), source_language, target_language)
    entries: dict[tuple[str, str], float] = {}
    for line, source, target, probability in _format_of(question.path).read(question):
        if not 0 < probability <= 1:
            raise InputError(
                f"dictionary entry with the probability {probability:g}",
                path=display_name(path),
                line=line,
                remedy="It must be more than 0 and at most 1.",
            )
        key = " ".join(source.split()), " ".join(target.split())
        if all(key):
            entries[key] = max(probability, entries.get(key, 0.0))
    if not entries:
        raise InputError(
            "no dictionary entry in it", path=display_name(path), remedy="See docs/formats.md for formats."
        )
    return entries


def _format_of(path: str) -> DictionaryFormat:
    by_name = next((one for one in dictionary_formats.values() if one.is_it(path, "")), None)
    if by_name is not None:
        return by_name
    first = next((line for line in read_lines(path) if line.strip() and not line.startswith("#")), "")
    return next((one for one in dictionary_formats.values() if one.is_it(path, first)), dictionary_formats["tabs"])


def _fault(question: Question, line: int, remedy: str) -> InputError:
    return InputError("not a dictionary entry", path=display_name(question.path), line=line, remedy=remedy)


def _numbered(path: str) -> Iterator[tuple[int, str]]:
    """Lines that are neither empty nor comments, counted from 1."""
    return ((n, line) for n, line in enumerate(read_lines(path), 1) if line.strip() and not line.startswith("#"))


# Tables


def _read_tabs(question: Question) -> Iterator[Found]:
    for number, line in enumerate(read_lines(question.path), 1):
        if not line.strip():
            continue
        columns = line.split("\t")
        try:
            source, target, *rest = columns
            if len(columns) > 3 or not (source.strip() and target.strip()):
                raise ValueError
            yield Found(number, source, target, float(rest[0]) if rest else 1.0)
        except ValueError:
            raise _fault(question, number, "Expected: source TAB target [TAB probability].") from None


def _table_reader(delimiter: str, quoting: Literal[0, 3]) -> Callable[[Question], Iterator[Found]]:
    def read(question: Question) -> Iterator[Found]:
        lines = (line + "\n" for line in read_lines(question.path))
        rows = csv.DictReader(lines, delimiter=delimiter, quoting=quoting, strict=True)
        try:
            for row in rows:
                # A probability may be too small to be written.
                if (probability := float(row["p_target"])) != 0:
                    yield Found(rows.line_num, row["source"], row["target"], min(probability, 1.0))
        except (csv.Error, KeyError, TypeError, ValueError):
            raise _fault(question, rows.reader.line_num, "Expected a table as `dovetail lexicon` writes it.") from None

    return read


def _read_jsonl(question: Question) -> Iterator[Found]:
    for number, line in _numbered(question.path):
        try:
            row = json.loads(line)
            source, target, probability = row["source"], row["target"], float(row.get("p_target", 1.0))
            if not (isinstance(source, str) and isinstance(target, str)):
                raise ValueError
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise _fault(question, number, 'Expected: {"source": "house", "target": "maison"} in each line.') from None
        if probability != 0:
            yield Found(number, source, target, min(probability, 1.0))


_REVERSE = re.compile(r"\.(e2f|t2s)(\.\w+)?$")  # whose lines have the source word first
_COLUMNS = re.compile(r"\S+ \S+ [0-9.]+(?:[eE]-?[0-9]+)?")


def _read_columns(question: Question) -> Iterator[Found]:
    """Moses', Marian's and Bicleaner's tables: a word, the word it is given, its probability."""
    turned = _REVERSE.search(question.path) is not None
    for number, line in enumerate(read_lines(question.path), 1):
        try:
            word, given, probability = line.split(" ")
            value = float(probability)
        except ValueError:
            raise _fault(question, number, "Expected: word given-word probability.") from None
        if "NULL" not in (word, given) and value != 0:
            yield Found(number, *((word, given) if turned else (given, word)), min(value, 1.0))


# Dictionaries of Japanese and Chinese

_EDICT = re.compile(r"(?P<words>[^\s/]+) (?:\[(?P<readings>[^]]*)\] )?/(?P<glosses>.+)/\s*")
_CEDICT = re.compile(r"(?P<traditional>\S+) (?P<simple>\S+) \[[^]]*\] /(?P<glosses>.+)/\s*")
_IN_BRACKETS = re.compile(r"\([^()]*\)|\[[^][]*\]|\{[^{}]*\}")


def _glosses(text: str) -> Iterator[str]:
    """What stands between slashes and semicolons, without brackets and the numbers of entries."""
    while (shorter := _IN_BRACKETS.sub(" ", text)) != text:
        text = shorter
    for gloss in re.split("[/;]", text):
        if gloss.strip() and not re.fullmatch(r"\s*EntL\w+\s*", gloss):
            yield gloss


def _read_edict(question: Question) -> Iterator[Found]:
    for number, line in _numbered(question.path):
        match = _EDICT.fullmatch(line)
        if match is None:
            raise _fault(question, number, "Expected: word [reading] /gloss/gloss/.")
        words = f"{match['words']};{match['readings'] or ''}"
        for word in re.split(";", _IN_BRACKETS.sub("", words)):
            for gloss in _glosses(match["glosses"]):
                yield Found(number, word, gloss)


def _read_cedict(question: Question) -> Iterator[Found]:
    for number, line in _numbered(question.path):
        match = _CEDICT.fullmatch(line)
        if match is None:
            raise _fault(question, number, "Expected: traditional simplified [pinyin] /gloss/gloss/.")
        for word in {match["traditional"]: 1, match["simple"]: 1}:
            for gloss in _glosses(match["glosses"]):
                yield Found(number, word, gloss)


# Termbases and dictionaries for people


def _read_tbx(question: Question) -> Iterator[Found]:
    """ISO 30042 of 2019 (`conceptEntry`, `langSec`) and of 2008 (`termEntry`, `langSet`); all terms of a concept."""
    wanted = language_of(question.source_language), language_of(question.target_language)
    languages = None
    for concept in xml_elements(BytesIO(content(question.path)), question.path, ("{*}conceptEntry", "{*}termEntry")):
        terms: dict[str, list[str]] = {}
        for section in concept.iterchildren("{*}langSec", "{*}langSet"):
            language = language_of(section.get(XML_LANGUAGE) or section.get("lang"))
            if language is not None:
                terms.setdefault(language, []).extend("".join(term.itertext()) for term in section.iter("{*}term"))
        languages = languages or choose_languages(list(terms), *wanted)
        if languages is not None:
            source, target = (terms.get(matching_tag(terms, language) or "", []) for language in languages)
            for one in source:
                for other in target:
                    yield Found(concept.sourceline or 1, one, other)


_TRANSLATION = re.compile(r"(?P<target>.*\S)  \((?P<percent>[0-9]+) %, [0-9,]+\)")


def _read_stardict(question: Question) -> Iterator[Found]:
    """As `dovetail lexicon --format stardict` writes it; articles of others are lists of translations between commas."""
    prefix = question.path.removesuffix(".ifo")
    index, articles = f"{prefix}.idx", f"{prefix}.dict"
    if not Path(articles).is_file() and Path(f"{articles}.dz").is_file():
        articles += ".dz"
    entries, text = content(index), content(articles)
    place = number = 0
    while place < len(entries):
        number += 1
        end = entries.find(b"\0", place)
        if end < 0 or end + 9 > len(entries):
            raise InputError("the index ends within an entry", path=index, line=number, remedy="Copy it again.")
        start, length = struct.unpack(">II", entries[end + 1 : end + 9])
        if start + length > len(text):
            raise InputError(f"an article outside {articles}", path=index, line=number, remedy="Copy both files again.")
        headword = entries[place:end].decode("utf-8", "replace")
        for line in text[start : start + length].decode("utf-8", "replace").split("\n"):
            if match := _TRANSLATION.fullmatch(line):
                yield Found(number, headword, match["target"], min(max(int(match["percent"]), 1), 100) / 100)
            elif line.strip() and not line.startswith(" "):
                for phrase in re.split("[,;]", line):
                    yield Found(number, headword, phrase)
        place = end + 9


def _read_dictd(question: Question) -> Iterator[Found]:
    return (Found(*entry) for entry in read_dictd(question.path))


def _ends(*suffixes: str) -> Callable[[str, str], bool]:
    return lambda path, first: path.endswith(suffixes)


def _begins(pattern: str) -> Callable[[str, str], bool]:
    return lambda path, first: re.match(pattern, first) is not None


def _add(
    name: str, read: Callable[[Question], Iterator[Found]], is_it: Callable[[str, str], bool], description: str
) -> None:
    dictionary_formats.add(name, DictionaryFormat(read, is_it), description)


_add("dictd", _read_dictd, _ends(".index", ".dict", ".dict.dz"), "NAME.index and NAME.dict.dz: FreeDict's for dictd")
_add("stardict", _read_stardict, _ends(".ifo"), "NAME.ifo, .idx, .dict: StarDict's")
_add(
    "tbx",
    _read_tbx,
    lambda path, first: path.endswith(".tbx") or first.lstrip().startswith("<"),
    "a termbase, TBX of 2008 or 2019",
)
_add("tsv", _table_reader("\t", csv.QUOTE_NONE), _begins("source\ttarget\t"), "`dovetail lexicon --format tsv`")
_add("csv", _table_reader(",", csv.QUOTE_MINIMAL), _begins("source,target,"), "`dovetail lexicon --format csv`")
_add("jsonl", _read_jsonl, _begins(r"\s*\{"), "one JSON object per entry: source, target, p_target")
_add(
    "columns",
    _read_columns,
    lambda path, first: _COLUMNS.fullmatch(first) is not None,
    "`target source probability` with blanks: Moses', Marian's, Bicleaner's; source first in .e2f and .t2s",
)
_add("cedict", _read_cedict, _begins(r"\S+ \S+ \[[^]]*\] /"), "CC-CEDICT: traditional simplified [pinyin] /gloss/")
_add("edict", _read_edict, _begins(r"[^\t/]+ /.*/\s*$"), "EDICT, in UTF-8: word [reading] /gloss/gloss/")
_add(
    "tabs", _read_tabs, lambda path, first: False, "source TAB target [TAB probability], and all that is none of these"
)
