"""How words are spelled in files that have their own ideas of blanks and bars."""

from __future__ import annotations

import re

_BLANKS = re.compile(r"\s+")


def escaped(token: str) -> str:
    """A token of a Moses file: a bar as Moses escapes it, blanks within as underscores."""
    return _BLANKS.sub("_", token).replace("|", "&#124;") or "_"


def one_field(token: str) -> bool:
    """Whether readers that cut a line at whitespace, of whatever kind they know, see one word here."""
    return token.split() == [token]
