"""Slow, obvious twins of the evaluation: sets of links, fractions, every swap and every resample written out.

A corpus is a list of pairs; `links`, `sure` and `possible` hold one set of (i, j) a pair, `candidates` one
dict from link to probability a pair.  `corpora` makes them up.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from hypothesis import strategies as st

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold


def statistics(links, sure, possible):
    return [(len(a), len(s), len(a & s), len(a & (p | s))) for a, s, p in zip(links, sure, possible, strict=True)]


def totals(counts):
    return tuple(sum(column) for column in zip((0, 0, 0, 0), *counts, strict=True))


def precision(counts):
    links, _, _, in_possible = counts
    return Fraction(in_possible, links) if links else Fraction(1)


def recall(counts):
    _, sure, in_sure, _ = counts
    return Fraction(in_sure, sure) if sure else Fraction(1)


def aer(counts):
    links, sure, in_sure, in_possible = counts
    return 1 - Fraction(in_sure + in_possible, links + sure) if links + sure else Fraction(0)


def f(counts, alpha=Fraction(1, 2)):
    p, r = precision(counts), recall(counts)
    return 1 / (alpha / p + (1 - alpha) / r) if p and r else Fraction(0)


METRICS = {"aer": aer, "precision": precision, "recall": recall, "f1": f}


def curve(candidates, sure, possible):
    """(threshold, counts) for no links at all and then for each distinct probability, falling."""
    thresholds = sorted({p for cells in candidates for p in cells.values()}, reverse=True)
    points = []
    for threshold in [float("inf"), *thresholds]:
        kept = [{link for link, p in cells.items() if p >= threshold} for cells in candidates]
        points.append((threshold, totals(statistics(kept, sure, possible))))
    return points


def randomization_p_value(first, second, metric):
    """Share of all 2^N ways to swap the systems' outputs that give at least the observed difference."""

    def difference(a, b):
        return abs(METRICS[metric](totals(a)) - METRICS[metric](totals(b)))

    observed = difference(first, second)
    hits = 0
    for swaps in product([False, True], repeat=len(first)):
        a = [y if swap else x for x, y, swap in zip(first, second, swaps, strict=True)]
        b = [x if swap else y for x, y, swap in zip(first, second, swaps, strict=True)]
        hits += difference(a, b) >= observed
    return Fraction(hits, 2 ** len(first))


def resampled_values(counts, metric):
    """How often the metric takes each value over all N^N ordered resamples."""
    return Counter(METRICS[metric](totals(drawn)) for drawn in product(counts, repeat=len(counts)))


def one_to_one_share(links):
    alone = sum(
        sum(x[0] == y[0] for y in pair) == 1 and sum(x[1] == y[1] for y in pair) == 1 for pair in links for x in pair
    )
    count = sum(map(len, links))
    return alone / count if count else 1.0


def symmetry(forward, reverse):
    both = sum(len(a & b) for a, b in zip(forward, reverse, strict=True))
    either = sum(len(a | b) for a, b in zip(forward, reverse, strict=True))
    return both / either if either else 1.0


def fertilities(links, lengths, side):
    """Counter: how many words take k links."""
    return Counter(
        sum(link[side] == word for link in pair)
        for pair, sizes in zip(links, lengths, strict=True)
        for word in range(sizes[side])
    )


def dictionary_size(links, source_words, target_words):
    return len(
        {
            (source[i], target[j])
            for pair, source, target in zip(links, source_words, target_words, strict=True)
            for i, j in pair
        }
    )


def statistics_where(links, sure, possible, keep):
    """Counts of the links for which keep(n, link) holds."""

    def part(sets):
        return [{link for link in pair if keep(n, link)} for n, pair in enumerate(sets)]

    return totals(statistics(part(links), part(sure), part(possible)))


def settled(candidates, sure, possible, possible_is_right):
    """(probability, right?) of each candidate that counts."""
    for cells, s, p in zip(candidates, sure, possible, strict=True):
        for link, probability in cells.items():
            if link in s or (possible_is_right and link in p):
                yield probability, True
            elif link not in p:
                yield probability, False


def calibration(outcomes, edges):
    """(count, mean probability, share right) of each bin, None for the means of none; the expected error."""
    bins = []
    for b in range(len(edges) - 1):
        last = b == len(edges) - 2
        inside = [(p, ok) for p, ok in outcomes if edges[b] <= p and (p < edges[b + 1] or last)]
        count = len(inside)
        bins.append(
            (count, sum(p for p, _ in inside) / count, sum(ok for _, ok in inside) / count)
            if count
            else (0, None, None)
        )
    error = sum(count * abs(ok - p) for count, p, ok in bins if count) / max(1, len(outcomes))
    return bins, error


class Corpus(NamedTuple):
    """A made-up corpus, as sets and dicts; the properties give the packed forms."""

    lengths: list[tuple[int, int]]
    sure: list[set[tuple[int, int]]]
    possible: list[set[tuple[int, int]]]
    candidates: list[dict[tuple[int, int], float]]

    @property
    def links(self):
        return [set(cells) for cells in self.candidates]

    @property
    def gold(self):
        return Gold.from_links(self.sure, self.possible)

    @property
    def alignments(self):
        return Alignments.from_links(self.candidates, [cells.values() for cells in self.candidates], self.lengths)


@st.composite
def corpora(draw, max_pairs=4, max_length=4, min_pairs=0):
    """Few words and few distinct probabilities (exact in float32), so that overlaps and ties are common."""
    lengths = draw(st.lists(st.tuples(*[st.integers(0, max_length)] * 2), min_size=min_pairs, max_size=max_pairs))
    sure, possible, candidates = [], [], []
    for source_length, target_length in lengths:
        cells = list(product(range(source_length), range(target_length)))
        some = st.sets(st.sampled_from(cells)) if cells else st.just(set())
        sure.append(draw(some))
        possible.append(draw(some) | sure[-1])
        probabilities = st.sampled_from([k / 8 for k in range(9)])
        candidates.append({link: draw(probabilities) for link in sorted(draw(some))})
    return Corpus(lengths, sure, possible, candidates)
