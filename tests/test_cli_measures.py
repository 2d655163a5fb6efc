"""`dovetail curve` and `dovetail describe`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dovetail.cli import dovetail


def run(*arguments):
    result = CliRunner().invoke(dovetail, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def files(tmp_path):
    texts = {
        "source": "the house\nthe old house\n",
        "target": "la maison\nla vieille maison\n",
        "links": "0-0:0.9 1-1:0.8\n0-0:0.9 1-1:0.6 1-2:0.3 2-2:0.7\n",
        "reverse": "0-0 1-1\n0-0 1-1\n",
        "gold": "0-0 1-1\n0-0 1-1 2-2\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
    return {name: tmp_path / name for name in texts}


def test_the_curve_of_candidates_that_rank_right_above_wrong_has_area_one(files):
    found = json.loads(run("curve", files["links"], files["gold"], "--json"))
    assert found["area"] == pytest.approx(1.0)
    assert 0.3 < found["best_threshold"] < 0.6
    assert found["precision_at"]["0.9"] == 1.0
    assert found["reliability"]["cells"][3] == 1
    assert "best threshold for aer" in run("curve", files["links"], files["gold"], "--at", "0.5")


def test_describe_counts_what_a_person_would_count(files):
    found = json.loads(
        run(
            "describe",
            files["source"],
            files["target"],
            "--links",
            files["links"],
            "--reverse",
            files["reverse"],
            "--gold",
            files["gold"],
            "--rare",
            "1",
            "--json",
        )
    )
    assert found["links"] == 6
    assert found["one_to_one"] == pytest.approx(3 / 6)
    assert found["fertility"]["histogram"] == [0, 4, 1]
    assert found["symmetry"] == pytest.approx(4 / 6)
    assert found["dictionary"] == 4
    assert found["rare"]["precision"] == pytest.approx(1 / 2)
    assert found["common"]["precision"] == 1.0
    assert "one-to-one" in run("describe", files["source"], files["target"], "--links", files["links"])
