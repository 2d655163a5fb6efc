"""Dictionaries from links: against a slow twin and scipy, and by the rules of those who read them."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import json
import math
import struct
import sys
from collections import Counter, defaultdict

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from dovetail import Aligner, Alignments, Bitext, InputError, TextOptions
from dovetail.bitext.normalise import Normaliser
from dovetail.cli import dovetail
from dovetail.kernels.links.significance import association
from dovetail.uses.aligned import Aligned, AlignedText, Part
from dovetail.uses.lemmas import Lemmatised, Viewed
from dovetail.uses.lexicon import example_texts, lexicon
from dovetail.uses.lexicon_formats import Job, lexicon_formats, write_lexicon
from dovetail.uses.phrases import occurrences
from dovetail.uses.tokens import one_field
from test_phrase_table import aligned_texts


@given(
    st.tuples(st.integers(1, 60), st.integers(1, 60), st.integers(0, 60)).flatmap(
        lambda sizes: st.tuples(st.just(sizes), st.integers(1, min(sizes[0], sizes[1])), st.integers(0, 10**6))
    )
)
@settings(deadline=None, max_examples=200)
def test_significance_is_scipys(case):
    from scipy.stats import chi2_contingency, hypergeom

    (first, second, more), together, rest = case
    total = first + second - together + more + rest
    (llr, fisher), *_ = association(*(np.array([n], np.int64) for n in (together, first, second)), float(total))
    p = hypergeom.sf(together - 1, total, first, second)
    assert fisher == pytest.approx(-math.log10(min(p, 1.0)), rel=1e-6, abs=1e-8)
    table = [[together, first - together], [second - together, total - first - second + together]]
    if min(map(sum, table)) > 0 and min(map(sum, zip(*table, strict=True))) > 0:
        expected = chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic
        assert abs(llr) == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert (llr >= 0) == (together * total >= first * second) or llr == 0


def naive_lexicon(aligned, longest):
    """Everything by counting in dicts; phrases from their places."""
    pairs = list(aligned)
    count, expected, places = Counter(), Counter(), defaultdict(set)
    for n, (source, target, links, probabilities) in enumerate(pairs):
        for (i, j), p in zip(links, probabilities, strict=True):
            count[source[i], target[j]] += 1
            expected[source[i], target[j]] += p
            places[source[i], target[j]].add(n)
    words = set(count)
    phrase_places = defaultdict(list)
    if longest > 1:
        for place in occurrences(aligned, longest):
            phrase_places[" ".join(place.source), " ".join(place.target)].append(place.pair)
    result = {}
    for s, t in words:
        total = sum(value for (a, _), value in expected.items() if a == s)
        back = sum(value for (_, b), value in expected.items() if b == t)
        result[s, t] = [expected[s, t] / total, expected[s, t] / back, count[s, t], len(places[s, t])]
    for (s, t), found in phrase_places.items():
        if len(found) >= 2 and " " in s + t:
            total = sum(len(value) for (a, _), value in phrase_places.items() if a == s)
            back = sum(len(value) for (_, b), value in phrase_places.items() if b == t)
            result[s, t] = [len(found) / total, len(found) / back, len(found), len(set(found))]
    for s, t in result:
        seen = []
        for side, unit in enumerate((s, t)):
            hits = [_times(pair[side], unit.split(" ")) for pair in pairs]
            seen += [sum(hits), sum(1 for hit in hits if hit)]
        result[s, t] += seen
    return result


def _times(words, unit):
    return sum(words[k : k + len(unit)] == unit for k in range(len(words) - len(unit) + 1))


@given(aligned_texts(), st.integers(1, 3), st.sampled_from([0, 16]))
@settings(deadline=None, max_examples=60)
def test_a_lexicon_is_the_slow_twins(aligned, longest, few):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("dovetail.uses.lexicon_phrases.FEW", few)
        found = lexicon(aligned, longest=longest)
    if not len(found):
        assert not any(pair.links for pair in aligned)
        return
    expected = naive_lexicon(aligned, longest)
    assert {entry[:2] for entry in found} == set(expected)
    for entry in found:
        p_target, p_source, count, pairs, s, s_pairs, t, t_pairs = expected[entry.source, entry.target]
        assert (entry.p_target, entry.p_source) == pytest.approx((p_target, p_source))
        assert (entry.count, entry.pairs, entry.source_count, entry.target_count) == (count, pairs, s, t)
        (both,) = association(*(np.array([n]) for n in (pairs, s_pairs, t_pairs)), float(len(aligned.bitext)))
        assert (entry.llr, entry.fisher) == pytest.approx(tuple(both))
        assert 1 <= len(entry.examples) <= 3
        for number in entry.examples:
            words = aligned.bitext.tokens(number - 1)
            assert _times(words[0], entry.source.split(" "))
            assert _times(words[1], entry.target.split(" "))


PAIRS = [
    (["the", "house"], ["la", "maison"]),
    (["the", "old", "house"], ["la", "vieille", "maison"]),
    (["The", "house"], ["la", "maison"]),
    (["so"], []),
]
LINKS = [[(0, 0), (1, 1)], [(0, 0), (1, 1), (2, 2)], [(0, 0), (1, 1)], []]
PROBABILITIES = [[0.5, 1.0], [1.0, 1.0, 0.5], [0.5, 1.0], []]


def small(lower=False):
    bitext = Bitext.from_pairs(PAIRS, options=TextOptions(normaliser=Normaliser(lower)))
    return AlignedText(bitext, Alignments.from_links(LINKS, PROBABILITIES, bitext.lengths))


def test_expected_counts_are_sums_of_probabilities_and_the_best_example_has_the_surest_link():
    found = lexicon(small(), examples=1)
    (house,) = found.translations("house")
    assert (house.count, house.expected, house.examples) == (3, 2.5, (1,))
    (the,) = found.translations("the")
    assert the.examples == (2,)
    assert found.unlinked[0] == {"the": 0.5, "The": 0.5, "house": 0.5, "so": 1.0}
    assert lexicon(small(lower=True)).translations("the")[0].expected == 2.0


def test_filters_keep_what_they_say():
    found = lexicon(small())
    assert [entry.source for entry in found.filtered(count=2)] == ["house", "the"]
    assert all(entry.fisher >= -math.log10(0.3) for entry in found.filtered(fisher=0.3))
    assert len(found.filtered(fisher=0.3)) < len(found)
    assert all(entry.llr >= 2 for entry in found.filtered(llr=2))
    both = AlignedText(
        Bitext.from_pairs([(["a"], ["x", "y"])]), Alignments.from_links([[(0, 0), (0, 1)]], [[0.9, 0.1]], [(1, 2)])
    )
    assert [entry.target for entry in lexicon(both).filtered(best=1)] == ["x"]
    assert [entry.target for entry in lexicon(both).filtered(probability=0.5)] == ["x"]
    assert len(found[:2]) == 2


def test_records_and_frames_hold_every_field():
    found = lexicon(small())
    records = found.to_records()
    assert records[0]["source"] == "The"
    pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert list(frame.columns) == list(records[0])
    assert frame["expected"].sum() == pytest.approx(sum(record["expected"] for record in records))


HOSTILE = [
    "a",
    "NULL",
    "null",
    "x\u00a0y",
    "\u3000",
    "|||",
    "<b>",
    "&",
    '"',
    "\u2028",
    "\x1c",
    "\u0085",
    "ſ",
    "▁the",
    "é",
    "İ",
]


def hostile():
    """Every pair of hostile tokens once, so that each writer meets each of them on both sides."""
    pairs = [([source, "a"], [target, "b"]) for source in HOSTILE for target in HOSTILE]
    bitext = Bitext.from_pairs(pairs)
    return AlignedText(bitext, Alignments.from_links([[(0, 0), (1, 1)]] * len(pairs), lengths=bitext.lengths))


def marians_reader(text):
    """Marian's: three fields between blanks, NULL skipped; anything else ends the reading."""
    fields = text.split()
    for target, source, probability in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        yield target, source, float(probability)


