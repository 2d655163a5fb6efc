"""Annotation over links: the rules against their definitions, formats there and back, the command."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Aligner, Bitext, TextOptions
from dovetail.bitext import conllu
from dovetail.cli import dovetail
from dovetail.errors import InputError
from dovetail.uses.annotation import read_annotated, spans_of, tags_of
from dovetail.uses.carrying import (
    LENT,
    ROOT,
    Head,
    Label,
    Span,
    WordLabels,
    carry_heads,
    carry_labels,
    carry_spans,
    keep_compatible,
)
from dovetail.uses.projection import Tally

I, J = 5, 6
weights = st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.75, 1.0])  # sums of these are exact enough to meet ties
links = st.dictionaries(st.tuples(st.integers(0, I - 1), st.integers(0, J - 1)), weights, max_size=14)
thresholds = st.sampled_from([0.0, 0.05, 0.3, 0.6])


@given(links, st.lists(st.sampled_from(["A", "B", "C", None]), min_size=I, max_size=I), thresholds)
def test_labels_are_those_with_most_votes(links, labels, threshold):
    for j, found in enumerate(carry_labels(links, labels, J, threshold)):
        votes = {}
        for i in range(I):
            if labels[i] is not None and (i, j) in links:
                votes[labels[i]] = votes.get(labels[i], 0) + links[i, j]
        if not votes or max(votes.values()) < threshold:
            assert found is None
            continue
        assert votes[found.label] == pytest.approx(max(votes.values()))
        assert found.probability == pytest.approx(min(1, votes[found.label]))
        # the source word it came from has this label, and no surer link with it is there
        assert labels[found.source] == found.label
        assert links[found.source, j] == max(p for (i, k), p in links.items() if k == j and labels[i] == found.label)


@st.composite
def trees(draw):
    """Heads of a tree over I words: each but the first in some order hangs below an earlier one."""
    order = draw(st.permutations(range(I)))
    heads = [ROOT] * I
    for n, word in enumerate(order[1:], 1):
        heads[word] = draw(st.sampled_from(order[:n]))
    return heads


@given(links, trees(), thresholds)
def test_heads_are_a_part_of_a_tree_whose_edges_crossed_whole(links, heads, threshold):
    found = carry_heads(links, heads, J, threshold)
    assert sum(head is not None and head.head == ROOT for head in found) <= 1
    for j, head in enumerate(found):
        seen, place = set(), j
        while place != ROOT and found[place] is not None:
            assert place not in seen
            seen.add(place)
            place = found[place].head
        if head is None:
            continue
        assert head.probability >= threshold
        assert (head.source, j) in links
        # A head of the source word leads there: the next one, or one above words that are linked to this one themselves.
        above = [heads[head.source]]
        while above[-1] != ROOT and (above[-1], j) in links:
            above.append(heads[above[-1]])
        assert any(head.head == ROOT if word == ROOT else (word, head.head) in links for word in above)


def test_a_tree_crosses_one_to_one_links_as_it_is():
    order = [3, 1, 0, 2, 4]
    heads = [1, ROOT, 1, 2, 3]
    found = carry_heads({(i, order[i]): 1.0 for i in range(I)}, heads, I)
    assert found == [
        Head(1, 2, 1.0),
        Head(ROOT, 1, 1.0),
        Head(0, 3, 1.0),
        Head(1, 0, 1.0),
        Head(2, 4, 1.0),
    ]


def test_heads_that_compete_are_voted_for_and_circles_are_broken_at_the_least_sure():
    # word 0 is below 1, and 1 is the root; both are linked to both target words
    both = {(0, 0): 0.9, (0, 1): 0.2, (1, 0): 0.1, (1, 1): 0.8}
    found = carry_heads(both, [1, ROOT], 2)
    assert found[1].head == ROOT
    assert found[0].head == 1


def naive_claims(links, span, j, threshold):
    """None: elsewhere; 0: no link; else the weight of links into the span."""
    linked = {i: p for (i, k), p in links.items() if k == j and p >= threshold}
    if not linked:
        return 0
    inside = sum(p for i, p in linked.items() if span.first <= i < span.last)
    outside = sum(linked.values()) - inside
    surest = min(i for i in linked if linked[i] == max(linked.values()))
    if inside > outside + 1e-9 or (abs(inside - outside) < 1e-9 and span.first <= surest < span.last):
        return inside
    return None


@given(links, st.integers(0, I - 1), st.integers(1, I), thresholds)
@settings(max_examples=300)
def test_spans_are_the_runs_of_the_definition(links, first, size, threshold):
    span = Span(first, min(first + size, I), "X")
    claims = [naive_claims(links, span, j, threshold) for j in range(J)]
    runs = set()
    for low in range(J):
        for high in range(low + 1, J + 1):
            ends = claims[low] and claims[high - 1]
            if ends and all(claim is not None for claim in claims[low:high]):
                runs.add((low, high))
    longest = {(a, b) for a, b in runs if not any((c <= a and b <= d and (a, b) != (c, d)) for c, d in runs)}
    split = carry_spans(links, [span], J, threshold, split=True)
    assert {(part.first, part.last) for part in split} == longest
    one = carry_spans(links, [span], J, threshold)
    assert len(one) == bool(longest)
    if longest:
        weight = {run: sum(min(claim, 1) for claim in claims[slice(*run)]) for run in longest}
        assert weight[one[0].first, one[0].last] == pytest.approx(max(weight.values()))


@given(links, st.lists(st.booleans(), min_size=I, max_size=I), thresholds, st.booleans())
def test_spans_that_do_not_overlap_do_not_in_the_target_either(links, cuts, threshold, split):
    bounds = [0, *(n for n in range(1, I) if cuts[n]), I]
    spans = [Span(a, b, str(a)) for a, b in pairwise(bounds)]
    taken = [j for part in carry_spans(links, spans, J, threshold, split) for j in range(part.first, part.last)]
    assert len(taken) == len(set(taken))


def test_a_word_without_link_inside_a_name_belongs_to_it_and_a_stranger_cuts_it():
    name = [Span(0, 2, "LOC")]
    assert carry_spans({(0, 0): 0.9, (1, 2): 0.8}, name, 4) == [(0, 3, "LOC", 0, pytest.approx(0.85))]
    torn = {(0, 0): 0.9, (1, 2): 0.8, (3, 1): 0.7}
    assert carry_spans(torn, name, 4) == [(0, 1, "LOC", 0, 0.9)]
    assert [part[:2] for part in carry_spans(torn, name, 4, split=True)] == [(0, 1), (2, 3)]


@given(st.lists(st.sampled_from(["A", "B", ""]), max_size=8), st.booleans())
def test_tags_and_spans_are_the_same_thing(labels, bioes):
    spans, start = [], 0
    for n in range(1, len(labels) + 1):
        if n == len(labels) or labels[n] != labels[start]:
            if labels[start]:
                spans.append(Span(start, n, labels[start]))
            start = n
    assert spans_of(tags_of(spans, len(labels), bioes)) == spans


def test_words_lend_their_commonest_label_where_there_is_no_link():
    words = WordLabels()
    words.add(["der", "Der", "der", "am"], [Label("DET", 0, 0.9), Label("DET", 0, 0.9), Label("ADP", 0, 0.9), None])
    sure, doubtful = Label("PRON", 3, 0.8), Label("PRON", 3, 0.1)
    found = words.lend(["der", "der", "der", "am"], [None, sure, doubtful, None])
    assert found == [Label("DET", LENT, pytest.approx(2 / 3)), sure, found[0], None]


def test_links_between_words_of_other_kinds_are_left_out():
    kept = keep_compatible({(0, 0): 1.0, (0, 1): 1.0, (1, 1): 1.0}, ["NOUN", "AUX"], ["PROPN", "VERB"])
    assert kept == {(0, 0): 1.0, (1, 1): 1.0}


def test_a_tally_counts():
    tally = Tally()
    tally.count(["A", None, "B", "C"], ["A", "B", "A", None])
    assert (tally.carried, tally.right, tally.there) == (2, 1, 3)
    assert (tally.precision, tally.recall, tally.f1) == (0.5, pytest.approx(1 / 3), 0.4)


# Files

SOURCE = """# sent_id = 1
# text = He goes to the sea.
1\tHe\the\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tgoes\tgo\tVERB\t_\t_\t0\troot\t_\t_
2.1\tgoing\tgo\tVERB\t_\t_\t_\t_\t0:root\t_
3\tto\tto\tADP\t_\t_\t5\tcase\t_\t_
4\tthe\tthe\tDET\t_\t_\t5\tdet\t_\t_
5\tsea\tsea\tNOUN\t_\t_\t2\tobl\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""
TARGET = """# text = Er geht zur See.
1\tEr\ter\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tgeht\tgehen\tVERB\t_\t_\t0\troot\t_\t_
3-4\tzur\t_\t_\t_\t_\t_\t_\t_\t_
3\tzu\tzu\tADP\t_\t_\t5\tcase\t_\t_
4\tder\tder\tDET\t_\t_\t5\tdet\t_\t_
5\tSee\tSee\tNOUN\t_\t_\t2\tobl\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("en.conllu", SOURCE),
        ("de.conllu", TARGET),
        ("de.txt", "Er geht zu der See .\n"),
        ("links", "0-0 1-1:0.9 2-2 3-3 4-4 5-5\n"),
        ("en.bio", "Ann\tB-PER\nLee\tI-PER\nsees\tO\nRome\tB-LOC\n\n"),
        ("fr.txt", "Rome est vue par Ann Lee\n"),
        ("names", "0-4 1-5 2-2 3-0\n"),
        (
            "en.jsonl",
            '{"text": "Ann Lee sees Rome.", "spans": [{"start": 0, "end": 7, "label": "PER"}, [13, 17, "LOC"]]}\n',
        ),
        ("fr.raw", "Rome est vue par Ann Lee.\n"),
        ("names.raw", "0-4 1-5 2-2 3-0 4-6\n"),
    ):
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def run(*arguments):
    result = CliRunner().invoke(dovetail, ["project", *arguments])
    if isinstance(result.exception, Exception) and not isinstance(result.exception, InputError):
        raise result.exception
    return result


def test_conllu_is_written_as_it_was_read(place):
    text = SOURCE + TARGET
    assert "".join(map(str, conllu.read_conllu(text.split("\n")))) == text


def test_every_sentence_of_real_trees_is_written_as_it_was_read_and_its_words_are_found(shared_data):
    for language in ("en", "de", "cs"):
        path = shared_data / "pud" / f"{language}.conllu"
        if not path.is_file():
            pytest.skip("needs the parallel trees")
        _, sentences = read_annotated(path)
        written = []
        for found in sentences:
            assert found.sentence is not None
            written.append(str(found.sentence))
            alone = {n for n, span in enumerate(found.words) if found.words.count(span) == 1}
            assert all(found.text[slice(*found.words[n])] == found.forms[n] for n in alone)
        assert "".join(written) == path.read_text("utf-8")


def test_trees_cross_with_their_origin(place):
    result = run("en.conllu", "de.conllu", "--links", "links", "-o", "out.conllu")
    assert result.exit_code == 0
    assert "upos: P 100.0 R 100.0 F 100.0 of 5; heads: P 100.0 R 100.0 F 100.0 of 5" in result.stderr
    out = (place / "out.conllu").read_text("utf-8")
    assert "3-4\tzur\t_\t_\t_\t_\t_\t_\t_\t_\n" in out
    assert "2\tgeht\tgehen\tVERB\t_\t_\t0\troot\t_\tUposFrom=2|UposSure=0.900|HeadFrom=2|HeadSure=0.900\n" in out
    assert "5\tSee\tSee\tNOUN\t_\t_\t2\tobl\t_\tSpaceAfter=No|UposFrom=5|UposSure=1.000|HeadFrom=5" in out
    assert (place / "out.conllu").read_text("utf-8").count("\n") == TARGET.count("\n")
    list(conllu.read_conllu(out.split("\n")))  # and can be read again
    (place / "naacl").write_text("".join(f"1 {n} {n}\n" for n in range(6, 0, -1)), "utf-8")  # in any order
    assert "heads: P 100.0" in run("en.conllu", "de.conllu", "--links", "naacl", "-o", "out.conllu").stderr


def test_plain_text_becomes_conllu(place):
    result = run("en.conllu", "de.txt", "--links", "links", "--carry", "upos,lemma", "--quiet")
    lines = result.stdout.splitlines()
    assert lines[0] == "# text = Er geht zu der See ."
    assert lines[1] == "1\tEr\the\tPRON\t_\t_\t_\t_\t_\tUposFrom=1|UposSure=1.000|LemmaFrom=1|LemmaSure=1.000"


def test_tokens_of_another_text_are_matched_by_characters(place):
    (place / "en.raw").write_text("He goes to the sea.\n", "utf-8")
    (place / "de.raw").write_text("Er geht zur See.\n", "utf-8")
    (place / "links").write_text("0-0 1-1 2-2 3-2 4-3\n", "utf-8")  # whitespace tokens: "sea." and "See."
    text = ("--text", "en.raw", "de.raw")
    out = run("en.conllu", "de.conllu", "--links", "links", *text, "--quiet").stdout
    rows = [line.split("\t") for line in out.splitlines() if line and line[0] != "#"]
    assert [row[3] for row in rows] == ["PRON", "VERB", "_", "ADP", "ADP", "NOUN", "NOUN"]


def test_a_model_that_cuts_raw_text_links_the_words_of_trees(place):
    pairs = [("He.", "Er."), ("goes!", "geht!"), ("to the", "zur"), ("sea.", "See."), ("He goes!", "Er geht!")]
    bitext = Bitext.from_pairs(pairs * 5, options=TextOptions("unicode"))
    Aligner("ibm1", threads=1).fit(bitext).save(place / "model")
    result = run("en.conllu", "de.conllu", "--load", "model", "--score", "--json", "--threads", "1")
    found = json.loads(result.stdout)["upos"]
    assert found["there"] == 5
    assert found["right"] >= 4  # of zu and der, which are one token to the model, one is wrong
    assert "Drop --tokenizer" in run("en.conllu", "de.txt", "--load", "model", "--tokenizer", "icu").output


def test_names_cross_in_bio_and_bioes(place):
    out = run("en.bio", "fr.txt", "--links", "names").stdout
    assert out == (
        "Rome\t3-3\t1.000\tB-LOC\nest\t_\t_\tO\nvue\t_\t_\tO\npar\t_\t_\tO\n"
        "Ann\t0-1\t1.000\tB-PER\nLee\t0-1\t1.000\tI-PER\n\n"
    )
    tags = [
        line.split("\t")[-1]
        for line in run("en.bio", "fr.txt", "--links", "names", "--format", "bioes").stdout.split("\n")
    ]
    assert tags[:6] == ["S-LOC", "O", "O", "O", "B-PER", "E-PER"]
    (place / "out.bio").write_text(out, "utf-8")
    score = json.loads(run("en.bio", "out.bio", "--links", "names", "--score", "--json").stdout)
    assert score["spans"]["f1"] == 1


def test_names_cross_in_json_lines_by_characters(place):
    raw = ("--links", "names.raw", "--tokenizer", "unicode")
    found = json.loads(run("en.jsonl", "fr.raw", *raw).stdout)
    assert found == {
        "text": "Rome est vue par Ann Lee.",
        "spans": [
            {"start": 0, "end": 4, "label": "LOC", "probability": 1.0, "source": [13, 17]},
            {"start": 17, "end": 24, "label": "PER", "probability": 1.0, "source": [0, 7]},
        ],
    }
    assert run("en.jsonl", "fr.raw", *raw, "--format", "bio").stdout.splitlines()[0] == "Rome\t3-3\t1.000\tB-LOC"


def test_any_labels_of_words_cross(place):
    (place / "en.bio").write_text("Ann subject\nLee subject\nsees verb\nRome object\n", "utf-8")
    lines = run("en.bio", "fr.txt", "--links", "names").stdout.splitlines()
    assert lines[0] == "Rome\t3\t1.000\tobject"
    assert lines[1] == "est\t_\t_\t_"


def test_words_without_links_borrow_when_asked(place):
    (place / "links").write_text("0-0\n" * 2, "utf-8")
    (place / "en.bio").write_text("the DET\n\nthe DET\nsea NOUN\n", "utf-8")
    (place / "fr.txt").write_text("la\nla la\n", "utf-8")
    lines = run("en.bio", "fr.txt", "--links", "links", "--lend").stdout.splitlines()
    assert lines == ["la\t0\t1.000\tDET", "", "la\t0\t1.000\tDET", "la\tword\t1.000\tDET", ""]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("en.conllu", SOURCE.replace("2\tgoes", "3\tgoes"), "en.conllu, line 4: word 3 where word 2 was expected"),
        ("en.conllu", SOURCE.replace("\t5\tcase", "\t9\tcase"), "en.conllu, line 6: '9' is no head"),
        ("en.conllu", SOURCE.replace("\t5\tcase", "\t3\tcase"), "en.conllu, line 6: word 3 is its own head"),
        ("en.conllu", "1\tHe\n", "en.conllu, line 1: 2 columns, not the 10"),
        ("en.conllu", SOURCE.replace("text = He goes", "text = She goes"), "en.conllu, line 1: 'He' does not follow"),
        ("en.conllu", SOURCE.replace("2.1", "x"), "en.conllu, line 5: 'x' is no number"),
        ("de.conllu", TARGET.replace("3-4", "4-5"), "de.conllu, line 4: 4-5 is no range"),
        ("en.conllu", SOURCE * 2, "en.conllu, line 11: sentence 2 has no partner in de.conllu, which has 1"),
        ("links", "0-0 7-7\n", "links, line 1: link 7-7 lies outside"),
        ("links", "0-0\n0-0\n", "links, line 2: the file goes on"),
    ],
)
def test_bad_files_are_refused_with_file_and_line(name, text, message, place):
    (place / name).write_text(text, "utf-8")
    error = run("en.conllu", "de.conllu", "--links", "links").exception
    assert message in str(error)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("en.bio", "Ann B-PER\nLee\n", "en.bio, line 2: not a word and its label"),
        ("en.jsonl", '{"text": "Ann", "spans": [[0, 4, "X"]]}\n', "en.jsonl, line 1: not a sentence with spans (0-4"),
        ("en.jsonl", "{}\n", "en.jsonl, line 1: not a sentence"),
    ],
)
def test_bad_labels_are_refused_with_file_and_line(name, text, message, place):
    (place / name).write_text(text, "utf-8")
    assert message in str(run(name, "fr.txt", "--links", "names").exception)


@pytest.mark.parametrize(
    "wrong",
    [
        ["--links", "links", "--load", "model"],
        ["--links", "links", "--json"],
        ["--links", "links", "--carry", "head"],
        ["--links", "links", "--format", "bio"],
        ["--links", "links", "--score", "-o", "out"],
        ["--links", "-", "--lend"],
        [],
    ],
)
def test_what_does_not_go_together_is_refused(wrong, place):
    assert run("en.conllu", "de.conllu", *wrong).exit_code == 2


def test_a_score_needs_annotation_to_compare_with(place):
    assert "TARGET has no annotation" in run("en.conllu", "de.txt", "--links", "links", "--score").output
