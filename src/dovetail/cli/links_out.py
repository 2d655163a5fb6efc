"""What `align` writes, part by part: links, the tokens that they count, and at the end how many there were."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from io import StringIO
from itertools import chain
from typing import IO, TYPE_CHECKING, NamedTuple, TextIO, cast

from dovetail.alignments.certificates import Certificates
from dovetail.alignments.formats import write_alignments
from dovetail.bitext.text import atomic_writer

if TYPE_CHECKING:
    from dovetail.alignments.alignments import Alignments
    from dovetail.bitext.corpus import Bitext, BitextText
    from dovetail.large.work import LinkJournal, WorkFolder

WITH_COLUMNS = ("pharaoh", "probabilities", "tsv")  # formats whose lines take further columns in front


@contextmanager
def links_out(
    output: str,
    format_: str,
    *,
    on_whitespace: bool = False,
    tokens_prefix: str | None = None,
    work: WorkFolder | None = None,
) -> Iterator[LinksOut]:
    """Files get their names when the block ends without exception; whoever reads from a pipe gets each part at once.

    In a work folder each part is kept as soon as it is written, and what a run before this one kept is not asked for again.
    """
    sides = () if tokens_prefix is None else ("source", "target")
    names = [output, *(f"{tokens_prefix}.{side}" for side in sides)]
    form = Form(format_, on_whitespace, len(sides))
    if work is not None:
        yield from _kept(names, work, form)
        return
    with ExitStack() as stack:
        handle, *tokens = [stack.enter_context(atomic_writer(name)) for name in names]
        yield LinksOut(handle, form, tokens, _in_place(output))


def _in_place(output: str) -> bool:
    """Whether somebody may wait for what is written: it is no file that gets its name in the end."""
    return output == "-" or (os.path.exists(output) and not os.path.isfile(output))


def check_writable(name: str) -> None:
    """InputError if a file could not be written: better to know before the work."""
    if not _in_place(name):
        with suppress(_Tried), atomic_writer(name):
            raise _Tried


def _kept(names: list[str], work: WorkFolder, form: Form) -> Iterator[LinksOut]:
    for name in names:
        check_writable(name)
    journal = work.links(["links", *(f"tokens.{n}" for n in range(1, len(names)))])
    try:
        handle, *tokens = journal.handles
        yield LinksOut(handle, form, tokens, False, journal)
    finally:
        journal.close()
    for number, name in enumerate(names):
        with atomic_writer(name) as last:
            journal.copy(number, last)


class _Tried(Exception):
    """Nothing was to be written yet."""


class Written(NamedTuple):
    """A part of the text as it will stand in the files, and what there is to count."""

    lines: str
    tokens: list[str]
    pairs: int
    links: int
    certificates: Certificates


@dataclass(frozen=True)
class Form:
    """How links become lines.  Called, it makes those of a part: in the thread, or on the machine, that has aligned it."""

    format: str
    on_whitespace: bool
    sides: int  # whose tokens are written, too

    def __call__(self, bitext: Bitext, result: Alignments) -> Written:
        lines, tokens, certificates = StringIO(), [StringIO() for _ in range(self.sides)], Certificates()
        self.write(lines, tokens, result, bitext)
        certificates.add(result)
        texts = [handle.getvalue() for handle in tokens]
        return Written(lines.getvalue(), texts, len(result), len(result.source), certificates)

    def write(self, handle: IO[str], tokens: Sequence[IO[str]], result: Alignments, bitext: Bitext) -> None:
        text = bitext.text
        if self.on_whitespace:
            from dovetail.alignments.whitespace import on_whitespace_tokens

            result, text = on_whitespace_tokens(result, bitext)
        if tokens:
            assert text is not None
            _write_tokens(tokens, len(result), text)
        if bitext.rest is not None and self.format in WITH_COLUMNS:
            lines = StringIO()
            write_alignments(lines, result, self.format, text, bitext.first)
            lines.seek(0)
            # Each pair's line stands behind the columns that its line of the input had besides.
            handle.writelines(chain.from_iterable(zip(bitext.rest, lines, strict=True)))
        else:
            write_alignments(cast(TextIO, handle), result, self.format, text, bitext.first)


class LinksOut:
    """Takes the links of consecutive parts of a text."""

    def __init__(
        self,
        handle: IO[str],
        form: Form,
        tokens: Sequence[IO[str]],
        awaited: bool,
        journal: LinkJournal | None = None,
    ) -> None:
        self._handle = handle
        self.form = form
        self._tokens = tokens
        self._awaited = awaited
        self._journal = journal
        before = {} if journal is None else journal.state
        self.pairs = before.get("pairs", 0)
        self.links = before.get("links", 0)
        self.certificates = Certificates(**before.get("certificates", {}))

    def write(self, result: Alignments, bitext: Bitext) -> None:
        """Links of a text that is in memory, without a copy of its lines."""
        self.form.write(self._handle, self._tokens, result, bitext)
        found = Certificates()
        found.add(result)
        self._finished(len(result), len(result.source), found)

    def take(self, part: Written) -> None:
        """The next part."""
        for handle, text in zip((self._handle, *self._tokens), (part.lines, *part.tokens), strict=True):
            handle.write(text)
        self._finished(part.pairs, part.links, part.certificates)

    def _finished(self, pairs: int, links: int, certificates: Certificates) -> None:
        if self._awaited:
            self._handle.flush()
        self.pairs += pairs
        self.links += links
        self.certificates.join(certificates)
        if self._journal is not None:
            about = {"pairs": self.pairs, "links": self.links, "certificates": vars(self.certificates)}
            self._journal.finished(about)


def _write_tokens(handles: Sequence[IO[str]], pairs: int, text: BitextText) -> None:
    for handle, sentences in zip(handles, (text.source, text.target), strict=True):
        for line, spans in map(sentences, range(pairs)):
            handle.write(" ".join(line[start:end] for start, end in spans) + "\n")