def bicleaners_reader(path):
    table = defaultdict(dict)
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        for line in handle:
            parts = line.rstrip("\n").split()
            assert len(parts) == 3
            table[parts[1]][parts[0]] = float(parts[2])
    return table


def test_marians_shortlist_has_no_line_that_its_reader_stumbles_over():
    found = lexicon(hostile())
    handle = io.StringIO()
    left_out = lexicon_formats["marian"].write(handle, Job(found, {}))
    lines = handle.getvalue().split("\n")[:-1]
    rows = list(marians_reader(handle.getvalue()))
    assert len(rows) == len(lines) == len(found) - left_out
    good = [word for word in HOSTILE if one_field(word) and word != "NULL"]
    assert {target for target, *_ in rows} == {*good, "b"}
    assert all(0 < probability <= 1 for *_, probability in rows)
    assert not any("NULL" in row for row in rows)
    expected = {entry[:2]: entry.p_target for entry in found}
    for target, source, probability in rows:
        assert probability == pytest.approx(expected[source, target], abs=1e-7)


def test_bicleaners_dictionaries_are_lower_case_and_hold_what_is_not_too_weak(tmp_path):
    write_lexicon(str(tmp_path / "dict"), Job(lexicon(hostile()), {}), "bicleaner")
    for name in ("dict.s2t.gz", "dict.t2s.gz"):
        table = bicleaners_reader(tmp_path / name)
        assert table
        assert "null" not in table
        for word, translations in table.items():
            assert word == word.lower()
            assert min(translations.values()) >= 0.1 * max(translations.values()) - 1e-6
            assert sum(translations.values()) <= 1 + 1e-6
    write_lexicon(str(tmp_path / "small"), Job(lexicon(small()), {}), "bicleaner")
    assert bicleaners_reader(tmp_path / "small.t2s.gz")["la"] == {"the": 1.0}


