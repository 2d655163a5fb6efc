"""A dictionary from links: words, and phrases, with their translations, probabilities, counts, significance, examples."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from dovetail.bitext.corpus import Bitext
from dovetail.errors import InputError
from dovetail.kernels.links.significance import association
from dovetail.uses.aligned import Aligned, Part
from dovetail.uses.phrase_table import phrase_table
from dovetail.uses.spill import MEMORY
from dovetail.uses.tally import ONE, LinkTally, pair_keys

if TYPE_CHECKING:
    import pandas

WORDS_OF_AN_EXAMPLE = 16  # of both sides: longer pairs are worse examples
LEAST_PHRASE = 2  # times that a phrase pair must stand in the text


class Entry(NamedTuple):
    """A source word or phrase and one of its translations.

    `count` are links (of phrases: places), `expected` the sum of their probabilities, from which `p_target` (of the target
    given the source) and `p_source` are made; for phrases, they are shares of places.  `source_count` and `target_count` are
    occurrences in the text, `pairs` sentence pairs in which the two are linked.  `llr` is the log-likelihood ratio and
    `fisher` -log10 of the p-value of Fisher's exact test, over sentence pairs.  `examples` are numbers of pairs, from 1.
    """

    source: str
    target: str
    p_target: float
    p_source: float
    count: int  # type: ignore[assignment]  # tuples count, too
    expected: float
    source_count: int
    target_count: int
    pairs: int
    llr: float
    fisher: float
    examples: tuple[int, ...]

    @property
    def words(self) -> tuple[str, str]:
        """Source and target."""
        return self.source, self.target


NUMBERS = Entry._fields[2:-1]


@dataclass(frozen=True)
class Lexicon(Sequence[Entry]):
    """Entries sorted by source, the most probable translation first.

    `columns` holds one array per field of `Entry` between `target` and `examples`.  `unlinked` is what each source word, and
    each target word, has of occurrences without translation, in expected counts: the NULL of Moses' tables.
    """

    sources: list[str]
    targets: list[str]
    columns: dict[str, np.ndarray]
    examples: list[tuple[int, ...]]
    unlinked: tuple[dict[str, float], dict[str, float]]
    sentence_pairs: int

    def __len__(self) -> int:
        return len(self.sources)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Lexicon: ...
    def __getitem__(self, index: int | slice) -> Entry | Lexicon:
        if isinstance(index, slice):
            return self._chosen(np.arange(len(self))[index])
        values = [self.columns[name][index].item() for name in NUMBERS]
        return Entry._make([self.sources[index], self.targets[index], *values, self.examples[index]])

    def __iter__(self) -> Iterator[Entry]:
        numbers = (self.columns[name].tolist() for name in NUMBERS)
        return itertools.starmap(Entry, zip(self.sources, self.targets, *numbers, self.examples, strict=True))

    def __repr__(self) -> str:
        return f"<Lexicon: {len(self):,} entries from {self.sentence_pairs:,} sentence pairs>"

    def _chosen(self, order: np.ndarray) -> Lexicon:
        return replace(
            self,
            sources=[self.sources[n] for n in order.tolist()],
            targets=[self.targets[n] for n in order.tolist()],
            columns={name: values[order] for name, values in self.columns.items()},
            examples=[self.examples[n] for n in order.tolist()],
        )

    def translations(self, source: str) -> list[Entry]:
        """All entries of a source word or phrase."""
        from bisect import bisect_left, bisect_right

        return [self[n] for n in range(bisect_left(self.sources, source), bisect_right(self.sources, source))]

    def filtered(
        self,
        *,
        count: int = 1,
        probability: float = 0.0,
        llr: float | None = None,
        fisher: float | None = None,
        best: int | None = None,
    ) -> Lexicon:
        """Entries with at least this count and p(target | source), at least this `llr`, a p-value of at most `fisher`.

        `best` keeps so many translations of each source.
        """
        columns = self.columns
        keep = (columns["count"] >= count) & (columns["p_target"] >= probability)
        if llr is not None:
            keep &= columns["llr"] >= llr
        if fisher is not None:
            keep &= columns["fisher"] >= -np.log10(fisher)
        chosen = np.flatnonzero(keep)
        if best is not None:
            taken: list[int] = []
            times, last = 0, None
            for n in chosen.tolist():
                times = times + 1 if self.sources[n] == last else 1
                last = self.sources[n]
                if times <= best:
                    taken.append(n)
            chosen = np.array(taken, np.int64)
        return self._chosen(chosen)

    def to_records(self) -> list[dict[str, Any]]:
        """One dict per entry, fields as of `Entry`."""
        return [entry._asdict() for entry in self]

    def to_pandas(self) -> pandas.DataFrame:
        """One row per entry; needs the extra `pandas`."""
        from dovetail.alignments.frames import pandas_module

        columns = {"source": self.sources, "target": self.targets, **self.columns, "examples": self.examples}
        return pandas_module().DataFrame(columns)


def lexicon(
    aligned: Aligned,
    *,
    longest: int = 1,
    examples: int = 3,
    memory: int = MEMORY,
    folder: str | PathLike[str] | None = None,
) -> Lexicon:
    """The dictionary of an aligned text.

    Entries are pairs of words that are ever linked; with `longest` over 1 also pairs of phrases up to so many words that
    stand there at least twice and that no link leaves (`phrase_table`), which take two more walks through the text.
    `examples` are kept for each entry: those with the surest link in the shortest sentences.
    """
    tally, best = LinkTally(), _Examples(examples)
    for part in aligned.parts():
        ids = tally.add(part)
        best.add(part, *ids)
    counts = tally.result()
    weight = counts.weight / ONE
    totals = [total / ONE for total in counts.totals(counts.weight)]
    columns = {
        "p_target": weight / np.maximum(totals[0][counts.source], 1 / ONE),
        "p_source": weight / np.maximum(totals[1][counts.target], 1 / ONE),
        "count": counts.links,
        "expected": weight,
        "source_count": counts.sources.occurrences[counts.source],
        "target_count": counts.targets.occurrences[counts.target],
        "pairs": counts.pairs,
    }
    marginals = counts.sources.pairs[counts.source], counts.targets.pairs[counts.target]
    columns |= _significance(counts.pairs, *marginals, counts.sentence_pairs)
    words = Lexicon(
        [counts.sources.words[s] for s in counts.source.tolist()],
        [counts.targets.words[t] for t in counts.target.tolist()],
        columns,
        best.result(len(counts.source), counts.keys),
        (_unlinked(counts.sources), _unlinked(counts.targets)),
        counts.sentence_pairs,
    )
    parts = [words]
    if longest > 1:
        parts.append(_phrases(aligned, longest, examples, counts.sentence_pairs, memory, folder))
    return _sorted(parts)


def _unlinked(side: Any) -> dict[str, float]:
    return {word: value / ONE for word, value in zip(side.words, side.free_weight.tolist(), strict=True) if value}


def _significance(pairs: np.ndarray, source: np.ndarray, target: np.ndarray, total: int) -> dict[str, np.ndarray]:
    found = association(pairs, source, target, float(max(1, total)))
    return {"llr": found[:, 0], "fisher": found[:, 1]}


def _sorted(parts: Sequence[Lexicon]) -> Lexicon:
    """One lexicon, by source, then the most probable, the most frequent, the first by spelling."""
    first = parts[0]
    whole = replace(
        first,
        sources=[source for part in parts for source in part.sources],
        targets=[target for part in parts for target in part.targets],
        columns={name: np.concatenate([part.columns[name] for part in parts]) for name in NUMBERS},
        examples=[example for part in parts for example in part.examples],
    )
    probability, count = whole.columns["p_target"].tolist(), whole.columns["count"].tolist()
    order = sorted(range(len(whole)), key=lambda n: (whole.sources[n], -probability[n], -count[n], whole.targets[n]))
    return whole._chosen(np.array(order, np.int64))


class _Examples:
    """The best sentence pairs of each pair of words: the surest link, in the shortest sentences, the first of equals."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: list[tuple[np.ndarray, ...]] = []
        self._size = self._kept = 0

    def add(self, part: Part, source: np.ndarray, target: np.ndarray) -> None:
        if not self._most:
            return
        links, bitext = part.alignments, part.bitext
        pair = np.repeat(np.arange(len(links)), np.diff(links.offsets))
        words = bitext.source.lengths[pair] + bitext.target.lengths[pair]
        shortness = WORDS_OF_AN_EXAMPLE / np.maximum(words, WORDS_OF_AN_EXAMPLE)
        keys = pair_keys(
            source[bitext.source.offsets[pair] + links.source], target[bitext.target.offsets[pair] + links.target]
        )
        quality = np.nan_to_num(links.probability, nan=1.0) * shortness
        self._rows.append(self._best(keys, quality.astype(np.float32), pair + part.first + 1))
        self._size += len(self._rows[-1][0])
        if self._size > max(1 << 20, 2 * self._kept):
            self._settle()

    def _best(self, keys: np.ndarray, quality: np.ndarray, pair: np.ndarray) -> tuple[np.ndarray, ...]:
        order = np.lexsort((pair, -quality, keys))
        keys, quality, pair = keys[order], quality[order], pair[order]
        fresh = np.ones(len(keys), bool)
        # A sentence pair counts once, however often the words are linked in it: its best link comes first.
        places = np.lexsort((np.arange(len(keys)), pair, keys))
        again = (keys[places][1:] == keys[places][:-1]) & (pair[places][1:] == pair[places][:-1])
        fresh[places[1:][again]] = False
        keys, quality, pair = keys[fresh], quality[fresh], pair[fresh]
        starts = np.r_[True, keys[1:] != keys[:-1]] if len(keys) else np.empty(0, bool)
        rank = np.arange(len(keys)) - np.maximum.accumulate(np.where(starts, np.arange(len(keys)), 0))
        keep = rank < self._most
        return keys[keep], quality[keep], pair[keep]

    def _settle(self) -> None:
        if self._rows:
            joined = [np.concatenate(columns) for columns in zip(*self._rows, strict=True)]
            self._rows = [self._best(*joined)]
            self._size = self._kept = len(self._rows[0][0])

    def result(self, entries: int, keys: np.ndarray) -> list[tuple[int, ...]]:
        """The pairs of each entry, in the order of the text; `keys` are the entries', sorted."""
        if not self._most:
            return [()] * entries
        self._settle()
        if not self._rows:
            return []
        found, _, pair = self._rows[0]
        ends = np.searchsorted(found, keys, side="right").tolist()
        starts = np.searchsorted(found, keys, side="left").tolist()
        numbers = pair.tolist()
        return [tuple(sorted(numbers[start:end])) for start, end in zip(starts, ends, strict=True)]


