"""What a word's letters say: packed letters for comparing spellings, stems for sharing counts between forms."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import numpy as np

from dovetail.bitext.vocabulary import Vocabulary
from dovetail.kernels.lexicon import letters as kernels
from dovetail.kernels.lexicon import stems as stem_kernels
from dovetail.kernels.lexicon.letters import ALPHA, DIGIT, UNSPACED, Folding, Letters

LONGEST_WORD = 64  # letters compared; longer words are cut, since the comparison is quadratic


class _Folded(dict[int, str]):
    """Each letter without case and diacritics, found when it is first met: for str.translate."""

    def __missing__(self, code: int) -> str:
        letters = unicodedata.normalize("NFD", chr(code).casefold())
        bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
        self[code] = unicodedata.normalize("NFC", bare)  # a syllable of Hangul stays one
        return self[code]


_FOLDED = _Folded()


def letters(vocabulary: Vocabulary) -> Letters:
    """The vocabulary's words, folded and packed."""
    return vocabulary.derived("letters", lambda words: _folded(*words.tokens.letters()))


def letters_beside(vocabulary: Vocabulary, known: Vocabulary, numbers: np.ndarray) -> Letters:
    """The same; words that have a number in a known vocabulary are taken from there, which is faster."""

    def made(words: Vocabulary) -> Letters:
        new = _folded(*words.tokens.letters(np.flatnonzero(numbers < 0)))
        return Letters(*kernels.letters_of(numbers, letters(known), new))

    return vocabulary.derived("letters", made)


def _folded(codes: np.ndarray, lengths: np.ndarray) -> Letters:
    """Words of so many letters each, folded.  A letter may become several or none."""
    met = np.zeros(int(codes.max(initial=-1)) + 1, np.bool_)
    met[codes] = True
    present = np.flatnonzero(met).tolist()  # so that each letter is looked at once
    folded = [_FOLDED[code] for code in present]
    every = np.frombuffer("".join(folded).encode("utf-32-le", "surrogatepass"), np.int32)
    size, kind = np.zeros(len(met), np.int64), np.zeros(max(len(met), int(every.max(initial=-1)) + 1), np.uint8)
    size[present] = list(map(len, folded))
    begin = np.cumsum(size) - size  # the others have none
    for code in {*present, *every.tolist()}:
        kind[code] = _kind(chr(code))
    return Letters(*kernels.fold_words(codes, lengths, Folding(begin, size, every, kind), LONGEST_WORD))


def _kind(letter: str) -> int:
    return ALPHA * letter.isalpha() | DIGIT * letter.isdigit() | UNSPACED * _is_unspaced(letter)


def _is_unspaced(letter: str) -> bool:
    return "\u3040" <= letter <= "\u30ff" or "\u3400" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7af"


@dataclass(frozen=True)
class Stems:
    """A stem number for each word, in order of first appearance, and each stem's key."""

    numbers: np.ndarray  # int32 (words,)
    keys: np.ndarray  # uint64 (stems,)

    def __len__(self) -> int:
        return len(self.keys)


def stems(vocabulary: Vocabulary, level: int) -> Stems:
    """Stems of one of the levels that kernels.stems knows: HEAD, TAIL, SHORT_HEAD, MIDDLE."""
    return vocabulary.derived(f"stems {level}", lambda words: _stems(letters(words), level))


def stem_keys(words: Letters, level: int) -> np.ndarray:
    """The key of each word's stem."""
    keys = np.empty(len(words.plain), np.uint64)
    stem_kernels.stem_keys(words.codes, words.offsets, words.unspaced, level, keys)
    return keys


def _stems(words: Letters, level: int) -> Stems:
    keys = stem_keys(words, level)
    different, first, number = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return Stems(place[number], different[order])