def test_moses_tables_sum_to_one_for_every_given_word_null_included(tmp_path):
    write_lexicon(str(tmp_path / "lex"), Job(lexicon(small()), {}), "moses")
    forward = (tmp_path / "lex.f2e").read_text("utf-8").splitlines()
    assert "la the 0.7500000" in forward
    assert "NULL the 0.2500000" in forward
    assert "NULL so 1.0000000" in forward
    for name in ("lex.f2e", "lex.e2f"):
        sums = Counter()
        for line in (tmp_path / name).read_text("utf-8").splitlines():
            _, given, probability = line.split()
            sums[given] += float(probability)
        assert all(total == pytest.approx(1, abs=1e-5) for total in sums.values())


def test_a_filter_takes_entries_away_and_leaves_the_others_probabilities(tmp_path):
    pairs = [(["a"], ["x"])] * 3 + [(["a"], ["y"]), (["A"], ["x"])]
    bitext = Bitext.from_pairs(pairs)
    found = lexicon(AlignedText(bitext, Alignments.from_links([[(0, 0)]] * 5, lengths=bitext.lengths))).filtered(
        count=2
    )
    write_lexicon(str(tmp_path / "lex"), Job(found, {}), "moses")
    assert (tmp_path / "lex.f2e").read_text("utf-8") == "x a 0.7500000\n"
    write_lexicon(str(tmp_path / "lex"), Job(found, {}), "bicleaner")
    assert bicleaners_reader(tmp_path / "lex.s2t.gz") == {"a": {"x": 0.75}}


@given(aligned=aligned_texts(), longest=st.integers(1, 2))
@settings(deadline=None, max_examples=30)
def test_a_lexicon_does_not_depend_on_where_parts_end_nor_on_memory(aligned, longest):
    pairs = list(aligned)

    class InParts(Aligned):
        def parts(self):
            for n, (source, target, links, probabilities) in enumerate(pairs):
                bitext = Bitext.from_pairs([(source, target)])
                yield Part(n, bitext, Alignments.from_links([links], [probabilities], bitext.lengths))

    assert list(lexicon(InParts(), longest=longest)) == list(lexicon(aligned, longest=longest))
    assert list(lexicon(aligned, longest=longest, memory=1)) == list(lexicon(aligned, longest=longest))


def test_tables_hold_every_entry(tmp_path):
    found = lexicon(hostile())
    for name in ("tsv", "csv", "jsonl"):
        assert write_lexicon(str(tmp_path / name), Job(found, {}), name) == 0
    tsv = (tmp_path / "tsv").read_bytes().decode().split("\n")
    assert tsv[0].split("\t")[:5] == ["source", "target", "p_target", "p_source", "count"]
    assert [tuple(line.split("\t")[:2]) for line in tsv[1:-1]] == [entry[:2] for entry in found]
    with open(tmp_path / "csv", encoding="utf-8", newline="") as handle:
        rows = list(csv.reader(handle))
    assert [tuple(row[:2]) for row in rows[1:]] == [entry[:2] for entry in found]
    objects = [json.loads(line) for line in (tmp_path / "jsonl").read_bytes().decode().split("\n")[:-1]]
    assert [(entry["source"], entry["target"]) for entry in objects] == [entry[:2] for entry in found]


