"""The benchmark of learning: what was measured is kept, and is not measured again."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import learning

OUTCOME = {"before": 0.2, "validated": -0.1, "learned": True, "calibration": 0.01, "seconds": 1.0, "aligning": 1.5}


@pytest.fixture
def measured(monkeypatch):
    """Draws that were measured, each with another outcome."""
    made = []

    def measure(models, teach, mask, scored):
        made.append(mask)
        return learning.Outcome(after=0.2 - 0.01 * len(made), **OUTCOME)

    monkeypatch.setattr(learning.Outcome, "of", measure)
    return made


def kept_after(path: Path, draws: int, measured) -> learning.Kept:
    kept = learning.Kept(path)
    for number in range(draws):
        kept.outcome(learning.Draw("ja-en", "dev, test", 20, number), None, None, np.ones(1, bool), None)
    return kept


def test_what_is_finished_is_not_measured_again(tmp_path, measured):
    kept_after(tmp_path / "kept.jsonl", 2, measured)
    kept = kept_after(tmp_path / "kept.jsonl", 3, measured)
    assert len(measured) == 3
    ((row, outcomes),) = kept.rows()
    assert row == ("ja-en", "dev, test", 20, 3)
    assert [outcome.after for outcome in outcomes] == pytest.approx([0.19, 0.18, 0.17])
    assert learning.summary(outcomes)[:4] == ["20.00", "18.00", "-10.0", "-5.0"]


def test_what_other_code_has_measured_is_measured_again(tmp_path, measured, monkeypatch, capsys):
    kept_after(tmp_path / "kept.jsonl", 2, measured)
    monkeypatch.setattr(learning, "digest_of_code", lambda: "another")
    kept = kept_after(tmp_path / "kept.jsonl", 1, measured)
    assert len(measured) == 3
    assert "2 outcomes are of other code" in capsys.readouterr().err
    ((row, outcomes),) = kept.rows()
    assert row == ("ja-en", "dev, test", 20, 1)
    assert [outcome.after for outcome in outcomes] == pytest.approx([0.17])


def test_the_digest_is_of_all_code_that_learns(monkeypatch):
    """Each pattern finds something: a file that was moved elsewhere would be watched no more."""
    before = learning.digest_of_code()
    for pattern in learning.LEARNING:
        monkeypatch.setattr(learning, "LEARNING", tuple(other for other in learning.LEARNING if other != pattern))
        assert learning.digest_of_code() != before
        monkeypatch.undo()


def test_curves_are_drawn_of_what_is_kept(tmp_path, measured):
    pytest.importorskip("matplotlib")
    kept = kept_after(tmp_path / "kept.jsonl", 2, measured)
    for name in ("one.svg", "two.svg"):
        learning.draw_curves(kept, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert b"ja-en" in (tmp_path / "one.svg").read_bytes()
