"""Several systems, several runs: tables, tests, and Holm's correction."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import dovetail
from dovetail import Alignments, Gold, InputError
from dovetail.cli import dovetail as program
from dovetail.evaluation import compare_systems, evaluate, holm, significance, statistics


def made_up(seed, right, pairs=60):
    """Links of which about the share `right` is gold."""
    generator = np.random.default_rng(seed)
    return [[(i, i if generator.random() < right else (i + 1) % 6) for i in range(6)] for _ in range(pairs)]


TRUTH = [[(i, i) for i in range(6)]] * 60
GOLD = Gold.from_links(TRUTH)
GOOD, MIDDLE, BAD = (Alignments.from_links(made_up(seed, right)) for seed, right in ((1, 0.95), (2, 0.94), (3, 0.6)))


def naive_holm(p_values):
    """By the definition: the smallest level at which the step-down procedure rejects."""
    result = []
    for p in p_values:
        smaller = [q for q in p_values if q <= p]
        steps = [(len(p_values) - sum(other < q for other in p_values)) * q for q in smaller]
        result.append(min(1.0, max(steps)))
    return result


@given(st.lists(st.floats(0, 1), unique=True, max_size=8))
def test_holms_correction_is_that_of_the_definition(p_values):
    found = holm(p_values)
    assert found == pytest.approx(naive_holm(p_values))
    assert all(corrected >= p for corrected, p in zip(found, p_values, strict=True))


def test_alignments_are_compared_from_python_as_their_statistics_are():
    found = dovetail.compare(GOOD, BAD, GOLD, samples=500)
    assert found == significance.compare(statistics(GOOD, GOLD), statistics(BAD, GOLD), samples=500)
    assert found.p_value < 0.01
    assert found.first == evaluate(GOOD, GOLD).aer
    with pytest.raises(InputError, match="compared by gold links"):
        dovetail.compare(GOOD, BAD)


def test_a_report_scores_every_system_and_tests_every_pair():
    report = compare_systems({"good": GOOD, "middle": MIDDLE, "bad": BAD}, GOLD, samples=500)
    assert [system.values["aer"] for system in report.systems] == [
        evaluate(links, GOLD).aer for links in (GOOD, MIDDLE, BAD)
    ]
    assert [(test.first, test.second) for test in report.tests] == [
        ("good", "middle"),
        ("good", "bad"),
        ("middle", "bad"),
    ]
    assert report.tests[0].holm > 0.05 > report.tests[1].holm
    assert [test.holm for test in report.tests] == holm([test.comparison.p_value for test in report.tests])
    for system in report.systems:
        assert system.interval.low <= system.values["aer"] <= system.interval.high


def test_runs_count_by_their_mean_and_tell_their_spread():
    runs = [Alignments.from_links(made_up(seed, 0.8)) for seed in range(4)]
    report = compare_systems({"ours": runs, "theirs": runs[:3], "once": runs[0]}, GOLD, metric="f0.3", samples=200)
    ours, theirs, once = report.systems
    each = [evaluate(run, GOLD).f(0.3) for run in runs]
    assert ours.spread == pytest.approx(np.std(each, ddof=1))
    assert min(each) < ours.values["f0.3"] < max(each)
    assert theirs.runs == 3
    assert once.values["f0.3"] == pytest.approx(each[0])
    assert once.spread == 0
    alone = compare_systems({"once": runs[0], "bad": BAD}, GOLD, metric="f0.3", samples=200)
    again = compare_systems({"once": [runs[0], runs[0]], "bad": BAD}, GOLD, metric="f0.3", samples=200)
    assert alone.tests[0].comparison == again.tests[0].comparison


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, links in (
        ("gold", TRUTH),
        ("good", made_up(1, 0.95)),
        ("bad_1", made_up(3, 0.6)),
        ("bad_2", made_up(4, 0.6)),
    ):
        (tmp_path / name).write_text("".join(" ".join(f"{i}-{j}" for i, j in row) + "\n" for row in links), "utf-8")
    return tmp_path


def run(*arguments):
    done = CliRunner().invoke(program, ["compare", *arguments, "--samples", "200"])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command_takes_any_number_of_systems_and_runs(place):
    text = run("good", "worse=bad_1", "worse=bad_2", "bad_2", "gold").splitlines()
    assert text[0].split()[:3] == ["system", "runs", "AER"]
    assert [line.split()[:2] for line in text[1:4]] == [["good", "1"], ["worse", "2"], ["bad_2", "1"]]
    assert len([line for line in text if line.startswith(("good  ", "worse  "))]) == 5
    found = json.loads(run("good", "bad_1", "bad_2", "gold", "--format", "json", "--metric", "f0.2"))
    assert [system["name"] for system in found["systems"]] == ["good", "bad_1", "bad_2"]
    assert len(found["tests"]) == 3
    assert {"aer", "f0.2"} <= set(found["systems"][0])
    one = json.loads(run("good", "gold", "--json"))
    assert one["tests"] == []


def test_tables_are_those_of_their_formats(place):
    markdown = run("good", "bad_1", "gold", "--format", "markdown").splitlines()
    assert markdown[1] == "| --- | ---: | ---: | ---: | ---: | ---: |"
    assert all(line.count("|") == 7 for line in markdown[:4])
    latex = run("good", "bad_1", "gold", "--format", "latex")
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") == 2
    assert "bad\\_1 &" in latex
    assert "% sig: " in latex


def test_the_command_refuses_an_unknown_metric(place):
    done = CliRunner().invoke(program, ["compare", "good", "bad_1", "gold", "--metric", "f1.5"])
    assert done.exit_code == 2
