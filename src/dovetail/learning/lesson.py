"""Gold pairs as a learner sees them: candidates, what is known of each, and which are right."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dovetail.alignments.gold import Gold
from dovetail.bitext.corpus import Bitext
from dovetail.bitext.shards import Shard
from dovetail.decoding.candidates import describe
from dovetail.decoding.evidence import Evidence
from dovetail.kernels.learned.records import WordFacts
from dovetail.kernels.links.matching import match
from dovetail.kernels.records import CELL, LENGTH_J
from dovetail.models.model import Model
from dovetail.pool import Pool


@dataclass(frozen=True)
class Lesson:
    """Candidates of some pairs, packed: `numbers` of each pair; facts with room for beliefs; gold marks.

    `sure_links` are those of each pair, candidates or not; `group` is the same for pairs that share a sentence.
    """

    lines: np.ndarray  # int64 (pairs, 7)
    numbers: np.ndarray  # int64 (pairs,)
    cells: np.ndarray  # int64 (candidates,)
    facts: np.ndarray  # float32 (candidates, facts)
    sure: np.ndarray  # bool (candidates,)
    possible: np.ndarray  # bool (candidates,), sure ones too
    sure_links: np.ndarray  # int64 (pairs,)
    group: np.ndarray  # int64 (pairs,)

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

    def of(self, pairs: np.ndarray) -> Lesson:
        """Some of the pairs, by a mask."""
        kept = np.repeat(pairs, self.numbers)
        return Lesson(
            self.lines[pairs],
            self.numbers[pairs],
            self.cells[kept],
            self.facts[kept],
            self.sure[kept],
            self.possible[kept],
            self.sure_links[pairs],
            self.group[pairs],
        )

    def counts(self, kept: np.ndarray) -> np.ndarray:
        """|A|, |S|, |A ∩ S|, |A ∩ P| of each pair (pairs, 4) when the candidates that `kept` marks are the links."""
        pair, size = self.pair, len(self)
        columns = (np.bincount(pair[kept & mark], minlength=size) for mark in (self.sure, self.possible))
        of_sure, of_possible = columns
        return np.stack([np.bincount(pair[kept], minlength=size), self.sure_links, of_sure, of_possible], axis=1)


def lesson_of(
    model: Model, bitext: Bitext, shard: Shard, gold: Gold, facts: WordFacts, pool: Pool
) -> tuple[Lesson, np.ndarray]:
    """Of the annotated pairs that are one piece each; and their numbers in the bitext."""
    whole = np.bincount(shard.pieces.pair, minlength=len(bitext)) == 1
    wanted = (gold.annotated & whole)[shard.pieces.pair]
    work = shard.workspace()
    lines, numbers, cells, found, entries = [], [], [], [], []
    for block in shard:
        evidence = Evidence(model, shard, block, block.view(work), pool)
        translations = evidence.translations().copy()
        told = describe(0, len(block.lines), block, facts, translations, evidence.posteriors(), 2)
        kept = wanted[block.first : block.last]
        of_kept = np.repeat(kept, told[0])
        lines.append(block.lines[kept])
        numbers.append(told[0][kept])
        cells.append(told[1][of_kept])
        found.append(told[2][of_kept])
        pairs = shard.pieces.pair[block.first : block.last][kept]
        entries.append(_entries(gold, pairs, lines[-1], numbers[-1], cells[-1]))
    entry = np.concatenate(entries)
    possible = entry >= 0
    sure = possible.copy()
    sure[possible] = gold.sure[entry[possible]]
    learned_from = shard.pieces.pair[wanted]
    running = np.append(0, np.cumsum(gold.sure))
    sure_links = (running[gold.offsets[1:]] - running[gold.offsets[:-1]])[learned_from]
    lesson = Lesson(
        np.concatenate(lines),
        np.concatenate(numbers),
        np.concatenate(cells),
        np.concatenate(found),
        sure,
        possible,
        sure_links,
        groups(bitext, learned_from),
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
