"""Syntax transfer: what links carry, read off curves and tables."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import syntax
from dovetail import Alignments
from papers.store import Store
from projection import read_trees, write_trees

ENGLISH = """1\tdogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_
3\tloudly\tloudly\tADV\t_\t_\t2\tadvmod\t_\t_

"""
GERMAN = """1\tlaut\tlaut\tADV\t_\t_\t2\tadvmod\t_\t_
2\tbellen\tbellen\tVERB\t_\t_\t0\troot\t_\t_
3\tHunde\tHund\tNOUN\t_\t_\t2\tnsubj\t_\t_

"""


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "trees"
    folder.mkdir()
    for language, tree in (("en", ENGLISH), ("de", GERMAN)):
        (folder / f"{language}.conllu").write_text(tree * 5, "utf-8")
    return folder


def test_only_links_above_the_threshold_carry(data):
    trees = [read_trees(data / f"{language}.conllu") for language in ("en", "de")]
    # Right links, and a doubtful one between words of unlike parts of speech.
    links = Alignments.from_links(
        [[(0, 0), (0, 2), (1, 1), (2, 0)]] * 5, [[0.3, 0.9, 0.9, 0.4]] * 5, lengths=[(3, 3)] * 5
    )
    assert syntax.point(links, 0.5, trees, False) == pytest.approx([2, 100, 200 / 3])
    assert syntax.point(links, 0.35, trees, False) == pytest.approx([3, 100, 100])
    assert syntax.point(links, 0.0, trees, True) == pytest.approx([3, 100, 100])
    assert syntax.point(links, 0.95, trees, False) == pytest.approx([0, 100, 0])


@given(st.lists(st.tuples(st.floats(0, 30), st.floats(0, 100)), min_size=2, max_size=6), st.floats(0, 30))
def test_a_curve_is_read_between_its_points(points, edges):
    points = sorted(points, reverse=True)
    found = syntax.right_at([list(each) for each in points], edges)
    inside = points[-1][0] <= edges <= points[0][0]
    assert (found is not None) == inside
    if found is not None:
        assert min(right for _, right in points) - 1e-6 <= found <= max(right for _, right in points) + 1e-6


def test_a_point_of_the_curve_is_itself():
    points = [[12.0, 50.0], [8.0, 70.0], [4.0, 80.0]]
    assert syntax.right_at(points, 8.0) == 70.0
    assert syntax.right_at(points, 10.0) == 60.0
    assert syntax.right_at(points, 13.0) is None


def test_tables_and_plots_and_nothing_twice(data, tmp_path, monkeypatch):
    out = tmp_path / "out"
    asked = [
        "--pair",
        "en-de",
        "--system",
        "hmm",
        "--more",
        "0",
        "--data",
        str(data),
        "--out",
        str(out),
        "--threads",
        "1",
    ]
    assert syntax.main(asked) == 0
    (cell,) = Store.open(out / "cells.jsonl").cells.values()
    assert [len(cell.numbers[kind]) for kind in syntax.FILTERS] == [len(syntax.THRESHOLDS)] * 2
    edges = [point[1] for point in cell.numbers["all links"]]
    assert edges == sorted(edges, reverse=True)
    with (out / "syntax.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(syntax.THRESHOLDS)
    assert all(row["commit"] and row["signature"] == "recipe:hmm|seed:1" for row in rows)
    assert "<svg" in (out / "syntax-en-de-5-all-links.svg").read_text("utf-8")
    told = f"Commit {cell.commit.replace(', ', '+')}."
    assert (out / "syntax.md").read_text("utf-8").count(told) == len(syntax.FILTERS)
    monkeypatch.setattr(syntax, "links_of", lambda *_: pytest.fail("run again"))
    before = (out / "syntax.md").read_bytes()
    assert syntax.main(asked) == 0
    assert (out / "syntax.md").read_bytes() == before


def test_trees_make_a_text_with_one_line_per_sentence(data, tmp_path):
    trees = [read_trees(data / f"{language}.conllu") for language in ("en", "de")]
    assert write_trees(trees[0], trees[1], tmp_path).pairs == 5


def test_further_pairs_stand_behind_those_of_the_trees(data, tmp_path):
    trees = [read_trees(data / f"{language}.conllu") for language in ("en", "de")]
    text = syntax.with_more(write_trees(trees[0], trees[1], tmp_path), [(["cats"], ["katzen"])] * 2)
    assert (text.pairs, len(text.lines)) == (7, 5)
    assert text.source.read_text("utf-8").splitlines() == ["dogs bark loudly"] * 5 + ["cats"] * 2
    assert text.target.read_text("utf-8").splitlines() == ["laut bellen hunde"] * 5 + ["katzen"] * 2
    assert text.joined.read_text("utf-8").splitlines()[4:6] == [
        "dogs bark loudly ||| laut bellen hunde",
        "cats ||| katzen",
    ]
    kept, _ = syntax.links_of("hmm", text, tmp_path, 1, 1)
    assert {len(links) for _, links, _ in kept} == {5}
