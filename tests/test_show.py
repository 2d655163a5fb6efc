"""`dovetail show` and the grid it draws."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dovetail import Aligner, Bitext
from dovetail.report.grid import EMPTY, FAINT, LINK, MISSED, WRONG, grid, letters, shade, visible

DEMO = files("dovetail") / "data"
COMMAND = [sys.executable, "-c", "from dovetail.cli import main; main()", "show"]


def run(*arguments, place, **environment):
    settings = {**os.environ, "COLUMNS": "80", **environment}
    settings.pop("NO_COLOR", None)
    settings.pop("FORCE_COLOR", None)
    done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, env=settings, cwd=place, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def place(tmp_path):
    (tmp_path / "s").write_text("the house\nto be\n", "utf-8")
    (tmp_path / "t").write_text("la maison\nêtre\n", "utf-8")
    (tmp_path / "links").write_text("0-0 1-1\n0-0:0.4 1-0:0.9\n", "utf-8")
    (tmp_path / "gold").write_text("0-0 1?1\n1-0\n", "utf-8")
    return tmp_path


def rows(text, words):
    lines = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.split()}
    return [lines[word] for word in words]


def test_a_pair_is_drawn_without_colours_where_nobody_asked_for_them(place):
    status, out, _ = run("s", "t", "--links", "links", place=place)
    assert status == 0
    assert "\x1b" not in out
    assert rows(out, ["the", "house"]) == [[LINK, EMPTY], [EMPTY, LINK]]
    assert out.splitlines()[-1] == "pair 1, 2 links"


def test_colours_come_when_asked_for_and_change_no_character(place):
    import re

    plain = run("s", "t", "--links", "links", "--no-color", place=place)[1]
    coloured = run("s", "t", "--links", "links", "--color", place=place)[1]
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_gold_tells_right_from_wrong_by_shape(place):
    (place / "links").write_text("0-0 0-1\n0-0\n", "utf-8")
    out = run("s", "t", "--links", "links", "--gold", "gold", place=place)[1]
    assert rows(out, ["the", "house"]) == [[LINK, WRONG], [EMPTY, EMPTY]]
    out = run("s", "t", "--links", "links", "--gold", "gold", "--pair", 2, place=place)[1]
    assert rows(out, ["to", "be"]) == [[WRONG], [MISSED]]


def test_probabilities_fill_the_circles(place):
    out = run("s", "t", "--links", "links", "--pair", 2, place=place)[1]
    assert rows(out, ["to", "be"]) == [["◑"], [LINK]]
    assert [shade(p) for p in (1.0, 0.7, 0.5, 0.1)] == ["●", "◕", "◑", "◔"]


def test_a_model_draws_a_new_pair(place):
    lines = [(DEMO / f"demo.{side}").read_text("utf-8").splitlines()[:200] for side in ("en", "fr")]
    aligner = Aligner("ibm1").fit(Bitext.from_pairs(zip(*lines, strict=True)))
    aligner.save(place / "model")
    status, out, err = run("s", "t", "--load", "model", place=place)
    assert status == 0, err
    links = set(aligner.align_pair("the house", "la maison").links)
    drawn = rows(out, ["the", "house"])
    assert {(i, j) for i in range(2) for j in range(2) if drawn[i][j] in "●◕◑◔"} == links
    assert {mark for row in drawn for mark in row} <= {*"●◕◑◔", EMPTY, FAINT}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["s", "t", "--links", "links", "--pair", "3"], "no pair 3. There are 2"),
        (["s", "t", "--links", "links", "--pair", "0"], "--pair"),
        (["s", "t"], "either --links FILE or --load"),
        (["s", "t", "--links", "links", "--load", "x"], "either --links FILE or --load"),
        (["s", "t", "nowhere"], "nowhere"),
        (["s", "t", "--load", "nowhere"], "nowhere"),
        (["s", "t", "--links", "links", "--gold", "nowhere"], "nowhere"),
    ],
)
def test_bad_input_is_one_line_and_status_2(place, arguments, complaint):
    status, out, err = run(*arguments, place=place)
    assert status == 2
    assert out == ""
    assert err.count("\n") == 1
    assert complaint in err


def test_words_cannot_move_the_cursor(place):
    (place / "s").write_text("\x1b[2Jx \u202ey\n[red]a \x07\n", "utf-8")
    (place / "t").write_text("b \x9b\n[/] c\n", "utf-8")
    for number in (1, 2):
        status, out, _ = run("s", "t", "--links", "links", "--pair", number, place=place)
        assert status == 0
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(out)
    assert "[red]a" in out, "words are no markup"


WORDS = st.text(st.characters(exclude_characters=EMPTY + "\n"), min_size=1)


@given(st.lists(WORDS, max_size=5), st.lists(WORDS, max_size=8), st.integers(5, 40))
def test_every_row_of_a_grid_fits_and_no_cell_is_lost(source, target, width):
    text = grid(source, target, [], width=width).plain
    margin = max((cell_len(visible(word)) for word in source), default=0)
    assert all(cell_len(line) <= max(width, margin + 3) for line in text.split("\n"))
    assert text.count(EMPTY) == len(source) * len(target)


def test_a_wide_grid_goes_on_below():
    text = grid(["a"], list("bcdef"), [(0, 4)], width=6).plain
    assert [line for line in text.split("\n") if line.startswith("a")] == ["a · · ", "a · · ", "a ● "]


def test_marks_stay_on_their_letters():
    assert letters("e\u0301a") == ["e\u0301", "a"]
    assert letters("שָׁ") == ["שָׁ"]
    assert visible("a\u200db\u202e") == "a\u200db\ufffd"
