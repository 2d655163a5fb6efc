"""Alignment files: the golden text of each format, round trips, and what is refused."""

from __future__ import annotations

import io
import json
import math
import re
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dovetail.alignments import formats_lines
from dovetail.alignments.alignments import Alignments
from dovetail.alignments.formats import alignment_formats, read_alignments, write_alignments
from dovetail.errors import InputError

NO_LENGTHS = {"pharaoh", "probabilities", "tsv", "naacl"}  # a sentence is only known up to its last link
NO_PROBABILITIES = {"pharaoh", "tsv", "giza", "naacl"}


class Sentences:
    """Whitespace tokens of raw lines, the way a bitext hands them out."""

    def __init__(self, pairs):
        self.pairs = pairs

    def _sentence(self, raw):
        return raw, [match.span() for match in re.finditer(r"[^ \t\n\r\v\f]+", raw)]

    def source(self, n):
        return self._sentence(self.pairs[n][0])

    def target(self, n):
        return self._sentence(self.pairs[n][1])

    @property
    def lengths(self):
        return [(len(self.source(n)[1]), len(self.target(n)[1])) for n in range(len(self.pairs))]


def written(alignments, format, text=None, first_id=0) -> str:
    handle = io.StringIO()
    write_alignments(handle, alignments, format, text, first_id)
    return handle.getvalue()


def read(tmp_path, content, format=None, lengths=None, name="links"):
    path = tmp_path / name
    path.write_bytes(content.encode())
    return read_alignments(path, format, lengths)


TEXT = Sentences([("the  blue house", "la maison bleue"), ("", "œuvre"), ("yes\tno", "oui")])


@pytest.fixture
def example():
    alignments = Alignments.from_links(
        [[(0, 0), (1, 2), (2, 1)], [], [(0, 0)]], [[0.98, 0.5, 1.0], [], [0.12345]], TEXT.lengths
    )
    alignments.details = {
        "score_forward": np.array([math.log(0.0012), -math.inf, math.nan]),
        "certified": [True, False, True],
    }
    return alignments


def test_pharaoh_text(example):
    assert written(example, "pharaoh") == "0-0 1-2 2-1\n\n0-0\n"


def test_probabilities_text(example):
    assert written(example, "probabilities") == "0-0:0.98 1-2:0.5 2-1:1\n\n0-0:0.1235\n"


def test_tsv_text_stays_in_three_columns(example):
    assert (
        written(example, "tsv", TEXT) == "the  blue house\tla maison bleue\t0-0 1-2 2-1\n\tœuvre\t\nyes no\toui\t0-0\n"
    )


def test_jsonl_text(example):
    lines = written(example, "jsonl", TEXT, first_id=7).splitlines()
    assert lines[0] == (
        '{"id": 7, "source": ["the", "blue", "house"], "target": ["la", "maison", "bleue"],'
        ' "source_offsets": [[0, 3], [5, 9], [10, 15]], "target_offsets": [[0, 2], [3, 9], [10, 15]],'
        ' "source_text": "the  blue house", "target_text": "la maison bleue",'
        ' "links": [[0, 0], [1, 2], [2, 1]], "probabilities": [0.98, 0.5, 1.0],'
        f' "score_forward": {math.log(0.0012)!r}, "score_reverse": null, "certified": true}}'
    )
    assert lines[1] == (
        '{"id": 8, "source": [], "target": ["œuvre"], "source_offsets": [], "target_offsets": [[0, 5]],'
        ' "source_text": "", "target_text": "œuvre", "links": [], "probabilities": [],'
        ' "score_forward": null, "score_reverse": null, "certified": false}'
    )
    assert json.loads(lines[2])["score_forward"] is None


def test_jsonl_text_without_sentences(example):
    assert json.loads(written(example[2:], "jsonl")) == {
        "id": 0,
        "links": [[0, 0]],
        "probabilities": [0.12345],
        "score_forward": None,
        "score_reverse": None,
        "certified": True,
    }


