"""Shape, agreement, fertility, dictionary size and rare words against sets of links, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_evaluation as naive
from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold
from dovetail.errors import InputError
from dovetail.evaluation import (
    dictionary_size,
    evaluate_by_frequency,
    fertilities,
    one_to_one_share,
    statistics,
    symmetry,
)


def pack(rows):
    """Lists as one array and offsets."""
    offsets = np.cumsum([0, *map(len, rows)])
    return np.array([x for row in rows for x in row], np.int32), offsets


@st.composite
def corpora_with_words(draw):
    """A corpus and two lists of word ids a pair."""
    corpus = draw(naive.corpora())
    words = [
        [draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)) for n in (sizes[side] for sizes in corpus.lengths)]
        for side in (0, 1)
    ]
    return corpus, *words


@settings(deadline=None)
@given(naive.corpora())
def test_one_to_one_links_are_alone_in_row_and_column(corpus):
    assert one_to_one_share(corpus.alignments) == pytest.approx(naive.one_to_one_share(corpus.links))
    assert one_to_one_share(corpus.gold) == pytest.approx(naive.one_to_one_share(corpus.possible))


def test_one_to_one_share_by_hand():
    links = [[(0, 0), (1, 1), (1, 2), (2, 3)], [], [(0, 0)]]
    assert one_to_one_share(Alignments.from_links(links)) == 3 / 5
    assert one_to_one_share(Alignments.from_links([[]])) == 1


@settings(deadline=None)
@given(st.data())
def test_symmetry_is_intersection_over_union(data):
    one = data.draw(naive.corpora())
    forward, reverse = one.links, one.possible
    found = symmetry(Alignments.from_links(forward), Alignments.from_links(reverse))
    assert found == pytest.approx(naive.symmetry(forward, reverse))
    assert found == symmetry(Alignments.from_links(reverse), Alignments.from_links(forward))
    assert symmetry(Alignments.from_links(forward), Alignments.from_links(forward)) == 1


def test_symmetry_needs_the_same_pairs():
    with pytest.raises(InputError, match="1 pairs forward, but 2 in reverse"):
        symmetry(Alignments.from_links([[]]), Alignments.from_links([[], []]))


@settings(deadline=None)
@given(naive.corpora(), st.sampled_from(["source", "target"]))
def test_fertilities_count_every_word_the_unlinked_too(corpus, side):
    found = fertilities(corpus.alignments, side)
    expected = naive.fertilities(corpus.links, corpus.lengths, ["source", "target"].index(side))
    assert {k: n for k, n in enumerate(found.histogram.tolist()) if n} == dict(expected)
    assert found.words == sum(expected.values())
    assert found.maximum == max(expected, default=0)
    assert found.mean * found.words == pytest.approx(sum(map(len, corpus.links)))


def test_high_and_excessive_fertilities_by_hand():
    takes = [0, 1, 3, 4, 7, 8, 9]
    links = [(i, j) for i, count in enumerate(takes) for j in range(count)]
    found = fertilities(Alignments.from_links([links], lengths=[(8, 9)]))
    assert found.histogram.tolist() == [2, 1, 0, 1, 1, 0, 0, 1, 1, 1]
    assert (found.words, found.high, found.excessive, found.maximum) == (8, 2, 2, 9)
    assert found.mean == 32 / 8


@settings(deadline=None)
@given(corpora_with_words())
def test_dictionary_holds_each_linked_pair_of_words_once(case):
    corpus, source, target = case
    found = dictionary_size(corpus.alignments, *pack(source), *pack(target))
    assert found == naive.dictionary_size(corpus.links, source, target)


def test_links_outside_a_sentence_are_refused_with_their_pair():
    alignments = Alignments.from_links([[(0, 0)], [(0, 0), (2, 0)]])
    one_word = pack([[0], [0]])
    with pytest.raises(InputError, match="pair 2: a link to word 2 of a sentence of 1 words"):
        dictionary_size(alignments, *one_word, *one_word)
    with pytest.raises(InputError, match="links of 2 pairs, but words of 1 pairs"):
        dictionary_size(alignments, *pack([[0, 0, 0]]), *one_word)
    with pytest.raises(InputError, match="no side 'left'"):
        fertilities(alignments, "left")


@settings(deadline=None)
@given(corpora_with_words(), st.sampled_from(["source", "target"]), st.integers(0, 3))
def test_rare_and_common_scores_count_the_links_of_rare_and_common_words(case, side, rare):
    corpus, *counts = case
    which = ["source", "target"].index(side)
    scores = evaluate_by_frequency(corpus.alignments, corpus.gold, *pack(counts[which]), side=side, rare=rare)
    for score, is_rare in zip(scores, (True, False), strict=True):
        expected = naive.statistics_where(
            corpus.links,
            corpus.sure,
            corpus.possible,
            lambda n, link, is_rare=is_rare: (counts[which][n][link[which]] <= rare) == is_rare,
        )
        assert (score.links, score.sure, score.in_sure, score.in_possible) == expected
        assert score.precision == pytest.approx(float(naive.precision(expected)))
        assert score.recall == pytest.approx(float(naive.recall(expected)))


@settings(deadline=None)
@given(corpora_with_words())
def test_rare_and_common_add_up_to_the_whole(case):
    corpus, source, _ = case
    rare, common = evaluate_by_frequency(corpus.alignments, corpus.gold, *pack(source), rare=1)
    whole = statistics(corpus.alignments, corpus.gold).sum(axis=0)
    parts = [(score.links, score.sure, score.in_sure, score.in_possible) for score in (rare, common)]
    assert np.array_equal(np.sum(parts, axis=0), whole)
    assert rare.possible + common.possible == len(corpus.gold.source)


def test_rare_words_by_hand():
    gold = Gold.from_links([[(0, 0), (1, 1), (2, 2)]])
    # Word 1 came 5 times in training and collects garbage: one link of three right.
    alignments = Alignments.from_links([[(0, 0), (1, 1), (1, 2), (1, 3)]])
    rare, common = evaluate_by_frequency(alignments, gold, np.array([90, 5, 6]), np.array([0, 3]))
    assert (rare.precision, rare.recall) == (pytest.approx(1 / 3), 1)
    assert (common.precision, common.recall) == (1, 1 / 2)
    assert rare.signature.endswith("|words source<=5")
    assert common.signature.endswith("|words source>5")
