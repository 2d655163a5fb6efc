"""The model of costs: what it plays through can be computed by hand where nothing is left to chance."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from cost_model import ITERATIONS, Cluster, Figures, makespan, simulate  # noqa: E402

STEADY = Cluster(4, cores=8, threads=4, spread=0.0, slow=0.0, days_between_failures=1e9)
FIGURES = Figures(
    500.0, 1e-6, 1e-5, 5e-5, 1e-6, 5e-5, 60.0, 600.0, 2.0, 0.01, 2000.0, 600.0, 300.0, [1000, 4000], [10, 20]
)


@pytest.mark.parametrize("tasks", [1, 8, 9, 80])
def test_without_chance_workers_take_equal_shares(tasks):
    assert makespan(tasks, 3.0, STEADY, np.random.default_rng(0)) == (3.0 * -(-tasks // STEADY.workers), 0)


def test_a_slow_machine_gets_less_to_do():
    slow = replace(STEADY, slow=0.5)
    took, _ = makespan(800, 3.0, slow, np.random.default_rng(1))
    assert 300.0 < took < 600.0  # all machines fast, all slow


def test_failures_cost_time_and_are_counted():
    failing = replace(STEADY, days_between_failures=0.01)
    took, failures = makespan(800, 3.0, failing, np.random.default_rng(1))
    assert failures > 0
    assert took > makespan(800, 3.0, STEADY, np.random.default_rng(1))[0]


def test_models_grow_as_the_measured_sizes_do():
    assert FIGURES.model(16_000) == pytest.approx(40.0)  # four times the pairs, twice the bytes


def test_more_machines_are_faster_where_they_share_the_work_and_move_more_bytes():
    one, many = (simulate(FIGURES, 100_000_000, Cluster(machines)) for machines in (1, 32))
    assert many.seconds["E-steps"] < one.seconds["E-steps"] / 10
    assert many.seconds["reading"] == one.seconds["reading"]
    assert sum(many.moved.values()) > sum(one.moved.values())
    assert many.ideal <= many.total
    assert one.bottleneck == "E-steps"
    assert one.moved["shards"] == ITERATIONS * 100_000_000 * FIGURES.shard_bytes


@pytest.mark.slow
def test_it_measures_and_writes_a_table(tmp_path):
    data = files("dovetail") / "data"
    command = [sys.executable, str(BENCHMARKS / "cost_model.py"), "--figures", str(tmp_path / "figures.json")]
    measured = ["--measure", str(data / "demo.en"), str(data / "demo.fr"), "--pairs", "300", "--pairs", "600"]
    subprocess.run([*command, *measured, "--shard-cells", "2000"], check=True, capture_output=True)
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["model_pairs"] == [300, 600]
    assert all(np.min(figures[name]) > 0 for name in figures if name.endswith(("seconds", "bytes", "cells")))
    table = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert table.count("million |") == 12
