"""The concordance against a look through all pairs, and its index."""

from __future__ import annotations

import json
import os
from collections import Counter

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Aligner, Bitext, InputError
from dovetail.cli import dovetail
from dovetail.report.kwic import kwic
from dovetail.uses.aligned import AlignedText
from dovetail.uses.concordance import find
from dovetail.uses.index import build_index, open_index
from test_phrase_table import aligned_texts


def naive_concordance(aligned, words, side, ignore_case):
    """(pair, positions, linked positions) of every place, by looking everywhere."""
    places = []

    def same(word):
        return word.casefold() if ignore_case else word

    for n, (source, target, links, _) in enumerate(aligned, 1):
        own = source if side == "source" else target
        both = links if side == "source" else [(j, i) for i, j in links]
        for k in range(len(own) - len(words) + 1):
            here = list(range(k, k + len(words)))
            if [same(own[p]) for p in here] == [same(word) for word in words]:
                places.append((n, here, sorted({there for place, there in both if place in here})))
    return places


@given(
    aligned_texts(letters="abAé"),
    st.lists(st.sampled_from("abAéx"), min_size=1, max_size=3),
    st.sampled_from(["source", "target"]),
    st.booleans(),
)
@settings(deadline=None, max_examples=100)
def test_every_place_is_found_with_what_it_is_linked_to(tmp_path_factory, aligned, words, side, ignore_case):
    index = build_index(aligned, tmp_path_factory.mktemp("index") / "here", {})
    found = find(index, " ".join(words), side=side, ignore_case=ignore_case, groups=1000, hits=1000)
    expected = naive_concordance(aligned, words, side, ignore_case)
    assert index.pairs == len(aligned.bitext)
    assert found.count == len(expected)
    assert sorted((hit.pair, hit.here, hit.there) for group in found.groups for hit in group.hits) == sorted(expected)
    for group in found.groups:
        assert group.count == len(group.hits)
        translations = {tuple(hit.others[j] for j in hit.there) for hit in group.hits}
        assert len(translations) == 1
        assert (not group.translation) == (translations == {()})
    counts = [group.count for group in found.groups]
    assert counts == sorted(counts, reverse=True)
    kinds = Counter()
    for n, _, there in expected:
        other = aligned.bitext.tokens(n - 1)[side == "source"]
        kinds[tuple(other[j] for j in there)] += 1
    assert sorted(kinds.values()) == sorted(counts)
    assert found.translations == len(kinds)


def test_a_key_word_stands_in_the_middle_and_lines_are_cut_to_their_width():
    words = [f"word{n}" for n in range(30)]
    line = kwic(words, [15, 17], 60)
    assert line.index("[word15]") == 30
    assert "[word17]" in line
    assert len(line) == 60
    assert line[0] == line[-1] == "…"
    assert kwic(["a", "b"], [0], 40) == " " * 20 + "[a] b"
    assert kwic([], [], 40) == ""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s").write_text("the house\nThe old house\nthe end\n", "utf-8")
    (tmp_path / "t").write_text("la maison\nla vieille maison\nfin\n", "utf-8")
    (tmp_path / "links").write_text("0-0 1-1\n0-0 1-1 2-2\n1-0\n", "utf-8")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(dovetail, ["find", *arguments])


def test_the_command_shows_translations_with_their_places(place):
    done = run("the", "s", "t", "--links", "links", "--ignore-case", "--width", "60")
    assert done.exit_code == 0, done.output
    assert "making an index in links.index" in done.stderr
    assert done.stdout.splitlines() == [
        "la  2 (66.7 %)",
        "        1                          [the] house",
        "                                   [la] maison",
        "        2                          [The] old house",
        "                                   [la] vieille maison",
        "",
        "(no link)  1 (33.3 %)",
        "        3                          [the] end",
        "                                   fin",
        "",
        "3 places, 2 translations",
    ]
    again = run("maison", "s", "t", "--links", "links", "--side", "target", "--format", "jsonl")
    assert again.stderr == ""
    (group,) = map(json.loads, again.stdout.splitlines())
    assert (group["translation"], group["count"]) == ("house", 2)
    assert group["places"][1]["here"] == [2]


def test_a_stale_index_is_made_anew(place):
    assert "making an index" in run("house", "s", "t", "--links", "links").stderr
    assert run("house", "s", "t", "--links", "links").stderr == ""
    (place / "links").write_text("0-0 1-0\n0-0 1-1 2-2\n1-0\n", "utf-8")
    os.utime("links", ns=(1, 1))
    changed = run("house", "s", "t", "--links", "links")
    assert "making an index" in changed.stderr
    assert "la  1" in changed.stdout
    assert "making an index" in run("house", "s", "t", "--links", "links", "--lower").stderr
    assert open_index("links.index", {"other": 1}) is None
    (place / "links.index" / "source.kinds").unlink()
    assert "making an index" in run("house", "s", "t", "--links", "links", "--lower").stderr


def test_an_index_of_a_models_links_has_a_place_of_its_own(place):
    Aligner("ibm1", threads=1).fit(Bitext.from_pairs([("the house", "la maison"), ("house", "maison")])).save("model")
    assert run("house", "s", "t", "--load", "model").exit_code == 2
    done = run("house", "s", "t", "--load", "model", "--index", "found")
    assert done.exit_code == 0
    assert "maison" in done.stdout
    assert run("house", "s", "t", "--load", "model", "--index", "found").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "s", "t", "--links", "links"], "'nowhere' does not occur in the source text"),
        ([" ", "s", "t", "--links", "links"], "nothing to look for"),
        (["the", "-", "t", "--links", "links"], "an index can't be made of standard input"),
        (["the", "s", "t", "--links", "links", "--index", "."], "is no index"),
        (["the", "s", "t", "--links", "missing"], "missing: no such file"),
    ],
)
def test_the_command_refuses_what_does_not_fit(place, arguments, message):
    error = run(*arguments).exception
    assert isinstance(error, InputError)
    assert message in str(error)
    assert not list(place.glob(".*"))


def test_an_index_of_nothing_finds_nothing(tmp_path):
    empty = Bitext.from_pairs([])
    from dovetail import Alignments

    index = build_index(AlignedText(empty, Alignments.from_links([])), tmp_path / "index", {})
    assert find(index, "word").count == 0
