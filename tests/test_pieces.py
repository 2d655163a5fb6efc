"""Links told in other tokens: every index in bounds, there and back the same, SentencePiece's own offsets."""

from __future__ import annotations

import io
import re
from importlib.resources import files

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from dovetail.cli import dovetail
from dovetail.errors import InputError
from dovetail.uses.pieces import carried_over, overlapping, remap, shared_characters

letters = st.sampled_from("abcdefgh漢é€ﬁĳÅß")
word = st.text(letters, min_size=1, max_size=6)
sentences = st.lists(word, min_size=1, max_size=6)


def pieces(words, cuts):
    """The words in SentencePiece's manner, cut where `cuts` say, with `▁` alone here and there."""
    found = []
    for word in words:
        start = 0
        if next(cuts):
            found.append("▁")
            mark = ""
        else:
            mark = "▁"
        for end in range(1, len(word) + 1):
            if end == len(word) or next(cuts):
                found.append(mark + word[start:end])
                mark, start = "", end
    return found


def joined(tokens, mark):
    """Pieces of SentencePiece in the manner of another tool."""
    text = " ".join(tokens).replace("▁ ", "▁")
    words = [part.split(" ") for part in re.split(" ?▁", text) if part]
    if mark == "@@":
        return [piece + "@@" if n < len(w) - 1 else piece for w in words for n, piece in enumerate(w)]
    return ["##" + piece if n else piece for w in words for n, piece in enumerate(w)]


@st.composite
def cut_sentences(draw):
    words = draw(sentences)
    cuts = iter(draw(st.lists(st.booleans(), min_size=60, max_size=60)))
    return words, pieces(words, cuts)


@given(cut_sentences(), st.sampled_from(["▁", "@@", "##"]))
def test_pieces_belong_to_the_word_they_are_cut_from(cut, mark):
    words, found = cut
    if mark != "▁":
        found = joined(found, mark)
    owners = shared_characters(words, found)
    assert [n for owner in owners for n in owner] == [n for n, piece in enumerate(found) if piece != "▁"]
    for word, owner in zip(words, owners, strict=True):
        bare = "".join(found[n].replace("▁", "").removesuffix("@@").removeprefix("##") for n in owner)
        assert bare == word


@st.composite
def linked_pairs(draw):
    source, target = draw(cut_sentences()), draw(cut_sentences())
    ends = st.integers(0, len(source[0]) - 1), st.integers(0, len(target[0]) - 1)
    links = draw(st.dictionaries(st.tuples(*ends), st.sampled_from([0.25, 0.5, 1.0]), max_size=8))
    return source, target, links


@given(linked_pairs())
def test_links_go_to_pieces_and_come_back_the_same(pair):
    (source, source_pieces), (target, target_pieces), links = pair
    there = remap(links, source, target, source_pieces, target_pieces)
    assert all(i < len(source_pieces) and j < len(target_pieces) for i, j in there)
    assert all(source_pieces[i] != "▁" and target_pieces[j] != "▁" for i, j in there)
    assert remap(there, source_pieces, target_pieces, source, target) == links


@given(sentences, st.lists(st.text("abc<unk>▁ é漢", max_size=4), max_size=8))
def test_indices_are_in_bounds_whatever_the_texts(words, others):
    try:
        owners = shared_characters(words, others)
    except InputError:
        return
    assert len(owners) == len(words)
    assert all(0 <= n < len(others) for owner in owners for n in owner)
    assert all(others[n].strip("▁ ") for owner in owners for n in owner)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6), st.data())
def test_overlaps_are_those_of_the_definition(steps, data):
    def spans(steps):
        found, place = [], 0
        for gap, size in steps:
            found.append((place + gap, place + gap + size))
            place += gap + size
        return found

    old = spans(steps)
    new = spans(data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), max_size=6)))
    naive = [[n for n, (c, d) in enumerate(new) if set(range(a, b)) & set(range(c, d))] for a, b in old]
    assert overlapping(old, new) == naive


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["€", "5"], ["▁", "<0xE2>", "<0x82>", "<0xAC>", "▁5"], [[1, 2, 3], [4]]),  # pieces that are bytes
        (["The", "ﬁn"], ["▁the", "▁fin"], [[0], [1]]),  # SentencePiece normalises and lower-cases
        (["a", "漢", "b"], ["▁a", "▁", "<unk>", "▁b"], [[0], [2], [3]]),  # unknown ones
        (["Don't", "go!"], ["Do", "n't", "go", "!"], [[0, 1], [2, 3]]),
        (["a@@"], ["a@@"], [[0]]),  # a word that looks like a piece
        ([], [], []),
        (["a"], ["▁a", "</s>"], [[0]]),
        (["漢字"], ["[CLS]", "[UNK]", "[SEP]"], [[1]]),
        (["<unk>", "<s>"], ["▁<unk>", "▁<", "s>"], [[0], [1, 2]]),  # which are words here
    ],
)
def test_texts_that_are_not_quite_the_same_are_matched(old, new, expected):
    assert shared_characters(old, new) == expected


def test_another_sentence_is_refused():
    with pytest.raises(InputError, match="two texts where one text"):
        shared_characters(["the", "house", "is", "old"], ["▁quite", "▁different", "▁words"])


def test_of_links_that_meet_the_surest_counts():
    assert carried_over({(0, 0): 0.3, (1, 0): 0.7}, [[0], [0]], [[0]]) == {(0, 0): 0.7}


