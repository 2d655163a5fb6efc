"""The three tables of the fertility benchmark, on a text of a few words."""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import fertility


@pytest.fixture
def data(tmp_path):
    """A set `aa-bb`: word for word, 40 pairs to train on and 12 to test."""
    generator = np.random.default_rng(1)
    folder = tmp_path / "aa-bb"
    folder.mkdir()
    lines = [generator.integers(0, 9, generator.integers(5, 9)) for _ in range(52)]
    for letter in "ab":
        text = ["".join(f"{letter}{word} " for word in line).strip() for line in lines]
        (folder / f"train.{letter * 2}.xz").write_bytes(lzma.compress("\n".join(text[:40]).encode()))
        (folder / f"test.{letter * 2}").write_text("\n".join(text[40:]) + "\n", encoding="utf-8")
    gold = [" ".join(f"{i}-{i}" for i in range(len(line))) for line in lines[40:]]
    (folder / "test.gold").write_text("\n".join(gold) + "\n", encoding="utf-8")
    return tmp_path


def rows(lines):
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert {len(row) for row in table} == {len(table[0])}
    return [dict(zip(table[0], row, strict=True)) for row in table[2:]]


def test_accuracy_has_a_row_a_system_and_a_number_a_direction(data):
    systems = ["HMM", "HMM + Poisson, 1 sample"]
    found = rows(fertility.accuracy(["aa-bb"], data, systems, ["viterbi", "exact"]))
    assert [row["system"] for row in found] == systems
    assert found[0]["exact forward"] == ""
    assert all(0 <= float(found[1][f"{decoder} reverse"]) <= 100 for decoder in ("viterbi", "exact"))


def test_speed_compares_every_number_of_samples_with_the_hmm(data):
    found = rows(fertility.speed(["aa-bb"], data, 1))
    assert [row["system"] for row in found][:3] == ["HMM", "1 sample, hard counts", "5 samples, hard counts"]
    assert len(found) == 7
    assert all(float(row["text to links, CPU s"]) >= 0 for row in found)  # so little text may round to nothing


def test_certificates_cover_both_directions_and_every_length_there_is(data):
    folder = data / "aa-bb"
    for letter in "ab":  # one training pair of 70 words
        path = folder / f"train.{letter * 2}.xz"
        long = "".join(f"{letter}{n % 9} " for n in range(70)).strip()
        path.write_bytes(lzma.compress((lzma.decompress(path.read_bytes()).decode() + "\n" + long).encode()))
    found = rows(fertility.certificates(["aa-bb"], data, 15, ["poisson"]))
    assert {(row["direction"], row["words"], row["sentences"]) for row in found} == {
        (direction, *row) for direction in ("forward", "reverse") for row in (("1-20", "15"), ("61-100", "1"))
    }
    assert all(row["certified %"] == "100.0" for row in found)
