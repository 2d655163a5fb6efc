"""CoNLL-U: sentences whose tokens have lemmas, tags and heads (universaldependencies.org/format.html)."""

from __future__ import annotations

from os import PathLike
from typing import NamedTuple

from dovetail.bitext.text import read_lines
from dovetail.errors import InputError

COLUMNS = 10


class Token(NamedTuple):
    """A word and what is known of it; `head` counts from 0, -1 for the root."""

    form: str
    lemma: str
    upos: str
    xpos: str
    head: int
    deprel: str


def read_conllu(path: str | PathLike[str]) -> list[list[Token]]:
    """The sentences of a file.  Lines of contracted words (`1-2`) and of empty ones (`1.1`) are left out."""
    sentences: list[list[Token]] = []
    sentence: list[Token] = []
    for number, line in enumerate(read_lines(path), 1):
        if line.startswith("#"):
            continue
        if not line.strip():
            if sentence:
                sentences.append(sentence)
            sentence = []
            continue
        columns = line.split("\t")
        if columns[0].isdecimal() or len(columns) != COLUMNS:
            sentence.append(_token(columns, path, number))
    return [*sentences, sentence] if sentence else sentences


def _token(columns: list[str], path: str | PathLike[str], number: int) -> Token:
    try:
        if len(columns) != COLUMNS:
            raise ValueError
        head = -1 if columns[6] == "_" else int(columns[6]) - 1
    except ValueError:
        raise InputError(
            "not a token of CoNLL-U",
            path=path,
            line=number,
            remedy="Expected ten columns between tabs, the head a number.",
        ) from None
    return Token(columns[1], columns[2], columns[3], columns[4], head, columns[7])
