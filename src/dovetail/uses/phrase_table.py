"""The phrase table of an aligned text: every phrase pair with scores, links and counts, in bounded memory.

Two sorts on disk: by target phrase, which gives its count and the links that a phrase pair most often has; then by source
phrase, in the order of the bytes of what is written, as Moses' own tools want it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, repeat
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from dovetail.kernels.links import phrases as kernels
from dovetail.uses.aligned import Aligned, Part
from dovetail.uses.spill import MEMORY, Spill
from dovetail.uses.tally import ONE, LinkCounts, LinkTally, first_of_pair
from dovetail.uses.tokens import escaped

PAIRS = 1 << 9  # sentence pairs whose phrases are collected at a time
ROWS = 1 << 12  # phrase pairs that become objects at a time
SMOOTHING = 0.5  # added to every orientation's count, as Moses does
# What is counted, by column: times, their probability, orientations to the phrase before and behind, sentence pairs; and the
# times of the target phrase.
TIMES, RIGHT, BEFORE, BEHIND, PAIRED, OF_TARGET = 0, 1, slice(2, 4), slice(4, 6), 6, 7


class Phrase(NamedTuple):
    """A phrase pair of the table.

    The lexical weights are those of p(source | target), `inverse`, and of p(target | source), `direct`; `orientations` are
    p(monotone), p(swap), p(other) towards the phrase before, and towards the one behind.  `pairs` are sentence pairs with
    it, `expected` how often all its links are right, by their probabilities.
    """

    source: str
    target: str
    inverse_lexical: float
    direct_lexical: float
    links: tuple[tuple[int, int], ...]
    count: int  # type: ignore[assignment]  # tuples count, too
    source_count: int
    target_count: int
    expected: float
    pairs: int
    orientations: tuple[float, ...]

    @property
    def inverse(self) -> float:
        """p(source | target)"""
        return self.count / self.target_count

    @property
    def direct(self) -> float:
        """p(target | source)"""
        return self.count / self.source_count

    def moses(self) -> str:
        """`source ||| target ||| p(s|t) lex(s|t) p(t|s) lex(t|s) ||| links ||| count(t) count(s) count`."""
        source, target, inverse, direct, links, count, of_source, of_target = self[
            :8
        ]  # by name would take twice as long
        scores = f"{count / of_target:.6g} {inverse:.6g} {count / of_source:.6g} {direct:.6g}"
        return f"{source} ||| {target} ||| {scores} ||| {pharaoh(links)} ||| {of_target} {of_source} {count}"

    def reordering(self) -> str:
        """A line of `wbe-msd-bidirectional-fe-allff`: `source ||| target ||| six probabilities`."""
        return f"{self.source} ||| {self.target} ||| {_decimals(self.orientations)}"

    def thot(self) -> str:
        """`target ||| source ||| count(target) count`, as Thot's phrase model prints it."""
        return f"{self.target} ||| {self.source} ||| {self.target_count:.8f} {self.count:.8f}"

    def tsv(self) -> str:
        return f"{self.source}\t{self.target}\t{self.count}"


class Pool(NamedTuple):
    """Texts one behind the other: their bytes in UTF-8, and how many each has."""

    text: np.ndarray  # uint8
    sizes: np.ndarray  # int64


@dataclass(frozen=True)
class Words:
    """A side's words in the order of their bytes, between them the separator: what numbers of the second sort mean."""

    spelled: list[str]  # by rank; 0 is no word
    ranks: np.ndarray  # of word number + 1; 0 stays 0
    numbers: np.ndarray  # word number + 1 of each rank; 0 for 0 and the separator
    end: int  # the separator's rank

    @classmethod
    def of(cls, words: list[str], spell: Callable[[str], str]) -> Words:
        spelled = [spell(word) for word in words]
        # A blank follows every word on a line, so words are compared with it.
        order = sorted(range(len(words) + 1), key=lambda n: _bytes(spelled[n] if n < len(words) else "|||"))
        ranks = np.zeros(len(words) + 1, np.uint32)
        place = np.empty(len(words) + 1, np.uint32)
        place[order] = np.arange(1, len(words) + 2)
        ranks[1:] = place[:-1]
        numbers = np.zeros(len(words) + 2, np.uint32)
        numbers[ranks] = np.arange(len(ranks))
        in_order = ["", *(spelled[n] if n < len(words) else "|||" for n in order)]
        return cls(in_order, ranks, numbers, int(place[-1]))

    def ranked(self, columns: np.ndarray) -> np.ndarray:
        """Phrases as ranks: a phrase that does not fill its columns ends with the separator."""
        result = self.ranks[columns]
        open_ended = np.flatnonzero((columns == 0).any(axis=1))
        result[open_ended, np.argmax(columns[open_ended] == 0, axis=1)] = self.end
        return result

    def texts(self, columns: np.ndarray) -> list[str]:
        """Phrases of ranks as they are written."""
        word = self.spelled.__getitem__
        sizes = ((columns != 0) & (columns != self.end)).sum(axis=1).tolist()
        return [" ".join(map(word, row[:size])) for row, size in zip(columns.tolist(), sizes, strict=True)]

    @cached_property
    def pool(self) -> Pool:
        """Words by rank as they stand on a line, a blank behind each; the separator is nothing here."""
        encoded = [f"{word} ".encode("utf-8", "surrogatepass") for word in self.spelled]
        encoded[0] = encoded[self.end] = b""
        sizes = np.fromiter(map(len, encoded), np.int64, len(encoded))
        return Pool(np.frombuffer(b"".join(encoded), np.uint8), sizes)


