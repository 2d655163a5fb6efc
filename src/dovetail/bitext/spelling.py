"""What a word's letters say: packed letters for comparing spellings, stems for sharing counts between forms."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dovetail.bitext.vocabulary import Vocabulary

LONGEST_WORD = 64  # letters compared; longer words are cut, since the comparison is quadratic


@dataclass(frozen=True)
class Letters:
    """Words as folded letters: word w is `codes[offsets[w]:offsets[w + 1]]`; `plain[w]` if it has a letter and no digit."""

    codes: np.ndarray  # int32
    offsets: np.ndarray  # int64
    plain: np.ndarray  # bool


class _Folded(dict[int, str]):
    """Each letter without case and diacritics, found when it is first met: for str.translate."""

    def __missing__(self, code: int) -> str:
        letters = unicodedata.normalize("NFD", chr(code).casefold())
        self[code] = "".join(letter for letter in letters if not unicodedata.combining(letter))
        return self[code]


_FOLDED = _Folded()


def fold(word: str) -> str:
    """The word without case and diacritics."""
    return word.lower() if word.isascii() else word.translate(_FOLDED) or word


def letters(vocabulary: Vocabulary) -> Letters:
    """The vocabulary's words, folded and packed."""
    return vocabulary.derived("letters", _letters)


def _folded(vocabulary: Vocabulary) -> list[str]:
    return [fold(word) for word in vocabulary]


def _letters(vocabulary: Vocabulary) -> Letters:
    folded = [word[:LONGEST_WORD] for word in vocabulary.derived("folded", _folded)]
    offsets = np.zeros(len(folded) + 1, np.int64)
    np.cumsum([len(word) for word in folded], out=offsets[1:])
    codes = np.frombuffer("".join(folded).encode("utf-32-le", "surrogatepass"), np.int32)
    plain = [word.isalpha() or (any(map(str.isalpha, word)) and not any(map(str.isdigit, word))) for word in folded]
    return Letters(codes, offsets, np.array(plain, bool))


@dataclass(frozen=True)
class Stems:
    """A stem number for each word, and how many stems there are."""

    numbers: np.ndarray  # int32 (words,)
    names: list[str]

    def __len__(self) -> int:
        return len(self.names)

    def numbers_in(self, other: Stems) -> np.ndarray:
        """For each of these stems its number among the other's, -1 where it has none."""
        known = {name: number for number, name in enumerate(other.names)}
        return np.fromiter((known.get(name, -1) for name in self.names), np.int32, len(self.names))


# Scripts whose words are a few characters long: kana, Han, Hangul.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def _head(word: str, folded: str) -> str:
    """The first four letters, or the first character of an unspaced script."""
    return folded[:1] if _UNSPACED.search(word) else folded[:4]


def _tail(word: str, folded: str) -> str:
    """The last four letters (the head of a compound, an ending), or the last character of an unspaced script."""
    return folded[-1:] if _UNSPACED.search(word) else folded[-4:]


LEVELS: tuple[Callable[[str, str], str], ...] = (_head, _tail)


def stems(vocabulary: Vocabulary, level: int) -> Stems:
    """Stems of one of the `LEVELS`."""
    return vocabulary.derived(f"stems {level}", lambda words: _stems(words, LEVELS[level]))


def _stems(vocabulary: Vocabulary, cut: Callable[[str, str], str]) -> Stems:
    names: dict[str, int] = {}
    folded = vocabulary.derived("folded", _folded)
    numbers = np.fromiter(
        (names.setdefault(cut(word, plain), len(names)) for word, plain in zip(vocabulary, folded, strict=True)),
        np.int32,
        len(vocabulary),
    )
    return Stems(numbers, list(names))