def test_jsonl_says_null_for_every_number_that_json_lacks():
    alignments = Alignments.from_links([[(0, 0)]])
    alignments.probability = np.array([np.nan], np.float32)
    alignments.details = {
        "bound": np.array([np.inf]),
        "parts": [{"a": [np.float32(0.5), math.nan], "b": np.arange(2)}],
    }
    entry = json.loads(written(alignments, "jsonl"))
    assert entry["probabilities"] == [None]
    assert entry["bound"] is None
    assert entry["parts"] == {"a": [0.5, None], "b": [0, 1]}


def test_giza_text(example):
    assert written(example, "giza", TEXT) == (
        "# Sentence pair (1) source length 3 target length 3 alignment score : 1.2e-3\n"
        "la maison bleue\n"
        "NULL ({ }) the ({ 1 }) blue ({ 3 }) house ({ 2 })\n"
        "# Sentence pair (2) source length 0 target length 1 alignment score : 0\n"
        "œuvre\n"
        "NULL ({ 1 })\n"
        "# Sentence pair (3) source length 2 target length 1 alignment score : 1\n"
        "oui\n"
        "NULL ({ }) yes ({ 1 }) no ({ })\n"
    )


@pytest.mark.parametrize(
    ("score", "shown"),
    [
        (-2000.0, "2.57654e-869"),
        (0.0, "1"),
        (math.log(0.5), "5e-1"),
        (math.log(10) * -3, "1e-3"),
        (-1e-12, "1"),
    ],
)
def test_giza_scores_may_be_smaller_than_any_float(score, shown):
    alignments = Alignments.from_links([[(0, 0)]])
    alignments.details = {"score_forward": [score]}
    assert written(alignments, "giza", Sentences([("a", "b")])).splitlines()[0].endswith(f" : {shown}")


def test_giza_keeps_a_word_with_blanks_inside_one_word():
    class Phrases:
        def source(self, n):
            return "New York", [(0, 8)]

        target = source

    assert "NULL ({ }) New_York ({ 1 })" in written(Alignments.from_links([[(0, 0)]]), "giza", Phrases())


def test_naacl_text(example):
    assert written(example, "naacl", first_id=0) == "0001 1 1 S\n0001 2 3 S\n0001 3 2 S\n0003 1 1 S\n"
    assert written(example[2:], "naacl", first_id=12_344) == "12345 1 1 S\n"


@pytest.mark.parametrize("format", list(alignment_formats))
def test_writing_piece_by_piece_gives_the_text_of_the_whole(format, example):
    pieces = [(0, 2), (2, 3)]
    parts = (written(example[a:b], format, Sentences(TEXT.pairs[a:b]), first_id=a) for a, b in pieces)
    assert "".join(parts) == written(example, format, TEXT)


words = st.text(st.characters(blacklist_categories=("Cs", "Zs", "Zl", "Zp", "Cc")), min_size=1, max_size=4)
raws = st.lists(words | st.sampled_from(["({", "})", "NULL", "#"]), max_size=6).map(" ".join)


@st.composite
def corpora(draw):
    text = Sentences(draw(st.lists(st.tuples(raws, raws), min_size=1, max_size=5)))
    links, probabilities = [], []
    for I, J in text.lengths:
        cells = st.tuples(st.integers(0, max(I - 1, 0)), st.integers(0, max(J - 1, 0)))
        row = draw(st.dictionaries(cells, st.integers(0, 10_000), max_size=8 if I and J else 0))
        links.append(list(row))
        probabilities.append([q / 10_000 for q in row.values()])
    return text, Alignments.from_links(links, probabilities, text.lengths)


