"""The links of every pair of a bitext, packed, with a probability for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np

if TYPE_CHECKING:
    import datasets
    import pandas


@dataclass(frozen=True)
class Alignment:
    """The links of one sentence pair, sorted: `links[k]` = (i, j), 0-based, source first, with `probabilities[k]`.

    `details` holds what else is known of this pair: `score_forward` and `score_reverse`, log p(target | source, length)
    and log p(source | target, length), never above 0, and for the exact decoders `certified`, `score`, `bound` and
    `iterations`.
    """

    links: list[tuple[int, int]]
    probabilities: list[float]
    source_length: int
    target_length: int
    details: dict[str, Any] = field(default_factory=dict)
    text: tuple[Any, int] | None = field(default=None, repr=False, compare=False)  # where its words are, to be shown

    def __len__(self) -> int:
        return len(self.links)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.links)

    def __str__(self) -> str:
        return " ".join(f"{i}-{j}" for i, j in self.links)

    def words(self) -> tuple[list[str], list[str]]:
        """The pair's words where its text is known, else the numbers of their places."""
        if self.text is None:
            return [str(i) for i in range(self.source_length)], [str(j) for j in range(self.target_length)]
        text, n = self.text
        sides = text.source(n), text.target(n)
        source, target = ([raw[start:end] for start, end in spans] for raw, spans in sides)
        return source, target

    def _repr_html_(self) -> str:
        """For notebooks: the words with curves between them, and the matrix."""
        from dovetail import markup

        probabilities = dict(zip(self.links, self.probabilities, strict=True))
        words = self.words()
        return markup.curves(*words, probabilities) + markup.matrix(*words, probabilities)


