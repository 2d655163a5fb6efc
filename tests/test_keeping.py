"""A training that is killed at any moment goes on to the same bytes."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import same_bytes
from dovetail import Aligner, Dictionary, InputError, Limit, PairConstraint
from dovetail.bitext import shards
from dovetail.bitext.shards import Slots
from dovetail.bitext.source import TextSource
from dovetail.bitext.store import Folder
from dovetail.models.tree import kept, taken
from dovetail.recipes import find_recipe
from dovetail.training import bayes
from dovetail.training.train import trainings
from folders import contents
from test_sharding import cut_into

SOME = {"sample": 4000}
RESUMED = [
    ("ibm1", {}),
    ("hmm", {}),
    ("hmm-agreement", {}),
    ("hmm-symmetric", {"hmm_iterations": 5}),
    ("hmm-fertility", {"samples": 2}),
    ("hmm-fertility-hard", {"samples": 2, "fertility_iterations": 2}),
    ("zhao2010-hmm", {}),
    ("zhao2010-ibm1f", {"samples": 1, "restarts": 1, "decoding_samples": 1, "decoding_restarts": 1}),
    ("zhao2010-hmmf", {"samples": 1, "decoding_samples": 1, "decoding_restarts": 1, "chain_start": "hmm"}),
    ("graca2010-symmetric", {"hmm_iterations": 5, "longest_pair": 14}),
    ("ibm1-bayes", {"chains": 1, "burn_in": 13, "samples": 3, "lag": 2}),
    ("mermer2011", {"burn_in": 5, "samples": 5, "lag": 2}),
    ("hmm-bayes", {"chains": 1, "ibm1_sweeps": 3, "hmm_sweeps": 5, "burn_in": 6, "samples": 5, "adapt_sweeps": False}),
    ("joint", {}),
    ("joint-best", SOME),
    ("joint", SOME),
]

KILLS = int(os.environ.get("DOVETAIL_KILLS", "3"))  # `make kills` has more


class Killed(Exception):
    pass


@pytest.fixture(scope="module")
def demo():
    return same_bytes.demo().part(0, 300)


@pytest.fixture(params=["one shard", "many shards"])
def cut(request, monkeypatch):
    monkeypatch.setattr(bayes, "KEPT_SECONDS", 0.0)
    monkeypatch.setattr(shards, "BLOCK_CELLS", 4000)
    if request.param == "many shards":
        cut_into(monkeypatch, 9000)


def bytes_of(aligner: Aligner, folder: Path) -> dict[str, bytes]:
    aligner.save(folder)
    return contents(folder)


def killed_after(reports: int):
    """A callback that raises at its so-manieth call."""

    def progress(now) -> None:
        nonlocal reports
        reports -= 1
        if reports < 0:
            raise Killed

    return progress


@pytest.mark.parametrize(("recipe", "options"), RESUMED)
@pytest.mark.usefixtures("cut")
def test_a_training_that_is_stopped_again_and_again_ends_with_the_same_bytes(recipe, options, demo, tmp_path):
    whole = Aligner(recipe, seed=1, threads=2, **options).fit(demo)
    generator, stops = random.Random(recipe), 0
    for _attempt in range(100):
        resumed = Aligner(recipe, seed=1, threads=2, **options)
        try:
            # At least one iteration's reports, else it would never end.
            resumed.fit(demo, killed_after(generator.randrange(20, 60)), work=tmp_path / "work")
        except Killed:
            stops += 1
        else:
            break
    assert stops > 1
    assert bytes_of(resumed, tmp_path / "resumed") == bytes_of(whole, tmp_path / "whole")
    assert [stage for stage, _ in resumed.history] == [stage for stage, _ in whole.history]
    np.testing.assert_array_equal([value for _, value in resumed.history], [value for _, value in whole.history])


@pytest.mark.parametrize("recipe", ["ibm1-bayes", "mermer2011"])
def test_a_later_chain_goes_on(recipe, demo, tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "BLOCK_CELLS", 4000)
    cut_into(monkeypatch, 9000)
    options = {"seed": 1, "threads": 2, "chains": 2, "annealing": False, "burn_in": 3, "samples": 2, "lag": 1}
    stages = set()

    def in_the_second_chain(now) -> None:
        stages.add(now.stage)
        if "samples" in stages and now.stage == "burn-in" and now.iteration == 2:
            raise Killed

    whole, resumed = Aligner(recipe, **options).fit(demo), Aligner(recipe, **options)
    with pytest.raises(Killed):
        resumed.fit(demo, in_the_second_chain, work=tmp_path / "work")
    resumed.fit(demo, work=tmp_path / "work")
    assert bytes_of(resumed, tmp_path / "resumed") == bytes_of(whole, tmp_path / "whole")


@pytest.mark.usefixtures("cut")
def test_a_training_from_files_goes_on(demo, tmp_path):
    for suffix, side in (("en", 0), ("fr", 1)):
        lines = (" ".join(demo.tokens(n)[side]) + "\n" for n in range(len(demo)))
        (tmp_path / f"x.{suffix}").write_text("".join(lines), "utf-8")
    text, options = TextSource(tmp_path / "x.en", tmp_path / "x.fr"), {"seed": 1, "threads": 2, **SOME}
    whole, resumed = Aligner("best", **options).fit(text), Aligner("best", **options)
    for _ in range(2):
        with pytest.raises(Killed):
            resumed.fit(text, killed_after(60), work=tmp_path / "work")
    resumed.fit(text, work=tmp_path / "work")
    assert bytes_of(resumed, tmp_path / "resumed") == bytes_of(whole, tmp_path / "whole")


class NoFirst(PairConstraint):
    """Somebody's own, which no file of ours can keep."""

    name = "no-first"

    def limits(self, source, target):
        yield Limit({(0, 0): 1.0}, at_most=0.2)