def test_a_termbase_is_xml_with_a_concept_per_entry_and_its_contexts(tmp_path):
    found = lexicon(hostile())
    left_out = write_lexicon(str(tmp_path / "terms.tbx"), Job(found, {}, "en", "fr"), "tbx")
    root = etree.parse(str(tmp_path / "terms.tbx")).getroot()
    terms = [tuple(entry.itertext("{*}term")) for entry in root.iter("{*}conceptEntry")]
    assert left_out == sum("\x1c" in entry[:2] for entry in found)
    assert terms == [entry[:2] for entry in found if "\x1c" not in entry[:2]]
    texts = example_texts(small(), lexicon(small()))
    write_lexicon(str(tmp_path / "terms.tbx"), Job(lexicon(small()), texts, "en", "fr"), "tbx")
    contexts = etree.parse(str(tmp_path / "terms.tbx")).getroot().iter("{*}descrip")
    assert "la vieille maison" in {context.text for context in contexts}


def test_a_stardict_dictionary_is_found_by_its_index(tmp_path):
    texts = example_texts(small(), lexicon(small()))
    write_lexicon(str(tmp_path / "book"), Job(lexicon(small()), texts, "en", "fr"), "stardict")
    about = dict(line.split("=", 1) for line in (tmp_path / "book.ifo").read_text("utf-8").splitlines()[1:])
    index, articles = (tmp_path / "book.idx").read_bytes(), (tmp_path / "book.dict").read_bytes()
    assert int(about["idxfilesize"]) == len(index)
    found, place = {}, 0
    while place < len(index):
        end = index.index(b"\0", place)
        start, size = struct.unpack(">II", index[end + 1 : end + 9])
        found[index[place:end].decode()] = articles[start : start + size].decode()
        place = end + 9
    assert list(found) == ["house", "old", "The", "the"]
    assert int(about["wordcount"]) == len(found)
    assert found["house"].startswith("maison  (100 %, 3)\n    the house\n    la maison")


def test_lemmas_stand_for_words_and_must_be_as_many(tmp_path):
    (tmp_path / "s").write_text("the house\nthe old house\nthe house\nso\n", "utf-8")
    (tmp_path / "t").write_text("le maison\nle vieux maison\nle maison\n\n", "utf-8")
    found = lexicon(Lemmatised(small(), tmp_path / "s", tmp_path / "t"))
    assert [entry[:2] for entry in found] == [("house", "maison"), ("old", "vieux"), ("the", "le")]
    for lines, message in (
        ("the house\nthe house\nthe house\nso\n", "s, line 2: 2 lemmas for 3 words"),
        ("the house\nthe old house\nthe house\n", "no matching line"),
        ("the house\nthe old house\nthe house\nso\nso\n", "no matching line"),
    ):
        (tmp_path / "s").write_text(lines, "utf-8")
        with pytest.raises(InputError, match=message):
            lexicon(Lemmatised(small(), tmp_path / "s", tmp_path / "t"))


def reworded(aligned, *of_sides):
    """The text with other words in it, put there one by one."""
    pairs = [
        tuple([of(word) for word in side] for of, side in zip(of_sides, pair[:2], strict=True)) for pair in aligned
    ]
    return AlignedText(Bitext.from_pairs(pairs), aligned.alignments)


@given(aligned=aligned_texts(letters=["a", "apples", "Apples", "apple", "approx"]), longest=st.integers(1, 2))
@settings(deadline=None, max_examples=30)
def test_a_view_is_the_text_with_other_words(aligned, longest):
    begins = reworded(aligned, *2 * [lambda word: word.lower()[:5]])
    assert list(lexicon(Viewed(aligned, "stems"), longest=longest)) == list(lexicon(begins, longest=longest))


def test_lemmas_are_those_of_simplemma(place):
    simplemma = pytest.importorskip("simplemma")
    text = AlignedText(
        Bitext.from_pairs([(["Houses", "were", "red"], ["les", "maisons", "rouges"]), (["house"], ["maison"])]),
        Alignments.from_links([[(0, 1), (2, 2)], [(0, 0)]]),
    )
    lemmas = [lambda word, language=language: simplemma.lemmatize(word, language).lower() for language in ("en", "fr")]
    found = lexicon(Viewed(text, "lemmas", "en,fr"))
    assert list(found) == list(lexicon(reworded(text, *lemmas)))
    assert [entry[:2] for entry in found] == [("house", "maison"), ("red", "rouge")]
    languages = ["--source-language", "en", "--target-language", "fr"]
    assert run("s", "t", "--links", "links", "--view", "lemmas", *languages, "-o", "lemmas.tsv").exit_code == 0
    entries = [line.split("\t")[:2] for line in (place / "lemmas.tsv").read_text("utf-8").splitlines()[1:]]
    assert ["old", "vieux"] in entries