@dataclass(frozen=True)
class Block:
    """Consecutive rows of the table; see `Phrase` for what its columns mean."""

    sides: tuple[Words, Words]
    source: np.ndarray  # ranks of words, uint32 (rows, longest)
    target: np.ndarray
    links: np.ndarray  # their bits, little end first: bytes (rows,)
    lexical: np.ndarray  # (rows, 2): inverse and direct
    times: np.ndarray
    source_times: np.ndarray
    target_times: np.ndarray
    expected: np.ndarray
    pairs: np.ndarray
    orientations: np.ndarray  # (rows, 6)

    def links_of(self, bits: np.ndarray) -> list[tuple[tuple[int, int], ...]]:
        """Links of which `bits` are the bits."""
        longest = self.source.shape[1]
        return [_links(int.from_bytes(some, "little"), longest) for some in bits.tolist()]

    def phrases(self) -> Iterator[Phrase]:
        starts = _starts(self.source)  # a source phrase comes with all its targets
        lengths = np.diff(np.r_[starts, len(self.source)]).tolist()
        return map(
            Phrase._make,
            zip(
                chain.from_iterable(map(repeat, self.sides[0].texts(self.source[starts]), lengths)),
                self.sides[1].texts(self.target),
                *self.lexical.T.tolist(),
                self.links_of(self.links),
                self.times.tolist(),
                self.source_times.tolist(),
                self.target_times.tolist(),
                self.expected.tolist(),
                self.pairs.tolist(),
                map(tuple, self.orientations.tolist()),
                strict=True,
            ),
        )


def _bytes(word: str) -> bytes:
    return f"{word} ".encode("utf-8", "replace")


def phrase_table(aligned: Aligned, longest: int = 7, **options: Any) -> Iterator[Phrase]:
    """Every phrase pair of at most `longest` words per side, sorted as the lines of a Moses table are.

    Takes the arguments of `phrase_blocks`.
    """
    for block in phrase_blocks(aligned, longest, **options):
        yield from block.phrases()


