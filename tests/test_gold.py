"""Gold links: reading, marks, and the off-by-one files that must not pass."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dovetail.alignments.alignments import Alignments
from dovetail.alignments.gold import Gold, gold_formats, read_gold
from dovetail.errors import InputError
from dovetail.evaluation import evaluate, statistics

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def read(tmp_path, content, **options):
    path = tmp_path / "test.gold"
    path.write_bytes(content.encode())
    return read_gold(path, **options)


def test_sure_and_possible_links_of_a_line(tmp_path):
    gold = read(tmp_path, "0-0 2?1 1p3\n\n0-1\n")
    assert len(gold) == 3
    assert gold[0].sure == {(0, 0)}
    assert gold[0].possible == {(0, 0), (1, 3), (2, 1)}
    assert gold[1].possible == set()
    assert gold[-1].sure == gold[2].possible == {(0, 1)}
    assert gold.offsets.tolist() == [0, 3, 3, 4]
    assert gold.source.tolist() == [0, 1, 2, 0]
    assert gold.target.tolist() == [0, 3, 1, 1]
    assert gold.sure.tolist() == [True, False, False, True]
    assert (gold.source.dtype, gold.target.dtype, gold.sure.dtype) == (np.int32, np.int32, bool)
    assert gold.annotated.tolist() == [True, False, True]
    assert repr(gold) == "<Gold: 2 of 3 pairs, 2 sure links, 4 possible>"


def test_some_pairs_by_their_numbers(tmp_path):
    gold = read(tmp_path, "4\t0-1 2?0\n2\t1-0\n3\t\n")
    assert [pair.possible for pair in gold] == [set(), {(1, 0)}, set(), {(0, 1), (2, 0)}]
    assert gold[3].sure == {(0, 1)}
    assert gold.annotated.tolist() == [False, True, True, True]  # the third was looked at, and has no links
    longer = read(tmp_path, "4\t0-1 2?0\n2\t1-0\n3\t\n", lengths=[(3, 3)] * 6)
    assert longer.annotated.tolist() == [False, True, True, True, False, False]
    assert longer[1:3].annotated.tolist() == [True, True]


def test_a_partial_file_may_end_early_but_not_late(tmp_path):
    gold = read(tmp_path, "0-0\n1-1\n", lengths=[(2, 2)] * 4, partial=True)
    assert gold.annotated.tolist() == [True, True, False, False]
    assert [len(pair.sure) for pair in gold] == [1, 1, 0, 0]
    with pytest.raises(InputError, match=r"line 2: gold links of 2 pairs, but there are 1"):
        read(tmp_path, "0-0\n1-1\n", lengths=[(2, 2)], partial=True)
    with pytest.raises(InputError, match="line 2: link 2-0 lies outside"):
        read(tmp_path, "0-0\n2-0\n", lengths=[(2, 2)] * 3, partial=True)


@settings(deadline=None)  # the first call compiles
@given(
    st.lists(
        st.tuples(st.booleans(), st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1)),
        min_size=1,
        max_size=8,
    ),
    st.randoms(use_true_random=False),
)
def test_all_forms_of_partial_gold_give_the_score_of_the_annotated_pairs(pairs, random):
    """The slow twin: throw the other pairs away on both sides."""
    pairs[0] = (True, pairs[0][1])
    links = Alignments.from_links([[(random.randrange(5), random.randrange(5))] for _ in pairs])
    written = [" ".join(f"{i}-{j}" for i, j in sorted(gold)) for _, gold in pairs]
    blank = [line if kept else "" for line, (kept, _) in zip(written, pairs, strict=True)]
    numbered = [f"{n}\t{line}" for n, line in enumerate(written, 1) if blank[n - 1]]
    random.shuffle(numbered)
    kept = [n for n, (annotated, _) in enumerate(pairs) if annotated]
    expected = evaluate(
        Alignments.from_links([links[n].links for n in kept]), Gold.from_links([pairs[n][1] for n in kept])
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "gold"
        for lines in (blank, numbered):
            path.write_text("".join(f"{line}\n" for line in lines))
            gold = read_gold(path, pairs=len(pairs))
            score = evaluate(links, gold)
            assert score == expected  # signature and number of sentences included
            assert statistics(links, gold).shape == (len(kept), 4)


def test_a_link_marked_both_ways_is_sure(tmp_path):
    for content in ("0?0 0-0\n", "0-0 0?0\n", "1 1 1 P\n1 1 1 S\n", "1 1 1 S\n1 1 1 P\n"):
        gold = read(tmp_path, content)
        assert gold.sure.tolist() == [True], content


def test_naacl_links_count_from_1_and_are_sure_without_a_mark(tmp_path):
    gold = read(tmp_path, "0001 1 2\n0001 2 1 P\n0001 3 3 S 0.9\n0001 4 4 0.5\n0001 5 5 p 1\n")
    assert gold[0].sure == {(0, 1), (2, 2), (3, 3)}
    assert gold[0].possible == {(0, 1), (1, 0), (2, 2), (3, 3), (4, 4)}


def test_naacl_numbers_without_lengths_are_pairs_in_the_order_of_the_file(tmp_path):
    gold = read(tmp_path, "0448 1 1 S\n0500 2 2 P\n0448 2 2 S\n450 3 3\n")
    assert [pair.possible for pair in gold] == [{(0, 0), (1, 1)}, {(1, 1)}, {(2, 2)}]


def test_naacl_numbers_with_lengths_are_places_so_that_a_pair_without_links_counts(tmp_path):
    for options in ({"lengths": [(3, 3)] * 4}, {"pairs": 4}):
        gold = read(tmp_path, "0003 1 1 S\n0001 2 2 P\n", **options)
        assert [pair.possible for pair in gold] == [{(1, 1)}, set(), {(0, 0)}, set()]
        assert [len(pair.sure) for pair in gold] == [0, 0, 1, 0]


@given(
    rows=st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), max_size=6),
        min_size=1,
        max_size=5,
    )
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_forms_and_from_links_say_the_same(rows, tmp_path):
    lengths = [(6, 6)] * len(rows)
    lines = "".join(" ".join(f"{i}{'-' if sure else '?'}{j}" for i, j, sure in row) + "\n" for row in rows)
    naacl = "".join(
        f"{n:04} {i + 1} {j + 1} {'S' if sure else 'P'}\n" for n, row in enumerate(rows, 1) for i, j, sure in row
    )
    sure = [[(i, j) for i, j, mark in row if mark] for row in rows]
    possible = [[(i, j) for i, j, mark in row if not mark] for row in rows]
    versions = [read(tmp_path, lines, lengths=lengths), Gold.from_links(sure, possible, lengths)]
    if naacl:
        versions.append(read(tmp_path, naacl, lengths=lengths))
    for gold in versions:
        assert [pair.sure for pair in gold] == [set(row) for row in sure]
        assert [pair.possible for pair in gold] == [set(s) | set(p) for s, p in zip(sure, possible, strict=True)]
        bounds = zip(gold.offsets[:-1], gold.offsets[1:], strict=True)
        keys = [list(zip(gold.source[a:b], gold.target[a:b], strict=True)) for a, b in bounds]
        assert keys == [sorted(set(row)) for row in keys]


def test_from_links_without_possible_ones():
    gold = Gold.from_links([[(1, 0), (0, 0)], []])
    assert gold[0].sure == gold[0].possible == {(0, 0), (1, 0)}
    assert len(gold) == 2


def test_slices_are_gold_again():
    gold = Gold.from_links([[(0, 0)], [(1, 1), (2, 2)], []])[1:]
    assert isinstance(gold, Gold)
    assert [pair.sure for pair in gold] == [{(1, 1), (2, 2)}, set()]
    with pytest.raises(ValueError, match="without a step"):
        gold[::2]
    with pytest.raises(IndexError):
        gold[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[(0, 0)]], [[], []]), "sure links of 1 pairs, but possible links of 2"),
        (([[(0, 0)]], None, [(1, 1), (1, 1)]), "links of 1 pairs, but lengths of 2"),
        (([[], [(0, 1)]], None, [(1, 1), (1, 1)]), r"pair 1: link \(0, 1\) lies outside \[1, 1\] words"),
        (([[(-1, 0)]],), "none can be negative"),
    ],
)
def test_from_links_refuses_what_does_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        Gold.from_links(*arguments)


LENGTHS = [(3, 4)] * 2

BAD = {
    "an index beyond the source": (
        "0-0\n3-0\n",
        {"lengths": LENGTHS},
        2,
        "link 3-0 lies outside the pair of 3 source",
    ),
    "an index beyond the target": (
        "0-0 1?4\n\n",
        {"lengths": LENGTHS},
        1,
        "link 1?4 lies outside the pair of 3 source",
    ),
    "counting from 1, with lengths": (
        "1-1 2-2\n1-2 3?3\n",
        {"lengths": LENGTHS},
        2,
        "the file seems to count from 1, for no index is 0, and here is link 3?3 in a pair of 3 source",
    ),
    "counting from 1, without lengths": (
        "\n" + "1-1 2-2\n" * 9,
        {},
        2,
        "the file seems to count from 1, for no index in its 10 pairs is 0",
    ),
    "a negative index": ("0-0\n-1-0\n", {}, 2, "'-1-0' is not a link"),
    "a word": ("0-0 one\n", {"format": "pharaoh"}, 1, "'one' is not a link"),
    "a probability": ("0-0 1-1:0.5\n", {}, 1, "'1-1:0.5' is not a link"),
    "fewer lines than pairs": ("0-0\n", {"lengths": LENGTHS}, 1, "ends after 1 pair, but the bitext has 2"),
    "more lines than pairs": ("0-0\n\n\n", {"pairs": 2}, 3, "ends after 3 pairs, but the bitext has 2"),
    "something else": ("\nthe house\n", {}, 2, "'the house' is not a line of gold links"),
    "a pair twice": ("1\t0-0\n2\t0-0\n1\t1-1\n", {}, 3, "pair 1 stands in line 1 already"),
    "a pair too many": ("2\t0-0\n3\t0-0\n", {"lengths": LENGTHS}, 2, "pair 3, but there are 2 pairs"),
    "numbers from 0": ("0\t0-0\n", {}, 1, "pair 0, but pairs count from 1"),
    "a line without its number": ("1\t0-0\n0-0\n", {}, 2, "'0-0' has no number and tab before the links"),
    "an empty line among numbered ones": ("1\t0-0\n\n", {}, 2, "an empty line"),
    "a numbered link outside": ("2\t0-0\n1\t3-0\n", {"lengths": LENGTHS}, 2, "link 3-0 lies outside"),
    "numbered, counting from 1": ("2\t1-1\n1\t3-3\n", {"lengths": LENGTHS}, 2, "seems to count from 1"),
    "naacl outside": ("1 1 1\n2 4 1\n", {"lengths": LENGTHS}, 2, "link 4 1 (counted from 1) lies outside"),
    "naacl counting from 0": ("1 1 1\n1 0 0\n", {}, 2, "position 0, but positions count from 1"),
    "naacl with a word": ("1 1 1\n1 x 1\n", {}, 2, "'1 x 1' is not a link"),
    "naacl with a pair too many": (
        "3 1 1\n",
        {"lengths": LENGTHS},
        1,
        "sentence number 3, but there are 2 pairs",
    ),
    "naacl with an unknown mark": ("1 1 1 X\n", {"format": "naacl"}, 1, "'1 1 1 X' is not a link"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_bad_gold_is_refused_with_line_and_remedy(case, tmp_path):
    content, options, line, message = BAD[case]
    with pytest.raises(InputError) as caught:
        read(tmp_path, content, **options)
    assert message in str(caught.value)
    assert caught.value.line == line
    assert caught.value.remedy
    assert str(caught.value).startswith(str(tmp_path / "test.gold"))


def test_right_files_that_resemble_wrong_ones_pass(tmp_path):
    assert len(read(tmp_path, "1-1\n" * 9)) == 9, "too few pairs to tell"
    assert len(read(tmp_path, "1-1\n" * 11 + "1-0\n")) == 12, "one 0 is enough"
    assert len(read(tmp_path, "1-1\n" * 12, lengths=[(2, 2)] * 12)) == 12, "inside every sentence"
    assert len(read(tmp_path, "\n" * 12)) == 12, "no links at all"


def test_unknown_formats_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"no gold format 'jsonl'\. Choose one of: pharaoh, numbered, naacl"):
        read(tmp_path, "0-0\n", format="jsonl")
    assert list(gold_formats) == ["pharaoh", "numbered", "naacl"]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the folder shared/data beside the repository is missing")
@pytest.mark.parametrize(
    ("folder", "source", "target", "pairs", "sure", "possible_only"),
    [
        ("en-fr-hansards", "en", "fr", 447, 4_038, 13_400),
        ("de-en-europarl", "de", "en", 100, 1_232, 0),
        ("en-cs-czenali", "en", "cs", 2_000, 36_245, 18_418),
        ("ja-en-kftt", "ja", "en", 582, 13_562, 0),
    ],
)
def test_the_real_gold_files_hold_what_their_notes_say(folder, source, target, pairs, sure, possible_only):
    sides = [(SHARED / folder / f"test.{side}").read_text("utf-8").split("\n")[:-1] for side in (source, target)]
    lengths = [(len(s.split()), len(t.split())) for s, t in zip(*sides, strict=True)]
    for options in ({}, {"lengths": lengths}):
        gold = read_gold(SHARED / folder / "test.gold", **options)
        assert len(gold) == pairs
        assert int(gold.sure.sum()) == sure
        assert int((~gold.sure).sum()) == possible_only
