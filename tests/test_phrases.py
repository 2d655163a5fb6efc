"""Phrase pairs against their definition."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold
from dovetail.uses.phrases import evaluate_phrases, phrase_pairs


def naive_phrases(links, I, J, longest):
    found = set()
    for a in range(I):
        for b in range(a, min(a + longest, I)):
            for c in range(J):
                for d in range(c, min(c + longest, J)):
                    inside = [(i, j) for i, j in links if a <= i <= b and c <= j <= d]
                    leaving = [(i, j) for i, j in links if (a <= i <= b) != (c <= j <= d)]
                    if inside and not leaving:
                        found.add((a, b, c, d))
    return found


@given(
    links=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=8),
    longest=st.integers(1, 6),
)
@settings(deadline=None)
def test_phrase_pairs_are_those_of_the_definition(links, longest):
    found = phrase_pairs(sorted(links), 5, 6, longest)
    assert len(found) == len(set(found))
    assert set(found) == naive_phrases(links, 5, 6, longest)


def test_the_gold_itself_scores_one_and_nothing_scores_nothing():
    links = [[(0, 0), (1, 2), (2, 1)], [(0, 0)]]
    gold = Gold.from_links(links)
    assert evaluate_phrases(Alignments.from_links(links), gold).f1 == 1.0
    nothing = evaluate_phrases(Alignments.from_links([[], []]), gold)
    assert (nothing.precision, nothing.recall, nothing.f1) == (1.0, 0.0, 0.0)


def test_one_wrong_link_costs_phrases():
    gold = Gold.from_links([[(0, 0), (1, 1)]])
    score = evaluate_phrases(Alignments.from_links([[(0, 0), (1, 1), (1, 0)]]), gold)
    assert score.recall == pytest.approx(1 / 3)
    assert score.precision == 1.0