def phrase_blocks(
    aligned: Aligned,
    longest: int = 7,
    *,
    thot: bool = False,
    least: int = 1,
    spell: Callable[[str], str] = escaped,
    memory: int = MEMORY,
    folder: str | PathLike[str] | None = None,
) -> Iterator[Block]:
    """The phrase table, some thousand rows at a time.

    `thot` leaves out what Thot's phrase model leaves out, `least` what comes less often; `spell` is how a word is written.
    `memory` bytes are held while sorting, the rest is in a new folder within `folder`, which goes in the end.
    """
    tally = LinkTally()
    width = 4 * (2 * longest + (longest * longest + 31) // 32)
    with Spill(width, 7, memory // 2, folder) as by_target, Spill(width, 8, memory // 2, folder) as by_source:
        for part in aligned.parts():
            _collect(part, tally, longest, thot, by_target)
        counts = tally.result()
        sides = Words.of(counts.sources.words, spell), Words.of(counts.targets.words, spell)
        for keys, values in by_target.merged(together=4 * longest):
            words, values = _most_frequent_links(keys.view(">u4"), values, longest)
            source, target = sides[0].ranked(words[:, longest : 2 * longest]), sides[1].ranked(words[:, :longest])
            rows = np.concatenate([source, target, words[:, 2 * longest :]], axis=1)
            by_source.add(_as_bytes(rows), values)
        weights = _word_links(counts)
        for keys, values in by_source.merged(together=4 * longest):
            rows = keys.view(">u4")
            of_source = _totals(rows[:, :longest], values[:, TIMES])
            kept = np.flatnonzero(values[:, TIMES] >= least)
            for first in range(0, len(kept), ROWS):
                some = kept[first : first + ROWS]
                yield _block(rows[some].astype(np.uint32), values[some], of_source[some], longest, sides, weights)


def _collect(part: Part, tally: LinkTally, longest: int, thot: bool, spill: Spill) -> None:
    source, target = tally.add(part)
    bitext, links = part.bitext, part.alignments
    probability = np.nan_to_num(links.probability.astype(np.float32), nan=1.0)
    text = kernels.LinkedText(
        source,
        bitext.source.offsets,
        target,
        bitext.target.offsets,
        links.offsets,
        links.source,
        links.target,
        probability,
    )
    for first in range(0, len(links), PAIRS):
        keys, values, places = kernels.collect(first, min(first + PAIRS, len(links)), text, longest, ONE, thot)
        phrases = _as_bytes(keys[:, : 2 * longest]).view(f"S{8 * longest}").reshape(-1)
        spill.add(_as_bytes(keys), np.column_stack([values, first_of_pair(phrases, places)]))


def _as_bytes(keys: np.ndarray) -> np.ndarray:
    """Rows of numbers as bytes in the order of the numbers."""
    return np.ascontiguousarray(keys.astype(">u4")).view(np.uint8)


def _starts(rows: np.ndarray) -> np.ndarray:
    """Where a row differs from the one before."""
    return np.flatnonzero(np.r_[True, (rows[1:] != rows[:-1]).any(axis=1)])


def _most_frequent_links(keys: np.ndarray, values: np.ndarray, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Each phrase pair once, with the links it has most often (the first of equals), and the count of its target phrase."""
    starts = _starts(keys[:, : 2 * longest])
    group = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(keys)]))
    best = np.lexsort((-values[:, TIMES], group))[starts]
    sums = np.add.reduceat(values, starts, axis=0)
    rows = keys[best].astype(np.uint32)
    return rows, np.column_stack([sums, _totals(rows[:, :longest], sums[:, TIMES])])


def _totals(phrases: np.ndarray, times: np.ndarray) -> np.ndarray:
    """For each row, the sum of `times` over the rows with the same phrase, which are together."""
    starts = _starts(phrases)
    return np.repeat(np.add.reduceat(times, starts), np.diff(np.r_[starts, len(phrases)]))


def _word_links(counts: LinkCounts) -> kernels.WordLinks:
    source_total, target_total = counts.totals(counts.links)
    source_free, target_free = counts.sources.free, counts.targets.free
    return kernels.WordLinks(
        counts.keys,
        *(
            values.astype(np.float64)
            for values in (
                counts.links,
                source_total + source_free,
                target_total + target_free,
                source_free,
                target_free,
            )
        ),
    )


def _block(
    keys: np.ndarray,
    values: np.ndarray,
    of_source: np.ndarray,
    longest: int,
    sides: tuple[Words, Words],
    weights: kernels.WordLinks,
) -> Block:
    """Some rows as the table has them; `of_source` are the times of their source phrases."""
    source, target, masks = keys[:, :longest], keys[:, longest : 2 * longest], keys[:, 2 * longest :]
    numbers = np.concatenate([sides[1].numbers[target], sides[0].numbers[source], masks], axis=1)
    times = values[:, TIMES]
    turns = []
    for columns in (BEFORE, BEHIND):
        kinds = np.column_stack([values[:, columns], times - values[:, columns].sum(axis=1)])
        turns.append((kinds + SMOOTHING) / (times + 3 * SMOOTHING)[:, None])
    return Block(
        sides,
        source,
        target,
        np.ascontiguousarray(masks, "<u4").view(f"S{4 * masks.shape[1]}").reshape(-1),
        kernels.lexical_weights(numbers, longest, weights),
        times,
        of_source,
        values[:, OF_TARGET],
        values[:, RIGHT] / ONE,
        values[:, PAIRED],
        np.concatenate(turns, axis=1),
    )


# Most phrase pairs have the links and the orientations of many others: writing these is half of the work.
@lru_cache(1 << 16)
def _links(bits: int, longest: int) -> tuple[tuple[int, int], ...]:
    return tuple(divmod(bit, longest) for bit in range(bits.bit_length()) if bits >> bit & 1)


@lru_cache(1 << 16)
def pharaoh(links: tuple[tuple[int, int], ...]) -> str:
    return " ".join(f"{i}-{j}" for i, j in links)


@lru_cache(1 << 16)
def _decimals(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:.6f}" for value in values)
