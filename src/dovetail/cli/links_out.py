"""What `align` writes, part by part: links, the tokens that they count, and at the end how many there were."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import StringIO
from itertools import chain
from typing import IO, TYPE_CHECKING, TextIO, cast

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
    if work is not None:
        yield from _kept(names, work, format_, on_whitespace)
        return
    with ExitStack() as stack:
        handle, *tokens = [stack.enter_context(atomic_writer(name)) for name in names]
        yield LinksOut(handle, format_, on_whitespace, tokens, _in_place(output))


def _in_place(output: str) -> bool:
    """Whether somebody may wait for what is written: it is no file that gets its name in the end."""
    return output == "-" or (os.path.exists(output) and not os.path.isfile(output))


def _kept(names: list[str], work: WorkFolder, format_: str, on_whitespace: bool) -> Iterator[LinksOut]:
    for name in names:
        if not _in_place(name):  # it can be written: better to know before the work
            with suppress(_Tried), atomic_writer(name):
                raise _Tried
    journal = work.links(["links", *(f"tokens.{n}" for n in range(1, len(names)))])
    try:
        handle, *tokens = journal.handles
        out = LinksOut(handle, format_, on_whitespace, tokens, False, journal)
        yield out
    finally:
        journal.close()
    for number, name in enumerate(names):
        with atomic_writer(name) as last:
            journal.copy(number, last)


class _Tried(Exception):
    """Nothing was to be written yet."""


class LinksOut:
    """Takes the links of consecutive parts of a text."""

    def __init__(
        self,
        handle: IO[str],
        format_: str,
        on_whitespace: bool,
        tokens: Sequence[IO[str]],
        awaited: bool,
        journal: LinkJournal | None = None,
    ) -> None:
        self._handle = handle
        self._format = format_
        self._on_whitespace = on_whitespace
        self._tokens = tokens
        self._awaited = awaited
        self._journal = journal
        before = {} if journal is None else journal.state
        self.pairs = before.get("pairs", 0)
        self.links = before.get("links", 0)
        self.certificates = Certificates(**before.get("certificates", {}))

    def write(self, result: Alignments, bitext: Bitext) -> None:
        text = bitext.text
        if self._on_whitespace:
            from dovetail.alignments.whitespace import on_whitespace_tokens

            result, text = on_whitespace_tokens(result, bitext)
        if self._tokens:
            assert text is not None
            _write_tokens(self._tokens, len(result), text)
        if bitext.rest is not None and self._format in WITH_COLUMNS:
            self._write_behind(bitext.rest, result, text)
        else:
            write_alignments(cast(TextIO, self._handle), result, self._format, text, self.pairs)
        if self._awaited:
            self._handle.flush()
        self.pairs += len(result)
        self.links += len(result.source)
        self.certificates.add(result)
        if self._journal is not None:
            about = {"pairs": self.pairs, "links": self.links, "certificates": vars(self.certificates)}
            self._journal.finished(about)

    def _write_behind(self, rest: list[str], result: Alignments, text: BitextText | None) -> None:
        """Each pair's line behind the columns that its line of the input had besides."""
        lines = StringIO()
        write_alignments(lines, result, self._format, text, self.pairs)
        lines.seek(0)
        self._handle.writelines(chain.from_iterable(zip(rest, lines, strict=True)))


def _write_tokens(handles: Sequence[IO[str]], pairs: int, text: BitextText) -> None:
    for handle, sentences in zip(handles, (text.source, text.target), strict=True):
        for line, spans in map(sentences, range(pairs)):
            handle.write(" ".join(line[start:end] for start, end in spans) + "\n")
