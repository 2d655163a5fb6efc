"""Phrase pairs against their definition."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold
from dovetail.bitext.corpus import Bitext
from dovetail.cli import dovetail
from dovetail.errors import InputError
from dovetail.uses.aligned import AlignedText
from dovetail.uses.phrases import evaluate_phrases, occurrences, phrase_pairs


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


TEXT = Bitext.from_pairs([(["the", "house"], ["la", "maison"]), (["the", "house", "!"], ["la", "maison"])])
LINKS = Alignments.from_links([[(0, 0), (1, 1)], [(0, 0), (1, 1)]], lengths=TEXT.lengths)


def test_occurrences_stand_where_they_are_told():
    found = list(occurrences(AlignedText(TEXT, LINKS)))
    assert found[0] == (0, (0, 0, 0, 0), ("the",), ("la",))
    assert [entry.pair for entry in found] == [0] * 3 + [1] * 5
    assert len(list(occurrences(AlignedText(TEXT, LINKS), longest=1))) == 4


@pytest.fixture
def text_and_links(tmp_path):
    for name, lines in (
        ("a.en", ["the house", "the house !"]),
        ("a.fr", ["la maison", "la maison"]),
        ("links", ["0-0 1-1", "0-0 1-1"]),
        ("gold", ["0-0 1-1", "0-0 1?1 2?1"]),
    ):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), "utf-8")
    return [str(tmp_path / "a.en"), str(tmp_path / "a.fr"), "--links", str(tmp_path / "links")]


def run(*arguments):
    return CliRunner().invoke(dovetail, ["phrases", *arguments])


def test_the_command_writes_the_table_or_every_place(text_and_links, tmp_path):
    table = run(*text_and_links, "--format", "tsv")
    assert table.exit_code == 0
    assert table.stdout.splitlines() == [
        "house !\tmaison\t1",
        "house\tmaison\t2",
        "the house !\tla maison\t1",
        "the house\tla maison\t2",
        "the\tla\t2",
    ]
    moses = run(*text_and_links, "--longest", "1", "--reordering", str(tmp_path / "order"))
    assert moses.stdout.splitlines() == [
        "house ||| maison ||| 1 1 1 1 ||| 0-0 ||| 2 2 2",
        "the ||| la ||| 1 1 1 1 ||| 0-0 ||| 2 2 2",
    ]
    # "house" ends the first pair, in the second "!" stands behind it, which is linked to nothing
    assert (tmp_path / "order").read_text("utf-8").splitlines() == [
        "house ||| maison ||| 0.714286 0.142857 0.142857 0.428571 0.142857 0.428571",
        "the ||| la ||| 0.714286 0.142857 0.142857 0.714286 0.142857 0.142857",
    ]
    run(*text_and_links, "--format", "positions", "--longest", "1", "-o", str(tmp_path / "out"))
    assert (tmp_path / "out").read_text("utf-8").splitlines() == [
        "0\t0-0\t0-0\tthe\tla",
        "0\t1-1\t1-1\thouse\tmaison",
        "1\t0-0\t0-0\tthe\tla",
        "1\t1-1\t1-1\thouse\tmaison",
    ]


def test_the_command_scores_against_gold(text_and_links, tmp_path):
    gold = str(tmp_path / "gold")
    result = run(*text_and_links, "--gold", gold)
    assert result.stdout.startswith("phrase pairs: P 75.0 R 100.0 F1 85.7 | 8 extracted, 6 in gold, 6 in both")
    scores = json.loads(run(*text_and_links, "--gold", gold, "--sure", "--json").stdout)
    # of the second pair's sure link 0-0 alone, "the" may grow over the words beside it
    assert scores["gold_phrases"] == 9
    assert scores["precision"] == scores["right"] / scores["phrases"]


def test_the_command_refuses_what_does_not_fit(text_and_links, tmp_path):
    assert run(*text_and_links, "--json").exit_code == 2
    assert run(*text_and_links, "--gold", str(tmp_path / "gold"), "-o", str(tmp_path / "out")).exit_code == 2
    assert run(*text_and_links, "--format", "thot", "--reordering", "x").exit_code == 2
    assert "nothing can be written there" in str(run(*text_and_links, "--work", str(tmp_path / "no")).exception)
    for size in ("much", "0", "-3"):
        assert run(*text_and_links, "--memory", size).exit_code == 2
    (tmp_path / "links").write_text("0-0 5-5\n\n", "utf-8")
    assert isinstance(run(*text_and_links).exception, InputError)
