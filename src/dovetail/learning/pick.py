"""Which pairs to annotate: those whose links the model is least sure of, of all lengths, and not the same words again."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from dovetail.alignments.alignments import Alignments
from dovetail.bitext.corpus import Bitext
from dovetail.learning.lesson import groups

CANDIDATE = 0.01  # cells below this are settled
LONGEST = 60  # words of a side: longer pairs tire those who annotate them
CLASSES = 3  # of lengths, which take turns
SPREAD = 2000  # pairs are chosen with regard to each other; nobody annotates more before picking anew


def worth_annotating(candidates: Alignments, bitext: Bitext, number: int) -> list[int]:
    """Numbers (from 0) of the pairs whose gold would teach most, best first; of pairs that share a sentence one at most.

    `candidates` are all cells above CANDIDATE with their probabilities.  Long, middling and short pairs take turns, for long
    ones alone teach more by the pair, but less by the word that somebody has to look at; each is the one of its class
    with most still open (see `Open`).
    """
    lengths = np.stack([bitext.source.lengths, bitext.target.lengths])
    fit = (lengths.max(axis=0) <= LONGEST) & (lengths.min(axis=0) > 0)
    worth = np.where(fit, doubt(candidates), -1.0)
    order = np.argsort(-worth, kind="stable")
    _, first = np.unique(groups(bitext, order), return_index=True)
    kept = order[np.sort(first)]
    kept = kept[worth[kept] >= 0]  # the best of each group, best first
    taken = _in_turns(kept, worth, lengths.sum(axis=0), Open(candidates, bitext), min(number, SPREAD))
    rest = kept[~np.isin(kept, taken)].tolist() if len(taken) < number else []
    return (taken + rest)[:number]


def _in_turns(pairs: np.ndarray, worth: np.ndarray, sizes: np.ndarray, still: Open, number: int) -> list[int]:
    by_size = pairs[np.argsort(-sizes[pairs], kind="stable")]
    bound = -worth * (1 + 1e-9)  # sums in another order may differ in the last digit
    queues = [[(bound[n], n) for n in part.tolist()] for part in np.array_split(by_size, CLASSES)]
    for queue in queues:
        heapify(queue)
    taken: list[int] = []
    while len(taken) < number and any(queues):
        queue = queues[len(taken) % CLASSES] or next(filter(None, queues))
        # What is open only falls: the first whose value still holds beats all behind it (Minoux 1978).
        while True:
            _, pair = heappop(queue)
            now = -still.of(pair)
            if not queue or (now, pair) <= queue[0]:
                break
            heappush(queue, (now, pair))
        still.take(pair)
        taken.append(pair)
    return taken


class Open:
    """What is open in a pair beside those that were taken: a cell counts 1 / (1 + n), n the times its words were taken.

    n is the mean of its source and its target word's.
    """

    def __init__(self, candidates: Alignments, bitext: Bitext) -> None:
        self._candidates = candidates
        self._entropy = entropies(candidates)
        self._sides = bitext.source, bitext.target
        self._times = tuple(np.zeros(len(side.vocabulary)) for side in self._sides)

    def of(self, pair: int) -> float:
        cells = slice(self._candidates.offsets[pair], self._candidates.offsets[pair + 1])
        seen = sum(times[words] for times, words in zip(self._times, self._words(pair, cells), strict=True))
        return float((self._entropy[cells] / (1 + seen / 2)).sum())

    def take(self, pair: int) -> None:
        cells = slice(self._candidates.offsets[pair], self._candidates.offsets[pair + 1])
        for times, words in zip(self._times, self._words(pair, cells), strict=True):
            times[np.unique(words)] += 1

    def _words(self, pair: int, cells: slice) -> list[np.ndarray]:
        """Source and target word of each cell."""
        positions = self._candidates.source[cells], self._candidates.target[cells]
        return [side.ids[side.offsets[pair] + at] for side, at in zip(self._sides, positions, strict=True)]


def entropies(candidates: Alignments) -> np.ndarray:
    """How open each cell is, in bits."""
    p = np.clip(candidates.probability.astype(np.float64), 1e-6, 1 - 1e-6)
    found: np.ndarray = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    return found


def doubt(candidates: Alignments) -> np.ndarray:
    """The sum of each pair's: how much is open, so that long and hard pairs come first."""
    running = np.append(0.0, np.cumsum(entropies(candidates)))
    found: np.ndarray = running[candidates.offsets[1:]] - running[candidates.offsets[:-1]]
    return found
