"""The translation benchmark: what is held out, what is kept of a table, what is chance; and all of it on a small text."""

from __future__ import annotations

import csv
import json
import lzma
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import environments
from dovetail import Alignments
from dovetail.bitext.corpus import Bitext
from dovetail.errors import InputError
from dovetail.uses.aligned import AlignedText
from dovetail.uses.phrase_table import phrase_table
from papers.store import Cell, Store
from translation import __main__ as command
from translation import running
from translation.report import markdown, rows_of, store_order, write
from translation.scores import BLEU_OPTIONS, Difference, differences, score
from translation.split import LONGEST, held_out, split, train_text, write_split
from translation.systems import BASE, SYSTEMS
from translation.tables import filter_table, spans

words = st.lists(st.sampled_from("abc"), min_size=0, max_size=5)
sentences = st.lists(st.sampled_from("abc"), min_size=1, max_size=6)


@given(st.lists(st.tuples(words, words), max_size=20), st.integers(0, 4), st.integers(0, 3), st.integers(0, 3))
def test_what_is_held_out_is_new_and_comes_in_order(pairs, train, tune, test):
    try:
        parts = split(pairs, train, tune, test)
    except InputError:
        rest = [pair for pair in pairs if all(pair)]
        new = {tuple(source) for source, _ in rest[train:]} - {tuple(source) for source, _ in rest[:train]}
        assert len(rest) < train or len(new) < tune + test
        return
    usable = [pair for pair in pairs if all(pair)]
    assert parts.train == usable[:train]
    later = [*parts.tune, *parts.test]
    assert (len(parts.tune), len(parts.test)) == (tune, test)
    learned = [source for source, _ in parts.train]
    for n, (source, _) in enumerate(later):
        assert source not in learned
        assert source not in [other for other, _ in later[:n]]
    remaining = iter(usable[train:])
    assert all(pair in remaining for pair in later)


def test_long_sentences_are_not_held_out():
    long, short = ["a"] * (LONGEST + 1), ["b"]
    assert list(held_out([(long, short), (short, long), (short, short)], [])) == [(short, short)]


def test_a_written_split_is_read_as_the_peers_take_it(tmp_path):
    place = tmp_path / "text"
    write_split(split([(["a", "b"], ["c"]), (["d"], ["e", "f"]), (["g"], ["h"])], 1, 1, 1), place)
    assert [path.name for path in tmp_path.iterdir()] == ["text"]
    text = train_text(place)
    assert (text.pairs, text.lengths, text.lines) == (1, [(2, 1)], [0])
    assert text.joined.read_text() == "a b ||| c\n"
    assert (place / "test.source").read_text() == "g\n"


@given(
    st.lists(st.tuples(sentences, sentences, st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)))), min_size=1),
    st.integers(1, 4),
)
@settings(deadline=None, max_examples=20)
def test_a_filtered_table_has_the_best_of_what_the_text_needs(tmp_path_factory, drawn, limit):
    place = tmp_path_factory.mktemp("table")
    links = [[(i, j) for i, j in sorted(found) if i < len(s) and j < len(t)] for s, t, found in drawn]
    bitext = Bitext.from_pairs([(s, t) for s, t, _ in drawn])
    table = list(phrase_table(AlignedText(bitext, Alignments.from_links(links, lengths=bitext.lengths)), 3, thot=True))
    (place / "table").write_text("".join(f"{phrase.thot()}\n" for phrase in table))
    text = [drawn[0][0]]
    found = filter_table(place / "table", spans(text, 3), place / "kept", limit)

    # The slow twin: does any sentence have the phrase, blanks and all?  How many translations of it come before this one?
    def is_needed(n, phrase):
        rivals = [(m, other) for m, other in enumerate(table) if other.source == phrase.source]
        better = sum(other.count > phrase.count or (other.count == phrase.count and m < n) for m, other in rivals)
        return better < limit and any(f" {phrase.source} " in f" {' '.join(line)} " for line in text)

    needed = [phrase for n, phrase in enumerate(table) if is_needed(n, phrase)]
    assert (place / "kept").read_text() == "".join(f"{phrase.thot()}\n" for phrase in needed)
    assert found == (len(table), len(needed))


