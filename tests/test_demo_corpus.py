"""The demo corpus is well formed, and hard in the ways that word alignment is hard."""

from __future__ import annotations

import re
from collections import Counter
from importlib.resources import files

import pytest

GOLD_PAIRS = 60
Links = set[tuple[int, int]]


def lines(name: str) -> list[str]:
    text = files("dovetail").joinpath("data", name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return text.removesuffix("\n").split("\n")


def parse(line: str) -> tuple[Links, Links]:
    """Sure links and possible-only links of one gold line."""
    sure: Links = set()
    possible: Links = set()
    for field in line.split(" "):
        match = re.fullmatch(r"(\d+)([-?])(\d+)", field)
        assert match, f"not a gold link: {field!r}"
        links = sure if match[2] == "-" else possible
        link = (int(match[1]), int(match[3]))
        assert link not in sure | possible, f"link twice: {field}"
        links.add(link)
    return sure, possible


def has_crossing(links: Links) -> bool:
    """Two links (i, j) and (i', j') with i < i' and j > j'."""
    return any(i < other_i and j > other_j for i, j in links for other_i, other_j in links)


@pytest.fixture(scope="module")
def english() -> list[list[str]]:
    return [line.split(" ") for line in lines("demo.en")]


@pytest.fixture(scope="module")
def french() -> list[list[str]]:
    return [line.split(" ") for line in lines("demo.fr")]


@pytest.fixture(scope="module")
def gold() -> list[tuple[Links, Links]]:
    return [parse(line) for line in lines("demo.gold")]


def test_both_sides_have_the_same_number_of_lines_and_gold_covers_the_first_sixty(english, french, gold):
    assert len(english) == len(french) >= 440
    assert len(gold) == GOLD_PAIRS


@pytest.mark.parametrize("name", ["demo.en", "demo.fr"])
def test_every_line_has_3_to_20_lower_case_tokens_one_space_apart(name):
    for number, line in enumerate(lines(name), start=1):
        tokens = line.split(" ")
        assert "" not in tokens, f"{name}, line {number}: a space at an end, or two in a row"
        assert tokens == line.split(), f"{name}, line {number}: white space other than a space"
        assert 3 <= len(tokens) <= 20, f"{name}, line {number}: {len(tokens)} tokens"
        assert line == line.lower(), f"{name}, line {number}: upper case"


@pytest.mark.parametrize("name", ["demo.en", "demo.fr"])
def test_punctuation_stands_apart(name):
    for number, line in enumerate(lines(name), start=1):
        tokens = line.split(" ")
        assert tokens[-1] in {".", "?", "!"}, f"{name}, line {number}: no end mark"
        assert not re.search(r"\w[,?!;:]", line), f"{name}, line {number}: punctuation glued to a word"


def test_french_elisions_are_tokens_with_their_apostrophe_and_english_clitics_without_a_host(english, french):
    whole_words = {"aujourd'hui", "quelqu'un", "o'clock"}
    for tokens in french:
        for token in tokens:
            assert "'" not in token[:-1] or token in whole_words, f"elision not split: {token}"
    for tokens in english:
        for token in tokens:
            clitic = token in {"n't", "'s", "'m", "'d", "'ll", "'re", "'ve"}
            assert "'" not in token or clitic or token in whole_words, f"clitic not split: {token}"


def test_no_sentence_occurs_twice(english, french):
    for side in (english, french):
        repeated = [" ".join(words) for words, count in Counter(map(tuple, side)).items() if count > 1]
        assert not repeated


@pytest.mark.parametrize("name", ["demo.en", "demo.fr"])
def test_words_recur_enough_to_learn_from(name):
    sentences = Counter(word for line in lines(name) for word in set(line.split(" ")))
    core = {word for word, count in sentences.items() if count >= 3}
    tokens = [word for line in lines(name) for word in line.split(" ")]
    assert 400 <= len(core) <= 600
    assert sum(word in core for word in tokens) / len(tokens) > 0.85


def test_gold_links_stay_inside_their_sentences(english, french, gold):
    for number, (sure, possible) in enumerate(gold, start=1):
        assert sure, f"line {number}: no sure link"
        for i, j in sure | possible:
            assert i < len(english[number - 1]), f"line {number}: {i} is past the last English word"
            assert j < len(french[number - 1]), f"line {number}: {j} is past the last French word"


def test_gold_links_of_a_full_stop_or_a_question_mark_meet_their_like(english, french, gold):
    """The last tokens are linked surely and to nothing else: an index that slipped by one shows here."""
    for source, target, (sure, possible) in zip(english, french, gold, strict=False):
        last = (len(source) - 1, len(target) - 1)
        assert last in sure
        assert not any((i == last[0]) != (j == last[1]) for i, j in sure | possible)
        assert source[-1] == target[-1]


def test_words_spelled_alike_and_long_are_linked_to_each_other(english, french, gold):
    for source, target, (sure, _) in zip(english, french, gold, strict=False):
        for word in {word for word in source if len(word) >= 4 and word in target}:
            assert (source.index(word), target.index(word)) in sure, f"{word} is not linked to itself"


def test_75_to_85_per_cent_of_the_gold_links_are_sure(gold):
    sure = sum(len(links) for links, _ in gold)
    possible = sum(len(links) for _, links in gold)
    assert 0.75 <= sure / (sure + possible) <= 0.85


def test_at_least_a_third_of_the_gold_pairs_have_sure_links_that_cross(gold):
    assert sum(has_crossing(sure) for sure, _ in gold) >= GOLD_PAIRS / 3


def test_gold_has_one_to_many_links_in_both_directions(gold):
    fanned_source = sum(max(Counter(i for i, _ in sure).values()) > 1 for sure, _ in gold)
    fanned_target = sum(max(Counter(j for _, j in sure).values()) > 1 for sure, _ in gold)
    assert fanned_source >= 15
    assert fanned_target >= 5


def test_gold_leaves_words_of_both_languages_unaligned(english, french, gold):
    unaligned_source = unaligned_target = 0
    for source, target, (sure, possible) in zip(english, french, gold, strict=False):
        unaligned_source += len(source) - len({i for i, _ in sure | possible})
        unaligned_target += len(target) - len({j for _, j in sure | possible})
    assert unaligned_source >= 10
    assert unaligned_target >= 3


def test_gold_pairs_are_of_all_lengths(english, french):
    lengths = [max(len(s), len(t)) for s, t in zip(english[:GOLD_PAIRS], french[:GOLD_PAIRS], strict=True)]
    assert min(lengths) <= 8
    assert sum(length >= 12 for length in lengths) >= 15
