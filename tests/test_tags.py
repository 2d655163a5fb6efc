"""Markup moved over links: whatever the links, every tag once and well-formed; and where people expect it."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from dovetail import Aligner, Bitext
from dovetail.bitext.tokenize import tokenizers
from dovetail.cli import dovetail
from dovetail.errors import InputError
from dovetail.uses.markup import DEEPEST, Node, parse
from dovetail.uses.tags import move_tags, tag

TAG = re.compile(r"<[^>]+>|\{\w+\}")
words = st.sampled_from(["a", "be", "3.14", "sea", ",", "unlikely"])


@st.composite
def marked_lines(draw):
    """A well-formed line, and its words: elements in each other, empty ones, single tags, within words too."""
    count = 0

    def content(depth):
        nonlocal count
        parts = []
        for _ in range(draw(st.integers(0, 3 if depth else 5))):
            kind = draw(st.sampled_from(["word", "word", "word", "glued", "element", "single", "brace"]))
            if kind == "word":
                parts.append(f" {draw(words)} ")
            elif kind == "glued":
                parts.append(draw(words))
            elif kind == "element" and depth < 4:
                count += 1
                parts.append(f'<g id="{count}">{content(depth + 1)}</g>')
            elif kind == "single":
                count += 1
                parts.append(f'<x id="{count}"/>')
            else:
                count += 1
                parts.append(f"{{{count}}}")
        return "".join(parts)

    return content(0)


@st.composite
def cases(draw):
    line = draw(marked_lines())
    target = " ".join(draw(st.lists(words, max_size=7)))
    spans = tokenizers["unicode"].spans
    source_words, target_words = spans(parse(line).text), spans(target)
    links = {}
    if source_words and target_words:
        ends = st.integers(0, len(source_words) - 1), st.integers(0, len(target_words) - 1)
        links = draw(st.dictionaries(st.tuples(*ends), st.sampled_from([0.2, 0.5, 1.0]), max_size=10))
    return line, source_words, target, target_words, links


def nesting(line):
    """Which element each tag is in, by the numbers of elements."""
    tree = etree.fromstring("<root>" + re.sub(r"\{(\w+)\}", r'<y id="\1"/>', line) + "</root>")
    return {element.get("id"): element.getparent().get("id") for element in tree.iterdescendants()}


def without_tags(line):
    return "".join(TAG.sub("", line).split())


@given(cases())
@settings(max_examples=400, deadline=None)
def test_every_tag_is_there_once_in_the_element_it_was_in_whatever_the_links(case):
    line, source_words, target, target_words, links = case
    moved = move_tags(parse(line), source_words, target, target_words, links)
    assert Counter(TAG.findall(moved)) == Counter(TAG.findall(line))
    assert nesting(moved) == nesting(line)  # lxml refuses what is not well-formed
    assert without_tags(moved) == "".join(target.split())
    assert [part for part in re.split(r"\s+", TAG.sub("", moved)) if part] == target.split()  # words stay whole


@given(cases())
@settings(max_examples=300, deadline=None)
def test_split_elements_are_well_formed_and_no_tag_is_lost(case):
    line, source_words, target, target_words, links = case
    moved = move_tags(parse(line), source_words, target, target_words, links, split=True)
    assert set(TAG.findall(moved)) == set(TAG.findall(line))
    counts = Counter(TAG.findall(moved))
    assert all(counts[tag] == 1 for tag in counts if tag.startswith(("<x", "{")))
    etree.fromstring(f"<root>{moved}</root>")
    assert without_tags(moved) == "".join(target.split())


@given(cases())
@settings(deadline=None)
def test_a_line_moves_to_itself(case):
    line, source_words, *_ = case
    text = parse(line).text
    diagonal = {(n, n): 1.0 for n in range(len(source_words))}
    moved = move_tags(parse(line), source_words, text, source_words, diagonal)
    assert nesting(moved) == nesting(line)

    def covered(text):
        tree = etree.fromstring("<root>" + re.sub(r"\{\w+\}", "", text) + "</root>")
        return {element.get("id"): "".join("".join(element.itertext()).split()) for element in tree.iter("g")}

    assert covered(moved) == covered(line)


def move(source, target, *links, split=False):
    marked, spans = parse(source), tokenizers["unicode"].spans
    return move_tags(marked, spans(marked.text), target, spans(target), dict.fromkeys(links, 1.0), split)


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        # words that change places take their tags along, and a span covers what lies between its words
        ("the <b>white house</b>", "la maison blanche", [(0, 0), (1, 2), (2, 1)], "la <b>maison blanche</b>"),
        ("I do <b>not</b> eat", "je ne mange pas", [(0, 0), (2, 1), (2, 3), (3, 2)], "je <b>ne mange pas</b>"),
        # the whole sentence stays whole, linked or not
        ("<p>yes</p>", "mais oui", [], "<p>mais oui</p>"),
        ("<p><i>yes</i></p>", "mais oui", [(0, 1)], "<p><i>mais oui</i></p>"),
        # self-closing, void and empty ones
        ("one<br>two", "un deux", [(0, 0), (1, 1)], "un<br> deux"),
        ("one <i></i>two", "un deux", [(0, 0), (1, 1)], "un <i></i>deux"),
        ('Press <x id="1"/> now', "Appuyez maintenant", [(0, 0), (1, 1)], 'Appuyez <x id="1"/> maintenant'),
        ("{1} files in {2}", "Dateien in", [(0, 0), (1, 1)], "{1} Dateien in {2}"),
        ("in {1}: x{2}, y", "dans : x, y", [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)], "dans {1}: x{2}, y"),
        ("a {1} .", "b .", [(0, 0), (1, 1)], "b {1} ."),
        ("a {1} b", "a, b", [(0, 0), (1, 2)], "a {1}, b"),
        # within a word: at the same letter of the same word, else around the word
        ("v3.<b>14</b>a", "v3.14a", [(0, 0)], "v3.<b>14</b>a"),
        ("un<b>believ</b>able", "incroyable", [(0, 0)], "<b>incroyable</b>"),
        # XLIFF's native codes are no text, and its milestones are elements
        (
            'a <bpt id="1">&lt;b&gt;</bpt>big<ept id="1">&lt;/b&gt;</ept> dog',
            "un chien gros",
            [(0, 0), (1, 2), (2, 1)],
            'un chien <bpt id="1">&lt;b&gt;</bpt>gros<ept id="1">&lt;/b&gt;</ept>',
        ),
        ('<pc id="1">a</pc> <sc id="2"/>b<ec startRef="2"/>', "B A", [(0, 1), (1, 0)],
         '<sc id="2"/>B<ec startRef="2"/> <pc id="1">A</pc>'),
        ("{1>here<1} and {b}there{/b}", "dort und hier", [(0, 2), (1, 1), (2, 0)], "{b}dort{/b} und {1>hier<1}"),
        # words of siblings are never covered: the heavier part stays
        ("<b>a a</b> <i>c</i>", "x z y", [(0, 0), (1, 2), (2, 1)], "<b>x</b> <i>z</i> y"),
        # no counterpart: over free words between those of the neighbours
        ("a <b>b</b> c", "x y z", [(0, 0), (2, 2)], "x <b>y</b> z"),
        ("a <b>b</b> c", "x z", [(0, 0), (2, 1)], "x <b></b>z"),
    ],
)  # fmt: skip
def test_tags_go_where_people_expect_them(source, target, links, expected):
    assert move(source, target, *links) == expected


def test_split_leaves_out_what_is_not_the_elements():
    links = [(0, 0), (2, 1), (2, 3), (3, 2)]
    assert move("I do <b>not</b> eat", "je ne mange pas", *links, split=True) == "je <b>ne</b> mange <b>pas</b>"


def test_many_tags_in_a_sentence():
    source = " ".join(f"<b{n}>w{n}</b{n}>" for n in range(60))
    target = " ".join(f"v{n}" for n in reversed(range(60)))
    moved = move(source, target, *((n, 59 - n) for n in range(60)))
    assert moved == " ".join(f"<b{n}>v{n}</b{n}>" for n in reversed(range(60)))
    deep = "<b>" * 60 + "w" + "</b>" * 60
    assert move(deep, "v", (0, 0)) == deep.replace("w", "v")
    with pytest.raises(InputError, match="deep"):
        parse("<b>" * (DEEPEST + 1) + "</b>" * (DEEPEST + 1))


def test_broken_markup_keeps_its_tags():
    source = "<b>a <i>c</b> d</i> </u>"
    moved = move(source, "x y z", (0, 0), (1, 1), (2, 2))
    assert Counter(TAG.findall(moved)) == Counter(TAG.findall(source))
    assert "<b>x" in moved


def test_milestones_that_cross_keep_their_order():
    source = '<bx id="1"/>a <bx id="2"/>b<ex id="1"/> c<ex id="2"/>'
    moved = move(source, "z y x", (0, 2), (1, 1), (2, 0))
    for number in (1, 2):
        assert moved.index(f'<bx id="{number}"/>') < moved.index(f'<ex id="{number}"/>')


def test_less_than_is_no_tag_and_patterns_are_placeholders():
    assert parse("1 < 2 and 3 > 2").children == []
    assert parse("100% of %s", ["%s"]).text == "100% of "
    assert isinstance(parse('<a href="x>y">z</a>').children[0], Node)
    with pytest.raises(InputError, match="no regular expression"):
        parse("x", ["("])


def run(*arguments):
    result = CliRunner().invoke(dovetail, ["tags", *arguments])
    if isinstance(result.exception, Exception) and not isinstance(result.exception, InputError):
        raise result.exception
    return result


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s").write_text("the <b>house</b>\n{1} yes\n", "utf-8")
    (tmp_path / "t").write_text("la maison\noui\n", "utf-8")
    (tmp_path / "links").write_text("0-0 1-1\n0-0\n", "utf-8")
    return tmp_path


def test_the_command_writes_the_target_with_tags(place):
    assert run("s", "t", "--links", "links").stdout == "la <b>maison</b>\n{1} oui\n"
    (place / "naacl").write_text("2 1 1\n1 2 2\n1 1 1\n", "utf-8")  # in any order
    assert run("s", "t", "--links", "naacl").stdout == "la <b>maison</b>\n{1} oui\n"
    Aligner("ibm1", threads=1).fit(
        Bitext.from_pairs([("the house", "la maison"), ("yes", "oui"), ("the", "la")] * 5)
    ).save("m")
    assert run("s", "t", "--load", "m", "--threads", "1").stdout == "la <b>maison</b>\n{1} oui\n"
    assert tag(Aligner.load("m"), "the <b>house</b>", "la maison") == "la <b>maison</b>"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("links", "0-0 2-1\n0-0\n", "links, line 1: link 2-1 lies outside the pair of 2 source"),
        ("links", "0-0\n", "links, line 1: the file ends after 1 pair"),
        ("t", "la maison\n", "s, line 2: no matching line in t"),
        ("s", "x\n" + "<b>" * 201 + "</b>" * 201 + "\n", "s, line 2: elements within each other, more than 200 deep"),
    ],
)
def test_bad_input_is_refused_with_file_and_line(name, text, message, place):
    (place / name).write_text(text, "utf-8")
    assert message in str(run("s", "t", "--links", "links").exception)
