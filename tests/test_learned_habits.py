"""What annotators do with words: counted from other pairs than the one that is judged; kernels tell it as in training."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dovetail import InputError
from dovetail.decoding.candidates import WIDTHS
from dovetail.decoding.habits import Habits
from dovetail.decoding.learned import MEAN
from dovetail.kernels.learned.features import FEATURES, HABITS, OBSERVED
from dovetail.kernels.learned.habits import OUTSIDE, recall_pairs, recall_words
from dovetail.kernels.learned.records import HABITS_OF_WORDS
from dovetail.learning.habits import DOUBTED, OFTEN, USUAL, Memory
from dovetail.learning.lesson import Lesson, Words, habits_of

KNOWN = np.array([2, 5, 7], np.int32), np.array([0, 3, 4, 9], np.int32)  # the model's numbers of the words that occur
PAIRS = 8


def lesson_of_chance(seed: int) -> Lesson:
    """Every cell is a candidate; words, links and the model's belief are drawn."""
    drawn = np.random.default_rng(seed)
    sizes = drawn.integers(1, 5, size=(PAIRS, 2))
    lines = np.zeros((PAIRS, 7), np.int64)
    numbers = sizes.prod(axis=1)
    lines[:, 2], lines[:, 5:] = np.cumsum(numbers) - numbers, sizes
    lines[:, 3:5] = np.cumsum(sizes, axis=0) - sizes
    cells = int(numbers.sum())
    facts = np.zeros((WIDTHS[1], cells), np.float32)
    facts[MEAN] = drawn.random(cells)
    sure = drawn.random(cells) < 0.4
    habits: tuple[list[np.ndarray], list[np.ndarray]] = [], []
    for line, size in zip(lines, sizes, strict=True):
        links = sure[line[2] : line[2] + size.prod()].reshape(size)
        habits[0].append(habits_of(links))
        habits[1].append(habits_of(links.T))
    words = tuple(
        Words(
            KNOWN[side],
            drawn.integers(-1, len(KNOWN[side]), size=sizes[:, side].sum()),
            np.repeat(np.arange(PAIRS), sizes[:, side]),
            np.concatenate(habits[side]),
        )
        for side in (0, 1)
    )
    possible = sure | (drawn.random(cells) < 0.2)
    group = np.array([0, 0, *range(2, PAIRS)])  # the first two share a sentence
    return Lesson(lines, numbers, np.arange(cells), facts, sure, possible, np.zeros(PAIRS, np.int64), group, words)


def told_slowly(taught: Lesson, lesson: Lesson, own: bool) -> np.ndarray:
    """All habits of the candidates, by looking through all gold pairs for every word."""

    def apart(pair: int, other: int) -> bool:
        return not own or lesson.group[pair] != taught.group[other]

    def word(side: int, token: int) -> np.ndarray:
        mine, theirs = lesson.words[side], taught.words[side]
        total, number = USUAL * theirs.habits.mean(axis=0), USUAL
        for other in range(len(theirs.number)):
            same = theirs.number[other] == mine.number[token] >= 0
            if same and apart(mine.pair[token], theirs.pair[other]):
                total, number = total + theirs.habits[other], number + 1
        return total / number

    def words_of(of: Lesson) -> list[tuple[int, int]]:
        source, target = (side.number[token].tolist() for side, token in zip(of.words, of.tokens, strict=True))
        return list(zip(source, target, strict=True))

    def links_beside(side: int, token: int, step: int) -> float:
        pair = lesson.words[side].pair
        inside = 0 <= token + step < len(pair) and pair[token + step] == pair[token]
        return word(side, token + step)[0] if inside else float(OUTSIDE)

    mine, theirs = words_of(lesson), words_of(taught)
    pair_of, other_pair, settled = lesson.pair, taught.pair, taught.settled
    rows = []
    for k, (source, target) in enumerate(zip(*lesson.tokens, strict=True)):
        row = [*word(0, source), *word(1, target)]
        row += [links_beside(side, token, step) for side, token in ((0, source), (1, target)) for step in (-1, 1)]
        surplus, met = 0.0, 0
        for other in range(len(taught.cells)):
            same = theirs[other] == mine[k] and min(mine[k]) >= 0
            if same and apart(pair_of[k], other_pair[other]):
                met += 1
                surplus += (taught.sure[other] - taught.facts[MEAN, other]) * settled[other]
        rows.append([*row, surplus / (met + DOUBTED), min(met, OFTEN)])
    return np.array(rows)


