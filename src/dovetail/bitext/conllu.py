"""Sentences in CoNLL-U: read, checked, changed in some columns, and written again with all else as it was."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dovetail.errors import InputError

ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)
COLUMNS = {"lemma": LEMMA, "upos": UPOS, "xpos": XPOS, "feats": FEATS}  # that hold a label of the word

ROOT = -1  # where a root's head would be

_WORD, _RANGE, _EMPTY = (re.compile(pattern) for pattern in (r"[1-9]\d*", r"([1-9]\d*)-([1-9]\d*)", r"\d+\.[1-9]\d*"))


@dataclass
class Sentence:
    """The rows of a sentence as they stand: words, ranges of words (multiword tokens), empty nodes.

    Positions count words alone, from 0: `words[n]` is the row of word n.  `line` is where the sentence begins in its file.
    """

    comments: list[str]
    rows: list[list[str]]
    line: int = 1
    words: list[list[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.words = [row for row in self.rows if _WORD.fullmatch(row[ID])]

    @property
    def forms(self) -> list[str]:
        return [row[FORM] for row in self.words]

    @property
    def heads(self) -> list[int | None]:
        """Each word's head, counted from 0; ROOT for a root, None where there is none."""
        return [None if row[HEAD] == "_" else int(row[HEAD]) - 1 for row in self.words]

    def column(self, number: int) -> list[str | None]:
        """A column of the words, None for `_`; a word whose form is `_` may have the lemma `_`, which is lost."""
        return [None if row[number] == "_" else row[number] for row in self.words]

    @property
    def text(self) -> str:
        """The `# text` of the sentence, or its tokens put together as SpaceAfter says."""
        for comment in self.comments:
            if found := re.match(r"#\s*text\s*=\s*(.*)", comment):
                return found[1].rstrip()
        tokens = (row[FORM] + ("" if "SpaceAfter=No" in row[MISC].split("|") else " ") for row, _ in self._tokens())
        return "".join(tokens).rstrip()

    def spans(self, path: str | None = None) -> list[tuple[int, int]]:
        """Where each word stands in `text`, in characters; words of a multiword token stand where it does."""
        text, place = self.text, 0
        spans: list[tuple[int, int]] = []
        for row, words in self._tokens():
            start = text.find(row[FORM], place)
            if start < 0 or text[place:start].strip():
                raise InputError(
                    f"{row[FORM]!r} does not follow in the sentence's text",
                    path=path,
                    line=self.line,
                    remedy="Mend `# text`, or drop it.",
                )
            place = start + len(row[FORM])
            spans += [(start, place)] * words
        return spans

    def _tokens(self) -> Iterator[tuple[list[str], int]]:
        """The rows that the text consists of, with the number of words of each."""
        covered = 0
        for row in self.rows:
            if found := _RANGE.fullmatch(row[ID]):
                covered = int(found[2])
                yield row, covered - int(found[1]) + 1
            elif _WORD.fullmatch(row[ID]) and int(row[ID]) > covered:
                yield row, 1

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in (*self.comments, *map("\t".join, self.rows))) + "\n"


def plain_sentence(text: str, spans: Sequence[tuple[int, int]], line: int = 1) -> Sentence:
    """A sentence without annotation, of text that has been cut at `spans`."""
    rows = []
    for number, (start, end) in enumerate(spans, 1):
        joined = number < len(spans) and spans[number][0] == end
        rows.append([str(number), text[start:end], *["_"] * 7, "SpaceAfter=No" if joined else "_"])
    return Sentence([f"# text = {text.strip()}"], rows, line)


def read_conllu(lines: Iterable[str], path: str | None = None) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file; InputError where rows, their numbers or heads are not as they must be."""
    comments: list[str] = []
    rows: list[list[str]] = []
    first = 1
    for number, line in enumerate(lines, 1):
        if not line.strip():
            if rows:
                yield _checked(Sentence(comments, rows, first), path)
            elif comments:
                raise InputError("comments without a sentence", path=path, line=first)
            comments, rows, first = [], [], number + 1
        elif line.startswith("#") and not rows:
            comments.append(line)
        else:
            rows.append(_row(line, path, number))
    if rows:
        yield _checked(Sentence(comments, rows, first), path)


def _row(line: str, path: str | None, number: int) -> list[str]:
    row = line.split("\t")
    if len(row) != 10:
        raise InputError(
            f"{len(row)} columns, not the 10 of CoNLL-U", path=path, line=number, remedy="Tabs stand between columns."
        )
    if not any(kind.fullmatch(row[ID]) for kind in (_WORD, _RANGE, _EMPTY)):
        raise InputError(f"{row[ID]!r} is no number of a word", path=path, line=number)
    return row


def _checked(sentence: Sentence, path: str | None) -> Sentence:
    """The sentence, if its words are counted from 1 and their heads are words of it."""
    n, last, covered = len(sentence.words), 0, 0
    for line, row in enumerate(sentence.rows, sentence.line + len(sentence.comments)):
        if found := _RANGE.fullmatch(row[ID]):
            low, high = int(found[1]), int(found[2])
            if not (low == last + 1 and covered < low < high <= n):
                raise InputError(f"{row[ID]} is no range of words that follow here", path=path, line=line)
            covered = high
        elif _WORD.fullmatch(row[ID]):
            last += 1
            if int(row[ID]) != last:
                raise InputError(f"word {row[ID]} where word {last} was expected", path=path, line=line)
            if row[HEAD] != "_" and not (row[HEAD].isdecimal() and int(row[HEAD]) <= n):
                raise InputError(f"{row[HEAD]!r} is no head in a sentence of {n} words", path=path, line=line)
            if row[HEAD] == row[ID]:
                raise InputError(f"word {last} is its own head", path=path, line=line)
    return sentence