def _phrases(
    aligned: Aligned,
    longest: int,
    examples: int,
    sentence_pairs: int,
    memory: int,
    folder: str | PathLike[str] | None,
) -> Lexicon:
    """Pairs of phrases, at least one of them of more words than one, that come at least twice."""
    chosen = [
        phrase
        for phrase in phrase_table(aligned, longest, spell=str, memory=memory, folder=folder)
        if phrase.count >= LEAST_PHRASE and (" " in phrase.source or " " in phrase.target)
    ]
    seen = _Seen([(phrase.source, phrase.target) for phrase in chosen], longest, examples)
    first = 0
    for bitext in aligned.bitexts():
        seen.add(first, bitext)
        first += len(bitext)
    source, target = (
        np.array([counts[unit] for unit in side], np.int64).reshape(-1, 2)
        for counts, side in zip(
            seen.counts, ([phrase.source for phrase in chosen], [phrase.target for phrase in chosen]), strict=True
        )
    )
    pairs = np.array([phrase.pairs for phrase in chosen], np.int64)
    columns = {
        "p_target": np.array([phrase.direct for phrase in chosen], np.float64),
        "p_source": np.array([phrase.inverse for phrase in chosen], np.float64),
        "count": np.array([phrase.count for phrase in chosen], np.int64),
        "expected": np.array([phrase.expected for phrase in chosen], np.float64),
        "source_count": source[:, 0],
        "target_count": target[:, 0],
        "pairs": pairs,
        **_significance(pairs, source[:, 1], target[:, 1], sentence_pairs),
    }
    return Lexicon(
        [phrase.source for phrase in chosen],
        [phrase.target for phrase in chosen],
        columns,
        [tuple(numbers) for numbers in seen.examples],
        ({}, {}),
        sentence_pairs,
    )


