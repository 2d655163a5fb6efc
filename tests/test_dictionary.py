"""Words looked up in an index, against the lexicon and against a look through all pairs."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Alignments, Bitext
from dovetail.uses import dictionary
from dovetail.uses.aligned import AlignedText
from dovetail.uses.index import build_index
from dovetail.uses.lexicon import lexicon
from test_phrase_table import aligned_texts

SIDES = st.sampled_from(["source", "target"])


def occurrences(aligned, side):
    return Counter(word for pair in aligned for word in (pair.source if side == "source" else pair.target))


@given(aligned_texts(letters="abAé"), SIDES)
@settings(deadline=None, max_examples=100)
def test_translations_are_those_of_the_lexicon(tmp_path_factory, aligned, side):
    index = build_index(aligned, tmp_path_factory.mktemp("index") / "here", {})
    entries = lexicon(aligned)
    for word, count in occurrences(aligned, side).items():
        found = dictionary.translations(index, word, side)
        here = [entry for entry in entries if word == (entry.source if side == "source" else entry.target)]
        expected = {
            entry.target if side == "source" else entry.source: (
                *((entry.p_target, entry.p_source) if side == "source" else (entry.p_source, entry.p_target)),
                entry.count,
                entry.expected,
            )
            for entry in here
        }
        assert {entry.word for entry in found.translations} == set(expected)
        for entry in found.translations:
            assert entry[1:] == pytest.approx(expected[entry.word])
        assert (found.word, found.count, found.number) == (word, count, len(expected))
        order = [(-entry.expected, -entry.count) for entry in found.translations]
        assert order == sorted(order)
        free = 0
        for pair in aligned:
            own, end = (pair.source, 0) if side == "source" else (pair.target, 1)
            taken = {link[end] for link in pair.links}
            free += sum(other == word and k not in taken for k, other in enumerate(own))
        assert found.unlinked == free
    assert dictionary.translations(index, "missing", side) is None


@given(aligned_texts(letters="abAé"), st.sampled_from("abAé"), st.sampled_from("abAé"), SIDES, st.integers(1, 3))
@settings(deadline=None, max_examples=100)
def test_all_places_of_a_translation_come_page_by_page(tmp_path_factory, aligned, word, other, side, most):
    index = build_index(aligned, tmp_path_factory.mktemp("index") / "here", {})
    rarer_is_other = (
        occurrences(aligned, "target" if side == "source" else "source")[other] < occurrences(aligned, side)[word]
    )
    expected = []
    for n, pair in enumerate(aligned, 1):
        here, there = (pair.source, pair.target) if side == "source" else (pair.target, pair.source)
        links = [link if side == "source" else link[::-1] for link in pair.links]
        linked = [(i, j) for i, j in links if here[i] == word and there[j] == other]
        for k in sorted({j if rarer_is_other else i for i, j in linked}):
            own = [k] if not rarer_is_other else sorted(i for i, j in linked if j == k)
            far = [k] if rarer_is_other else sorted(j for i, j in linked if i == k)
            expected.append((n, list(here), list(there), own, far))
    found, start = [], 0
    while start is not None:
        page = dictionary.places(index, word, other, side, most=most, start=start)
        assert len(page.hits) == most or page.next is None
        found += map(tuple, page.hits)
        start = page.next
    assert found == expected


@pytest.fixture
def index(tmp_path):
    bitext = Bitext.from_pairs(
        [("The house", "das Haus"), ("the Houses", "die Häuser"), ("the house", "das haus"), ("houseboat", "")]
    )
    alignments = Alignments.from_links(
        [[(0, 0), (1, 1)], [(0, 0), (1, 1)], [(0, 0), (1, 1)], []], lengths=bitext.lengths
    )
    return build_index(AlignedText(bitext, alignments), tmp_path / "index", {})


def test_words_that_are_spelled_so_come_before_those_that_begin_so(index):
    def found(text):
        return [(word.side, word.word, word.count) for word in dictionary.beginning_with(index, text)]

    assert found("THE") == [("source", "the", 2), ("source", "The", 1)]
    assert found("house") == [("source", "house", 2), ("source", "houseboat", 1), ("source", "Houses", 1)]
    assert found("h")[0] == ("source", "house", 2)
    assert ("target", "Häuser", 1) in found("h")
    assert found("") == found("x") == []
    assert len(dictionary.beginning_with(index, "h", most=2)) == 2


def test_a_word_that_is_never_linked_has_no_translations(index):
    found = dictionary.translations(index, "houseboat")
    assert (found.count, found.unlinked, found.translations) == (1, 1, [])


@given(aligned_texts(letters="abAé"))
@settings(deadline=None, max_examples=50)
def test_a_pair_has_its_words_links_and_probabilities(tmp_path_factory, aligned):
    index = build_index(aligned, tmp_path_factory.mktemp("index") / "here", {})
    for n, pair in enumerate(aligned):
        found = index.pair(n)
        assert found[:3] == pair[:3]
        assert found.probabilities == pytest.approx(pair.probabilities, abs=1e-4)
