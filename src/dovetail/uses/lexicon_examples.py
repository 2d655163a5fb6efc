"""Which sentence pairs show best how two words translate each other."""

from __future__ import annotations

import numpy as np

from dovetail.uses.aligned import Part
from dovetail.uses.tally import pair_keys

WORDS_OF_AN_EXAMPLE = 16  # of both sides: longer pairs are worse examples


class BestExamples:
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

    def result(self, keys: np.ndarray) -> np.ndarray:
        """The pairs of each entry, in the order of the text, then 0: (entries, most); `keys` are the entries', sorted."""
        best = np.zeros((len(keys), self._most), np.int32)
        self._settle()
        if self._rows:
            found, _, pair = self._rows[0]
            order = np.lexsort((pair, found))
            found, pair = found[order], pair[order]
            entry = np.searchsorted(keys, found)
            best[entry, np.arange(len(found)) - np.searchsorted(found, keys)[entry]] = pair
        return best
