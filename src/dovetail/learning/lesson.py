"""Gold pairs as a learner sees them: candidates, what is known of each, and which are right."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dovetail.alignments.gold import Gold
from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import Shard
from dovetail.decoding.candidates import describe, word_facts
from dovetail.decoding.evidence import Evidence
from dovetail.decoding.habits import Habits
from dovetail.kernels.links.matching import match
from dovetail.kernels.records import CELL, LENGTH_J, SOURCE, TARGET
from dovetail.models.lexicon.words import WordMap
from dovetail.models.model import Model
from dovetail.pool import Pool


@dataclass(frozen=True)
class Words:
    """One side's tokens of some pairs: which word each is, in which pair, and what annotators did with it."""

    known: np.ndarray  # int32 (words,), rising: the model's numbers of the words that occur
    number: np.ndarray  # int64 (tokens,): among these, -1 for words that the model does not know
    pair: np.ndarray  # int64 (tokens,), rising
    habits: np.ndarray  # float64 (tokens, HABITS_OF_WORDS)

    def of(self, pairs: np.ndarray) -> Words:
        """The tokens of some of the pairs, by a mask."""
        kept, new = pairs[self.pair], np.cumsum(pairs) - 1
        return Words(self.known, self.number[kept], new[self.pair[kept]], self.habits[kept])


@dataclass(frozen=True)
class Lesson:
    """Candidates of some pairs, packed: `numbers` of each pair; facts with room for beliefs; gold marks; their words.

    `lines` point into these words.  `sure_links` are those of each pair, candidates or not; `group` is the same for pairs
    that share a sentence.
    """

    lines: np.ndarray  # int64 (pairs, 7)
    numbers: np.ndarray  # int64 (pairs,)
    cells: np.ndarray  # int64 (candidates,)
    facts: np.ndarray  # float32 (facts, candidates)
    sure: np.ndarray  # bool (candidates,)
    possible: np.ndarray  # bool (candidates,), sure ones too
    sure_links: np.ndarray  # int64 (pairs,)
    group: np.ndarray  # int64 (pairs,)
    words: tuple[Words, Words]

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def settled(self) -> np.ndarray:
        """Candidates that annotators agreed about: possible links that are not sure teach nothing."""
        return self.sure | ~self.possible

    @property
    def pair(self) -> np.ndarray:
        """The pair of each candidate."""
        return np.repeat(np.arange(len(self)), self.numbers)

    @property
    def tokens(self) -> tuple[np.ndarray, np.ndarray]:
        """The source and the target token of each candidate, among the lesson's words."""
        line = self.lines[self.pair]
        i, j = np.divmod(self.cells - line[:, CELL], line[:, LENGTH_J])
        return line[:, SOURCE] + i, line[:, TARGET] + j

    def of(self, pairs: np.ndarray) -> Lesson:
        """Some of the pairs, by a mask."""
        kept = np.repeat(pairs, self.numbers)
        source, target = (side.of(pairs) for side in self.words)
        return Lesson(
            _pointing(self.lines[pairs], source, target),
            self.numbers[pairs],
            self.cells[kept],
            self.facts[:, kept],
            self.sure[kept],
            self.possible[kept],
            self.sure_links[pairs],
            self.group[pairs],
            (source, target),
        )

    def counts(self, kept: np.ndarray) -> np.ndarray:
        """|A|, |S|, |A ∩ S|, |A ∩ P| of each pair (pairs, 4) when the candidates that `kept` marks are the links."""
        pair, size = self.pair, len(self)
        columns = (np.bincount(pair[kept & mark], minlength=size) for mark in (self.sure, self.possible))
        of_sure, of_possible = columns
        return np.stack([np.bincount(pair[kept], minlength=size), self.sure_links, of_sure, of_possible], axis=1)


def _pointing(lines: np.ndarray, source: Words, target: Words) -> np.ndarray:
    """Lines that say where the pairs' words begin."""
    lines = lines.copy()
    for side, column in ((source, SOURCE), (target, TARGET)):
        lines[:, column] = np.searchsorted(side.pair, np.arange(len(lines)))
    return lines