@pytest.mark.parametrize("format", list(alignment_formats))
@given(corpus=corpora())
@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_reads_back(format, corpus, tmp_path):
    text, alignments = corpus
    content = written(alignments, format, text)
    if not content:  # naacl without any link: the empty file is refused by the reader of text
        return
    result = read(tmp_path, content, format, text.lengths)
    assert np.array_equal(result.offsets, alignments.offsets)
    assert np.array_equal(result.source, alignments.source)
    assert np.array_equal(result.target, alignments.target)
    assert list(zip(result.source_lengths, result.target_lengths, strict=True)) == text.lengths
    expected = np.ones_like(alignments.probability) if format in NO_PROBABILITIES else alignments.probability
    assert np.array_equal(result.probability, expected)
    assert (result.source.dtype, result.target.dtype, result.probability.dtype) == (
        np.int32,
        np.int32,
        np.float32,
    )
    if format not in NO_LENGTHS:
        alone = read(tmp_path, content, format)
        assert list(zip(alone.source_lengths, alone.target_lengths, strict=True)) == text.lengths


@pytest.mark.parametrize("format", list(alignment_formats))
def test_the_format_is_known_by_the_first_line_that_is_not_empty(format, example, tmp_path):
    content = written(example, format, TEXT)
    assert sum(known.recognises(content.splitlines()[0]) for known in alignment_formats.values()) == 1
    assert [pair.links for pair in read(tmp_path, content)] == [pair.links for pair in example]


@pytest.mark.parametrize(
    ("line", "format"),
    [
        ("0-0\t1-1\t2-2", "pharaoh"),
        ("0-0\t1-1 2-2", "pharaoh"),
        ("0?0", "pharaoh"),
        ("\t\t", "tsv"),
        ("a\t\t0-0", "tsv"),
        ("{ tab\t{\t0-0:0.5", "tsv"),
        ("1\t1\t1", "naacl"),
        ("18 1 1 P 0.5", "naacl"),
        ('  {"links": []}', "jsonl"),
        ("0-0 1-1:1e-3", "probabilities"),
    ],
)
def test_ambiguous_first_lines_have_one_reading(line, format):
    assert [name for name, known in alignment_formats.items() if known.recognises(line)] == [format]


def test_empty_lines_are_pairs_without_links(tmp_path):
    assert [pair.links for pair in read(tmp_path, "\n\n1-0\n\n")] == [[], [], [(1, 0)], []]
    assert [pair.links for pair in read(tmp_path, "\n\n")] == [[], []]


def test_a_file_without_anything_is_refused(tmp_path):
    with pytest.raises(InputError, match="empty"):
        read(tmp_path, "")


def test_pharaoh_takes_probabilities_possible_links_and_any_order(tmp_path):
    result = read(tmp_path, "2-1 0?0:0.25 1p3  2-0\r\n0-0 0-0:0.5 \n")
    assert result[0].links == [(0, 0), (1, 3), (2, 0), (2, 1)]
    assert result[0].probabilities == [0.25, 1, 1, 1]
    assert result[1].links == [(0, 0)], "a link that stands there twice is one link"
    assert result[1].probabilities == [1]
    assert list(result.source_lengths) == [3, 1]
    assert list(result.target_lengths) == [4, 1]


def test_compressed_files_are_read(tmp_path):
    import gzip

    path = tmp_path / "links.gz"
    path.write_bytes(gzip.compress(b"0-0 1-1\n"))
    assert read_alignments(path)[0].links == [(0, 0), (1, 1)]


def test_jsonl_details_read_back(tmp_path, example):
    result = read(tmp_path, written(example, "jsonl", TEXT))
    assert result[0].details == {"score_forward": math.log(0.0012), "certified": True}
    assert math.isnan(result[1].details["score_forward"])
    assert result.details["certified"] == [True, False, True]


