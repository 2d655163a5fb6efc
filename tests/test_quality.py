"""The quality of pairs: against its definition, in its range, and good at what it is for."""

from __future__ import annotations

import math
from importlib.resources import files

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Aligner, Alignments, Bitext, TextOptions
from dovetail.cli import dovetail
from dovetail.errors import InputError
from dovetail.uses.quality import ALL_COPIED, COPIED, Qualities, qualities, score_pairs

words = st.sampled_from(["the", "house", "sea", "42", "Rome", ",", "new"])


class Known:
    """Stands in for an aligner: the words that it was trained on, and how to read text."""

    def __init__(self, bitext):
        self.text_options = TextOptions()
        self.source_vocabulary, self.target_vocabulary = bitext.source.vocabulary, bitext.target.vocabulary


TRAINED = Known(Bitext.from_pairs([(["the", "the", "house", "Rome"], ["the", "sea", "sea", "42", ","])]))


def naive_quality(source, target, links):
    """By its definition, word by word."""

    def information(word, vocabulary):
        number = vocabulary.id(word)
        count = vocabulary.counts[number] if number >= 0 else 0
        return max(math.log(sum(vocabulary.counts) + 1) - math.log(count + 0.5), 1e-3)

    if not source or not target:
        return 0.0
    sides = [(source, TRAINED.source_vocabulary, 0), (target, TRAINED.target_vocabulary, 1)]
    covered = []
    for sentence, vocabulary, side in sides:
        weights = [information(word, vocabulary) for word in sentence]
        surest = [max((p for link, p in links.items() if link[side] == n), default=0) for n in range(len(sentence))]
        covered.append(sum(w * p for w, p in zip(weights, surest, strict=True)) / sum(weights))
    number = TRAINED.source_vocabulary.id
    seen = [TRAINED.source_vocabulary.counts[number(word)] if number(word) >= 0 else 0 for word in source]
    common = [
        math.log(1 + count) if any(map(str.isalpha, word)) else 0 for word, count in zip(source, seen, strict=True)
    ]
    copied = {i for i, j in links if source[i] == target[j]}
    share = sum(common[i] for i in copied) / (sum(common) or 1)
    return min(covered) * (1 - min(max((share - COPIED) / (ALL_COPIED - COPIED), 0), 1))


@st.composite
def linked_pairs(draw):
    source, target = draw(st.lists(words, max_size=5)), draw(st.lists(words, max_size=5))
    links = {}
    if source and target:
        ends = st.integers(0, len(source) - 1), st.integers(0, len(target) - 1)
        links = draw(st.dictionaries(st.tuples(*ends), st.sampled_from([0.25, 0.5, 0.75, 1.0]), max_size=8))
    return source, target, links


@given(st.lists(linked_pairs(), max_size=5), st.data())
@settings(deadline=None)
def test_quality_is_what_its_definition_says(pairs, data):
    bitext = Bitext.from_pairs([(source, target) for source, target, _ in pairs])
    alignments = Alignments.from_links(
        [links for *_, links in pairs], [links.values() for *_, links in pairs], bitext.lengths
    )
    scores = data.draw(st.lists(st.floats(-50, 0), min_size=2 * len(pairs), max_size=2 * len(pairs)))
    alignments.details = {
        "score_forward": np.array(scores[: len(pairs)]),
        "score_reverse": np.array(scores[len(pairs) :]),
    }
    found = qualities(TRAINED, bitext, alignments)
    assert len(found) == len(pairs)
    for n, (source, target, links) in enumerate(pairs):
        one = found[n]
        assert one.quality == pytest.approx(naive_quality(source, target, links), abs=1e-6)
        assert 0 <= one.quality <= 1
        assert 0 <= one.linked <= 1
        assert one.forward == pytest.approx(scores[n] / max(len(target), 1))
        assert one.reverse == pytest.approx(scores[len(pairs) + n] / max(len(source), 1))
        sure = [link for link, p in links.items() if p > 0.5]
        linked = len({i for i, _ in sure}) + len({j for _, j in sure})
        assert one.linked == pytest.approx(linked / max(len(source) + len(target), 1))


def test_the_best_share_is_so_many_pairs_and_no_worse_ones():
    quality = np.array([0.5, 0.9, 0.5, 0.1, 0.5])
    found = Qualities(quality, quality, quality, quality)
    assert found.best(0.4).tolist() == [True, True, False, False, False]
    assert found.best(0).sum() == 0
    assert found.best(1).all()


