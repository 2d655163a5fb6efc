"""What a word's letters say: packed letters for comparing spellings, stems for sharing counts between forms."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.bitext.vocabulary import Vocabulary
from dovetail.kernels.lexicon import stems as kernels

LONGEST_WORD = 64  # letters compared; longer words are cut, since the comparison is quadratic


class Letters(NamedTuple):
    """Words as folded letters: word w is `codes[offsets[w]:offsets[w + 1]]`.

    `plain[w]` if it has a letter and no digit, `unspaced[w]` if it has one of a script whose words are a few characters
    long: kana, Han, Hangul.
    """

    codes: np.ndarray  # int32
    offsets: np.ndarray  # int64
    plain: np.ndarray  # bool
    unspaced: np.ndarray  # bool


class _Folded(dict[int, str]):
    """Each letter without case and diacritics, found when it is first met: for str.translate."""

    def __missing__(self, code: int) -> str:
        letters = unicodedata.normalize("NFD", chr(code).casefold())
        bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
        self[code] = unicodedata.normalize("NFC", bare)  # a syllable of Hangul stays one
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
    offsets = np.cumsum([0, *map(len, folded)], dtype=np.int64)
    codes = np.frombuffer("".join(folded).encode("utf-32-le", "surrogatepass"), np.int32)
    plain = _any(codes, offsets, str.isalpha) & ~_any(codes, offsets, str.isdigit)
    return Letters(codes, offsets, plain, _any(codes, offsets, _is_unspaced))


def _any(codes: np.ndarray, offsets: np.ndarray, test: Callable[[str], bool]) -> np.ndarray:
    """For each word whether one of its letters passes the test, which sees each letter of the text once."""
    passes = np.zeros(codes.max(initial=-1) + 1, np.bool_)
    passes[codes] = True
    present = np.flatnonzero(passes)
    passes[present] = [test(chr(code)) for code in present]
    before = np.concatenate([[0], np.cumsum(passes[codes])])
    return before[offsets[1:]] > before[offsets[:-1]]


def _is_unspaced(letter: str) -> bool:
    return "\u3040" <= letter <= "\u30ff" or "\u3400" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7af"


@dataclass(frozen=True)
class Stems:
    """A stem number for each word, in order of first appearance, and each stem's key."""

    numbers: np.ndarray  # int32 (words,)
    keys: np.ndarray  # uint64 (stems,)

    def __len__(self) -> int:
        return len(self.keys)

    def numbers_in(self, other: Stems) -> np.ndarray:
        """For each of these stems its number among the other's, -1 where it has none."""
        if not len(other):
            return np.full(len(self), -1, np.int32)
        order = np.argsort(other.keys)
        found = order[np.minimum(np.searchsorted(other.keys, self.keys, sorter=order), len(order) - 1)]
        return np.where(other.keys[found] == self.keys, found, -1).astype(np.int32)


def stems(vocabulary: Vocabulary, level: int) -> Stems:
    """Stems of one of the levels that kernels.stems knows: HEAD, TAIL, SHORT_HEAD, MIDDLE."""
    return vocabulary.derived(f"stems {level}", lambda words: _stems(letters(words), level))


def _stems(words: Letters, level: int) -> Stems:
    keys = np.empty(len(words.plain), np.uint64)
    kernels.stem_keys(words.codes, words.offsets, words.unspaced, level, keys)
    different, first, number = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return Stems(place[number], different[order])