def test_naacl_reads_confidence_gaps_and_scattered_lines(tmp_path):
    result = read(tmp_path, "0003 2 1 P 0.5\n\n0001 1 1\n3 1 1 S\n")
    assert [pair.links for pair in result] == [[(0, 0)], [], [(0, 0), (1, 0)]]
    assert result[2].probabilities == [1, 0.5]
    assert len(read(tmp_path, "1 1 1\n", lengths=[(1, 1)] * 4)) == 4


BAD = {
    "a word": ("pharaoh", "0-0\n0-0 x\n", None, "line 2: 'x' is not a link. Links are written i-j"),
    "a negative index": ("pharaoh", "0--1\n", None, "line 1: '0--1' is not a link"),
    "an index beyond int32": ("pharaoh", "0-9999999999\n", None, "line 1: '0-9999999999' is not a link"),
    "half a link": ("pharaoh", "0-0 1-\n", None, "line 1: '1-' is not a link"),
    "three halves": ("pharaoh", "0-0-0\n", None, "line 1: '0-0-0' is not a link"),
    "digits of another script": ("pharaoh", "٣-٣\n", None, "is not a link"),
    "a probability over 1": ("probabilities", "0-0:1.5\n", None, "line 1: '1.5' is not a probability"),
    "a probability in words": ("probabilities", "0-0:e\n", None, "line 1: 'e' is not a probability"),
    "a link beyond the source": (
        "pharaoh",
        "0-0\n2-0\n",
        [(2, 2)] * 2,
        "line 2: link 2-0 lies outside the pair of 2",
    ),
    "a link beyond the target": (
        "pharaoh",
        "1-0 0?2\n",
        [(2, 2)],
        "line 1: link 0?2 lies outside the pair of 2",
    ),
    "a link in an empty pair": (
        "pharaoh",
        "\n0-0\n",
        [(0, 0)] * 2,
        "line 2: link 0-0 lies outside the pair of 0",
    ),
    "too few lines": (
        "pharaoh",
        "0-0\n",
        [(1, 1)] * 3,
        "line 1: the file ends after 1 pair, but the bitext has 3",
    ),
    "too many lines": (
        "pharaoh",
        "0-0\n\n",
        [(1, 1)],
        "line 2: the file ends after 2 pairs, but the bitext has 1",
    ),
    "two columns": ("tsv", "a\tb\t0-0\na\tb\n", None, "line 2: 2 columns instead of 3"),
    "a bad third column": ("tsv", "a\tb\t0-0\na\tb\tc\n", None, "line 2: 'c' is not a link"),
    "broken JSON": ("jsonl", '{"links": []}\n{"links": [}\n', None, "line 2: not JSON"),
    "JSON nested without end": ("jsonl", "[" * 100_000 + "\n", None, "line 1: not JSON (nested too deeply)"),
    "a JSON list": ("jsonl", "[]\n", None, "line 1: not a JSON object"),
    "no links": ("jsonl", "{}\n", None, "line 1: no list of links"),
    "a JSON link of three": ("jsonl", '{"links": [[0, 0, 0]]}\n', None, "[0, 0, 0] is not a link"),
    "a JSON link of truths": ("jsonl", '{"links": [[true, 0]]}\n', None, "[True, 0] is not a link"),
    "a negative JSON link": ("jsonl", '{"links": [[-1, 0]]}\n', None, "[-1, 0] is not a link"),
    "JSON probabilities missing": (
        "jsonl",
        '{"links": [[0, 0]], "probabilities": []}\n',
        None,
        "each of 1 links",
    ),
    "JSON probability of 2": (
        "jsonl",
        '{"links": [[0, 0]], "probabilities": [2]}\n',
        None,
        "2 is not a probability",
    ),
    "a JSON link beyond its words": (
        "jsonl",
        '{"source": ["a"], "links": [[1, 0]]}\n',
        None,
        "link [1, 0] lies outside",
    ),
    "JSON words in a string": ("jsonl", '{"source": "a", "links": []}\n', None, "`source` is not a list"),
    "too few objects": ("jsonl", '{"links": []}\n', [(1, 1)] * 2, "ends after 1 pair, but the bitext has 2"),
    "naacl in words": ("naacl", "1 1 1\n1 1 x\n", None, "line 2: '1 1 x' is not a link"),
    "naacl position 0": ("naacl", "1 0 1\n", None, "line 1: position 0, but positions count from 1"),
    "naacl negative": ("naacl", "1 -1 1\n", None, "is not a link"),
    "naacl sentence 0": ("naacl", "0 1 1\n", None, "line 1: sentence number 0"),
    "naacl sentence too many": ("naacl", "3 1 1\n", [(1, 1)] * 2, "sentence number 3, but there are 2 pairs"),
    "naacl sentence absurd": ("naacl", "999999999999 1 1\n", None, "sentence number 999,999,999,999"),
    "naacl outside": (
        "naacl",
        "1 1 3\n",
        [(2, 2)],
        "line 1: link 1 3 (counted from 1) lies outside the pair of 2",
    ),
    "giza without header": ("giza", "a\nb\nNULL ({ })\n", None, "line 1: not the first line of a pair"),
    "giza cut off": (
        "giza",
        "# Sentence pair (1) source length 1 target length 1 alignment score : 1\na\n",
        None,
        "line 2: the file ends inside a pair",
    ),
    "giza without NULL": (
        "giza",
        "# Sentence pair (1) source length 1 target length 1 alignment score : 1\na\nb ({ 1 })\n",
        None,
        "line 3: not a line of words and positions",
    ),
    "giza with holes": (
        "giza",
        "# Sentence pair (1) source length 1 target length 1 alignment score : 1\na\nNULL ({ 1 b\n",
        None,
        "line 3: not a line of words and positions",
    ),
    "giza position beyond": (
        "giza",
        "# Sentence pair (1) source length 1 target length 1 alignment score : 1\na\nNULL ({ }) b ({ 2 })\n",
        None,
        "line 3: link of word 1 to position 2 lies outside",
    ),
    "giza position 0": (
        "giza",
        "# Sentence pair (1) source length 1 target length 1 alignment score : 1\na\nNULL ({ }) b ({ 0 })\n",
        None,
        "line 3: link of word 1 to position 0 lies outside",
    ),
    "giza words missing": (
        "giza",
        "# Sentence pair (1) source length 2 target length 1 alignment score : 1\na\nNULL ({ 1 }) b ({ })\n",
        None,
        "line 3: 1 source words after NULL, but a source length of 2",
    ),
    "giza without words": (
        "giza",
        "# Sentence pair (1) source length 0 target length 1 alignment score : 1\na\n\n",
        None,
        "line 3: no words, not even NULL",
    ),
    "giza parts": (
        "giza",
        "# Sentence pair (1) source length 0 target length 0 alignment score : 1\n\nNULL ({ })\n"
        "# Sentence pair (3) source length 0 target length 0 alignment score : 1\n\nNULL ({ })\n",
        None,
        "line 4: pair 3 follows pair 1",
    ),
    "giza pairs missing": (
        "giza",
        "# Sentence pair (1) source length 0 target length 0 alignment score : 1\n\nNULL ({ })\n",
        [(0, 0)] * 2,
        "line 3: the file ends after 1 pair, but the bitext has 2",
    ),
    "nothing known": (None, "\nlorem ipsum\n", None, "line 2: 'lorem ipsum' is in no known alignment format"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_bad_files_are_refused_with_place_and_remedy(case, tmp_path):
    format, content, lengths, message = BAD[case]
    with pytest.raises(InputError) as caught:
        read(tmp_path, content, format, lengths)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "links"))
    assert caught.value.line is not None
    assert caught.value.remedy


