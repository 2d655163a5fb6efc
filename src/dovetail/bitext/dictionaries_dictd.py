"""dictd's dictionaries: an index of headwords, and one file of articles made for people's eyes.

What FreeDict makes of its sources is read here: the first line of an article has the headwords, those after it numbered or
plain lists of translations, with pronunciations, grammar, fields of use, notes, examples and cross-references around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dovetail.bitext.text import StrPath, open_bytes, read_lines, reading_problem
from dovetail.errors import InputError

_DIGITS = {
    digit: value for value, digit in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
}
_ARTICLES = (".dict.dz", ".dict")  # dictzip's files are gzip's, with an index of their own inside
_ASIDE = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\{[^{}]*\}|/[^/]*/|\"[^\"]*\".*")
_BRACKETS = re.compile(r"\([^()]*\)")
_LABEL = re.compile(r"\s*(?:\w+ ?){1,3}:(?:\s|$)")  # Note: ..., see: ..., Synonyms: ...
_NUMBER = re.compile(r"\s*\d+\.")
_COMMAS = re.compile(r"\s*[,;]\s*")


def read_dictd(path: StrPath) -> Iterator[tuple[int, str, str]]:
    """(line of the index, headword, translation) of all articles; `path` is the index, or the file of articles."""
    index, articles = _both_files(path)
    text = content(articles)
    seen = set()
    for number, line in enumerate(read_lines(index), 1):
        columns = line.split("\t")
        if len(columns) < 3:
            raise _fault(index, number, "not a line of an index of dictd's")
        start, length = (_decoded(column, index, number) for column in columns[1:3])
        if start + length > len(text):
            raise _fault(index, number, f"an article outside {articles}")
        # Headwords of the index are without marks and capitals; and each article is there once for each of them.
        if (start, length) in seen or columns[0].startswith("00database") or columns[0].startswith("00-database"):
            continue
        seen.add((start, length))
        for source, target in _entries(text[start : start + length].decode("utf-8", "replace")):
            yield number, source, target


def content(path: str) -> bytes:
    """All of a file, decompressed, or InputError."""
    try:
        with open_bytes(path) as handle:
            return handle.read()
    except (InputError, MemoryError):
        raise
    except Exception as error:  # every decompressor has exception classes of its own
        raise reading_problem(path, error) from error


def _entries(article: str) -> Iterator[tuple[str, str]]:
    head, _, body = article.partition("\n")
    translations = list(_translations(body))
    for source in _phrases(_ASIDE.sub(" ", head)):
        for target in translations:
            yield source, target


def _translations(body: str) -> Iterator[str]:
    for line in body.split("\n"):
        if not _LABEL.match(line):
            yield from _phrases(_ASIDE.sub(" ", _NUMBER.sub("", line)))


def _phrases(text: str) -> Iterator[str]:
    """The parts between commas, without what stands in brackets."""
    while (shorter := _BRACKETS.sub(" ", text)) != text:
        text = shorter
    for phrase in _COMMAS.split(text):
        if phrase := " ".join(phrase.split()):
            yield phrase


def _both_files(path: StrPath) -> tuple[str, str]:
    """The index and the articles of the dictionary that either of them names."""
    name = str(path)
    stem = next((name.removesuffix(suffix) for suffix in (".index", *_ARTICLES) if name.endswith(suffix)), name)
    articles = next((stem + suffix for suffix in _ARTICLES if Path(stem + suffix).is_file()), stem + _ARTICLES[0])
    return f"{stem}.index", articles


def _decoded(number: str, path: str, line: int) -> int:
    """A number in dictd's own base 64, the highest digit first."""
    value = 0
    for digit in number:
        if digit not in _DIGITS:
            raise _fault(path, line, f"{number!r} is no number")
        value = 64 * value + _DIGITS[digit]
    return value


def _fault(path: str, line: int, problem: str) -> InputError:
    return InputError(problem, path=path, line=line, remedy="Copy both files of the dictionary again.")
