"""Which spellings count as the same word."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

from dovetail.errors import InputError

FORMS = ("NFC", "NFD", "NFKC", "NFKD")


@dataclass(frozen=True)
class Normaliser:
    """Maps a token to the vocabulary's spelling of it: a Unicode normal form and, if `lower`, lower case.

    Meant for tokens, never for whole lines: the forms change lengths, and the compatibility forms turn a
    no-break space into a space, so that character offsets and word indices would no longer be the input's.
    """

    lower: bool = False
    form: str | None = None

    def __post_init__(self) -> None:
        if self.form is not None and self.form not in FORMS:
            raise InputError(f"no normal form {self.form!r}", remedy=f"Choose one of: {', '.join(FORMS)}.")

    @property
    def identity(self) -> bool:
        """True where every text stays as it is, so that a caller may skip the call."""
        return not self.lower and self.form is None

    def __call__(self, text: str) -> str:
        text = self._in_form(text)
        if self.lower:
            text = self._in_form(text.lower())  # once more: İ in lower case is i and a dot above, for one
        return text

    def _in_form(self, text: str) -> str:
        if self.form is None:
            return text
        return unicodedata.normalize(cast(Literal["NFC", "NFD", "NFKC", "NFKD"], self.form), text)

    def to_dict(self) -> dict[str, Any]:
        """What `from_dict` needs to make an equal one; goes into a saved model as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Normaliser:
        if not isinstance(saved["lower"], bool):
            raise TypeError("lower is neither true nor false")
        return cls(**saved)