@pytest.fixture(scope="module")
def sentencepiece_model(tmp_path_factory):
    sentencepiece = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    lines = (files("dovetail") / "data" / "demo.fr").read_text("utf-8").splitlines()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=500, byte_fallback=True, minloglevel=2
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def test_sentencepiece_agrees_on_which_characters_a_piece_holds(sentencepiece_model):
    lines = (files("dovetail") / "data" / "demo.fr").read_text("utf-8").splitlines()[:200]
    for line in [*lines, "10 € und 漢字 .", "ﬁn"]:
        found = sentencepiece_model.encode(line, return_type="offset_mapping")
        words, place = [], 0
        for text in line.split():
            start = line.index(text, place)
            place = start + len(text)
            words.append((start, place))
        owners = shared_characters(line.split(), found["pieces"])
        # Its own offsets hold the space before a word, and give a character's last part all of it.
        for n, (begin, end) in enumerate(found["offsets"]):
            inside = [w for w, (a, b) in enumerate(words) if begin < b and end > a]
            mine = [w for w, owner in enumerate(owners) if n in owner]
            if begin < end and found["pieces"][n] != "▁":
                assert mine == inside, (line, found["pieces"][n])
            else:
                assert len(mine) <= 1


# The command


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("s", "the house\nyes\n"),
        ("t", "la maison\noui\n"),
        ("s.sp", "▁the ▁ho use\n▁ yes\n"),
        ("t.sp", "▁la ▁mai son\n▁oui\n"),
        ("links", "0-0 1-1:0.5\n0-0\n"),
    ):
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def run(*arguments):
    result = CliRunner().invoke(dovetail, list(arguments))
    if isinstance(result.exception, Exception) and not isinstance(result.exception, InputError):
        raise result.exception
    return result


def test_the_command_goes_to_pieces_and_back(place):
    there = run("remap", "links", "s", "t", "s.sp", "t.sp", "--probabilities").stdout
    assert there == "0-0:1 1-1:0.5 1-2:0.5 2-1:0.5 2-2:0.5\n1-0:1\n"
    (place / "there").write_text(there, "utf-8")
    assert run("remap", "there", "s.sp", "t.sp", "s", "t").stdout == "0-0 1-1\n0-0\n"


def test_a_tokenizers_words_become_whitespace_tokens(place):
    (place / "raw").write_text("Don't go!\n", "utf-8")
    (place / "links").write_text("0-0 1-1 2-2 3-3\n", "utf-8")
    arguments = ("raw", "raw", "raw", "raw", "--tokenizer", "unicode")
    assert run("remap", "links", *arguments).stdout == "0-0 1-1\n"


def test_align_writes_the_tokens_that_links_count(place):
    pairs = [("Don't go!", "N'y va pas!"), ("Go!", "Va!"), ("", "")] * 3
    for side, name in enumerate(("raw.s", "raw.t")):
        (place / name).write_text("".join(pair[side] + "\n" for pair in pairs), "utf-8")
    options = ("--recipe", "ibm1", "--tokenizer", "unicode", "--threads", "1", "--quiet", "--write-tokens", "tokens")
    assert run("align", "raw.s", "raw.t", *options, "-o", "out").exit_code == 0
    assert (place / "tokens.source").read_text("utf-8").splitlines()[:3] == ["Do n't go !", "Go !", ""]
    assert len((place / "tokens.target").read_text("utf-8").splitlines()) == 9
    # so links can be told in whitespace tokens without knowing the tokenizer, as --on-whitespace does
    told = run("remap", "out", "tokens.source", "tokens.target", "raw.s", "raw.t").stdout
    run("align", "raw.s", "raw.t", *options, "--on-whitespace", "-o", "whitespace")
    assert told == (place / "whitespace").read_text("utf-8")
    assert (place / "tokens.source").read_text("utf-8").splitlines()[0] == "Don't go!"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("links", "0-0 2-1\n0-0\n", "links, line 1: link 2-1 lies outside"),
        ("s.sp", "▁the ▁ho use\n▁quite ▁another\n", "s.sp, line 2: two texts where one text cut in two ways"),
        ("t.sp", "▁quite ▁another\n▁oui\n", "t.sp, line 1: two texts"),
        ("t.sp", "▁la ▁mai son\n", "s.sp, line 2: no matching line in t.sp"),
    ],
)
def test_bad_input_is_refused_with_file_and_line(name, text, message, place):
    (place / name).write_text(text, "utf-8")
    assert message in str(run("remap", "links", "s", "t", "s.sp", "t.sp").exception)


def test_files_of_other_lengths_are_refused(place):
    for name in ("s.sp", "t.sp"):
        lines = (place / name).read_text("utf-8")
        (place / f"{name}.long").write_text(lines + "▁more\n", "utf-8")
        (place / f"{name}.short").write_text(lines.split("\n")[0] + "\n", "utf-8")
    longer = run("remap", "links", "s", "t", "s.sp.long", "t.sp.long").exception
    assert "s.sp.long, line 3: the text that is linked ends before this line" in str(longer)
    shorter = run("remap", "links", "s", "t", "s.sp.short", "t.sp.short").exception
    assert "s.sp.short: the file ends after 1 lines" in str(shorter)
    assert run("remap", "-", "-", "t", "s.sp", "t.sp").exit_code == 2