@pytest.mark.usefixtures("cut")
def test_a_training_under_somebodys_own_constraint_goes_on(demo, tmp_path):
    own, options = [NoFirst()], {"seed": 1, "threads": 2, "hmm_iterations": 4}
    whole = Aligner("hmm-constrained", **options).fit(demo, constraints=own)
    resumed = Aligner("hmm-constrained", **options)
    with pytest.raises(Killed):
        resumed.fit(demo, killed_after(70), constraints=own, work=tmp_path / "work")
    assert list((tmp_path / "work" / "training").glob("stage-1*"))  # in the midst of what is constrained
    resumed.fit(demo, constraints=own, work=tmp_path / "work")
    assert same_bytes.hashes(resumed.align(demo)) == same_bytes.hashes(whole.align(demo))


KILLED_RUN = """
import sys
import dovetail.fitting, same_bytes
from dovetail.bitext import shards
shards.BLOCK_CELLS = 4000
dovetail.fitting.WHOLE_CELLS = dovetail.fitting.SHARD_CELLS = 9000
bitext = same_bytes.demo().part(0, 300)
dovetail.Aligner("joint-best", seed=1, threads=2, sample=4000).fit(bitext, work=sys.argv[1]).save(sys.argv[2])
"""


@pytest.mark.slow
def test_a_process_that_is_killed_many_times_ends_with_the_same_bytes(demo, tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "BLOCK_CELLS", 4000)
    whole = bytes_of(Aligner("joint-best", seed=1, threads=2, **SOME).fit(demo), tmp_path / "whole")
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, "-c", KILLED_RUN, str(tmp_path / "work"), str(tmp_path / "resumed")]
    generator = random.Random(1)
    for kill in range(KILLS + 1):
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path})
        if kill < KILLS:
            time.sleep(generator.uniform(0.5, 6.0))
            process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode == 0
    assert contents(tmp_path / "resumed") == whole


def test_a_work_folder_of_another_training_is_refused(demo, tmp_path):
    Aligner("ibm1", ibm1_iterations=1).fit(demo, work=tmp_path / "work")
    for aligner, text in (
        (Aligner("ibm1", ibm1_iterations=2), demo),
        (Aligner("ibm1", ibm1_iterations=1, seed=3), demo),
        (Aligner("ibm1", ibm1_iterations=1), demo.part(0, 100)),
    ):
        with pytest.raises(InputError, match="something else"):
            aligner.fit(text, work=tmp_path / "work")
    constrained = Aligner("ibm1-constrained", ibm1_iterations=1)
    constrained.fit(demo, constraints=[Dictionary([("house", "chambre")])], work=tmp_path / "constrained")
    with pytest.raises(InputError, match="something else"):
        constrained.fit(demo, constraints=[Dictionary([("house", "maison")])], work=tmp_path / "constrained")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(InputError, match="neither empty"):
        Aligner("ibm1").fit(demo, work=tmp_path / "other")
    assert contents(tmp_path / "other") == {"thesis.tex": b""}
    (tmp_path / "other" / "about.json").write_bytes(b"\xff")
    with pytest.raises(InputError, match="something else"):
        Aligner("ibm1").fit(demo, work=tmp_path / "other")


def test_the_current_folder_is_not_worked_in_for_want_of_a_name(demo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="no name for the work folder"):
        Aligner("ibm1").fit(demo, work="")
    assert contents(tmp_path) == {}


def test_what_is_kept_comes_back_as_it_was(tmp_path):
    shared, slots = np.arange(5, dtype=np.uint64), Slots(np.array([0, 2]), np.array([1, 0], np.int32), 2)
    value = {
        "a": [slots, None, 1.5, "x", (True, np.float32(0.5))],
        "b": shared,
        "c": shared,
        3: Slots,
        "known": tmp_path,
    }
    given = {"path": tmp_path}
    back = taken(kept(value, given), given)
    assert back["a"][1:] == value["a"][1:]
    assert type(back["a"][4][1]) is np.float32
    assert back["b"] is back["c"]
    assert back[3] is Slots
    assert back["known"] is tmp_path
    np.testing.assert_array_equal(back["a"][0].target, slots.target)


def test_nobody_has_the_arrays_after_they_were_kept_and_taken():
    values = np.arange(3.0)
    known = weakref.ref(values)
    gc.disable()
    try:
        assert taken(kept({"values": values}, {}), {})["values"] is values
        del values
        assert known() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("path", ["os:system", "dovetail.models.tree:json", "dovetail.bitext.store:release"])
def test_nothing_but_classes_of_the_package_is_made(path, tmp_path):
    tree = np.frombuffer(f'{{"record": "{path}", "of": []}}'.encode(), np.uint8)
    with pytest.raises(ValueError, match="is no class of this package"):
        taken({"tree": tree}, {})
    folder = Folder(tmp_path)
    with pytest.raises(TypeError, match="cannot be kept"):
        folder.put("x", kept({"x": Path()}, {}))


def test_every_training_that_resumes_is_tested():
    assert {find_recipe(name).training for name, _ in RESUMED} == {n for n, one in trainings.items() if one.resumes}
