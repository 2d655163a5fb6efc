"""Words as folded letters, and letters of words that are known from elsewhere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel
from dovetail.kernels.lexicon.spelling import mark_letters

ALPHA, DIGIT, UNSPACED = 1, 2, 4  # what a letter may be, as bits of its kind


class Letters(NamedTuple):
    """Words as folded letters: word w is `codes[offsets[w]:offsets[w + 1]]`.

    `plain[w]` if it has a letter and no digit, `unspaced[w]` if it has one of a script whose words are a few characters
    long: kana, Han, Hangul.  `marks[w]` are bits of its letters, see `mark_letters`.
    """

    codes: np.ndarray  # int32
    offsets: np.ndarray  # int64 (words + 1,)
    plain: np.ndarray  # bool (words,)
    unspaced: np.ndarray  # bool (words,)
    marks: np.ndarray  # uint64 (words,)


class Folding(NamedTuple):
    """What becomes of the letter `code`: letters[begin[code]:begin[code] + size[code]], perhaps none; and its kind."""

    begin: np.ndarray  # int64 (codes,)
    size: np.ndarray  # int64 (codes,)
    letters: np.ndarray  # int32
    kind: np.ndarray  # uint8 (codes,): of raw and of folded letters


@kernel
def fold_words(codes, lengths, folding, longest):
    """The words that stand in `codes` one after the other, folded, and cut after `longest` letters.

    A word of which nothing would be left stays as it is.
    """
    offsets = np.zeros(len(lengths) + 1, np.int64)
    first = 0
    for word in range(len(lengths)):
        last = first + lengths[word]
        size = 0
        for k in range(first, last):
            size += folding.size[codes[k]]
        offsets[word + 1] = offsets[word] + min(size if size > 0 else lengths[word], longest)
        first = last
    found = np.empty(offsets[-1], np.int32)
    plain, unspaced = np.empty(len(lengths), np.bool_), np.empty(len(lengths), np.bool_)
    first = 0
    for word in range(len(lengths)):
        used, end, last = offsets[word], offsets[word + 1], first + lengths[word]
        for k in range(first, last):
            begin = folding.begin[codes[k]]
            for at in range(begin, min(begin + folding.size[codes[k]], begin + end - used)):
                found[used] = folding.letters[at]
                used += 1
        if used == offsets[word]:
            for k in range(first, first + end - used):
                found[used] = codes[k]
                used += 1
        kinds = np.uint8(0)
        for at in range(offsets[word], end):
            kinds |= folding.kind[found[at]]
        plain[word] = (kinds & ALPHA) != 0 and (kinds & DIGIT) == 0
        unspaced[word] = (kinds & UNSPACED) != 0
        first = last
    marks = np.empty(len(lengths), np.uint64)
    mark_letters(found, offsets, marks)
    return found, offsets, plain, unspaced, marks


@kernel
def letters_of(numbers, known, new):
    """Letters of words: word w is the known one with its number, or, where that is -1, the next of the new ones."""
    offsets = np.zeros(len(numbers) + 1, np.int64)
    facts = np.empty(len(numbers), np.bool_), np.empty(len(numbers), np.bool_), np.empty(len(numbers), np.uint64)
    unseen = 0
    for word in range(len(numbers)):
        if numbers[word] >= 0:
            offsets[word + 1] = offsets[word] + take_facts(known, numbers[word], facts, word)
        else:
            offsets[word + 1] = offsets[word] + take_facts(new, unseen, facts, word)
            unseen += 1
    codes = np.empty(offsets[-1], np.int32)
    unseen = 0
    for word in range(len(numbers)):
        if numbers[word] >= 0:
            take_letters(known, numbers[word], codes, offsets[word])
        else:
            take_letters(new, unseen, codes, offsets[word])
            unseen += 1
    return codes, offsets, facts[0], facts[1], facts[2]


@kernel
def take_facts(own, place, facts, word):
    """What is known of one of these words goes to a word's place among others; returns how many letters it has."""
    plain, unspaced, marks = facts
    plain[word], unspaced[word], marks[word] = own.plain[place], own.unspaced[place], own.marks[place]
    return own.offsets[place + 1] - own.offsets[place]


@kernel
def take_letters(own, place, codes, first):
    """The letters of one of these words go to codes[first:]."""
    begin = own.offsets[place]
    for k in range(own.offsets[place + 1] - begin):
        codes[first + k] = own.codes[begin + k]