@dataclass(eq=False, repr=False)
class Alignments(Sequence[Alignment]):
    """One `Alignment` for each pair of a bitext, in order.

    Pair n owns entries `offsets[n]:offsets[n + 1]` of `source` (i), `target` (j), both int32, and `probability`
    (float32); links are sorted by (i, j).  `source_lengths` and `target_lengths` (int32) count each pair's words.
    `details` maps a name to one value per pair (an array or a list).
    """

    offsets: np.ndarray
    source: np.ndarray
    target: np.ndarray
    probability: np.ndarray
    source_lengths: np.ndarray
    target_lengths: np.ndarray
    details: dict[str, Any] = field(default_factory=dict)
    text: Any = None  # where the words are (`formats_text.Text`), if anybody said; first_pair is our pair 0
    first_pair: int = 0

    @classmethod
    def from_links(
        cls,
        links: Iterable[Iterable[tuple[int, int]]],
        probabilities: Iterable[Iterable[float]] | None = None,
        lengths: Iterable[tuple[int, int]] | None = None,
    ) -> Alignments:
        """From lists of (i, j); without `lengths` (source, target) a sentence is taken to end at its last link."""
        rows = [list(row) for row in links]
        weights = [[1.0] * len(row) for row in rows] if probabilities is None else [list(row) for row in probabilities]
        if [len(row) for row in rows] != [len(row) for row in weights]:
            raise ValueError("every link needs exactly one probability")
        if lengths is None:
            sizes = [
                (max((i for i, _ in row), default=-1) + 1, max((j for _, j in row), default=-1) + 1) for row in rows
            ]
        else:
            sizes = list(lengths)
        if len(sizes) != len(rows):
            raise ValueError(f"{len(rows)} alignments, but lengths of {len(sizes)} pairs")
        for n, (row, weight) in enumerate(zip(rows, weights, strict=True)):
            order = sorted(range(len(row)), key=row.__getitem__)
            rows[n] = [row[k] for k in order]
            weights[n] = [weight[k] for k in order]
        offsets = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
        columns = np.array([link for row in rows for link in row], np.int32).reshape(-1, 2).T.copy()
        probability = np.array([p for row in weights for p in row], np.float32)
        own = np.array(sizes, np.int32).reshape(-1, 2).T.copy()
        return cls(offsets, columns[0], columns[1], probability, own[0], own[1])

    @classmethod
    def concatenate(cls, parts: Sequence[Alignments]) -> Alignments:
        """The pairs of all parts, one after the other; all parts have the same details."""
        if not parts:
            return cls.from_links([])
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum([0] + [part.offsets[-1] for part in parts])
        offsets = [part.offsets[:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
        names = ("source", "target", "probability", "source_lengths", "target_lengths")
        columns = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
        source, target, probability, source_lengths, target_lengths = columns
        details = {name: np.concatenate([part.details[name] for part in parts]) for name in parts[0].details}
        together = np.concatenate([*offsets, ends[-1:]]).astype(np.int64)
        return cls(together, source, target, probability, source_lengths, target_lengths, details)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> Alignment: ...
    @overload
    def __getitem__(self, index: slice) -> Alignments: ...
    def __getitem__(self, index: int | slice) -> Alignment | Alignments:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise ValueError("alignments are sliced in order, without a step")
            stop = max(start, stop)
            low, high = self.offsets[start], self.offsets[stop]
            return Alignments(
                self.offsets[start : stop + 1] - low,
                self.source[low:high],
                self.target[low:high],
                self.probability[low:high],
                self.source_lengths[start:stop],
                self.target_lengths[start:stop],
                {name: values[start:stop] for name, values in self.details.items()},
                self.text,
                self.first_pair + start,
            )
        n = range(len(self))[index]
        low, high = self.offsets[n], self.offsets[n + 1]
        return Alignment(
            list(zip(self.source[low:high].tolist(), self.target[low:high].tolist(), strict=True)),
            self.probability[low:high].tolist(),
            int(self.source_lengths[n]),
            int(self.target_lengths[n]),
            {name: _plain(values[n]) for name, values in self.details.items()},
            None if self.text is None else (self.text, self.first_pair + n),
        )

    def swapped(self) -> Alignments:
        """Source and target exchanged."""
        pair = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        order = np.lexsort((self.source, self.target, pair))
        links = self.target[order], self.source[order], self.probability[order]
        return Alignments(self.offsets, *links, self.target_lengths, self.source_lengths, self.details)

    def to_records(self, by: str = "link") -> list[dict[str, Any]]:
        """One dict per link (pair from 0, positions, probability, words where the text is known), or per pair.

        Records by pair have the links, their probabilities, the lengths, the words, and all details.
        """
        from dovetail.alignments.frames import records

        return records(self, by)

    def to_pandas(self, by: str = "link") -> pandas.DataFrame:
        """What `to_records` gives, as a data frame; needs the extra `pandas`."""
        from dovetail.alignments.frames import pandas_module

        return pandas_module().DataFrame.from_records(self.to_records(by))

    def to_dataset(self) -> datasets.Dataset:
        """A Hugging Face dataset with a row per pair, as of `to_records("pair")`; needs the extra `datasets`."""
        from dovetail.alignments.frames import datasets_module

        return datasets_module().Dataset.from_list(self.to_records("pair"))

    def __repr__(self) -> str:
        return f"<Alignments: {len(self):,} pairs, {len(self.source):,} links>"

    def _repr_html_(self, rows: int = 10) -> str:
        """For notebooks: a table of the first pairs."""
        from dovetail import markup

        shown = [self[n] for n in range(min(rows, len(self)))]
        columns = ["pair", "source", "target", "links"]
        cells = [
            [f"{self.first_pair + n}", *(" ".join(side) for side in pair.words()), str(pair)]
            for n, pair in enumerate(shown)
        ]
        if self.text is None:
            columns = ["pair", "words", "links"]
            cells = [
                [row[0], f"{p.source_length} × {p.target_length}", row[3]] for row, p in zip(cells, shown, strict=True)
            ]
        more = f", the first {len(shown)} of them" if len(shown) < len(self) else ""
        return markup.table(columns, cells, f"{len(self):,} pairs, {len(self.source):,} links{more}")


def _plain(value: Any) -> Any:
    """A numpy scalar as the Python value that json and a reader expect."""
    return value.item() if isinstance(value, np.generic) else value
