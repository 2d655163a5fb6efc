"""A dictionary from links: words, and phrases, with their translations, probabilities, counts, significance, examples."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from dovetail.errors import InputError
from dovetail.kernels.links.significance import association
from dovetail.uses.aligned import Aligned
from dovetail.uses.columns import ROWS, Numbers, Spellings
from dovetail.uses.lexicon_examples import BestExamples
from dovetail.uses.lexicon_phrases import phrase_entries
from dovetail.uses.spill import MEMORY
from dovetail.uses.tally import ONE, LinkTally, SideCounts

if TYPE_CHECKING:
    import pandas

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
SIDES = attrgetter("sources"), attrgetter("targets")


@dataclass(frozen=True)
class Lexicon(Sequence[Entry]):
    """Entries sorted by source, the most probable translation first.

    `columns` holds one array per field of `Entry` between `target` and `examples`.  `unlinked` is what each source word, and
    each target word, has of occurrences without translation, in expected counts: the NULL of Moses' tables.
    """

    sources: Spellings
    targets: Spellings
    columns: dict[str, np.ndarray]
    examples: Numbers
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
        for first in range(0, len(self), ROWS):
            some = slice(first, first + ROWS)
            numbers = (self.columns[name][some].tolist() for name in NUMBERS)
            rows = zip(self.sources[some], self.targets[some], *numbers, self.examples[some], strict=True)
            yield from itertools.starmap(Entry, rows)

    def __repr__(self) -> str:
        return f"<Lexicon: {len(self):,} entries from {self.sentence_pairs:,} sentence pairs>"

    def _chosen(self, order: np.ndarray) -> Lexicon:
        return replace(
            self,
            sources=self.sources.chosen(order),
            targets=self.targets.chosen(order),
            columns={name: values[order] for name, values in self.columns.items()},
            examples=self.examples.chosen(order),
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
        if keep.all() and best is None:
            return self
        chosen = np.flatnonzero(keep)
        if best is not None and len(chosen):
            numbers = self.sources.numbers[chosen]
            starts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]])
            place = np.arange(len(chosen)) - np.repeat(starts, np.diff(np.r_[starts, len(chosen)]))
            chosen = chosen[place < best]
        return self._chosen(chosen)

    def to_records(self) -> list[dict[str, Any]]:
        """One dict per entry, fields as of `Entry`."""
        return [entry._asdict() for entry in self]

    def to_pandas(self) -> pandas.DataFrame:
        """One row per entry; needs the extra `pandas`."""
        from dovetail.alignments.frames import pandas_module

        texts = {"source": list(self.sources), "target": list(self.targets)}
        return pandas_module().DataFrame({**texts, **self.columns, "examples": list(self.examples)})


def lexicon(
    aligned: Aligned,
    *,
    longest: int = 1,
    count: int = 1,
    examples: int = 3,
    memory: int = MEMORY,
    folder: str | PathLike[str] | None = None,
) -> Lexicon:
    """The dictionary of an aligned text.

    Entries are pairs of words that are linked at least `count` times; with `longest` over 1 also pairs of phrases up to so
    many words that stand there as often, and at least twice, and that no link leaves (`phrase_table`): two more walks over
    the text.  `examples` are kept for each entry: those with the surest link in the shortest sentences.
    """
    words = _words(aligned, examples).filtered(count=count)
    parts = [words]
    if longest > 1:
        found = phrase_entries(aligned, longest, max(count, LEAST_PHRASE), examples, memory, folder)
        pairs = found.columns["pairs"], found.source_pairs, found.target_pairs
        columns = found.columns | _significance(*pairs, words.sentence_pairs)
        parts.append(
            replace(words, sources=found.sources, targets=found.targets, columns=columns, examples=found.examples)
        )
    return _sorted(parts)


def _words(aligned: Aligned, examples: int) -> Lexicon:
    """Pairs of words that are ever linked."""
    tally, best = LinkTally(), BestExamples(examples)
    for part in aligned.parts():
        best.add(part, *tally.add(part))
    counts = tally.result()
    source, target = counts.source, counts.target
    of_source, of_target = counts.totals(counts.weight)
    columns = {
        "p_target": counts.weight / np.maximum(of_source[source], 1),
        "p_source": counts.weight / np.maximum(of_target[target], 1),
        "count": counts.links,
        "expected": counts.weight / ONE,
        "source_count": counts.sources.occurrences[source],
        "target_count": counts.targets.occurrences[target],
        "pairs": counts.pairs,
    }
    pairs = counts.pairs, counts.sources.pairs[source], counts.targets.pairs[target]
    return Lexicon(
        Spellings(counts.sources.words, source),
        Spellings(counts.targets.words, target),
        columns | _significance(*pairs, counts.sentence_pairs),
        Numbers(best.result(counts.keys)),
        (_unlinked(counts.sources), _unlinked(counts.targets)),
        counts.sentence_pairs,
    )


def _unlinked(side: SideCounts) -> dict[str, float]:
    return {word: value / ONE for word, value in zip(side.words, side.free_weight.tolist(), strict=True) if value}


def _significance(pairs: np.ndarray, source: np.ndarray, target: np.ndarray, total: int) -> dict[str, np.ndarray]:
    found = association(pairs, source, target, float(max(1, total)))
    return {"llr": found[:, 0], "fisher": found[:, 1]}


def _sorted(parts: list[Lexicon]) -> Lexicon:
    """One lexicon, by source, then the most probable, the most frequent, the first by spelling; `parts` is emptied.

    There may be millions of entries: each column is put in order alone, and its parts are let go.
    """
    about = parts[0].unlinked, parts[0].sentence_pairs
    sources, targets = (Spellings.joined([side(part) for part in parts]) for side in SIDES)
    columns = {name: np.concatenate([part.columns.pop(name) for part in parts]) for name in NUMBERS}
    examples = Numbers.joined([part.examples for part in parts])
    parts.clear()
    order = np.lexsort((targets.numbers, -columns["count"], -columns["p_target"], sources.numbers))
    for name in NUMBERS:
        columns[name] = columns[name][order]
    return Lexicon(sources.chosen(order), targets.chosen(order), columns, examples.chosen(order), *about)


def example_texts(aligned: Aligned, entries: Lexicon) -> dict[int, tuple[str, str]]:
    """The sentences of all examples by the number of their pair; walks through the text once more."""
    wanted = set(np.unique(entries.examples.table).tolist())
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
