"""Alignments and scores as records, data frames and datasets; text from datasets."""

from __future__ import annotations

import sys

import pytest

from dovetail import Aligner, Alignments, Bitext, Gold, InputError, evaluate

BITEXT = Bitext.from_pairs([("the house", "la maison"), ("so", ""), ("the end", "la fin")])
LINKS = Alignments.from_links([[(0, 0), (1, 1)], [], [(1, 1)]], [[0.5, 1.0], [], [1.0]], BITEXT.lengths)


def with_text():
    links = LINKS[:]
    links.text = BITEXT.text
    links.details = {"score_forward": [-1.0, -2.0, -3.0]}
    return links


def test_records_by_link_hold_positions_probability_and_words():
    assert LINKS.to_records()[0] == {"pair": 0, "source": 0, "target": 0, "probability": 0.5}
    last = with_text().to_records()[-1]
    expected = {"source": 1, "target": 1, "probability": 1.0, "source_word": "end", "target_word": "fin"}
    assert last == {"pair": 2, **expected}
    assert len(with_text().to_records()) == 3


def test_records_by_pair_hold_every_pair_and_its_details():
    records = with_text().to_records("pair")
    assert [record["links"] for record in records] == [[[0, 0], [1, 1]], [], [[1, 1]]]
    assert records[1]["source"] == ["so"]
    assert records[2]["score_forward"] == -3.0
    with pytest.raises(InputError, match="Choose link or pair"):
        LINKS.to_records("word")


def test_frames_have_the_records_columns():
    pytest.importorskip("pandas")
    frame = with_text().to_pandas()
    assert frame.to_dict("records") == with_text().to_records()
    assert len(with_text().to_pandas("pair")) == 3
    score = evaluate(LINKS, Gold.from_links([[(0, 0), (1, 1)], [], [(0, 0)]]), bootstrap=50)
    frame = score.to_pandas()
    assert dict(zip(frame["metric"], frame["value"], strict=True))["aer"] == score.aer
    assert frame.loc[0, "low"] == score.intervals["aer"].low
    assert evaluate(LINKS, Gold.from_links([[], [], []])).to_records()[0]["low"] is None


def test_a_missing_package_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pandas is not installed. Install it: python -m pip install pandas"):
        LINKS.to_pandas()


def test_datasets_come_in_and_go_out():
    datasets = pytest.importorskip("datasets")
    rows = [{"translation": {"en": "the house", "fr": "la maison"}}, {"translation": {"en": "the", "fr": "la"}}]
    bitext = Bitext.from_dataset(datasets.Dataset.from_list(rows), "en", "fr")
    assert bitext.tokens(0) == (["the", "house"], ["la", "maison"])
    aligned = Aligner("ibm1", threads=1).fit(bitext).align(bitext)
    out = aligned.to_dataset()
    assert len(out) == 2
    assert out[0]["source"] == ["the", "house"]
    assert [tuple(link) for link in out[0]["links"]] == aligned[0].links


def test_rows_of_plain_columns_and_tokens_are_read_too():
    bitext = Bitext.from_dataset([{"a": ["x", "y"], "b": ["z"], "translation": 1}], "a", "b")
    assert bitext.tokens(0) == (["x", "y"], ["z"])
    with pytest.raises(InputError, match=r"row 1: no column 'b'\. There are: a"):
        Bitext.from_dataset([{"a": "x", "b": "y"}, {"a": "x"}], "a", "b")
    with pytest.raises(InputError, match="row 0: the column 'b' holds no text, but NoneType"):
        Bitext.from_dataset([{"a": "x", "b": None}], "a", "b")
