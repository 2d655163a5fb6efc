"""What a text looks like to somebody who has seen many: raw where it should be tokenised, say."""

from __future__ import annotations

import re

from dovetail.bitext.corpus import Bitext, Side
from dovetail.bitext.tokenize import SPACELESS, tokenizer_pair

LOOK_AT = 3_000  # words, by first appearance: enough to tell, in a few milliseconds
ATTACHED = re.compile(r"\w\w[,;:!?.\u2026\u3002\uff0c\u060c\u061f\u0964]", re.UNICODE)
PUNCTUATION = re.compile(r"[^\w\s]+")
SPACELESS_WORD = re.compile(f"[{SPACELESS}]")
UNCUT = re.compile(rf"[{SPACELESS}]{{8}}")  # eight in a row: longer than nearly all words of these scripts


def hints(bitext: Bitext, names: tuple[str, str]) -> list[str]:
    """A line for each side that seems to be raw though it was cut at whitespace, with a remedy; `names` are the files'."""
    found = []
    for n, (side, name) in enumerate(zip((bitext.source, bitext.target), names, strict=True)):
        if tokenizer_pair(bitext.options.tokenizer)[n] == "whitespace" and (hint := _hint(side)) is not None:
            found.append(f"{name}: {hint}")
    return found


def _hint(side: Side) -> str | None:
    attached = standing = uncut = spaceless = seen = 0
    example = ""
    for word, count in zip(side.vocabulary.first(LOOK_AT), side.vocabulary.counts[:LOOK_AT].tolist(), strict=True):
        seen += count
        if word.isascii() and word.isalnum():  # as most are
            continue
        if ATTACHED.fullmatch(word[-3:]) and len(word) > 3:
            attached += count
            example = example or word
        elif PUNCTUATION.fullmatch(word):
            standing += count
        if not word.isascii() and SPACELESS_WORD.match(word):
            spaceless += count
            uncut += count * (UNCUT.search(word) is not None)
    if spaceless > 0.3 * seen and uncut > 0.2 * seen:
        return (
            "a script without spaces that is not cut into words. Pass --tokenizer icu (which needs PyICU), or unicode;"
            " --tokenizer unicode,icu cuts the two sides differently."
        )
    # Tokenised text has its commas standing alone; "Mr." and the like are few beside them.
    if attached > 0.03 * seen and attached > 2 * standing:
        return f"punctuation is attached to words, as in {example!r}. If this is raw text, pass --tokenizer unicode."
    return None