class _Seen:
    """Where phrases stand, linked or not: [occurrences, sentence pairs] of each; and the first pairs with both sides."""

    def __init__(self, entries: list[tuple[str, str]], longest: int, most: int) -> None:
        self.counts: tuple[dict[str, list[int]], dict[str, list[int]]] = ({}, {})
        self.examples: list[list[int]] = [[] for _ in entries]
        self._partners: dict[str, dict[str, int]] = {}
        self._longest, self._most = longest, most
        for n, (source, target) in enumerate(entries):
            self.counts[0].setdefault(source, [0, 0])
            self.counts[1].setdefault(target, [0, 0])
            self._partners.setdefault(source, {})[target] = n

    def add(self, before: int, bitext: Bitext) -> None:
        for n in range(len(bitext)):
            found: list[set[str]] = []
            for side, counts in zip((bitext.source, bitext.target), self.counts, strict=True):
                ids = side.ids[side.offsets[n] : side.offsets[n + 1]].tolist()
                words = [side.vocabulary[word] for word in ids]
                here = set()
                for size in range(1, self._longest + 1):
                    for first in range(len(words) - size + 1):
                        unit = " ".join(words[first : first + size])
                        if unit in counts:
                            counts[unit][0] += 1
                            here.add(unit)
                for unit in here:
                    counts[unit][1] += 1
                found.append(here)
            for source in found[0] if self._most else ():
                partners = self._partners[source]
                for target in found[1] & partners.keys():
                    numbers = self.examples[partners[target]]
                    if len(numbers) < self._most:
                        numbers.append(before + n + 1)


def example_texts(aligned: Aligned, entries: Lexicon) -> dict[int, tuple[str, str]]:
    """The sentences of all examples by the number of their pair; walks through the text once more."""
    wanted = {number for numbers in entries.examples for number in numbers}
    found: dict[int, tuple[str, str]] = {}
    number = 0
    for bitext in aligned.bitexts():
        text = bitext.text
        if text is None:
            raise InputError("the text was not kept", remedy="Read the bitext with keep_text=True.")
        for n in range(len(bitext)):
            number += 1
            if number in wanted:
                found[number] = text.source(n)[0], text.target(n)[0]
    return found
