"""The papers' tables: finished cells are kept, every number can be traced, and the page stands on its own."""

from __future__ import annotations

import csv
import itertools
import json
import lzma
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import bayes
import headlines
from dovetail.decoding import bidirectional_problem
from dovetail.errors import InputError
from dovetail.recipes import paper_recipes
from papers import __main__, chang, claims, graca, mermer, quirk, zhao
from papers.__main__ import PAPERS, main, missing
from papers.shown import MOST_POINTS, Figure, Section, Table, drawn, markdown, page, points_of
from papers.store import Cell, Store
from papers.trial import open_trial

DEMO = files("dovetail") / "data"


@pytest.fixture
def data(tmp_path):
    """A small set made of the demo's text: 60 pairs to learn from, 30 to be judged by."""
    folder = tmp_path / "data" / "en-fr-small"
    folder.mkdir(parents=True)
    gold = (DEMO / "demo.gold").read_text("utf-8").splitlines()[:30]
    (folder / "test.gold").write_text("\n".join(gold) + "\n", "utf-8")
    for side in ("en", "fr"):
        lines = (DEMO / f"demo.{side}").read_text("utf-8").splitlines()
        (folder / f"test.{side}").write_text("\n".join(lines[:30]) + "\n", "utf-8")
        (folder / f"train.{side}.xz").write_bytes(lzma.compress(("\n".join(lines[30:90]) + "\n").encode()))
    return folder.parent


def arguments(data, out, *more):
    return ["--set", "en-fr-small", "--size", "60", "--data", str(data), "--out", str(out), "--seeds", "1", *more]