def test_errors_deep_in_a_long_file_name_the_right_line(tmp_path):
    with pytest.raises(InputError, match="line 40,001: 'x' is not a link"):
        read(tmp_path, "0-0 1-1\n" * 40_000 + "0-0 x\n")
    with pytest.raises(InputError, match="line 40,001: link 5-0 lies outside"):
        read(tmp_path, "0-0 1-1\n" * 40_000 + "5-0\n", lengths=[(2, 2)] * 40_001)


def test_unknown_names_are_refused_before_anything_is_read(tmp_path):
    with pytest.raises(InputError, match="no alignment format 'pharao'"):
        read_alignments(tmp_path / "missing", "pharao")
    with pytest.raises(InputError, match="no alignment format 'pharao'"):
        written(Alignments.from_links([]), "pharao")


def test_formats_that_show_words_ask_for_them(example):
    for name, format in alignment_formats.items():
        if format.needs_text:
            with pytest.raises(InputError, match="shows the words"):
                written(example, name)
        else:
            written(example, name)


@pytest.mark.parametrize("format", ["jsonl", "giza"])
def test_a_text_of_other_sentences_is_noticed(format):
    with pytest.raises(ValueError, match="pair 0: 3 source words are aligned, but the text has 1"):
        written(Alignments.from_links([[(2, 0)]]), format, Sentences([("a", "b")]))