def test_views_that_cannot_be_had_are_refused_in_one_line(place, monkeypatch):
    given_links = "s", "t", "--links", "links"
    assert "--source-language" in str(run(*given_links, "--view", "lemmas").exception)
    both = run(*given_links, "--view", "stems", "--lemmas", "s", "t")
    assert (both.exit_code, "give one of them" in both.output) == (2, True)
    with pytest.raises(InputError, match="Choose one of lemmas, stems"):
        Viewed(small(), "characters")
    languages = ["--view", "lemmas", "--target-language", "fr", "--source-language"]
    if importlib.util.find_spec("simplemma"):
        assert "no lemmas of the language 'xx'" in str(run(*given_links, *languages, "xx").exception)
    monkeypatch.setitem(sys.modules, "simplemma", None)
    missing = run(*given_links, *languages, "en").exception
    assert isinstance(missing, InputError)
    assert "pip install 'dovetail-align[lemmas]'" in str(missing)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for side, name in enumerate(("s", "t")):
        (tmp_path / name).write_text("".join(" ".join(pair[side]) + "\n" for pair in PAIRS), "utf-8")
    lines = [
        " ".join(f"{i}-{j}:{p}" for (i, j), p in zip(*row, strict=True))
        for row in zip(LINKS, PROBABILITIES, strict=True)
    ]
    (tmp_path / "links").write_text("".join(line + "\n" for line in lines), "utf-8")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(dovetail, ["lexicon", *arguments])


def test_the_command_writes_a_dictionary_that_align_reads(place):
    done = run("s", "t", "--links", "links", "--format", "dictionary", "-o", "dictionary.tsv", "--lower")
    assert done.exit_code == 0, done.output
    assert (place / "dictionary.tsv").read_text("utf-8").splitlines() == [
        "house\tmaison\t1",
        "old\tvieille\t1",
        "the\tla\t1",
    ]
    again = CliRunner().invoke(
        dovetail, ["align", "s", "t", "--recipe", "ibm1", "--dictionary", "dictionary.tsv", "--quiet", "-o", "out"]
    )
    assert again.exit_code == 0, again.output


def test_the_command_and_the_aligner_make_the_same(place):
    bitext = Bitext.from_pairs(PAIRS)
    aligner = Aligner("ibm1", threads=1).fit(bitext)
    aligner.save("model")
    assert run("s", "t", "--load", "model", "-o", "lexicon.csv", "--format", "csv", "--longest", "2").exit_code == 0
    with open("lexicon.csv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    found = Aligner.load("model").lexicon(bitext, longest=2)
    assert [(row["source"], row["target"], int(row["count"])) for row in rows] == [
        (entry.source, entry.target, entry.count) for entry in found
    ]


def test_the_command_refuses_what_does_not_fit(place):
    assert run("s", "t", "--links", "links", "--format", "moses").exit_code == 2
    assert run("s", "t").exit_code == 2
    assert isinstance(run("-", "t", "--links", "links", "--longest", "2").exception, InputError)
    error = run("s", "t", "--links", "links", "--format", "stardict", "-o", "no/where").exception
    assert "its directory does not exist" in str(error)
    (place / "links").write_text("0-0\n0-9\n\n\n", "utf-8")
    error = run("s", "t", "--links", "links").exception
    assert isinstance(error, InputError)
    assert str(error).startswith("links, line 2: link 0-9 lies outside")


def test_an_aligner_makes_a_lexicon_of_stems():
    bitext = Bitext.from_pairs(
        [("great universities", "große Universitäten"), ("a university", "eine Universität")] * 3
    )
    aligner = Aligner("fast", threads=1).fit(bitext)
    words = {entry.source: entry.count for entry in aligner.lexicon(bitext)}
    stems = {entry.source: entry.count for entry in aligner.lexicon(bitext, view="stems")}
    assert stems["unive"] == words["universities"] + words["university"]
    with pytest.raises(InputError, match="view is 'characters'"):
        aligner.lexicon(bitext, view="characters")