def test_a_line_that_is_no_phrase_pair_is_named(tmp_path):
    (tmp_path / "table").write_text("a ||| b ||| 1 1\na ||| b\n")
    with pytest.raises(InputError, match=r"table, line 2"):
        filter_table(tmp_path / "table", {"b"}, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_systems_have_names_of_their_own_and_the_base_comes_first():
    names = [system.name for system in SYSTEMS]
    assert len(set(names)) == len(names)
    assert names[0] == BASE


# --- scores


def noisy(references, share, seed):
    """References with some of their words replaced."""
    generator = np.random.default_rng(seed)
    return [" ".join("x" if generator.random() < share else word for word in line.split()) for line in references]


@pytest.fixture(scope="module")
def references():
    return (files("dovetail") / "data" / "demo.fr").read_text("utf-8").splitlines()[:30]


def naive_p(metric, baseline, system, references, resamples):
    """Koehn's paired bootstrap, with every resampled text scored from its sentences."""
    generator = np.random.default_rng(7)

    def found(lines, rows):
        return metric([lines[n] for n in rows], [references[n] for n in rows])

    everything = range(len(references))
    gap = abs(found(baseline, everything) - found(system, everything))
    draws = generator.integers(len(references), size=(resamples, len(references)))
    gaps = np.array([abs(found(baseline, rows) - found(system, rows)) for rows in draws])
    return (np.sum(gaps - gaps.mean() > gap) + 1) / (resamples + 1)


@pytest.mark.parametrize("measure", ["bleu", "chrf"])
@pytest.mark.parametrize("share", [0.21, 0.3, 0.6])
def test_the_bootstrap_finds_what_a_naive_one_finds(references, measure, share):
    pytest.importorskip("sacrebleu")
    from sacrebleu.metrics import BLEU, CHRF

    baseline, system = noisy(references, 0.2, 1), noisy(references, share, 2)
    found = differences([("hmm", baseline), ("other", system)], references, resamples=100)
    assert found["hmm"].bleu_p is None
    metric = {"bleu": BLEU(**BLEU_OPTIONS), "chrf": CHRF()}[measure]
    naive = naive_p(lambda h, r: metric.corpus_score(h, [r]).score, baseline, system, references, 100)
    assert getattr(found["other"], f"{measure}_p") == pytest.approx(naive, abs=0.15)


def test_a_score_is_that_of_tokenised_text(references):
    pytest.importorskip("sacrebleu")
    assert score(references, references).bleu == pytest.approx(100)
    assert "tok:none" in score(references, references).signature


# --- tables


def cell(name, bleu):
    numbers = {"BLEU": bleu, "chrF": 50.0, "links": 1000, "phrases": 2000, "phrases kept": 300, "tuning BLEU": 20.0}
    return Cell("translation", name, "en-fr-small", 10, 1, numbers, "signature", "abc", 12.0)


def test_a_table_has_the_papers_numbers_beside_ours_and_marks_what_is_no_chance():
    beside = {"hmm": Difference(1.0, 1.0, None, None), "graca2010-symmetric": Difference(1.5, 1.0, 0.01, 0.3)}
    text = markdown(rows_of([cell("hmm", 20.0), cell("graca2010-symmetric", 21.0)], beside))
    assert "| hmm | EM | 20.00 ± 1.00 | 50.00 ± 1.00 | 1,000 | 2,000 | 300 | 12 | 28.9 | – | – |" in text
    assert "| 21.00 ± 1.50* | 50.00 ± 1.00 |" in text


def rows_in(table):
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_tables_say_what_was_not_run(tmp_path, references):
    pytest.importorskip("sacrebleu")
    store = Store(tmp_path / "cells.jsonl")
    store.add(cell("default", 20.0))
    store.add(cell("hmm", 21.0))
    assert [each.job for each in store_order(store, "en-fr-small", 10, 1)] == ["hmm", "default"]
    place = tmp_path / "en-fr-small-10"
    for name in ("hmm", "default", "base"):
        (place / name).mkdir(parents=True)
    for name in ("hmm/translation", "default/translation", "test.target", "test.source", "tune.source"):
        (place / name).write_text("\n".join(references) + "\n", "utf-8")
    (place / "base" / "weights.json").write_text(json.dumps({"weights": [1, 0.5], "bleu": 0.25}))
    for name in ("en-fr-small", "de-en-none"):
        write(store, name, 10, 1, tmp_path, tmp_path / "tables")
    text = (tmp_path / "tables" / "translation-en-fr-small.md").read_text("utf-8")
    assert "Not run: sil-thot-hmm, ibm1, EM-5, EM-80, zhao2010-hmm, GS-5," in text
    assert "30 sentences to translate, 30 to tune on (BLEU 25.0 there); weights 1, 0.5." in text
    table = tmp_path / "tables" / "translation-en-fr-small.csv"
    assert set(table.parent.iterdir()) == {table, table.with_suffix(".md")}
    rows = rows_in(table)
    assert [row["system"] for row in rows] == ["hmm", "default"]
    assert all(row["commit"] == "abc" and row["signature"] and row["seed"] == "1" for row in rows)

    # A later run, elsewhere, of the baseline and one more system: the table gains a row, unless the baseline is another.
    for bleu, names in ((21.0, ["hmm", "hmm-bayes", "default"]), (22.0, ["hmm", "hmm-bayes"])):
        later = Store(tmp_path / f"later-{bleu}.jsonl")
        later.add(cell("hmm", bleu))
        later.add(cell("hmm-bayes", 20.5))
        (place / "hmm-bayes").mkdir(exist_ok=True)
        (place / "hmm-bayes" / "translation").write_text("\n".join(references) + "\n", "utf-8")
        write(later, "en-fr-small", 10, 1, tmp_path, table.parent)
        assert [row["system"] for row in rows_in(table)] == names
        assert all(f"| {name} |" in table.with_suffix(".md").read_text("utf-8") for name in names)


# --- all of it


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data" / "en-fr-small"
    folder.mkdir(parents=True)
    for side in ("en", "fr"):
        lines = (files("dovetail") / "data" / f"demo.{side}").read_text("utf-8").splitlines()
        (folder / f"train.{side}.xz").write_bytes(lzma.compress(("\n".join(lines) + "\n").encode()))
    return folder.parent


@pytest.mark.slow
def test_a_text_is_translated_and_a_finished_system_is_not_run_again(data, tmp_path, monkeypatch, capsys):
    pytest.importorskip("sacrebleu")
    home = environments.ENVIRONMENTS / "sil-machine"
    if environments.installed_version("sil-machine", home) is None:
        pytest.skip("sil-machine is not installed: python -m benchmarks.translation installs it")
    out = tmp_path / "out"
    asked = [
        "--set",
        "en-fr-small",
        "--size",
        "150",
        "--tune",
        "5",
        "--test",
        "10",
        "--evaluations",
        "3",
        "--threads",
        "1",
    ]
    asked += ["--data", str(data), "--out", str(out), "--system", "hmm"]
    assert command.main(asked) == 0
    cells = Store.open(out / "cells.jsonl").cells.values()
    assert [cell.job for cell in cells] == [BASE, "hmm"]
    for each in cells:
        assert each.numbers["BLEU"] > 0
        assert each.numbers["phrases"] > each.numbers["phrases kept"] > 0
        assert len((out / "en-fr-small-150" / each.job / "translation").read_text("utf-8").splitlines()) == 10
    first = (out / "translation-en-fr-small.md").read_bytes()
    monkeypatch.setattr(running, "links_of", lambda *_: pytest.fail("run again"))
    assert command.main(asked) == 0
    assert (out / "translation-en-fr-small.md").read_bytes() == first


def test_too_small_a_set_is_told_in_one_line(data, tmp_path, capfd):
    asked = ["--set", "en-fr-small", "--size", "100000", "--data", str(data), "--out", str(tmp_path / "out")]
    assert command.main(asked) == 2
    assert "Ask for fewer pairs" in capfd.readouterr().err


def test_several_sets_are_worked_on_side_by_side(data, tmp_path, capfd):
    asked = [
        "--set",
        "en-fr-small",
        "--set",
        "nowhere",
        "--size",
        "100000",
        "--data",
        str(data),
        "--out",
        str(tmp_path),
    ]
    assert command.main(asked) == 2
    told = capfd.readouterr().err
    assert "Ask for fewer pairs" in told
    assert "nowhere" in told
