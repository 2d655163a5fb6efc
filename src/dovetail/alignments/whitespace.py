"""Links on the input's own whitespace tokens, whatever the tokenizer did inside them."""

from __future__ import annotations

from dovetail.alignments.alignments import Alignments
from dovetail.bitext.corpus import Bitext, BitextText, Text
from dovetail.bitext.tokenize import tokenizers, whitespace_owner
from dovetail.errors import InputError


def on_whitespace_tokens(alignments: Alignments, bitext: Bitext) -> tuple[Alignments, BitextText]:
    """The alignments with each token replaced by the whitespace token that holds it, and the text cut that way.

    Two whitespace tokens are linked if any of their tokens are, with the highest of those links' probabilities.
    """
    text = bitext.text
    if text is None:
        raise InputError("the text was not kept", remedy="Read the bitext with keep_text=True.")
    links, probabilities, lengths = [], [], []
    for n, alignment in enumerate(alignments):
        owners, sizes = [], []
        for line, spans in (text.source(n), text.target(n)):
            owners.append(whitespace_owner(line, spans))
            sizes.append(len(tokenizers["whitespace"].spans(line)))
        best: dict[tuple[int, int], float] = {}
        for (i, j), probability in zip(alignment.links, alignment.probabilities, strict=True):
            link = owners[0][i], owners[1][j]
            best[link] = max(best.get(link, 0.0), probability)
        links.append(list(best))
        probabilities.append(list(best.values()))
        lengths.append((sizes[0], sizes[1]))
    result = Alignments.from_links(links, probabilities, lengths)
    result.details = alignments.details
    return result, BitextText(_Whitespace(text.sources), _Whitespace(text.targets))


class _Whitespace:
    """The same lines, cut at whitespace."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def __getitem__(self, n: int) -> tuple[str, list[tuple[int, int]]]:
        line = self._text[n][0]
        return line, tokenizers["whitespace"].spans(line)