@pytest.mark.parametrize("seed", range(3))
def test_habits_are_means_over_other_pairs(seed):
    lesson = lesson_of_chance(seed)
    Memory(lesson).tell(lesson, own=True)
    told = lesson.facts[len(OBSERVED) : len(FEATURES)].T
    assert told.shape[1] == len(HABITS)
    np.testing.assert_allclose(told, told_slowly(lesson, lesson, own=True), atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_kernels_tell_of_a_text_what_was_told_in_training(seed):
    lesson, drawn = lesson_of_chance(seed), np.random.default_rng(seed)
    held = np.isin(np.arange(PAIRS), drawn.permutation(PAIRS)[:3])
    memory, other = Memory(lesson.of(~held)), lesson.of(held)
    memory.tell(other)
    told = other.facts[len(OBSERVED) : len(FEATURES)].T
    np.testing.assert_allclose(told, told_slowly(lesson.of(~held), other, own=False), atol=1e-5)

    kept = Habits.from_arrays(memory.habits().arrays())
    # The text's own numbers are those of the lesson, and the last is a word that the model does not know.
    text = SimpleNamespace(source=np.append(KNOWN[0], -1), target=np.append(KNOWN[1], -1))
    source, target, pairs = kept.of_text(text)
    ids = [np.where(side.number < 0, len(side.known), side.number).astype(np.int32) for side in other.words]
    pieces, found = (other.lines, *ids), np.zeros((len(HABITS), len(other.cells)), np.float32)
    recall_words(0, len(other), pieces, source, target, other.numbers, other.cells, 0, found)
    recall_pairs(0, len(other), pieces, pairs, other.numbers, other.cells, len(HABITS) - 2, found)
    np.testing.assert_array_equal(found.T, told)


def test_a_word_shares_a_link_with_its_neighbour():
    sure = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]], bool)
    told = [dict(zip(HABITS_OF_WORDS, row, strict=True)) for row in habits_of(sure)]
    assert [row["links"] for row in told] == [1, 2, 0, 1]
    assert [row["linked"] for row in told] == [1, 1, 0, 1]
    assert [row["linked with the word before"] for row in told] == [0, 1, 0, 0]
    assert [row["linked with the word behind"] for row in told] == [1, 0, 0, 0]


def test_habits_of_a_stranger_cannot_reach_elsewhere():
    arrays = Memory(lesson_of_chance(0)).habits().arrays()
    Habits.from_arrays(arrays)
    beyond = arrays["offsets"].copy()
    beyond[-1] += 1
    falling = np.ascontiguousarray(arrays["source.words"][::-1])
    for name, wrong in (
        ("offsets", beyond),
        ("offsets", -arrays["offsets"]),
        ("offsets", arrays["offsets"][:-1]),
        ("columns", arrays["columns"].astype(np.int64)),
        ("pairs", arrays["pairs"][:, :1]),
        ("source.words", falling),
        ("target.values", arrays["target.values"][1:]),
        ("target.usual", arrays["target.usual"][:2]),
        ("target.usual", arrays["target.usual"] * np.float32(np.nan)),
        ("source.values", arrays["source.values"] * np.float32(np.nan)),
        ("pairs", arrays["pairs"] + np.float32(np.inf)),
    ):
        with pytest.raises(InputError, match="damaged"):
            Habits.from_arrays({**arrays, name: wrong})
