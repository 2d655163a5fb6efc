"""What a word's letters say: packed letters for comparing spellings, stems for sharing counts between forms."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.bitext.vocabulary import Vocabulary
from dovetail.kernels.lexicon import spelling as spelling_kernels
from dovetail.kernels.lexicon import stems as kernels

LONGEST_WORD = 64  # letters compared; longer words are cut, since the comparison is quadratic


class Letters(NamedTuple):
    """Words as folded letters: word w is `codes[offsets[w]:offsets[w + 1]]`.

    `plain[w]` if it has a letter and no digit, `unspaced[w]` if it has one of a script whose words are a few characters
    long: kana, Han, Hangul.  `marks[w]` are bits of its letters, see `kernels.lexicon.spelling.mark_letters`.
    """

    codes: np.ndarray  # int32
    offsets: np.ndarray  # int64
    plain: np.ndarray  # bool
    unspaced: np.ndarray  # bool
    marks: np.ndarray  # uint64


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
    return vocabulary.derived("letters", lambda words: _packed(*words.tokens.letters()))


def letters_beside(vocabulary: Vocabulary, known: Vocabulary, numbers: np.ndarray) -> Letters:
    """The same; words that have a number in a known vocabulary are taken from there, which is faster."""

    def made(words: Vocabulary) -> Letters:
        old, seen = letters(known), numbers >= 0
        new = _packed(*words.tokens.letters(np.flatnonzero(~seen)))
        place = np.where(seen, numbers, len(known) + np.cumsum(~seen) - 1)  # among the known ones and the new ones
        lengths = np.concatenate([np.diff(old.offsets), np.diff(new.offsets)])[place]
        begin = np.concatenate([old.offsets[:-1], new.offsets[:-1] + old.offsets[-1]])[place]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        codes = np.concatenate([old.codes, new.codes])
        letters_of_words = codes[np.repeat(begin - offsets[:-1], lengths) + np.arange(offsets[-1])]
        facts = (np.concatenate(both)[place] for both in zip(old[2:], new[2:], strict=True))
        return Letters(letters_of_words, offsets, *facts)

    return vocabulary.derived("letters", made)


def _packed(codes: np.ndarray, lengths: np.ndarray) -> Letters:
    """Words of so many letters each, folded.  A letter may become several or none; a word of which nothing would be left
    stays as it is."""
    word = np.repeat(np.arange(len(lengths)), lengths)
    kinds = _Kinds(codes)
    folded = [_FOLDED[code] for code in kinds.present]
    size = kinds.of(list(map(len, folded)))[codes]
    begin = kinds.of(np.cumsum([0, *map(len, folded)])[:-1])[codes]
    every = np.frombuffer("".join(folded).encode("utf-32-le", "surrogatepass"), np.int32)
    bare = (np.bincount(word, size, len(lengths)) == 0)[word]
    size[bare], begin[bare] = 1, len(every) + np.arange(bare.sum())
    every = np.concatenate([every, codes[bare]])
    word, ends = np.repeat(word, size), np.cumsum(size)
    of_words = np.bincount(word, minlength=len(lengths))
    kept = np.arange(len(word)) - np.repeat(np.cumsum(of_words) - of_words, of_words) < LONGEST_WORD
    found = every[np.repeat(begin - (ends - size), size) + np.arange(len(word))][kept]
    offsets = np.concatenate([[0], np.cumsum(np.minimum(of_words, LONGEST_WORD))])
    kinds = _Kinds(found)
    plain = kinds.any(found, offsets, str.isalpha) & ~kinds.any(found, offsets, str.isdigit)
    marks = np.empty(len(lengths), np.uint64)
    spelling_kernels.mark_letters(found, offsets, marks)
    return Letters(found, offsets, plain, kinds.any(found, offsets, _is_unspaced), marks)


class _Kinds:
    """The different letters of a text, so that each is looked at once."""

    def __init__(self, codes: np.ndarray) -> None:
        self.size = int(codes.max(initial=-1)) + 1
        met = np.zeros(self.size, np.bool_)
        met[codes] = True
        self.present = np.flatnonzero(met).tolist()

    def of(self, values: Sequence[int] | np.ndarray) -> np.ndarray:
        """A number for each letter that is present, to be looked up by its code."""
        table = np.zeros(self.size, np.int64)
        table[self.present] = values
        return table

    def any(self, codes: np.ndarray, offsets: np.ndarray, test: Callable[[str], bool]) -> np.ndarray:
        """For each word whether one of its letters passes the test."""
        passes = self.of([test(chr(code)) for code in self.present])
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


def stems(vocabulary: Vocabulary, level: int) -> Stems:
    """Stems of one of the levels that kernels.stems knows: HEAD, TAIL, SHORT_HEAD, MIDDLE."""
    return vocabulary.derived(f"stems {level}", lambda words: _stems(letters(words), level))


def stem_keys(words: Letters, level: int) -> np.ndarray:
    """The key of each word's stem."""
    keys = np.empty(len(words.plain), np.uint64)
    kernels.stem_keys(words.codes, words.offsets, words.unspaced, level, keys)
    return keys


def _stems(words: Letters, level: int) -> Stems:
    keys = stem_keys(words, level)
    different, first, number = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return Stems(place[number], different[order])
