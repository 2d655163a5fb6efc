"""Models that a stranger altered: a share of what `make fuzz` tries, and everything that went wrong once."""

from __future__ import annotations

import os

import pytest

import fuzz
from dovetail import Aligner, Bitext, InputError
from dovetail.recipes import recipes


@pytest.mark.slow
def test_altered_models_of_every_recipe_are_refused_or_harmless():
    counted, failed = fuzz.run([*recipes, *fuzz.VARIANTS], seed=0, number=12)
    assert failed == []
    assert min(counted["refused"], counted["harmless"]) > 10  # else it tries nothing of interest


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return fuzz.bases(tmp_path_factory.mktemp("bases"))


NOT_YET_SAVED = {"null_counts", "empty_words"}  # which models of earlier versions do not have


@pytest.mark.parametrize("name", [*recipes, *fuzz.VARIANTS])
def test_no_array_goes_unchecked(name, models, tmp_path):
    for array, values in fuzz.read(models[name]).arrays.items():
        changes = [{"do": "length", "axis": axis, "to": size + 1} for axis, size in enumerate(values.shape)]
        changes += [{"do": "type", "to": "float16"}]
        if array not in NOT_YET_SAVED:
            changes += [{"do": "drop"}]
        if values.dtype.kind == "f":
            changes += [{"do": "value", "at": values.size - 1, "to": to} for to in (float("nan"), float("inf"))]
        for change in changes:
            parts = fuzz.read(models[name])
            fuzz.apply(parts, {**change, "array": array})
            fuzz.write(parts, tmp_path / "model", [])
            with pytest.raises(InputError, match="the model is damaged"):
                Aligner.load(tmp_path / "model", threads=1)


def test_what_went_wrong_once_does_not_again():
    counted, failed = fuzz.run([], 0, 0, replay=fuzz.CORPUS)
    assert failed == []
    assert counted.total() > 20


def test_the_fuzzer_notices_a_crash_and_goes_on(tmp_path):
    fuzz.bases(tmp_path)
    worker = fuzz.Worker(tmp_path)
    harmless = {"recipe": "ibm1", "changes": []}
    assert worker(harmless) == "harmless"
    worker.process.kill()
    assert worker(harmless) == "killed by SIGKILL"
    assert worker(harmless) == "harmless"
    worker.close()


@pytest.fixture
def place(tmp_path):
    Aligner("ibm1", threads=1).fit(Bitext.from_pairs([(["a", "b"], ["x"])])).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("name", ["model.json", "parameters.safetensors", "source.json"])
def test_pipes_and_links_out_of_the_folder_are_refused(place, name):
    file = place / name
    content = file.read_bytes()
    (place.parent / "elsewhere").write_bytes(content)
    file.unlink()
    file.symlink_to(place.parent / "elsewhere")
    with pytest.raises(InputError, match=f"{name}: is a link out of the model's directory"):
        Aligner.load(place)
    file.unlink()
    if hasattr(os, "mkfifo"):
        os.mkfifo(file)
        with pytest.raises(InputError, match=f"{name}: is not a regular file"):
            Aligner.load(place)  # and does not wait for somebody to write
        file.unlink()
    (place / "inside").write_bytes(content)  # a link within the folder is as good as a file
    file.symlink_to("inside")
    Aligner.load(place)


def test_a_folder_of_a_model_may_itself_be_a_link(place):
    (place.parent / "link").symlink_to(place)
    Aligner.load(place.parent / "link")
