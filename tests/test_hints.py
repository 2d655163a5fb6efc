"""Raw text, scripts without spaces, identifiers: what is noticed, and what is left in peace."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from dovetail import Aligner, Bitext, InputError, TextOptions, read_bitext
from dovetail.bitext.hints import hints
from dovetail.bitext.readers import read_pairs
from dovetail.bitext.source import TextSource
from dovetail.bitext.stream import stream_bitext
from dovetail.bitext.tokenize import tokenizer_pair

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RAW = ["In the United States, it rained.", "Yes, of course: we go!", "He came, he saw, he went."]
JAPANESE = ["私は昨日東京へ行きました。", "これはとても面白い本ですね。", "明日の天気は晴れでしょう。"]
THAI = ["ฉันไปตลาดเมื่อวานนี้", "เขาชอบอ่านหนังสือมาก", "พรุ่งนี้ฝนจะตก"]


def noticed(source, target, tokenizer="whitespace"):
    bitext = Bitext.from_pairs(zip(source, target, strict=True), options=TextOptions(tokenizer))
    return hints(bitext, ("a.src", "b.tgt"))


def test_raw_text_is_noticed_on_its_side():
    (hint,) = noticed(RAW, [line.replace(",", " ,").replace(".", " .").replace("!", " !") for line in RAW])
    assert hint.startswith("a.src: punctuation is attached to words, as in 'States,'")
    assert "--tokenizer unicode" in hint
    assert len(noticed(RAW, RAW)) == 2
    assert noticed(RAW, RAW, "unicode") == []
    assert len(noticed(RAW, RAW, "unicode,whitespace")) == 1


@pytest.mark.parametrize("text", [JAPANESE, THAI])
def test_scripts_without_spaces_suggest_icu(text):
    (hint,) = noticed([line.replace(",", " ,").replace(".", " .") for line in ["a b"] * 3], text)
    assert hint.startswith("b.tgt: a script without spaces")
    assert "--tokenizer icu" in hint
    assert noticed(["a b"] * 3, [" ".join(line) for line in text]) == []


def test_tokenised_text_is_left_in_peace():
    with (files("dovetail") / "data" / "demo.en").open(encoding="utf-8") as handle:
        lines = handle.read().splitlines()
    assert noticed(lines, lines) == []
    assert noticed(["Mr. Smith and Dr. No met at 5 p.m. ."] * 3, ["a , b . c"] * 3) == []
    assert noticed([""], [""]) == []


@pytest.mark.skipif(not SHARED.is_dir(), reason="the folder shared/data beside the repository is missing")
@pytest.mark.parametrize("folder", ["de-en-europarl", "en-cs-czenali", "en-fr-hansards", "ja-en-kftt"])
def test_real_tokenised_text_is_left_in_peace(folder):
    source, target = folder.split("-")[:2]
    sides = [next(iter((SHARED / folder).glob(f"test.{side}"))) for side in (source, target)]
    assert hints(read_bitext(*sides), ("a", "b")) == []


def test_two_tokenizers_cut_two_sides_and_are_saved_with_the_model(tmp_path):
    pairs = [("the house, here", "the house, here")] * 4
    bitext = Bitext.from_pairs(pairs, options=TextOptions("unicode,whitespace"))
    assert bitext.tokens(0) == (["the", "house", ",", "here"], ["the", "house,", "here"])
    aligner = Aligner("ibm1").fit(bitext)
    aligner.save(tmp_path / "model")
    alignment = Aligner.load(tmp_path / "model").align_pair(*pairs[0])
    assert (alignment.source_length, alignment.target_length) == (4, 3)
    (tmp_path / "text").write_text("the house, here\n")
    read = read_bitext(tmp_path / "text", tmp_path / "text", tokenizer="whitespace,unicode")
    assert [len(side) for side in read.tokens(0)] == [3, 4]
    with pytest.raises(InputError, match="no tokenizer 'magic'"):
        tokenizer_pair("unicode,magic")
    with pytest.raises(InputError, match="no tokenizer 'magic'"):
        read_bitext(tmp_path / "text", tmp_path / "text", tokenizer="magic")


WITH_NUMBERS = "1\tthe house\tla maison\n2\ta book\tun livre\n"


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (WITH_NUMBERS, True),
        (WITH_NUMBERS.replace("1\t", "doc-1:s1\t").replace("2\t", "doc-1:s2\t"), True),
        ("the house\tla maison\t0.9\na book\tun livre\t0.8\n", False),
        ("1\tun\t0.9\n2\tdeux\t0.8\n", False),  # two columns of text, and a score
        ("1\tthe house\n2\ta book\n", False),  # nothing else that could be a side
        ("A4\tle papier\tx y\nA4\tdu papier\tx y\n", False),  # not distinct
    ],
)
def test_a_column_of_identifiers_is_noticed(tmp_path, text, refused):
    path = tmp_path / "text.tsv"
    path.write_text(text)
    if refused:
        with pytest.raises(
            InputError, match=r"text\.tsv, line 1: the first column seems to hold identifiers.*--columns 2,3"
        ):
            list(read_pairs(path))
        assert list(read_pairs(path, columns=(2, 3))) == [("the house", "la maison"), ("a book", "un livre")]
        assert list(read_pairs(path, columns=(3, 2)))[1] == ("un livre", "a book")
        assert len(list(read_pairs(path, columns=(1, 2)))) == 2
    else:
        assert len(list(read_pairs(path))) == 2


def test_columns_that_are_not_there_are_refused_with_their_line(tmp_path):
    path = tmp_path / "text.tsv"
    path.write_text(WITH_NUMBERS + "3\tonly\n")
    with pytest.raises(InputError, match=r"line 3: no column 3\."):
        list(read_pairs(path, columns=(2, 3)))
    (tmp_path / "other").write_text("a b\n")
    with pytest.raises(InputError, match="--columns is for text between tabs"):
        read_pairs(tmp_path / "other", tmp_path / "other", columns=(1, 2))
    for read in (read_bitext, lambda *paths, **how: next(stream_bitext(*paths, **how))):
        with pytest.raises(InputError, match="--columns is for text between tabs"):
            read(tmp_path / "other", tmp_path / "other", columns=(1, 2))
    with pytest.raises(InputError, match="--columns is for text between tabs"):
        TextSource(tmp_path / "other", tmp_path / "other", {"columns": (1, 2)}).held(100)
