"""Readers of sentence pairs: every pair comes, in order and as written, or the file is refused with its line."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from queue import Queue

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.bitext.readers import bitext_formats, read_in_step, read_pairs
from dovetail.errors import InputError


@pytest.fixture
def file(tmp_path):
    """Writes text or bytes to a file of a given name and returns its path."""

    def write(name: str, data: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


@pytest.fixture
def standard_input(monkeypatch):
    def feed(data: str) -> str:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data.encode())))
        return "-"

    return feed


def refusal(*paths, **options) -> InputError:
    with pytest.raises(InputError) as caught:
        list(read_pairs(*paths, **options))
    return caught.value


def pairs_of(*paths, **options) -> list[tuple[str, str]]:
    return list(read_pairs(*paths, **options))


# Two files of lines


def test_two_files_give_line_n_with_line_n(file):
    source, target = file("c.en", "one\n\nthree"), file("c.fr", "un\r\ndeux\r\n\r\n")
    assert pairs_of(source, target) == [("one", "un"), ("", "deux"), ("three", "")]


@pytest.mark.parametrize("swapped", [False, True])
def test_a_line_without_a_partner_is_named_in_the_longer_file(file, swapped):
    paths = [file("corpus.en", "a\n" * 4311), file("corpus.fr", "b\n" * 4320)]
    error = refusal(*(reversed(paths) if swapped else paths))
    assert str(error) == (
        f"{paths[1]}, line 4,312: no matching line in {paths[0]} (4,311 lines). Were blank lines removed on one side?"
    )


def test_one_side_may_come_from_standard_input_but_not_both(file, standard_input):
    path = file("c.fr", "un\n")
    assert pairs_of(standard_input("one\n"), path) == [("one", "un")]
    assert pairs_of(path, standard_input("one\n")) == [("un", "one")]
    assert "both sides" in refusal("-", "-").problem
    assert "standard input, line 2" in str(refusal(standard_input("one\ntwo\n"), path))


def test_both_files_may_be_compressed(file):
    source, target = file("c.en.gz", gzip.compress(b"one\n")), file("c.fr", "un\n")
    assert pairs_of(source, target) == [("one", "un")]


def test_bytes_that_are_not_utf8_are_refused_or_replaced_on_either_side(file):
    source, target = file("c.en", "one\ntwo\n"), file("c.fr", b"un\nd\xe9ux\n")
    error = refusal(source, target)
    assert (error.path, error.line) == (str(target), 2)
    assert pairs_of(source, target, encoding_errors="replace")[1] == ("two", "d\ufffdux")


file_pieces = st.sampled_from([b"a", b"\n", b"\n", b"\r\n", b"\xc3\xa9", b"\xe9", b"\xef\xbb\xbf", b"\xff\xfe"])
file_contents = st.lists(file_pieces, max_size=12).map(b"".join)


@given(contents=st.tuples(file_contents, file_contents), size=st.sampled_from([1, 2, 5, 1 << 17]))
def test_two_files_in_step_give_the_lines_of_their_pairs_or_the_same_refusal(tmp_path_factory, contents, size):
    paths = [tmp_path_factory.mktemp("step") / name for name in ("c.en", "c.fr")]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    pairs, sides = [], [b"", b""]
    expected = refused = None
    with pytest.MonkeyPatch.context() as patch:
        try:
            pairs.extend(read_pairs(*paths))
        except InputError as error:
            expected = str(error)
        patch.setattr("dovetail.bitext.text._BUFFER_BYTES", size)
        try:
            for side, block in read_in_step(*paths):
                sides[side] += block.raw
        except InputError as error:
            refused = str(error)
    assert refused == expected
    if refused is None:
        for n, side in enumerate(sides):
            assert side.replace(b"\r\n", b"\n").decode().removesuffix("\n") == "\n".join(pair[n] for pair in pairs)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_filled_line_by_line_never_wait_for_each_other(tmp_path):
    paths = [tmp_path / "source", tmp_path / "target"]
    for path in paths:
        os.mkfifo(path)

    queues = [Queue(100), Queue(100)]  # lines under way: what the two have between them and the one that fills both

    def pass_on(path, queue):
        with path.open("wb", buffering=0) as pipe:
            while line := queue.get():
                pipe.write(line)

    def fill():
        for n in range(20_000):
            for queue, words in zip(queues, (b"and some words", b"und noch ein paar weitere"), strict=True):
                queue.put(b"%d %s\n" % (n, words))
        for queue in queues:
            queue.put(b"")

    for target, arguments in ((fill, ()), *((pass_on, ends) for ends in zip(paths, queues, strict=True))):
        threading.Thread(target=target, args=arguments, daemon=True).start()
    lines = [0, 0]
    for side, block in read_in_step(*paths):
        lines[side] += block.raw.count(b"\n")
    assert lines == [20_000, 20_000]  # far more than a pipe holds


# One file of two columns


def test_tsv_takes_the_first_two_columns(file):
    path = file("c.tsv", "a b\tc d\ne\tf\t0.7\tweb\n\tg\nh\t\n\t\n\n")
    assert pairs_of(path) == [("a b", "c d"), ("e", "f"), ("", "g"), ("h", ""), ("", ""), ("", "")]


@pytest.mark.parametrize(
    ("line", "pair"),
    [
        ("a b ||| c d", ("a b", "c d")),
        ("a ||| b ||| 0-0", ("a", "b")),
        (" ||| foo", ("", "foo")),
        ("||| foo", ("", "foo")),
        ("foo |||", ("foo", "")),
        ("foo ||| ", ("foo", "")),
        ("|||", ("", "")),
        (" ||| ", ("", "")),
        ("a ||| ||| b", ("a", "")),
        ("||| a ||| b", ("", "a")),
        ("a|||b ||| c", ("a|||b", "c")),
        ("a |||| b ||| c", ("a |||| b", "c")),
        ("", ("", "")),
    ],
)
def test_pipes_are_a_token_of_their_own_at_the_ends_of_the_line_too(file, line, pair):
    path = file("c.txt", f"x ||| y\n{line}\n")
    assert pairs_of(path, format="pipes") == [("x", "y"), pair]


@pytest.mark.parametrize(("format", "line"), [("tsv", "a ||| b"), ("pipes", "a\tb"), ("pipes", "a|||b")])
def test_a_line_without_a_separator_is_refused_with_its_number(file, format, line):
    separator = {"tsv": "\t", "pipes": " ||| "}[format]
    error = refusal(file("c", f"x{separator}y\n\n{line}\n"), format=format)
    assert error.line == 3
    assert "between source and target" in error.problem


sides = st.text(st.characters(codec="utf-8", exclude_characters="\t\r\n|\ufeff"))


@pytest.mark.parametrize(("format", "separator"), [("tsv", "\t"), ("pipes", " ||| ")])
@given(pairs=st.lists(st.tuples(sides, sides), min_size=1))
def test_pairs_written_in_columns_come_back_as_they_were(tmp_path_factory, format, separator, pairs):
    path = tmp_path_factory.getbasetemp() / "columns"
    path.write_bytes("".join(f"{source}{separator}{target}\n" for source, target in pairs).encode())
    assert pairs_of(path, format=format) == pairs
    assert pairs_of(path) == pairs


# Which format it is


@pytest.mark.parametrize("name", ["c.tsv", "c.TSV", "c.tab", "c.tsv.gz"])
def test_a_table_is_known_by_its_name(file, name):
    data = b"no separator here\na\tb\n"
    path = file(name, gzip.compress(data) if name.endswith("gz") else data)
    assert "no tab" in refusal(path).problem


@pytest.mark.parametrize(("text", "pairs"), [("a\tb ||| c\n", [("a", "b ||| c")]), ("a ||| b\n", [("a", "b")])])
@pytest.mark.parametrize("blank", ["", "\n\n"])
def test_the_first_line_that_is_not_empty_tells_the_format_and_no_line_is_lost(
    file, standard_input, text, pairs, blank
):
    expected = [("", "")] * len(blank) + pairs
    assert pairs_of(file("corpus", blank + text)) == expected
    assert pairs_of(standard_input(blank + text)) == expected


def test_a_file_of_blank_lines_holds_pairs_of_empty_sentences(file):
    assert pairs_of(file("corpus", "\n\n\n")) == [("", "")] * 3


def test_a_single_file_without_separators_is_refused_with_what_was_expected(file):
    error = refusal(file("corpus.en", "\nthe house\n"))
    assert error.line == 2
    assert "tab" in error.problem
    assert "|||" in error.problem
    assert "second file" in str(error)


def test_xml_under_another_name_is_told_to_be_tmx(file):
    assert "Name the format tmx" in str(refusal(file("memory.xml", '<?xml version="1.0"?>\n<tmx/>\n')))


def test_formats_and_numbers_of_files_must_agree(file):
    path = file("c.tsv", "a\tb\n")
    assert "needs a source and a target" in refusal(path, format="lines").problem
    assert "one file" in refusal(path, path, format="tsv").problem
    assert "Choose one of: lines, tsv, pipes, tmx" in str(refusal(path, format="moses"))


@pytest.mark.parametrize("name", ["empty", "empty.tsv", "empty.tmx", "empty.tmx.gz", "empty.tmx.bz2"])
def test_an_empty_file_is_refused_in_every_format(file, name):
    assert refusal(file(name, b"")).problem == "the file is empty"


@pytest.mark.parametrize("name", ["nowhere", "nowhere.tsv", "nowhere.tmx"])
def test_a_missing_file_is_refused_in_every_format(tmp_path, name):
    assert refusal(tmp_path / name).problem == "no such file"


def test_every_format_is_described():
    assert list(bitext_formats) == ["lines", "tsv", "pipes", "tmx"]
    assert all(bitext_formats.descriptions[name] for name in bitext_formats)


# Translation memories


def tuv(language: str, segment: str, attribute: str = "xml:lang") -> str:
    return f'<tuv {attribute}="{language}"><seg>{segment}</seg></tuv>'


def tmx(*units: str, prologue: str = "", root: str = "<tmx version='1.4'>") -> str:
    body = "\n".join(f"<tu>{unit}</tu>" for unit in units)
    return f"{prologue}{root}<header srclang='en'/><body>\n{body}\n</body></tmx>"


HOUSE = tuv("en", "the house") + tuv("fr", "la maison")


def test_tmx_gives_the_first_two_languages_of_the_first_unit(file):
    units = [HOUSE + tuv("de", "das Haus"), tuv("de", "das Buch") + tuv("fr", "le livre") + tuv("en", "the book")]
    assert pairs_of(file("m.tmx", tmx(*units))) == [("the house", "la maison"), ("the book", "le livre")]


def test_tmx_gives_the_languages_asked_for(file):
    path = file("m.tmx", tmx(HOUSE + tuv("de", "das Haus")))
    assert pairs_of(path, source_language="DE", target_language="en") == [("das Haus", "the house")]
    assert pairs_of(path, source_language="fr") == [("la maison", "the house")]
    assert pairs_of(path, target_language="de") == [("the house", "das Haus")]
    assert pairs_of(path, source_language="fr", target_language="de") == [("la maison", "das Haus")]


@pytest.mark.parametrize("tag", ["en-GB", "EN-gb", "en_GB", "EN"])
@pytest.mark.parametrize("attribute", ["xml:lang", "lang"])
def test_tmx_languages_match_without_case_and_region(file, tag, attribute):
    path = file("m.tmx", tmx(tuv("fr-FR", "un", attribute) + tuv(tag, "one", attribute)))
    assert pairs_of(path, source_language="en", target_language="FR") == [("one", "un")]


def test_tmx_prefers_the_tag_as_asked_for_and_never_shortens_it(file):
    path = file("m.tmx", tmx(tuv("en-US", "color") + tuv("en", "colour") + tuv("fr", "couleur")))
    assert pairs_of(path, source_language="en", target_language="fr") == [("colour", "couleur")]
    assert "both en-gb and fr" in refusal(path, source_language="en-GB", target_language="fr").problem
    path = file("n.tmx", tmx(tuv("eng", "x") + tuv("fr", "y")))
    assert "both en and fr" in refusal(path, source_language="en", target_language="fr").problem


def test_tmx_takes_regions_of_one_language_apart_and_of_two_together(file):
    path = file("m.tmx", tmx(tuv("pt-BR", "ônibus") + tuv("pt-PT", "autocarro")))
    assert pairs_of(path) == [("ônibus", "autocarro")]
    path = file(
        "n.tmx", tmx(tuv("en-US", "color") + tuv("fr-FR", "couleur"), tuv("en-GB", "grey") + tuv("fr-CA", "gris"))
    )
    assert pairs_of(path) == [("color", "couleur"), ("grey", "gris")]


def test_tmx_units_that_lack_a_language_are_skipped_and_counted_once(file):
    units = [tuv("en", "alone"), HOUSE, tuv("en", "x") + tuv("de", "y"), "<tuv xml:lang='en'/>" + tuv("fr", "z"), HOUSE]
    with pytest.warns(UserWarning, match=r"m\.tmx: skipped 3 of 5 units, which lack both en and fr") as caught:
        assert pairs_of(file("m.tmx", tmx(*units))) == [("the house", "la maison")] * 2
    assert len(caught) == 1


def test_tmx_without_skipped_units_says_nothing(file):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(pairs_of(file("m.tmx", tmx(HOUSE)))) == 1


def test_tmx_without_any_pair_is_refused_with_the_languages_it_has(file):
    error = refusal(file("m.tmx", tmx(HOUSE)), source_language="nl", target_language="fr")
    assert "both nl and fr" in error.problem
    assert "en, fr" in str(error)
    assert "two languages" in refusal(file("n.tmx", tmx(tuv("en", "alone")))).problem
    assert "no translation unit" in refusal(file("o.tmx", tmx())).problem


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ("a &amp; b &lt;i&gt; &#233; <![CDATA[<b>]]>", "a & b <i> é <b>"),
        ("<bpt i='1'>{\\b </bpt>bold<ept i='1'>}</ept> text", "bold text"),
        ("line<ph>&lt;br/&gt;</ph>break<it pos='begin'>x</it>s<ut>y</ut>", "linebreaks"),
        ("a <hi type='term'>kept <hi>twice</hi></hi> b", "a kept twice b"),
        ("<bpt>code <sub>footnote</sub></bpt>text", "text"),
        ("a <unknown>b</unknown> c", "a b c"),
        ("one<!-- not this -->two<?nor this?>three", "onetwothree"),
        ("first\n\nsecond\r\nthird&#13;fourth&#x2028;fifth", "first second third fourth fifth"),
        ("", ""),
        ("  kept  spaces ", "  kept  spaces "),
        ("e&#x301; 😀 \u00a0", "e\u0301 😀 \u00a0"),
    ],
)
def test_tmx_segments_lose_native_codes_and_line_breaks_and_nothing_else(file, segment, text):
    assert pairs_of(file("m.tmx", tmx(tuv("en", segment) + tuv("fr", "x")))) == [(text, "x")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
@pytest.mark.parametrize("encoding_errors", ["strict", "replace"])
def test_tmx_is_read_in_the_encoding_it_declares(file, encoding, encoding_errors):
    prologue = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig").upper()}"?>\n'
    data = tmx(tuv("en", "café") + tuv("fr", "été"), prologue=prologue).encode(encoding)
    assert pairs_of(file("m.tmx", data), encoding_errors=encoding_errors) == [("café", "été")]


def test_tmx_of_bytes_that_are_not_utf8_is_refused_or_mended(file):
    path = file("m.tmx", tmx(tuv("en", "a") + tuv("fr", "X")).encode().replace(b"X", b"\xe9t\xe9"))
    error = refusal(path)
    assert error.line == 2
    assert "--encoding-errors replace" in str(error)
    assert pairs_of(path, encoding_errors="replace") == [("a", "\ufffdt\ufffd")]


def test_tmx_may_have_a_namespace_a_doctype_or_compression(file):
    assert len(pairs_of(file("a.tmx", tmx(HOUSE, root="<tmx xmlns='http://www.lisa.org/tmx14'>")))) == 1
    assert len(pairs_of(file("b.tmx", tmx(HOUSE, prologue="<!DOCTYPE tmx SYSTEM 'tmx14.dtd'>")))) == 1
    assert len(pairs_of(file("c.tmx.gz", gzip.compress(tmx(HOUSE).encode())))) == 1


def test_tmx_comes_from_standard_input_too(standard_input):
    assert pairs_of(standard_input(tmx(HOUSE)), format="tmx") == [("the house", "la maison")]


def test_tmx_never_opens_another_file(file):
    secret = file("secret.txt", "SECRET")
    for declaration in (
        f"<!ENTITY x SYSTEM '{secret.as_uri()}'>",
        f"<!ENTITY % p SYSTEM '{secret.as_uri()}'> %p; <!ENTITY x 'y'>",
    ):
        path = file("m.tmx", tmx(tuv("en", "a &x; b") + tuv("fr", "c"), prologue=f"<!DOCTYPE tmx [{declaration}]>"))
        assert pairs_of(path) == [("a &x; b", "c")]


def test_tmx_entities_do_not_explode(file):
    names = "abcdefghijkl"
    bomb = "<!ENTITY a 'ha'>" + "".join(f"<!ENTITY {y} '{f'&{x};' * 10}'>" for x, y in pairwise(names))
    prologue = f"<!DOCTYPE tmx [{bomb}]>"
    for unit in (tuv("en", "&l;") + tuv("fr", "x"), tuv("&l;", "x") + tuv("fr", "y")):
        with suppress(InputError):  # some versions of libxml2 refuse the file, others leave the reference alone
            assert pairs_of(file("m.tmx", tmx(unit, prologue=prologue))) == [("&l;", "x")]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ("<tmx><body>\n<tu><tuv>\n</tu></body></tmx>", 3),
        ("<tmx><body>\n<tu>" + HOUSE, 2),
        ("<tmx><body>\n<tu>" + tuv("en", "a &nbsp; b") + "</tu></body></tmx>", 2),
        ("<tmx><body>\n<tu>" + tuv("en", "a &#x1f; b") + "</tu></body></tmx>", 2),
        ("<tmx><body>\n<tu>" + tuv("en", "a \x01 b") + "</tu></body></tmx>", 2),
        ("not XML at all", 1),
        ("<tu><tuv>" + "<hi>" * 5000, 1),
    ],
)
def test_broken_xml_is_refused_with_its_line(file, data, line):
    error = refusal(file("m.tmx", data))
    assert error.problem.startswith("broken XML")
    assert error.line == line


def test_pairs_before_a_fault_in_the_xml_are_given(file):
    pairs = read_pairs(file("m.tmx", tmx(HOUSE, *[HOUSE] * 2000)[:-20] + "</oops>"))
    assert next(pairs) == ("the house", "la maison")
    with pytest.raises(InputError):
        list(pairs)


def test_a_compressed_tmx_that_was_cut_is_refused(file):
    whole = gzip.compress(tmx(*[HOUSE] * 2000).encode())
    assert "end too early" in refusal(file("m.tmx.gz", whole[:-50])).problem


def test_a_large_tmx_is_read_in_little_memory():
    pytest.importorskip("resource", reason="needs Unix")
    script = """
import resource, sys
from dovetail.bitext.readers import read_pairs
pairs = read_pairs("-", format="tmx")
next(pairs)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = 1 + sum(1 for _ in pairs)
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    unit = f"<tu>{tuv('en', 'the house ' * 20)}{tuv('fr', 'la maison ' * 20)}</tu>\n".encode()
    document = b"<tmx><body>\n" + unit * 80_000 + b"</body></tmx>"
    process = subprocess.run([sys.executable, "-c", script], input=document, capture_output=True, check=True)
    count, growth = map(int, process.stdout.split())
    kilobyte = 1 if sys.platform == "linux" else 1024
    assert count == 80_000
    assert growth < 15_000 * kilobyte < len(document) / 1024 * kilobyte