def lesson_of(
    model: Model, bitext: Bitext, shard: Shard, gold: Gold, words: WordMap, pool: Pool
) -> tuple[Lesson, np.ndarray]:
    """Of the annotated pairs that are one piece each; and their numbers in the bitext."""
    facts = word_facts(words, Habits.none())  # habits come later, as folds learn them
    whole = np.bincount(shard.pieces.pair, minlength=len(bitext)) == 1
    wanted = (gold.annotated & whole)[shard.pieces.pair]
    work = shard.workspace()
    lines, numbers, cells, found, entries = [], [], [], [], []
    for block in shard:
        evidence = Evidence(model, shard, block, block.view(work), pool)
        translations = evidence.translations().copy()
        told = describe(block, facts, translations, evidence.posteriors())
        kept = wanted[block.first : block.last]
        of_kept = np.repeat(kept, told[0])
        lines.append(block.lines[kept])
        numbers.append(told[0][kept])
        cells.append(told[1][of_kept])
        found.append(told[2][:, of_kept])
        pairs = shard.pieces.pair[block.first : block.last][kept]
        entries.append(_entries(gold, pairs, lines[-1], numbers[-1], cells[-1]))
    entry = np.concatenate(entries)
    possible = entry >= 0
    sure = possible.copy()
    sure[possible] = gold.sure[entry[possible]]
    learned_from = shard.pieces.pair[wanted]
    running = np.append(0, np.cumsum(gold.sure))
    sure_links = (running[gold.offsets[1:]] - running[gold.offsets[:-1]])[learned_from]
    source, target = _words(bitext, gold, learned_from, words)
    lesson = Lesson(
        _pointing(np.concatenate(lines), source, target),
        np.concatenate(numbers),
        np.concatenate(cells),
        np.concatenate(found, axis=1),
        sure,
        possible,
        sure_links,
        groups(bitext, learned_from),
        (source, target),
    )
    return lesson, learned_from


def _entries(gold: Gold, pairs: np.ndarray, lines: np.ndarray, numbers: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Where each candidate stands among the gold links, -1 where it does not."""
    within = cells - np.repeat(lines[:, CELL], numbers)
    width = np.repeat(lines[:, LENGTH_J], numbers)
    offsets = np.zeros(len(gold) + 1, np.int64)
    of_pair = np.zeros(len(gold), np.int64)
    of_pair[pairs] = numbers
    np.cumsum(of_pair, out=offsets[1:])
    source, target = (within // width).astype(np.int32), (within % width).astype(np.int32)
    found: np.ndarray = match(offsets, source, target, gold.offsets, gold.source, gold.target)
    return found


def _words(bitext: Bitext, gold: Gold, pairs: np.ndarray, words: WordMap) -> tuple[Words, Words]:
    """Both sides' tokens of the pairs."""
    habits: tuple[list[np.ndarray], list[np.ndarray]] = [], []
    lengths = bitext.lengths
    for pair in pairs:
        links = slice(gold.offsets[pair], gold.offsets[pair + 1])
        sure = np.zeros(lengths[pair], bool)
        sure[gold.source[links], gold.target[links]] = gold.sure[links]
        habits[0].append(habits_of(sure))
        habits[1].append(habits_of(sure.T))
    found = []
    for side, numbers, of_side in zip(
        (bitext.source, bitext.target), (words.source, words.target), habits, strict=True
    ):
        tokens = [numbers[side.ids[side.offsets[pair] : side.offsets[pair + 1]]] for pair in pairs]
        known, number = np.unique(np.concatenate(tokens), return_inverse=True)
        unknown = int(np.searchsorted(known, 0))  # -1 comes first, if it is there
        pair = np.repeat(np.arange(len(pairs)), [len(of_pair) for of_pair in tokens])
        found.append(Words(known[unknown:].astype(np.int32), number - unknown, pair, np.concatenate(of_side)))
    return found[0], found[1]


def habits_of(sure: np.ndarray) -> np.ndarray:
    """HABITS_OF_WORDS of each row of a pair's sure links (I, J), float64: links, linked, and whether one is shared."""
    links = sure.sum(axis=1)
    shared = np.zeros(len(sure) + 1, bool)  # between each row and the one before
    shared[1:-1] = (sure[1:] & sure[:-1]).any(axis=1)
    return np.stack([links, links > 0, shared[:-1], shared[1:]], axis=1).astype(np.float64)


def groups(bitext: Bitext, pairs: np.ndarray) -> np.ndarray:
    """A number for each pair, the same for pairs with the same source or the same target sentence, however linked."""
    group = list(range(len(pairs)))

    def root(n: int) -> int:
        while group[n] != n:
            n = group[n]
        return n

    for side in (bitext.source, bitext.target):
        seen: dict[bytes, int] = {}
        for n, pair in enumerate(pairs):
            sentence = side.ids[side.offsets[pair] : side.offsets[pair + 1]].tobytes()
            group[root(n)] = root(seen.setdefault(sentence, n))
    return np.array([root(n) for n in range(len(pairs))], np.int64)


def digests(bitext: Bitext, pairs: np.ndarray, normalise: Callable[[str], str]) -> list[str]:
    """One for each of the pairs, from their words: a model that learned from a pair knows it by that."""
    found = []
    for pair in pairs:
        sides = (" ".join(map(normalise, words)) for words in bitext.tokens(pair))
        found.append(hashlib.sha256("\t".join(sides).encode("utf-8", "surrogatepass")).hexdigest()[:16])
    return found
