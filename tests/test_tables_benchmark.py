"""`make tables`: pages are filled from what the runs wrote, and nothing of this commit is run twice."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import headlines
import tables
from dovetail.errors import InputError

ROOT = Path(__file__).resolve().parents[1]


def report(name, commit="abc"):
    """What peers.py says of one set, where every aligner has the same error but for eflomal."""
    plan, (text, _, pairs) = tables.PLANS[name], tables.PLANS[name].sets[0].partition(":")
    aligners = []
    for aligner in [*plan.peers, *(f"dovetail {recipe}" for recipe in plan.recipes)]:
        aer, cost = 0.2 if aligner == "eflomal" else 0.1, {"cpu": 2.0, "wall": 1.0, "peak_memory": 1}
        outputs = {"own" if aligner.startswith("dovetail") else "forward": {"aer": [aer]}}
        facts = {"version": f"{aligner} 1.0", "median": cost, "best": next(iter(outputs)), "outputs": outputs}
        aligners.append({"name": aligner, "failure": None, **facts})
    task = {"name": text, "train_pairs": int(pairs or 5), "aligners": aligners}
    machine = {"cpu": "one", "cores": 2, "system": "Linux", "python": "3"}
    return {"machine": machine, "commit": commit, "threads": 1, "repeat": 1, "tasks": [task]}


@pytest.fixture
def place(tmp_path):
    """A copy of the pages, and a folder of finished runs."""
    (tmp_path / "work").mkdir()
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    (tmp_path / "benchmarks" / "images").mkdir()
    for page in ("README.md", "benchmarks/RESULTS.md"):
        (tmp_path / page).write_text((ROOT / page).read_text("utf-8"), "utf-8")
    for name, plan in tables.PLANS.items():
        for n, text in enumerate(plan.sets):
            (tmp_path / "work" / f"{name}-{n}.json").write_text(json.dumps(report(name)), "utf-8")
            page = f"# Peers\n\nmachine\n\nText to links.\n\n- eflomal: a peer\n\n## {text}\n\ntables of {name}\n"
            (tmp_path / "work" / f"{name}-{n}.md").write_text(page, "utf-8")
    return tmp_path


def test_pages_are_filled_between_their_marks_and_the_rest_stays(place):
    pytest.importorskip("matplotlib", reason="needs the extra plot")
    tables.fill_pages(place / "work", place)
    for page in ("README.md", "benchmarks/RESULTS.md"):
        before, after = (ROOT / page).read_text("utf-8"), (place / page).read_text("utf-8")
        assert before.count("<!-- ") == after.count("<!-- ")
        assert "ommit abc" in after
        first, last = before.partition("\n<!-- ")[0], before.rpartition(tables.END)[2]
        assert after.startswith(first)
        assert after.endswith(last)
    results = (place / "benchmarks" / "RESULTS.md").read_text("utf-8")
    assert "| mean |  |  |  | **50%** | **1.00** |" in results  # eflomal's error halved at its cost
    assert "(2.0, `graca2010-bijective`)" in (place / "README.md").read_text("utf-8")
    peers = (place / "benchmarks" / "results" / "peers.md").read_text("utf-8")
    for name in tables.DETAILS:
        assert f"tables of {name}" in peers
        assert all(f"--set {text}" in " ".join(peers.replace(" \\\n", " ").split()) for text in tables.PLANS[name].sets)
    assert "tables of headline" not in peers
    assert (place / "benchmarks" / "images" / "en-fr-hansards-1000-pairs.svg").exists()
    again = results
    tables.fill_pages(place / "work", place)
    assert (place / "benchmarks" / "RESULTS.md").read_text("utf-8") == again


def test_some_plans_fill_what_is_made_of_them_and_nothing_else(place):
    before = (place / "benchmarks" / "RESULTS.md").read_text("utf-8")
    tables.fill_pages(place / "work", place, ["headline", "papers"])
    after = (place / "benchmarks" / "RESULTS.md").read_text("utf-8")
    assert "ommit abc" in (place / "README.md").read_text("utf-8")
    assert "ommit abc" in after.partition("<!-- large -->")[0]
    assert after.partition("<!-- large -->")[2] == before.partition("<!-- large -->")[2]
    assert not (place / "benchmarks" / "results" / "peers.md").exists()


def test_all_that_the_headlines_are_made_of_is_kept_beside_them(place, capsys, monkeypatch):
    tables.fill_pages(place / "work", place, ["headline", "papers"])
    kept = place / tables.HEADLINE
    every = json.loads(kept.read_text("utf-8"))
    wanted = {"tasks": tables.PLANS["headline"], "papers": tables.PLANS["papers"]}
    for tasks, plan in ((every["tasks"], wanted["tasks"]), (every["papers"]["tasks"], wanted["papers"])):
        assert len(tasks) == len(plan.sets)
        names = [*plan.peers, *(f"dovetail {recipe}" for recipe in plan.recipes)]
        assert all([aligner["name"] for aligner in task["aligners"]] == names for task in tasks)
    monkeypatch.setattr(sys, "argv", ["headlines.py", str(kept)])
    headlines.main()
    assert capsys.readouterr().out.strip() in (place / "README.md").read_text("utf-8")


@pytest.mark.parametrize(("again", "stays"), [("headline", "papers"), ("papers", "headline")])
def test_what_was_not_run_again_keeps_its_commit(place, again, stays):
    tables.fill_pages(place / "work", place, ["headline", "papers"])
    for n in range(len(tables.PLANS[again].sets)):
        (place / "work" / f"{again}-{n}.json").write_text(json.dumps(report(again, "later")), "utf-8")
    tables.fill_pages(place / "work", place, [again])
    every = json.loads((place / tables.HEADLINE).read_text("utf-8"))
    commits = {"headline": every["commit"], "papers": every["papers"]["commit"]}
    assert commits == {again: "later", stays: "abc"}
    assert len(every["tasks"]) == len(every["papers"]["tasks"]) == 4


def test_runs_that_lack_the_papers_systems_are_told_of(tmp_path, capsys, monkeypatch):
    (tmp_path / "peers.json").write_text(json.dumps(report("headline")), "utf-8")
    monkeypatch.setattr(sys, "argv", ["headlines.py", str(tmp_path / "peers.json")])
    with pytest.raises(SystemExit, match="2"):
        headlines.main()
    assert "has no runs of the papers' systems" in capsys.readouterr().err


def test_a_page_without_a_place_for_a_table_is_named(tmp_path):
    (tmp_path / "page.md").write_text("nothing\n", "utf-8")
    with pytest.raises(InputError, match="no place for 'small'"):
        tables.put(tmp_path / "page.md", {"small": "x"})


def test_only_what_another_commit_or_nobody_has_run_is_run(place, monkeypatch):
    (place / "work" / "recipes-1.json").unlink()
    (place / "work" / "whole-0.json").write_text(json.dumps(report("whole", "before")), "utf-8")
    asked = []
    monkeypatch.setattr(tables, "working_tree", lambda: "abc")
    monkeypatch.setattr(tables, "side_by_side", lambda function, tasks, at_once: asked.extend(tasks) or 3)
    assert tables.main(["--work", str(place / "work")]) == 3
    assert sorted(task[:2] for task in asked) == [("recipes", 1), ("whole", 0)]