def test_a_finished_cell_is_not_computed_again_and_every_number_can_be_traced(data, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    asked = arguments(data, out, "--paper", "mermer", "--only", "EM-5")
    assert main(asked) == 0
    (cell,) = map(json.loads, (out / "cells.jsonl").read_text("utf-8").splitlines())
    assert cell["signature"].endswith("|seed:1")
    assert cell["commit"]
    first = {name: (out / name).read_bytes() for name in ("index.html", "papers.md", "cells.csv")}
    with (out / "cells.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["number"] for row in rows} >= {"forward AER", "reverse dictionary"}
    assert all(row["at"] == "" for row in rows)
    assert all(row["seed"] == "1" and row["commit"] and row["signature"] for row in rows)

    def never(trial, seed):
        raise AssertionError("computed again")

    monkeypatch.setattr(mermer, "JOBS", [replace(job, run=never) for job in mermer.JOBS])
    assert main(asked) == 0
    assert {name: (out / name).read_bytes() for name in first} == first
    assert "EM-5" in capsys.readouterr().err
    assert "52,500" in first["papers.md"].decode()  # the paper's own, in a column of its own
    assert "<td class=paper>52,500</td>" in first["index.html"].decode()


def test_a_job_can_be_left_out(data, tmp_path):
    out = tmp_path / "out"
    assert main(arguments(data, out, "--paper", "mermer", "--only", "EM-5", "--skip", "EM-5")) == 0
    assert not (out / "cells.jsonl").exists()


def test_an_unknown_system_is_named(data, tmp_path, capsys):
    assert main(arguments(data, tmp_path / "out", "--only", "EM-6")) == 2
    said = capsys.readouterr().err
    assert "no system 'EM-6'" in said
    names = {job.name for module in PAPERS.values() for job in module.JOBS}
    assert any("," in name for name in names)
    assert all(repr(name) in said for name in names)  # in quotes, or a name with a comma would be two


@pytest.mark.parametrize("size", ["0", "-5"])
def test_a_size_that_is_none_is_told_before_anything_is_run(data, tmp_path, capsys, size):
    assert main(arguments(data, tmp_path / "out", "--size", size)) == 2
    said = f"papers: --size is {size}. Give a number of training pairs, at least 1.\n"
    assert capsys.readouterr().err == said
    assert not (tmp_path / "out").exists()


def test_a_bad_line_of_the_store_is_named(tmp_path):
    (tmp_path / "cells.jsonl").write_text('{"paper": 1}\n')
    with pytest.raises(InputError, match=r"cells\.jsonl, line 1"):
        Store.open(tmp_path / "cells.jsonl")


def cell(job="j", numbers=None, seed=1, commit="abc", size=10):
    return Cell("p", job, "s", size, seed, numbers or {}, "sig", commit, 0.1)


@pytest.mark.parametrize("kept", [1, 10, -1])
def test_a_line_that_a_killed_run_left_half_written_is_measured_again(tmp_path, kept):
    store = Store(tmp_path / "cells.jsonl")
    whole, torn = cell("whole"), cell("Graça", {"AER": 1.0})
    store.add(whole)
    with store.path.open("ab") as file:
        file.write(torn.line[:kept])
    resumed = Store.open(store.path)
    assert list(resumed.cells) == [whole.key]
    resumed.add(torn)
    assert store.path.read_bytes() == whole.line + torn.line
    assert list(Store.open(store.path).cells.values()) == [whole, torn]


def test_the_last_of_two_cells_counts_and_a_tidy_file_has_no_other(tmp_path):
    store = Store(tmp_path / "cells.jsonl")
    for one in (cell(commit="old"), cell("k"), cell(commit="new")):
        store.add(one)
    assert Store.open(store.path).cells[cell().key].commit == "new"
    store.tidy()
    assert store.path.read_bytes() == cell(commit="new").line + cell("k").line


def test_every_part_tells_the_commits_of_the_cells_it_is_made_of_and_of_no_others(tmp_path):
    store = Store(tmp_path / "cells.jsonl")
    store.add(cell("old", {"AER": 1.0}, commit="abc"))
    store.add(cell("new", {"AER": 2.0, "curve": [[0, 1.0]]}, commit="def, changed"))
    store.add(cell("new", {"AER": 2.0, "curve": [[0, 1.0]]}, seed=2, commit="123"))

    def parts():
        yield Table("one", ["AER"], [[store.mean("p", "old", "s", 10, "AER"), store.mean("p", "new", "s", 10, "P")]])
        yield Table("both", ["AER"], [[store.mean("p", job, "s", 10, "AER") for job in ("old", "new")]])
        yield Figure("curve", "x", "y", {"new": store.curve("p", "new", "s", 10, "curve")})
        yield Table("neither", ["AER"], [[store.mean("p", "new", "s", 20, "AER")]])

    store.mean("p", "new", "s", 10, "AER")  # before any of them
    section = Section.of("title", store, parts())
    assert [table.made_at for table in section.tables] == ["Commit abc.", "Commits 123, abc, def+changed.", ""]
    assert [figure.made_at for figure in section.figures] == ["Commit def+changed."]
    for made in (markdown([section], ""), page([section], "")):
        assert [made.count(words) for words in ("Commit abc.", "Commits 123", "Commit def+")] == [1, 1, 1]


def test_all_tables_of_the_committed_cells_tell_their_commits():
    store = Store.open(Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "papers" / "cells.jsonl")
    sections = [one for module in PAPERS.values() for one in module.sections(store, store.texts(module.PAPER))]
    parts = [part for section in sections for part in (*section.tables, *section.figures)]
    assert len(parts) > 49
    assert all(part.made_at.startswith("Commit") for part in parts)


def test_curves_are_in_the_csv_point_by_point(tmp_path):
    store = Store(tmp_path / "cells.jsonl")
    store.add(cell("j", {"AER": 1.5, "curve": [[2.0, 99.0], [4.0, 98.0]], "version": "p 1"}))
    store.add(cell("k", {"all links": [["union", 8.0, 70.0, 35.0]]}))
    rows = [row[5:8] for row in store.rows()]
    assert rows == [
        ["AER", "", 1.5],
        ["curve", 2.0, 99.0],
        ["curve", 4.0, 98.0],
        ["all links: edges", "union", 8.0],
        ["all links: right", "union", 70.0],
        ["all links: recall", "union", 35.0],
    ]


def test_a_figure_is_a_small_table_in_markdown():
    same = Figure("f", "pairs", "P", {"one": [[1000, 0.25], [10000, 70.0]], "two": [[10000, 80.0]], "none": []})
    assert points_of(same).head == ["pairs", "1,000", "10,000"]
    assert points_of(same).rows == [["one", "0.250", "70.0"], ["two", "–", "80.0"]]
    long = [[float(n), float(2 * n)] for n in range(60)]
    table = points_of(Figure("f", "recall", "P", {"one": long, "two": [[0.5, 7.0]]}))
    assert [row[0] for row in table.rows] == ["one: recall", "one: P", "two: recall", "two: P"]
    assert table.rows[0][1] == "0.0"
    assert table.rows[0][-1] == "59.0"
    assert table.rows[1][-1] == "118.0"
    assert {len(row) for row in [table.head, *table.rows]} == {MOST_POINTS + 1}
    bars = points_of(Figure("f", "", "AER", {}, bars={"here": [("HMM", 2.0), ("IBM4", 1.0)], "paper": [("IBM4", 3.0)]}))
    assert bars.head == ["AER", "HMM", "IBM4"]
    assert bars.rows == [["here", "2.0", "1.0"], ["paper", "–", "3.0"]]


def test_times_are_medians_over_seeds(tmp_path):
    store = Store(tmp_path / "cells.jsonl")
    for seed, value in ((1, 6.0), (2, 0.5), (3, 0.75)):
        store.add(cell(numbers={"CPU s": value}, seed=seed))
    assert store.median("p", "j", "s", 10, "CPU s") == 0.75
    assert store.median("p", "k", "s", 10, "CPU s") is None


def test_a_system_is_measured_again_where_its_cells_are_of_another_commit(data, tmp_path, monkeypatch):
    out, measured = tmp_path / "out", []

    def run(trial, seed):
        measured.append((trial.text.pairs, seed))
        return {"AER": 1.0, "signature": "sig"}

    jobs = [replace(job, run=run) for job in mermer.JOBS]
    monkeypatch.setattr(mermer, "JOBS", jobs)
    store = Store(out / "cells.jsonl")
    for job, size, commit in (("EM-5", 60, "old"), ("EM-5", 30, "old"), ("EM-5", 50, "new"), ("EM-80", 60, "old")):
        store.add(Cell(mermer.PAPER, job, "en-fr-small", size, 1, {}, "sig", commit, 0.1))
    monkeypatch.setattr(__main__, "working_tree", lambda: "new")
    asked = ["--data", str(data), "--out", str(out), "--threads", "1", "--again", "EM-5"]
    assert main([*asked, "--size", "60"]) == 0
    assert len(measured) == 1
    assert main(asked) == 0
    assert len(measured) == 2
    found = Store.open(store.path).cells
    assert {key[1::2]: one.commit for key, one in found.items()} == {
        ("EM-5", 60): "new",
        ("EM-5", 30): "new",
        ("EM-5", 50): "new",
        ("EM-80", 60): "old",
    }
    assert len(store.path.read_text("utf-8").splitlines()) == 4
    assert main(asked) == 0
    assert len(measured) == 2
    monkeypatch.setattr(__main__, "working_tree", lambda: "new, changed")  # nobody knows how
    assert main([*asked, "--size", "60"]) == main([*asked, "--size", "60"]) == 0
    assert len(measured) == 4


def test_systems_can_be_named_by_patterns(data, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(arguments(data, out, "--paper", "mermer", "--only", "EM-[58]*", "--skip", "EM-8?")) == 0
    assert [key[1] for key in Store.open(out / "cells.jsonl").cells] == ["EM-5"]
    assert main(arguments(data, out, "--again", "XM*")) == 2
    assert "no system 'XM*'" in capsys.readouterr().err


COMPILED = """
import sys
from pathlib import Path
import numpy as np
from numba.core.dispatcher import Dispatcher
sys.path.insert(0, sys.argv[1])
from papers import chang, zhao
from papers.trial import Trial, open_trial

found, timed, compile_ = [], [], Dispatcher.compile
def noted(self, signature):
    found.append(self.py_func.__name__)
    return compile_(self, signature)
def counted(function):
    def called(*arguments, **options):
        before = len(found)
        result = function(*arguments, **options)
        timed.extend(found[before:])
        return result
    return called
Dispatcher.compile = noted
fit = Trial.fit
with open_trial("en-fr-small", 60, Path(sys.argv[2]), 2, Path(sys.argv[2])) as trial:
    Trial.fit = counted(fit)
    for system in ("IBM1F", "HMMF-1", "HMMF-30, HMM start"):
        zhao.SYSTEMS[system][1](trial, 1)
    Trial.fit = fit  # no time is taken of what chang trains
    problems = list(chang.problems(trial, range(60, 63)))
draw = np.random.default_rng(2).normal
problems.append((draw(size=(4, 5, 5)), draw(size=(4, 5, 5))))  # which needs constraints
chang.warm(*chang.METHODS)
solve = counted(chang._solved)
results = [solve(problem, method) for problem in problems for method in chang.METHODS]
assert len(found) > 20
assert max(constraints for _, _, constraints in results) > 0
print(*timed)
"""


def test_no_kernel_is_compiled_or_loaded_while_time_is_taken(data):
    """In a process of its own, which has none of them yet."""
    benchmarks = Path(__file__).resolve().parents[1] / "benchmarks"
    command = [sys.executable, "-c", COMPILED, str(benchmarks), str(data)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_the_baseline_of_constraints_is_the_hmm_that_learns_from_short_pairs(data):
    recipe, options = graca.SYSTEMS[graca.BASELINE]
    with open_trial("en-fr-small", 60, data, 1, data / "peers") as trial:
        plain = trial.by_direction(trial.fit("hmm", 1, hmm_iterations=4), threshold=0.5)
        assert trial.by_direction(trial.fit(recipe, 1, **options, longest_pair=1000), threshold=0.5) == plain
        assert trial.by_direction(trial.fit(recipe, 1, **options, longest_pair=10), threshold=0.5) != plain
        assert trial.fit(recipe, 1, **options).recipe.options["longest_pair"] == 40


def test_a_peer_whose_scores_are_known_is_not_run_for_them(data, tmp_path):
    recall = {"forward R": 40.0, "reverse R": 40.0}
    store = Store(tmp_path / "cells.jsonl")
    store.add(Cell(graca.PAPER, "IBM4", "en-fr-small", 60, 1, recall, "sig", "abc", 0.1))
    options = ["--set", "en-fr-small", "--size", "60", "--paper", "graca", "--only", "hmm", "--threads", "1"]
    assert main([*options, "--data", str(data), "--out", str(tmp_path)]) == 0
    assert not (tmp_path / "peers").exists()
    assert Store.open(store.path).mean(graca.PAPER, "hmm", "en-fr-small", 60, "forward P at R") is not None


def test_no_step_of_ibm1f_is_as_printed():
    """A row that claims to change something must."""
    printed = paper_recipes["zhao2010-ibm1f"].options
    for changes in zhao.STEPS.values():
        assert all(printed[name] != value for name, value in changes.items())


def test_seeds_are_averaged(tmp_path):
    store = Store(tmp_path / "cells.jsonl")
    for seed, value in ((1, 2.0), (2, 4.0)):
        store.add(Cell("p", "j", "s", 10, seed, {"AER": value}, "sig", "abc", 0.1))
    assert Store.open(store.path).mean("p", "j", "s", 10, "AER") == 3.0
    assert store.mean("p", "j", "s", 20, "AER") is None


def test_an_unknown_set_is_named(tmp_path, capsys):
    assert main(["--set", "nowhere", "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "no set 'nowhere'" in said
    assert "--source" not in said  # which is an option of peers.py


def test_what_papers_printed_belongs_to_a_system_that_is_run():
    for module in PAPERS.values():
        names = [job.name for job in module.JOBS]
        assert len(set(names)) == len(names)
        assert len({job.paper for job in module.JOBS}) == 1
    assert set(zhao.PRINTED) <= set(zhao.SYSTEMS)
    assert {name for table in mermer.PRINTED.values() for name in table} <= set(mermer.SYSTEMS)
    assert {*graca.PRINTED_ONE_TO_ONE, *graca.PRINTED_SYMMETRY} <= set(graca.SYSTEMS)
    assert all(len(row) == 6 for row in chang.PRINTED_2.values())
    assert set(quirk.PRINTED) == {"HMM", "FHMM Viterbi", "FHMM dual decomposition"}


def test_sections_can_be_shown_before_anything_is_measured(tmp_path):
    store = Store(tmp_path / "cells.jsonl")
    for module in PAPERS.values():
        sections = module.sections(store, [("a-b-c", 10), ("a-b-c", 20)])
        assert all(len(row) == len(table.head) for one in sections for table in one.tables for row in table.rows)
        assert "–" in markdown(sections, "")


def test_figures_are_drawings_in_the_page_and_the_same_bytes_again():
    figure = Figure("f", "x", "y", {"one": [[0, 1], [1, 2]], "none": []})
    svg = drawn(figure)
    assert svg == drawn(figure)
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    text = page([Section("<s>", [Table("t", ["a", "b"], [["<x>", 1.25]], 1)], [figure])], "about")
    assert "&lt;s&gt;" in text
    assert "&lt;x&gt;" in text
    assert "<td class=paper>1.2</td>" in text
    assert svg in text
    assert "http://" not in text.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    )


def test_bars_stand_side_by_side_in_groups():
    svg = drawn(Figure("f", "", "AER", {}, bars={"here": [("HMM", 2.0), ("IBM4", 1.0)], "paper": [("IBM4", 3.0)]}))
    assert svg == drawn(
        Figure("f", "", "AER", {}, bars={"here": [("HMM", 2.0), ("IBM4", 1.0)], "paper": [("IBM4", 3.0)]})
    )
    for word in ("HMM", "IBM4", "here", "paper"):
        assert f">{word}</text>" in svg


def test_a_claim_is_the_same_difference_here_and_in_the_paper(tmp_path):
    store = Store(tmp_path / "cells.jsonl")
    assert claims.tables(store) == []
    for job, forward, reverse in (("HMM", 30.0, 20.0), ("HMMF-30", 27.0, 19.0)):
        numbers = {"forward AER": forward, "reverse AER": reverse}
        store.add(Cell(zhao.PAPER, job, "a-b-c", 10, 1, numbers, "sig", "abc", 0.1))
    (table,) = claims.tables(store)
    assert table.head == ["claim", "a-b-c:10", "paper"]
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["HMMF-30 lowers the HMM's AER by"] == [2.0, pytest.approx((39.0 + 35.9 - 34.9 - 33.2) / 2)]
    assert rows["HMMF-1 lowers the HMM's AER by"][0] is None


def test_what_rare_words_lose_is_told_as_a_loss_of_both_directions(tmp_path):
    store = Store(tmp_path / "cells.jsonl")
    for job, forward, reverse in (("HMM", 70.0, 60.0), ("graca2010-bijective", 50.0, 58.0)):
        numbers = {"forward rare R": forward, "reverse rare R": reverse}
        store.add(Cell(graca.PAPER, job, "a-b-c", 10, 1, numbers, "sig", "abc", 0.1))
    (table,) = claims.tables(store)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["`graca2010-bijective` loses recall of rare words (paper: a slight drop)"] == [11.0, None]


def test_claims_name_numbers_that_jobs_measure():
    """A number that no job has would be a dash for ever."""
    asked = []

    class Spy(Store):
        def mean(self, paper, job, set_, size, number):
            asked.append((paper, job))
            return 1.0

    for made in claims.CLAIMS.values():
        for claim in made():
            claim.value(Spy(Path("nowhere")), ("a-b-c", 10))
    known = {(job.paper, job.name) for module in PAPERS.values() for job in module.JOBS}
    assert set(asked) <= known
    assert {paper for paper, _ in asked} == set(claims.CLAIMS)


def test_the_integer_program_has_a_row_of_its_own(data, tmp_path):
    pytest.importorskip("highspy")
    with open_trial("en-fr-small", 60, data, 1, data / "peers") as trial:
        numbers = chang._integer(trial, 1)
    assert numbers["integer all cert"] == numbers["integer 1-20 cert"] == 100.0
    assert numbers["integer all exact"] == 100.0


def test_proofs_do_not_depend_on_the_speed_of_the_machine(data, monkeypatch):
    """A limit of seconds, once passed to every method, had left the paper's own with fewer proofs than it can have."""

    def without_times():
        with open_trial("en-fr-small", 60, data, 1, data / "peers") as trial:
            numbers = chang._certificates(trial, 1) | chang._accuracy(trial, 1)
        return {name: value for name, value in numbers.items() if not name.endswith("seconds")}

    at_leisure = without_times()
    hours = itertools.count(step=3600.0)
    monkeypatch.setattr(bidirectional_problem, "time", SimpleNamespace(monotonic=lambda: next(hours)))
    assert without_times() == at_leisure


def test_em_and_the_bayesian_model_break_ties_alike():
    for systems in (bayes.TABLES, {name: one for name, one in bayes.STARTS.items() if "ties" not in name}):
        found = {bayes.find_recipe(recipe).with_options(options).decoder for recipe, options in systems.values()}
        assert found == {"mode"}
    assert "mermer2011" in {recipe for recipe, _ in bayes.TABLES.values()}


def test_what_is_missing_is_said(tmp_path):
    store = Store(tmp_path / "cells.jsonl")
    for job in mermer.JOBS:
        if job.name != "EM-80":
            store.add(Cell(mermer.PAPER, job.name, "a-b-c", 10, 1, {}, "sig", "abc", 0.1))
    (section,) = missing(store, ["a-b-c"], [10])
    (table,) = section.tables
    said = {row[1]: row[2] for row in table.rows}
    assert said[zhao.PAPER] == "all"
    assert said[mermer.PAPER].startswith("EM-80, GS-N (1 of 3 seeds), ")


def test_headlines_name_the_best_of_the_papers_systems():
    def measured(name, cpu, **outputs):
        errors = {output: {"aer": [aer]} for output, aer in outputs.items()}
        return {"name": name, "median": {"cpu": cpu}, "best": "own", "outputs": errors}

    def task(*aligners):
        return [{"name": "a-b-c", "train_pairs": 10, "aligners": aligners}]

    peers = task(measured("dovetail default", 1.0, own=0.05), measured("eflomal", 9.0, own=0.1))
    systems = task(
        measured("dovetail zhao2010-hmmf", 3.0, own=0.1, reverse=0.08), measured("dovetail mermer2011", 2.0, own=0.085)
    )
    line = "| a-b-c, 10 pairs | 5.0 (1.0) | 10.0 (9.0) | – | {} |"
    assert headlines.headlines(peers, systems).splitlines()[-1] == line.format("8.0 (3.0, `zhao2010-hmmf`)")
    assert headlines.headlines(peers, []).splitlines()[-1] == line.format("–")
    assert set(headlines.SYSTEMS) < set(paper_recipes)


def test_names_between_backquotes_are_code_and_lines_beyond_ten_are_dashed():
    table = Table("`hmm` & more", ["system"], [["`a<b`"]])
    lines = {f"line {n}": [(0.0, float(n)), (1.0, float(n))] for n in range(12)}
    made = page([Section("tables", [table], [Figure("many", "x", "y", lines)])], "by `this`")
    assert "<code>hmm</code> &amp; more" in made
    assert "<code>a&lt;b</code>" in made
    assert "by <code>this</code>" in made
    assert made.count("stroke-dasharray") >= 2