def test_no_alignments_give_no_text():
    for format in alignment_formats:
        assert written(Alignments.from_links([]), format, Sentences([])) == ""


@given(
    rows=st.lists(st.lists(st.tuples(st.integers(0, 2**31 - 2), st.integers(0, 120)), max_size=5), max_size=6),
    probability=st.floats(0, 1, width=32),
)
@settings(deadline=None)
def test_fast_writing_equals_formatting_one_link_at_a_time(rows, probability):
    rows = [sorted(set(row)) for row in rows]
    alignments = Alignments.from_links(rows, [[probability] * len(row) for row in rows], [(0, 0)] * len(rows))
    assert written(alignments, "pharaoh") == "".join(str(pair) + "\n" for pair in alignments)
    expected = "".join(f"{n:04} {i + 1} {j + 1} S\n" for n, row in enumerate(rows, 9_998) for i, j in row)
    assert written(alignments, "naacl", first_id=9_997) == expected
    text = written(alignments, "probabilities")
    assert "e" not in text
    for field in text.split():
        value = field.split(":")[1]
        assert re.fullmatch(r"0|1|0\.[0-9]{0,3}[1-9]", value)
        assert abs(float(value) - probability) <= 0.00005 + 1e-9


@given(
    content=st.lists(
        st.lists(st.sampled_from(["0", "12", "3", "-", "-", " ", " ", "?"]), max_size=12).map("".join),
        max_size=4,
    )
)
@settings(deadline=None, max_examples=400)
def test_fast_reading_accepts_and_yields_what_slow_reading_does(content):
    fast = formats_lines._parse_plain(content)
    try:
        slow = formats_lines._parse_any(content, "links", 0, True)
    except InputError:
        assert fast is None
        return
    assert (fast is None) == any("?" in line for line in content)
    if fast is not None:
        for one, other in zip(fast, slow, strict=True):
            assert np.array_equal(one, other)
            assert one.dtype == other.dtype


@pytest.mark.slow
def test_writing_and_reading_pharaoh_is_fast(tmp_path):
    pairs, links = 50_000, 20
    source = np.tile(np.arange(links, dtype=np.int32), pairs)
    length = np.full(pairs, links, np.int32)
    ones = np.ones(len(source), np.float32)
    alignments = Alignments(np.arange(pairs + 1) * links, source, source[::-1].copy(), ones, length, length)
    start = time.perf_counter()
    content = written(alignments, "pharaoh")
    assert time.perf_counter() - start < 2  # a twentieth of a million pairs: 0.1 s on a free core
    path = tmp_path / "links"
    path.write_text(content)
    start = time.perf_counter()
    assert len(read_alignments(path).source) == pairs * links
    assert time.perf_counter() - start < 5
