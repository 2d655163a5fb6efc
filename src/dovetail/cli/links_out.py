"""What `align` writes, part by part: links, the tokens that they count, and at the end how many there were."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TextIO

from dovetail.alignments.certificates import Certificates
from dovetail.alignments.formats import write_alignments
from dovetail.bitext.text import atomic_writer

if TYPE_CHECKING:
    from dovetail.alignments.alignments import Alignments
    from dovetail.bitext.corpus import Bitext, BitextText


@contextmanager
def links_out(
    output: str, format_: str, *, on_whitespace: bool = False, tokens_prefix: str | None = None
) -> Iterator[LinksOut]:
    """Files get their names when the block ends without exception; whoever reads from a pipe gets each part at once."""
    with ExitStack() as stack:
        handle = stack.enter_context(atomic_writer(output))
        tokens = [
            stack.enter_context(atomic_writer(f"{tokens_prefix}.{side}"))
            for side in (() if tokens_prefix is None else ("source", "target"))
        ]
        awaited = output == "-" or (os.path.exists(output) and not os.path.isfile(output))
        yield LinksOut(handle, format_, on_whitespace, tokens, awaited)


class LinksOut:
    """Takes the links of consecutive parts of a text."""

    def __init__(self, handle: TextIO, format_: str, on_whitespace: bool, tokens: list[TextIO], awaited: bool) -> None:
        self._handle = handle
        self._format = format_
        self._on_whitespace = on_whitespace
        self._tokens = tokens
        self._awaited = awaited
        self.pairs = 0
        self.links = 0
        self.certificates = Certificates()

    def write(self, result: Alignments, bitext: Bitext) -> None:
        text = bitext.text
        if self._on_whitespace:
            from dovetail.alignments.whitespace import on_whitespace_tokens

            result, text = on_whitespace_tokens(result, bitext)
        if self._tokens:
            assert text is not None
            _write_tokens(self._tokens, len(result), text)
        write_alignments(self._handle, result, self._format, text, self.pairs)
        if self._awaited:
            self._handle.flush()
        self.pairs += len(result)
        self.links += len(result.source)
        self.certificates.add(result)


def _write_tokens(handles: list[TextIO], pairs: int, text: BitextText) -> None:
    for handle, sentences in zip(handles, (text.source, text.target), strict=True):
        for line, spans in map(sentences, range(pairs)):
            handle.write(" ".join(line[start:end] for start, end in spans) + "\n")