@pytest.fixture(scope="module")
def demo():
    """The demo's text with every tenth pair spoilt by its neighbour's target, and a model of it."""
    sides = [(files("dovetail") / "data" / f"demo.{side}").read_text("utf-8").splitlines() for side in ("en", "fr")]
    bad = list(range(5, len(sides[0]), 10))
    targets = list(sides[1])
    for n, other in zip(bad, bad[1:] + bad[:1], strict=True):
        targets[n] = sides[1][other]
    pairs = list(zip(sides[0], targets, strict=True))
    return pairs, bad, Aligner("default", threads=1).fit(Bitext.from_pairs(pairs))


def area(quality, bad):
    good = [value for n, value in enumerate(quality) if n not in bad]
    return np.mean([[(a > quality[n]) + (a == quality[n]) / 2 for a in good] for n in bad])


def test_spoilt_pairs_are_found(demo):
    pairs, bad, aligner = demo
    found = score_pairs(aligner, Bitext.from_pairs(pairs))
    assert area(found.quality, set(bad)) > 0.97
    assert (found.forward <= 0).all()
    assert (found.reverse <= 0).all()


def test_untranslated_and_truncated_pairs_are_worse_than_their_translations(demo):
    pairs, bad, aligner = demo
    some = [pair for n, pair in enumerate(pairs) if n not in bad and len(pair[1].split()) > 6][:100]
    good = score_pairs(aligner, Bitext.from_pairs(some)).quality
    copied = score_pairs(aligner, Bitext.from_pairs([(source, source) for source, _ in some])).quality
    cut = score_pairs(
        aligner, Bitext.from_pairs([(s, " ".join(t.split()[: len(t.split()) // 2])) for s, t in some])
    ).quality
    assert (copied < good).mean() > 0.97
    assert (cut < good).mean() > 0.97


# The command


@pytest.fixture
def place(demo, tmp_path, monkeypatch):
    pairs, _, aligner = demo
    monkeypatch.chdir(tmp_path)
    for side, name in enumerate(("s", "t")):
        (tmp_path / name).write_text("".join(pair[side] + "\n" for pair in pairs[:20]), "utf-8")
    aligner.save("model")
    return tmp_path


def run(*arguments):
    result = CliRunner().invoke(dovetail, ["score", "s", "t", *arguments])
    if isinstance(result.exception, Exception) and not isinstance(result.exception, InputError):
        raise result.exception
    return result


def rows(output):
    return [line.split("\t") for line in output.splitlines()]


def test_the_command_writes_one_line_per_pair(place):
    found = rows(run("--load", "model", "--threads", "1").stdout)
    assert [int(row[4]) for row in found] == list(range(1, 21))
    for row in found:
        quality, forward, reverse, linked = map(float, row[:4])
        assert 0 <= quality <= 1
        assert max(forward, reverse) <= 0
        assert 0 <= linked <= 1


def test_the_command_keeps_sorts_and_shows(place):
    everything = rows(run("--load", "model").stdout)
    kept = rows(run("--load", "model", "--keep", "0.85", "--write-text", "kept").stdout)
    least = sorted(float(row[0]) for row in everything)[3]
    assert kept == [row for row in everything if float(row[0]) >= least]
    lines = (place / "s").read_text("utf-8").splitlines()
    assert (place / "kept.source").read_text("utf-8").splitlines() == [lines[int(row[4]) - 1] for row in kept]
    assert len((place / "kept.target").read_text("utf-8").splitlines()) == 17
    worst = rows(run("--load", "model", "--sort", "worst", "--show").stdout)
    assert [row[0] for row in worst] == sorted(row[0] for row in everything)
    assert worst[0][5] == lines[int(worst[0][4]) - 1]
    limit = str((float(worst[2][0]) + float(worst[3][0])) / 2)
    below = rows(run("--load", "model", "--below", limit).stdout)
    assert {row[4] for row in below} == {row[4] for row in everything if float(row[0]) < float(limit)}
    best = rows(run("--load", "model", "--below", limit, "--sort", "best").stdout)
    assert best == sorted(below, key=lambda row: -float(row[0]))


@pytest.mark.parametrize(
    "wrong",
    [
        ["--links", "links"],
        [],
        ["--load", "model", "--keep", "0.5", "--below", "0.5"],
        ["--load", "model", "--keep", "2"],
    ],
)
def test_what_does_not_go_together_is_refused(wrong, place):
    (place / "links").write_text("\n" * 20, "utf-8")
    assert run(*wrong).exit_code == 2


def test_bad_input_is_refused_with_file_and_line(place):
    (place / "t").write_text("un\n", "utf-8")
    assert "s, line 2: no matching line in t" in str(run("--load", "model").exception)
    done = CliRunner().invoke(dovetail, ["score", "-", "t", "--load", "model", "--keep", "0.5"])
    assert done.exit_code == 2
